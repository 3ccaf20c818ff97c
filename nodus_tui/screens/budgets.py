"""All budgets, and the selected one in words."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.resources.budget import Budget
from nodus_tui.screens import acting
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.filter_bar import FilterBar
from nodus_tui.screens.services import Services
from nodus_tui.view_state.budgets import budget_facts
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

_DETAIL_LINES = 8


class BudgetsScreen(ViewScreen):
    """All budgets."""

    VIEW: ClassVar[View] = View.BUDGETS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.BUDGETS)]
    DEFAULT_CSS = """
    BudgetsScreen #detail { padding: 0 1; margin: 1 0 0 0; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.state = services.feed.budgets

    def body(self) -> ComposeResult:
        """The table, the filter, the selected budget in words."""
        yield LineTable(self.state.rows, self.services.now(), widget_id="budgets")
        yield FilterBar(self._filter)
        yield SpanBlock(widget_id="detail")

    @property
    def table(self) -> LineTable[Budget]:
        """The budgets."""
        table: LineTable[Budget] = self.part("budgets", LineTable)
        return table

    def on_mount(self) -> None:
        """Keys go to the table."""
        self.focus_home()

    def on_unmount(self) -> None:
        """The next one to look sees all."""
        self.state.filter(None)

    def focus_home(self) -> None:
        """Keys go to the table."""
        self.table.focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("budgets",)

    def headline(self) -> Line:
        """How many stand how."""
        return self.state.summary()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is."""
        place = line(muted(self.table.place_text)) if len(self.state.rows) else ()
        return (self.part("filter", FilterBar).words(), place, line(muted(self.services.whose_work())))

    def show_state(self) -> None:
        """The table and the selected budget."""
        self.table.show_empty(self._empty())
        self.table.show(self.services.now())
        budget = self.table.cursor_item
        self.part("detail", SpanBlock).show(
            lambda width: clipped(budget_facts(budget, width), width, _DETAIL_LINES) if budget is not None else ((),)
        )

    def _empty(self) -> tuple[Line, ...]:
        if not self.state.loaded:
            lost = self.services.feed.connection.state == "lost"
            return (line(muted("The backend does not answer yet." if lost else "Asking the backend…")),)
        if self.state.rows.total:
            return (
                line(
                    "No budget passes the filter. ", Span("/", Tone.KEY), muted(" then "), Span("Esc", Tone.KEY), muted(" takes it away.")
                ),
            )
        return (line("No budgets yet."), (), line(muted("in a shell:  nodus-tui apply -f FILE   with a Budget in it")))

    def on_line_table_cursor_moved(self) -> None:
        """Another budget is selected."""
        self.show()

    def on_filter_bar_closed(self) -> None:
        """Back to the rows."""
        self.table.focus()
        self.show()

    def _filter(self, chosen: Filter | None) -> None:
        self.state.filter(chosen)
        self.show()

    # Actions

    def do_filter(self) -> None:
        """Type a filter."""
        self.part("filter", FilterBar).open()

    def do_sort(self) -> None:
        """Sort by the next column."""
        self.table.sort_next()
        self.show()

    def do_reverse(self) -> None:
        """Turn the order round."""
        self.table.sort_by(self.state.rows.sort_key)
        self.show()

    def do_copy(self) -> None:
        """Copy the row."""
        acting.copy_row(self, self.table.row_texts())
