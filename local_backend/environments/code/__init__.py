"""nodus/code-v1: the catalogue's code environment, a YAML file a task in `tasks`. They hold answers: for the grader's process only."""
