"""The Docker engines of the sandboxes' tests serve jobs too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "sandboxes"))
