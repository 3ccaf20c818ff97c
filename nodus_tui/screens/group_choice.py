"""Choosing a group: its name is typed, or taken from the list, which what is typed narrows."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted
from nodus_tui.view_state.comparison import GROUP_CHOICE_COLUMNS
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_entry import TextEntry


class GroupChoice(ModalScreen[str | None]):
    """Gives the name of the chosen group."""

    DIALOG_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (("↑ ↓", "choose"), ("Tab", "complete"), ("Enter", "compare"), ("Esc", "cancel"))
    AUTO_FOCUS = "Input"
    DEFAULT_CSS = """
    GroupChoice LineTable { height: 10; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("tab", "complete", show=False, priority=True),
    ]

    def __init__(self, title: str, about: str, matching: Callable[[str], Sequence[AgentGroup]], now: Callable[[], datetime]) -> None:
        super().__init__()
        self.title_text = title
        self.about = about
        self.matching = matching
        self.now = now
        self.rows: Rows[AgentGroup] = Rows(GROUP_CHOICE_COLUMNS)
        self._offer("")

    def compose(self) -> ComposeResult:
        """Title, input, the groups, keys."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            entry = TextEntry(placeholder="name", id="name")
            entry.cursor_blink = False
            yield entry
            table: LineTable[AgentGroup] = LineTable(self.rows, self.now(), widget_id="groups")
            table.one_click = True
            yield table
            yield SpanBlock(widget_id="problem")

    def on_mount(self) -> None:
        """Fill in the text."""
        lines = (line(Span(self.title_text, Tone.TITLE)), line(muted(self.about)))
        self.query_one("#text", SpanBlock).show(lambda width: wrapped(lines, width))
        keys: Line = (
            *hint("Enter", " takes it", "take"),
            *line(muted("  "), Span("↑ ↓", Tone.KEY), muted(" choose  ")),
            *hint("Tab", " writes the name", "complete"),
            muted("  "),
            *hint("Esc", " cancels", "cancel"),
        )
        self.query_one("#problem", SpanBlock).show(lambda width: wrapped((keys,), width))
        self._show()

    def _offer(self, typed: str) -> None:
        self.rows.clear()
        for group in self.matching(typed):
            self.rows.put(group.name, group)

    def _show(self) -> None:
        table = self.query_one(LineTable)
        typed = bool(self.query_one(Input).value.strip())
        words = "No other group matches what you typed." if typed else "There is no other group with verdicts here."
        table.show_empty((line(muted(words)),))
        table.show(self.now())
        table.move_to(0)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Keep what matches."""
        self._offer(event.value)
        self._show()

    def on_input_submitted(self) -> None:
        """Take the selected one."""
        self.action_take()

    def action_take(self) -> None:
        """The same by a click; with nothing to take, nothing happens."""
        chosen = self.query_one(LineTable).cursor_key
        if chosen is not None:
            self.dismiss(chosen)

    def on_line_table_row_opened(self, event: LineTable.RowOpened) -> None:
        """A click on the chosen one."""
        self.dismiss(event.key)

    def action_move(self, by: int) -> None:
        """Choose another."""
        self.query_one(LineTable).action_move(by)

    def action_complete(self) -> None:
        """Write the chosen one's name in full."""
        chosen = self.query_one(LineTable).cursor_key
        if chosen is not None:
            entry = self.query_one(Input)
            entry.value = chosen
            entry.cursor_position = len(chosen)

    def action_cancel(self) -> None:
        """Choose none."""
        self.dismiss(None)
