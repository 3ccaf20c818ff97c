"""The first view: all campaigns, and the selected one in words."""

from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.later import Later
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.catalogue import screen_of
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.campaigns import group_detail, status_of
from nodus_tui.view_state.cells import Line, Tone, line, muted
from nodus_tui.view_state.key_actions import View, action_by_id, refusal
from nodus_tui.view_state.words import sandboxes_words
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.span_block import SpanBlock

if TYPE_CHECKING:
    from nodus_tui.screens import acting, acting_many, result_ways
    from nodus_tui.view_state import run_columns
else:
    acting, acting_many, result_ways = (Later(f"nodus_tui.screens.{name}") for name in ("acting", "acting_many", "result_ways"))
    run_columns = Later("nodus_tui.view_state.run_columns")

_COMPARED = 2
"""Groups that are compared at a time."""
_KINDS_OF_FACTS = 3
"""Of the selected group: how it stands, its money, what it is."""
_FIXED_LINES = 9
"""Lines of the screen beside the rows and the selected group's reason: crumbs, titles, margin, three facts, status, keys, filter."""


class CampaignsScreen(TableScreen[AgentGroup]):
    """All groups."""

    VIEW: ClassVar[View] = View.CAMPAIGNS
    ITEM: ClassVar[str] = "campaign"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.CAMPAIGNS)]

    def __init__(self, services: Services) -> None:
        super().__init__(services, services.feed.campaigns)
        self.state = services.feed.campaigns

    def headline(self) -> Line:
        """How many are in which phase."""
        return self.state.summary()

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is, what else goes on, and who does the work."""
        return (
            *super().status_parts(),
            *self._beside(),
            sandboxes_words(self.services.sandboxes(), self.key("sandboxes")),
            line(muted(self.services.whose_work())),
        )

    def _beside(self) -> tuple[Line, ...]:
        """What else goes on, once anything is known."""
        feed = self.services.feed
        if not feed.begun:
            return ()
        return feed.budgets.words(self.key("budgets")), feed.jobs.words(self.key("jobs")), feed.sweeps.words(self.key("sweeps"))

    def nothing(self) -> tuple[Line, ...]:
        """How the first campaign comes about, to whom can let it."""
        if refusal(action_by_id("launch"), self.services.situation()):
            return (line("No campaigns yet."),)
        return (
            line("No campaigns yet."),
            (),
            self.hint("launch", "  estimates a spec file and launches it"),
            self.hint("specs", "  shows spec files and examples, and writes new ones"),
            line(muted("or, in a shell:  nodus-tui run -f FILE   ·   nodus-tui demo")),
        )

    def show_detail(self) -> None:
        """The selected group: its reason in as many lines as the rows leave free."""
        group, now = self.table.cursor_item, self.services.now()
        free = self.size.height - len(self.state.rows) - _FIXED_LINES
        more = 2 if free > 4 else 1

        def build(width: int) -> tuple[Line, ...]:
            if group is None:
                return ()
            why, *lines = group_detail(group, now, width if more > 1 else None, self.key_offered)
            facts = (shown for each in lines for shown in clipped((each,), width, more))
            return (*clipped((why,), width, max(2, min(4, free))), *islice(facts, _KINDS_OF_FACTS * more))

        self.part("detail", SpanBlock).show(build)

    def offer(self) -> Offer:
        """Keys that the footer shows where they matter: an interrupted group goes on, two that are picked are compared."""
        group = self.table.cursor_item
        if group is None:
            return Offer(without=frozenset({"results", "compare_groups"}))
        if self.table.picked_count == _COMPARED:
            return Offer(now=frozenset({"compare_groups"}))
        interrupted = status_of(group).phase is GroupPhase.INTERRUPTED
        return Offer(now=frozenset({"resume"}) if interrupted else frozenset(), without=frozenset({"compare_groups"}))

    # Actions

    def open_item(self, item: AgentGroup) -> None:
        """The group and its runs."""
        self.app.push_screen(screen_of(View.GROUP, self.services, item.name))

    def do_results(self) -> None:
        """The results of the selected group."""
        if (group := self.selected()) is not None:
            result_ways.show_group_results(self, group.name)

    async def do_compare_groups(self) -> None:
        """Compare the two groups that are picked, or the selected one with another."""
        await result_ways.compare_groups(self, [group.name for group in self.meant()])

    async def do_kill(self) -> None:
        """Kill the selected group, or those that are picked."""
        if picked := self.picked():
            await acting_many.kill_groups(self, picked)
        elif (group := self.selected()) is not None:
            await acting.kill_group(self, group)

    async def do_delete(self) -> None:
        """Delete the selected group, or those that are picked."""
        if items := self.meant():
            await acting_many.delete(self, items)

    async def do_extend(self) -> None:
        """Raise the selected group's cap, or those of the picked ones."""
        if picked := self.picked():
            await acting_many.extend_groups(self, picked)
        elif (group := self.selected()) is not None:
            await acting.extend_group(self, group)

    async def do_extend_waiting(self) -> None:
        """Give every run of the selected group that waits at its own cap a higher one."""
        if (group := self.selected()) is not None:
            try:
                runs = (await self.services.backend.snapshot(runs_of=group.name)).runs
            except NodusError as error:
                self.notice(f"! The runs of {group.name} cannot be read: {error.detail}", Tone.BAD)
            else:
                await acting_many.extend_waiting(self, group, run_columns.waiting_at_own_caps(runs))

    async def do_retry(self) -> None:
        """Run the unscored cases of the selected group again, or of the picked ones."""
        if picked := self.picked():
            await acting_many.retry_groups(self, picked)
        elif (group := self.selected()) is not None:
            await acting.retry_group(self, group)

    async def do_resume(self) -> None:
        """Let the selected group go on."""
        if (group := self.selected()) is not None:
            await acting.resume_group(self, group)
