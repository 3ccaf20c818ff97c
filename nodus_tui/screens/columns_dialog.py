"""The columns of a table to choose from: each change is shown behind it at once, Enter keeps it, Escape takes what was before."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from nodus_tui.view_state.cells import Span, Tone, hint, line, muted
from nodus_tui.view_state.column_choice import ColumnChoice
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.rows import Rows, SortKey
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

_TALLEST = 22
"""Lines of the list, titles included."""
_OTHER_LINES = 9
"""Lines of the dialog beside the list, and of the screen that stay free."""


class ColumnsDialog(ModalScreen[tuple[str, ...] | None]):
    """Gives the keys of the chosen columns in their order, none where they are the usual ones; None where nothing was chosen."""

    DIALOG_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (("Space", "show or hide"), ("← →", "move"), ("Enter", "keep"), ("Esc", "cancel"))
    AUTO_FOCUS = "LineTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", show=False),
        Binding("enter", "take", show=False),
        Binding("space", "show_or_hide", show=False),
        Binding("left,shift+up,minus", "shift(-1)", show=False),
        Binding("right,shift+down,plus", "shift(1)", show=False),
        Binding("s", "sort(False)", show=False),
        Binding("S", "sort(True)", show=False),
        Binding("u", "reset", show=False),
    ]

    def __init__(
        self,
        columns: Sequence[Column[Any]],
        keys: Sequence[str],
        order: Sequence[SortKey],
        now: Callable[[], datetime],
        shown: Callable[[tuple[str, ...], tuple[SortKey, ...]], None],
    ) -> None:
        super().__init__()
        self.choice = ColumnChoice(columns, keys, order)
        self.now = now
        self.shown = shown
        self._before = (tuple(keys), tuple(order))
        self._rows: Rows[str] = self.choice.rows()

    def compose(self) -> ComposeResult:
        """Title, columns, keys."""
        with Vertical(id="dialog"):
            yield SpanBlock(widget_id="text")
            yield LineTable(self._rows, self.now(), widget_id="columns")
            yield SpanBlock(widget_id="problem")

    def on_mount(self) -> None:
        """Begin at the first column."""
        title = line(Span("Columns", Tone.TITLE), muted("  shown as you choose"))
        self.query_one("#text", SpanBlock).show(lambda width: wrapped((title,), width))
        self._show_keys()
        self.query_one(LineTable).show(self.now())
        self._fit()

    def on_resize(self) -> None:
        """As many columns as there is room for."""
        self._fit()

    def _fit(self) -> None:
        self.query_one(LineTable).styles.height = max(3, min(len(self._rows) + 1, _TALLEST, self.app.size.height - _OTHER_LINES))

    def _show_keys(self, problem: str = "") -> None:
        gap = muted("  ")
        keys = (
            line(*hint("Space", " shows, hides", "show_or_hide"), gap, *hint("←", "", "shift(-1)"), *hint("→", " moves it", "shift(1)")),
            line(*hint("s", " sorts by it", "sort(False)"), gap, *hint("S", " sorts further by it", "sort(True)")),
            line(*hint("Enter", " keeps it", "take"), gap, *hint("u", " the usual", "reset"), gap, *hint("Esc", " cancels", "cancel")),
        )
        lines = (line(Span(problem, Tone.WARN)), *keys[1:]) if problem else keys
        self.query_one("#problem", SpanBlock).show(lambda width: wrapped(lines, width))

    def _changed(self, *, listed: bool = False) -> None:
        self._show_keys()
        self.shown(self.choice.kept, self.choice.order)
        table = self.query_one(LineTable)
        if listed:
            at = table.cursor_key
            self._rows = self.choice.rows()
            table.take(self._rows)
            if at is not None:
                table.select(at)
        table.show(self.now())

    def _current(self) -> str:
        return self.query_one(LineTable).cursor_key or self.choice.all_keys()[0]

    def action_show_or_hide(self) -> None:
        """Show the selected column, or hide it."""
        if self.choice.toggle(self._current()):
            self._changed()
        else:
            self._show_keys("One column at least stays.")

    def action_shift(self, by: int) -> None:
        """Move the selected column."""
        self.choice.move(self._current(), by)
        self._changed(listed=True)

    def action_sort(self, further: bool) -> None:  # noqa: FBT001 - bindings give arguments by place
        """Sort by the selected column."""
        self.choice.sort(self._current(), further=further)
        self._changed()

    def action_reset(self) -> None:
        """The usual columns."""
        self.choice.reset()
        self._changed(listed=True)

    def on_line_table_row_opened(self) -> None:
        """A double click shows or hides."""
        self.action_show_or_hide()

    def action_take(self) -> None:
        """Keep what is shown."""
        self.dismiss(self.choice.kept)

    def action_cancel(self) -> None:
        """What was before."""
        self.shown(*self._before)
        self.dismiss(None)
