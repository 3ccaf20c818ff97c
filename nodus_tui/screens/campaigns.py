"""The first view: all campaigns, and the selected one in words."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.screens import acting
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.filter_bar import FilterBar
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.services import Services
from nodus_tui.view_state.campaigns import group_detail, status_of
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.run_columns import waiting_at_own_caps
from nodus_tui.view_state.words import sandboxes_words
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import NOTHING_SPECIAL, Offer
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

_FIXED_LINES = 9
"""Lines of the screen beside the rows and the selected group's reason: crumbs, titles, margin, three facts, status, keys, filter."""


class CampaignsScreen(ViewScreen):
    """All groups."""

    VIEW: ClassVar[View] = View.CAMPAIGNS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.CAMPAIGNS)]
    DEFAULT_CSS = """
    CampaignsScreen #detail { padding: 0 1; margin: 1 0 0 0; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.state = services.feed.campaigns

    def body(self) -> ComposeResult:
        """The table, the filter, the selected group in words."""
        yield LineTable(self.state.rows, self.services.now(), widget_id="groups")
        yield FilterBar(self._filter)
        yield SpanBlock(widget_id="detail")

    @property
    def table(self) -> LineTable[AgentGroup]:
        """The groups."""
        table: LineTable[AgentGroup] = self.part("groups", LineTable)
        return table

    def on_mount(self) -> None:
        """Keys go to the table."""
        self.focus_home()

    def focus_home(self) -> None:
        """Keys go to the table."""
        self.table.focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("campaigns",)

    def headline(self) -> Line:
        """How many are in which phase."""
        return self.state.summary()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is."""
        place = line(muted(self.table.place_text)) if len(self.state.rows) else ()
        return (
            self.part("filter", FilterBar).words(),
            place,
            self.services.feed.budgets.words(),
            self.services.feed.jobs.words(),
            sandboxes_words(self.services.sandboxes()),
            line(muted(self.services.whose_work())),
        )

    def moving(self) -> bool:
        """Ages and forecasts move while something goes on."""
        return self.state.moving()

    def show_state(self) -> None:
        """The table and the selected group."""
        self.table.show_empty(self._empty())
        self.table.show(self.services.now())
        self._show_detail()

    def _empty(self) -> tuple[Line, ...]:
        if not self.state.loaded:
            lost = self.services.feed.connection.state == "lost"
            return (line(muted("The backend does not answer yet." if lost else "Asking the backend…")),)
        if self.state.rows.total:
            return (
                line(
                    "No campaign passes the filter. ", Span("/", Tone.KEY), muted(" then "), Span("Esc", Tone.KEY), muted(" takes it away.")
                ),
            )
        return (
            line("No campaigns yet."),
            (),
            line(Span("l", Tone.KEY), "  estimates a spec file and launches it"),
            line(muted("or, in a shell:  nodus-tui run -f FILE   ·   nodus-tui demo")),
        )

    def _show_detail(self) -> None:
        group, now = self.table.cursor_item, self.services.now()
        lines = group_detail(group, now) if group is not None else ()
        free = self.size.height - len(self.state.rows) - _FIXED_LINES
        more = 2 if free > 4 else 1

        def build(width: int) -> tuple[Line, ...]:
            facts = (shown for each in lines[1:] for shown in clipped((each,), width, more))
            return (*clipped(lines[:1], width, max(2, min(4, free))), *facts)

        self.part("detail", SpanBlock).show(build)

    def offer(self) -> Offer:
        """An interrupted group goes on with a key that the footer shows."""
        group = self.table.cursor_item
        interrupted = group is not None and status_of(group).phase is GroupPhase.INTERRUPTED
        return Offer(now=frozenset({"resume"})) if interrupted else NOTHING_SPECIAL

    def on_line_table_cursor_moved(self) -> None:
        """Another group is selected."""
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
        """Open the selected group."""
        group = self.table.cursor_item
        if group is not None:
            self.app.push_screen(GroupScreen(self.services, group.name))

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

    def _selected(self) -> AgentGroup | None:
        if self.table.cursor_item is None:
            self.notice("No campaign is selected.", Tone.WARN)
        return self.table.cursor_item

    async def do_kill(self) -> None:
        """Kill the selected group."""
        if (group := self._selected()) is not None:
            await acting.kill_group(self, group)

    async def do_extend(self) -> None:
        """Raise the selected group's cap."""
        if (group := self._selected()) is not None:
            await acting.extend_group(self, group)

    async def do_extend_waiting(self) -> None:
        """Give every run of the selected group that waits at its own cap a higher one."""
        if (group := self._selected()) is not None:
            try:
                runs = (await self.services.backend.snapshot(runs_of=group.name)).runs
            except NodusError as error:
                self.notice(f"! The runs of {group.name} cannot be read: {error.detail}", Tone.BAD)
            else:
                await acting.extend_waiting(self, group, waiting_at_own_caps(runs))

    async def do_retry(self) -> None:
        """Run the selected group's unscored cases again."""
        if (group := self._selected()) is not None:
            await acting.retry_group(self, group)

    async def do_resume(self) -> None:
        """Let the selected group go on."""
        if (group := self._selected()) is not None:
            await acting.resume_group(self, group)
