"""The workspaces of the conformance suite and the recorded values of the console serve here too."""

import sys
from pathlib import Path

for folder in ("conformance", "app", "view_state"):
    sys.path.append(str(Path(__file__).parent.parent / folder))
