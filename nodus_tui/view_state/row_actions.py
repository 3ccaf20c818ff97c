"""Which actions of the list need a row. It knows no kind of thing: a table without rows has its footer before any kind is loaded. Pure."""

ON_MANY = ("kill", "extend", "retry")
"""Actions that mean all rows that are picked."""
ON_A_ROW = frozenset({*ON_MANY, "delete", "open", "pick", "shell", "extend_waiting", "pause_sweep", "raise_limit"})
"""Actions that do nothing in a table without rows."""
