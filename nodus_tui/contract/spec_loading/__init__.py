"""From YAML text to resources: documents with positions, and every fault at once with its file, line, column and field path."""
