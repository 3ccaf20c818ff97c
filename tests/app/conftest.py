"""The recorded values of the view states serve the screens too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "view_state"))
