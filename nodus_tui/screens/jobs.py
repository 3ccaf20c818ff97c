"""All jobs, and the selected one in words."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.resources.job import Job
from nodus_tui.screens import acting
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.filter_bar import FilterBar
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.services import Services
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.jobs import job_facts
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

_DETAIL_LINES = 6


class JobsScreen(ViewScreen):
    """All jobs."""

    VIEW: ClassVar[View] = View.JOBS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.JOBS)]
    DEFAULT_CSS = """
    JobsScreen #detail { padding: 0 1; margin: 1 0 0 0; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.state = services.feed.jobs

    def body(self) -> ComposeResult:
        """The table, the filter, the selected job in words."""
        yield LineTable(self.state.rows, self.services.now(), widget_id="jobs")
        yield FilterBar(self._filter)
        yield SpanBlock(widget_id="detail")

    @property
    def table(self) -> LineTable[Job]:
        """The jobs."""
        table: LineTable[Job] = self.part("jobs", LineTable)
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
        return ("jobs",)

    def headline(self) -> Line:
        """How many are in which phase."""
        return self.state.summary()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is."""
        place = line(muted(self.table.place_text)) if len(self.state.rows) else ()
        return (self.part("filter", FilterBar).words(), place, line(muted(self.services.whose_work())))

    def moving(self) -> bool:
        """Costs grow while a job runs."""
        return self.state.moving()

    def show_state(self) -> None:
        """The table and the selected job."""
        now = self.services.now()
        self.table.show_empty(self._empty())
        self.table.show(now)
        job = self.table.cursor_item
        self.part("detail", SpanBlock).show(
            lambda width: clipped(job_facts(job, now, width), width, _DETAIL_LINES) if job is not None else ((),)
        )

    def _empty(self) -> tuple[Line, ...]:
        if not self.state.loaded:
            return (line(muted("Asking the backend…")),)
        if self.state.rows.total:
            return (
                line("No job passes the filter. ", Span("/", Tone.KEY), muted(" then "), Span("Esc", Tone.KEY), muted(" takes it away.")),
            )
        return (line("No jobs yet."), (), line(Span("l", Tone.KEY), "  estimates a spec file and launches it"))

    def on_line_table_cursor_moved(self) -> None:
        """Another job is selected."""
        self.show()

    def on_line_table_row_opened(self) -> None:
        """A click on the selected row."""
        self.do_open()

    def on_filter_bar_closed(self) -> None:
        """Back to the rows."""
        self.table.focus()
        self.show()

    def _filter(self, chosen: Filter | None) -> None:
        self.state.filter(chosen)
        self.show()

    # Actions

    def do_open(self) -> None:
        """Open the selected job."""
        job = self.table.cursor_item
        if job is not None:
            self.app.push_screen(JobScreen(self.services, job.name))

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

    async def do_kill(self) -> None:
        """Kill the selected job."""
        job = self.table.cursor_item
        if job is None:
            self.notice("No job is selected.", Tone.WARN)
        else:
            await acting.kill_job(self, job)
