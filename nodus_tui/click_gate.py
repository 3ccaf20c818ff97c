"""A double click does one thing where its first half opens a question: the second half agrees to nothing. It knows Textual's screens, and
no view.
"""

from typing import Any

from textual.events import MouseDown, MouseEvent, MouseUp
from textual.screen import Screen

from nodus_tui.key_gate import asks

TOGETHER_SECONDS = 0.5
"""Presses of the mouse that come within so long of each other are of one gesture: nobody has read a question by then."""


class ClickGate:
    """Of one app: what its mouse does is shown to it in its order."""

    def __init__(self) -> None:
        self._pressed = float("-inf")
        self._began: Screen[Any] | None = None
        """What was open when the gesture began."""
        self._passed_over = False
        """Whether the last press did nothing: nor does what lets go of it."""

    def passes_over(self, event: MouseEvent, screen: Screen[Any]) -> bool:
        """Whether it would act on what this screen asks, and belongs to a gesture that began elsewhere."""
        if isinstance(event, MouseDown):
            together, self._pressed = event.time < self._pressed + TOGETHER_SECONDS, event.time
            if not together:
                self._began = screen
            self._passed_over = screen is not self._began and asks(screen)
        return self._passed_over and isinstance(event, MouseDown | MouseUp)
