"""The themes to choose from: each is shown as it is moved to, Enter keeps it, Escape takes the one before."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from nodus_tui.appearance import ThemeChoice
from nodus_tui.contract.errors import Fault
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.words import GROUP_SIGNS, VERDICT_SIGNS
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

_COLUMNS: tuple[Column[ThemeChoice], ...] = (
    Column("name", "THEME", 20, lambda choice, _now: line(choice.name), lambda choice: choice.name, grow=20),
    Column("own", "", 5, lambda choice, _now: line(muted("yours" if choice.own else "")), lambda _choice: None),
)


def _sample() -> tuple[Line, ...]:
    """What most of what is looked at is made of."""
    verdicts = (Span(f"{sign.glyph} {sign.word}  ", sign.tone) for sign in [*VERDICT_SIGNS.values()][:3])
    groups = [sign for sign in GROUP_SIGNS.values() if sign.tone is not Tone.MUTED]
    phases = (Span(f"{sign.glyph} {sign.word}  ", sign.tone) for sign in groups[:3])
    bar = line(
        Span("█████", Tone.GOOD), Span("▓▓", Tone.BAD), Span("▒", Tone.WARN), Span("░░░░", Tone.TRACK), Span("  simulated", Tone.MARK)
    )
    failed = GROUP_SIGNS[GroupPhase.FAILED]
    return (line(*verdicts), line(*phases), (*bar, *line("  ", *failed.spans())))


class ThemeDialog(ModalScreen[str | None]):
    """Gives the name of the chosen theme. What is only looked at is `shown`, and the one before again where none is chosen."""

    DIALOG_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (("↑ ↓", "show"), ("Enter", "keep it"), ("Esc", "the one before"))
    AUTO_FOCUS = "LineTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", show=False),
        Binding("enter", "take", show=False),
    ]

    def __init__(
        self, choices: Sequence[ThemeChoice], now: Callable[[], datetime], *, current: str, shown: Callable[[str], None], remark: str = ""
    ) -> None:
        super().__init__()
        self.now = now
        self.current = current
        self.shown = shown
        self.remark = remark
        self.rows: Rows[ThemeChoice] = Rows(_COLUMNS, sort="name")
        for choice in choices:
            self.rows.put(choice.name, choice)

    def compose(self) -> ComposeResult:
        """Title, themes, a sample, keys."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            yield LineTable(self.rows, self.now(), widget_id="themes")
            yield SpanBlock(widget_id="about", keep_height=True)
            yield SpanBlock(widget_id="sample")
            yield SpanBlock(widget_id="problem")

    def on_mount(self) -> None:
        """Begin at the theme that is shown."""
        title = line(Span("Theme", Tone.TITLE), muted("  shown as you move"))
        self.query_one("#text", SpanBlock).show(lambda width: wrapped((title, *self._remarks()), width))
        self.query_one("#sample", SpanBlock).show(lambda width: wrapped(_sample(), width))
        keys = (*hint("Enter", " keeps it", "take"), muted("  "), *hint("Esc", " takes the one before", "cancel"))
        self.query_one("#problem", SpanBlock).show(lambda width: wrapped((keys,), width))
        table = self.query_one(LineTable)
        table.show(self.now())
        table.select(self.current)

    def _remarks(self) -> tuple[Line, ...]:
        return (line(Span(self.remark, Tone.WARN)),) if self.remark else ()

    def on_line_table_cursor_moved(self, event: LineTable.CursorMoved) -> None:
        """Show it."""
        if event.key is not None:
            self.shown(event.key)
            about = line(muted(self.rows.item(event.key).about))
            self.query_one("#about", SpanBlock).show(lambda _width: (about,))
            for table in self.query(LineTable):
                table.repaint()
            for block in self.query(SpanBlock):
                block.refresh()

    def on_line_table_row_opened(self, event: LineTable.RowOpened) -> None:
        """A double click keeps it."""
        self.dismiss(event.key)

    def action_take(self) -> None:
        """Keep the theme that is shown."""
        self.dismiss(self.query_one(LineTable).cursor_key)

    def action_cancel(self) -> None:
        """The one before."""
        self.shown(self.current)
        self.dismiss(None)


def fault_words(faults: Sequence[Fault]) -> tuple[Line, ...]:
    """Everything that is wrong in files of themes: each file, and below it a line for each fault."""
    lines: list[Line] = []
    for file in dict.fromkeys(fault.file for fault in faults):
        own = [fault for fault in faults if fault.file == file]
        count = f"{len(own)} fault{'s' if len(own) != 1 else ''} in the theme {file}; what was good before is shown until it is mended:"
        lines.append(line(Span(f"! {count}", Tone.WARN)))
        name = file.replace("\\", "/").rpartition("/")[2]
        lines.extend(line(Span(f"  {fault.model_copy(update={'file': name}).sentence()}", Tone.WARN)) for fault in own)
    return tuple(lines)
