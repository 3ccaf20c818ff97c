"""The recorded values of the view states serve the screens too, and what tests know of drafts."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), *(str(Path(__file__).parent.parent / folder) for folder in ("view_state", "authoring"))]

from shared_work import consoles_share_their_work
from stillness import stillness_is_asked_for

__all__ = ["consoles_share_their_work", "stillness_is_asked_for"]
