"""Storage: one SQLite file (WAL) a workspace, one writer that groups commits, and the records that its rows are."""
