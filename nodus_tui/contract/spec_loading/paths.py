"""Where a field stands in a document."""

Path = tuple[str | int, ...]
"""`("spec", "families", 0)`: the names and places that lead to it."""
