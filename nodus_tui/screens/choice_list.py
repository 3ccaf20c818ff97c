"""A dialog with a list to choose one of: what is typed narrows it. It knows words and their help, not what they are for."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.wrapping import clipped, wrapped
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_entry import TextEntry


class Choice(Struct, frozen=True):
    """One thing to choose."""

    id: str
    word: str
    help: str = ""


_COLUMNS: tuple[Column[Choice], ...] = (
    Column("word", "CHOICE", 20, lambda choice, _now: line(choice.word), lambda _choice: None, grow=40, middle=True),
    Column("help", "WHAT IT IS", 20, lambda choice, _now: line(muted(choice.help)), lambda _choice: None, priority=1, grow=200),
)


class ChoiceList(ModalScreen[str | None]):
    """Gives the id of what was chosen; None where nothing was."""

    DIALOG_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (("↑ ↓", "choose"), ("Enter", "take it"), ("Esc", "cancel"))
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    ChoiceList LineTable { height: 9; margin-top: 1; }
    ChoiceList.-few LineTable { height: 5; }
    ChoiceList #help { margin-top: 1; min-height: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down,tab", "move(1)", show=False, priority=True),
        Binding("up,shift+tab", "move(-1)", show=False, priority=True),
        Binding("enter", "take", show=False, priority=True),
    ]

    def __init__(
        self, title: str, choices: Sequence[Choice], now: Callable[[], datetime], *, lines: Sequence[Line] = (), typed: bool = True
    ) -> None:
        super().__init__()
        self.title_text = title
        self.lines = tuple(lines)
        self.now = now
        self.typed = typed
        """Whether typing narrows the list: not for the few answers to a question."""
        self.rows: Rows[Choice] = Rows(_COLUMNS)
        for choice in choices:
            self.rows.put(choice.id, choice)
        self.set_class(len(choices) <= 4, "-few")

    def compose(self) -> ComposeResult:
        """Title, what is typed, the list, the help of what is selected."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            if self.typed:
                entry = TextEntry(placeholder="a part of its name", id="typed")
                entry.cursor_blink = False
                yield entry
            yield LineTable(self.rows, self.now(), widget_id="choices")
            yield SpanBlock(widget_id="help")

    def on_mount(self) -> None:
        """Fill it in."""
        self.query_one("#dialog").styles.width = 96
        lines: list[Line] = [line(Span(self.title_text, Tone.TITLE)), *self.lines]
        self.query_one("#text", SpanBlock).show(lambda width: wrapped(lines, width))
        table = self.query_one(LineTable)
        table.show_empty((line(muted("Nothing of that name; Backspace shows more again.")),))
        table.show(self.now())
        (self.query_one(Input) if self.typed else table).focus()
        self._show_help()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the list."""
        typed = event.value.strip().casefold()
        self.rows.keep_only((lambda choice: typed in choice.word.casefold()) if typed else None)
        self.query_one(LineTable).show(self.now())
        self._show_help()

    def on_line_table_cursor_moved(self) -> None:
        """Another one is selected."""
        self._show_help()

    def _show_help(self) -> None:
        table: LineTable[Choice] = self.query_one(LineTable)
        item = table.cursor_item
        keys = (*hint("Enter", " takes it", "take"), muted("  "), *hint("Esc", " cancels", "cancel"))
        told = line(item.help) if item is not None and item.help else ()
        self.query_one("#help", SpanBlock).show(lambda width: (*clipped((told,), width, 3), keys) if told else (keys,))

    def action_move(self, by: int) -> None:
        """Select the next or the one before."""
        self.query_one(LineTable).action_move(by)

    def on_line_table_row_opened(self) -> None:
        """A click on the selected one."""
        self.action_take()

    def action_take(self) -> None:
        """Take the selected one."""
        table: LineTable[Choice] = self.query_one(LineTable)
        if table.cursor_item is not None:
            self.dismiss(table.cursor_item.id)

    def action_cancel(self) -> None:
        """Choose nothing."""
        self.dismiss(None)
