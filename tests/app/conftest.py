"""The recorded values of the view states serve the screens too."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "view_state")]

from stillness import stillness_is_asked_for

__all__ = ["stillness_is_asked_for"]
