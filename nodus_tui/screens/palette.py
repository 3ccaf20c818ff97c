"""The palette: every action of a view by its name."""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from rapidfuzz import fuzz
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from nodus_tui.view_state.cells import Span, Tone, line, muted
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.key_actions import KeyAction, View, actions_of, shown_key
from nodus_tui.view_state.rows import Rows
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.text_entry import TextEntry

_GOOD_MATCH = 60
_COLUMNS: tuple[Column[KeyAction], ...] = (
    Column("key", "KEY", 7, lambda action, _now: line(Span(shown_key(action.keys[0]), Tone.KEY)), lambda _action: None),
    Column("word", "ACTION", 12, lambda action, _now: line(action.word), lambda action: action.word, grow=4),
    Column("help", "", 20, lambda action, _now: line(muted(action.help)), lambda _action: None, grow=200),
)


class Palette(ModalScreen[str | None]):
    """Gives the id of the chosen action."""

    AUTO_FOCUS = "Input"
    DEFAULT_CSS = """
    Palette LineTable { height: 12; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+p", "cancel", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def __init__(self, view: View, now: Callable[[], datetime], *, viewer: bool = False) -> None:
        super().__init__()
        self.now = now
        self.rows: Rows[KeyAction] = Rows(_COLUMNS, sort="key")
        for action in actions_of(view, viewer=viewer):
            if action.palette:
                self.rows.put(action.id, action)

    def compose(self) -> ComposeResult:
        """Input and matches."""
        with Vertical(id="dialog"):
            entry = TextEntry(placeholder="what do you want to do?", id="words")
            entry.cursor_blink = False
            yield entry
            yield LineTable(self.rows, self.now(), widget_id="actions")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Keep what matches."""
        typed = event.value.strip().casefold()
        self.rows.keep_only((lambda action: matches(typed, action)) if typed else None)
        self.query_one(LineTable).show(self.now())

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Do the chosen one."""
        self.dismiss(self.query_one(LineTable).cursor_key)

    def on_line_table_row_opened(self, event: LineTable.RowOpened) -> None:
        """A click on the chosen one."""
        self.dismiss(event.key)

    def action_move(self, by: int) -> None:
        """Choose another."""
        self.query_one(LineTable).action_move(by)

    def action_cancel(self) -> None:
        """Do nothing."""
        self.dismiss(None)


def matches(typed: str, action: KeyAction) -> bool:
    """Whether a person who typed this may mean that action."""
    words = f"{action.word} {action.help}".casefold()
    return typed in words or fuzz.partial_ratio(typed, action.word.casefold()) > _GOOD_MATCH
