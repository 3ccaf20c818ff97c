"""Jobs: commands that run to their end on this machine under a cap on cost, each watched over by a process of its own (docs/jobs.md)."""
