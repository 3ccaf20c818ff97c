"""Names and versions of the environments that this program brings along, and their sizes. They tell no task."""

ARITHMETIC_MOST = 30_000
"""Tasks of one seed and split that arithmetic makes, at most: of some families there are not many more problems."""

CODE_NAME = "nodus/code-v1"
CODE_VERSION = "1.0.0"
CODE_SIZE = 26
"""Tasks in each split."""
