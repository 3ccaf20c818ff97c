"""The helpers of the conformance suite and of the command line's tests, for tests of what lies between them."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent.parent / folder) for folder in ("conformance", "cli")]
