"""How much room the terminal has, and what becomes of dialogs where it has none. Views look after themselves (base.py)."""

from typing import Any

from textual.app import App
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widget import Widget

from nodus_tui.view_state.cells import Line, line, muted, strong
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.span_block import SpanBlock

MIN_WIDTH, MIN_HEIGHT = 60, 15
LOW_HEIGHT = 22
"""Below this height there is no room for margins."""
ROOMY_HEIGHT = 30
"""From this height on there is room for empty lines."""

ROOM_CSS = """
App.-low #dialog { padding: 0 1; }
App.-low #dialog LineTable { max-height: 5; }
App.-small ModalScreen { background: $background; align: left top; }
App.-small #dialog { display: none; }
#too-small { margin: 1 2; background: $background; }
"""


def too_small(size: Size) -> bool:
    """Whether a terminal has no room for the console."""
    return size.width < MIN_WIDTH or size.height < MIN_HEIGHT


def small_words(size: Size) -> Line:
    """What is said in such a terminal."""
    return line(
        strong(f"This window is {size.width}×{size.height}. "),
        f"The console needs at least {MIN_WIDTH}×{MIN_HEIGHT}: make it larger. ",
        muted("Work goes on."),
    )


class Room:
    """Looks after the dialogs of an app when the terminal changes its size: its classes `-low` and `-small` are what styles go by."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._had_keys: Widget | None = None

    def resized(self, size: Size) -> None:
        """In a low terminal dialogs have no margins. Where there is no room they wait, and what had the keys has them again after that."""
        app, small = self._app, too_small(size)
        app.set_class(size.height < LOW_HEIGHT, "-low")
        if small and not app.has_class("-small"):
            self._had_keys = app.screen.focused
        elif not small and app.has_class("-small"):
            app.call_after_refresh(self._give_keys_back)
        app.set_class(small, "-small")
        self.look()

    def look(self) -> None:
        """Have every dialog say that there is no room, where there is none: what lies below it is not drawn again while it is above."""
        small = self._app.has_class("-small")
        for screen in self._app.screen_stack:
            told = list(screen.query("#too-small").results(SpanBlock)) if isinstance(screen, ModalScreen) else None
            if told and small:
                told[0].show(self._lines)
            elif told:
                told[0].remove()
            elif told is not None and small:
                block = SpanBlock(widget_id="too-small")
                block.show(self._lines)
                screen.mount(block)

    def _lines(self, width: int) -> tuple[Line, ...]:
        return wrapped((small_words(self._app.size),), max(1, width))

    def _give_keys_back(self) -> None:
        before, self._had_keys = self._had_keys, None
        if before is not None and before.is_attached and before.screen is self._app.screen:
            before.focus()
