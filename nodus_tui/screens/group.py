"""One group: progress by verdict, money, pass rate with coverage, and its runs."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.screens import acting, acting_many
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.result_ways import show_group_results
from nodus_tui.screens.room import LOW_HEIGHT
from nodus_tui.screens.run import RunScreen
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.run_columns import run_status, why_line
from nodus_tui.view_state.words import GROUP_SIGNS, sandboxes_words
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.span_block import SpanBlock

_HEAD_LINES = 9
_LOW_HEAD_LINES = 5
_WHY_LINES = 2
_TALL = 36
"""From this height on there is room for a reason of four lines, and for what the group is in two."""


class GroupScreen(TableScreen[AgentRun]):
    """One group and its runs."""

    VIEW: ClassVar[View] = View.GROUP
    ITEM: ClassVar[str] = "run"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.GROUP)]
    DEFAULT_CSS = """
    GroupScreen #head { padding: 0 1; margin: 0 0 1 0; }
    GroupScreen.-short #head { margin: 0; }
    GroupScreen #detail { margin: 0; }
    """

    def __init__(self, services: Services, name: str) -> None:
        self.state = services.feed.groups.get(name) or GroupState(name)
        services.feed.groups[name] = self.state
        super().__init__(services, self.state)
        self.group_name = name
        self._problem = ""
        self.following = False
        """Whether the cursor goes along with what changed last."""
        self._followed: str | None = None

    def above(self) -> ComposeResult:
        """The figures."""
        yield SpanBlock(widget_id="head")

    def on_mount(self) -> None:
        """Ask for the runs."""
        self.run_worker(self._load(), exit_on_error=True)

    def on_unmount(self) -> None:
        """Nobody looks at the runs any more."""
        self.state.show_past(shown=False)
        self.services.feed.close_group(self.group_name)

    async def _load(self) -> None:
        try:
            await self.services.feed.open_group(self.group_name)
        except NodusError as error:
            self._problem = error.detail
            again = f"{self.key('back')} goes back; opening it again tries again."
            self.notice(f"! The runs of {self.group_name} cannot be read: {error.detail}. {again}", Tone.BAD)
        self.show()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("campaigns", self.group_name)

    def headline(self) -> Line:
        """The phase, and the forecast."""
        group = self.state.group
        if group is None:
            return ()
        return joined((self.state.left_words(self.services.now()), GROUP_SIGNS[status_of(group).phase].spans()))

    def status_parts(self) -> tuple[Line, ...]:
        """Where the cursor is, and how many runs of former attempts there are beside or among the rows."""
        return (
            line(Span("following", Tone.KEY)) if self.following else (),
            *super().status_parts(),
            self._past_words(),
            sandboxes_words(self.services.sandboxes(), self.key("sandboxes")),
        )

    def _past_words(self) -> Line:
        past = len(self.state.past)
        word = "earlier attempt" if past == 1 else "earlier attempts"
        return self.hint("attempts", f" {'hides' if self.state.with_past else 'shows'} {past} {word}") if past else ()

    def show_state(self) -> None:
        """Figures, runs, and the selected run's reason."""
        now, tall = self.services.now(), self._tall()
        low = self.size.height < LOW_HEIGHT
        most = _LOW_HEAD_LINES if low else _HEAD_LINES + 2 * tall
        self.part("head", SpanBlock).show(
            lambda width: clipped(self.state.head(width, now, roomy=tall, low=low, key=self.key_offered), width, most)
        )
        super().show_state()
        self._follow()

    def _follow(self) -> None:
        self._stay_where_moved()
        newest = self.state.newest
        if self.following and newest is not None and newest != self.table.cursor_key and self.state.rows.shows(newest):
            self.table.select(newest)
        if self.following:
            self._followed = self.table.cursor_key

    def on_line_table_cursor_moved(self) -> None:
        """Whoever moves the cursor wants it there. What is shown then is shown by the class above, whose handler is called as well."""
        self._stay_where_moved()

    def _stay_where_moved(self) -> None:
        """A row that is gone, or that the filter hides, moved the cursor by itself."""
        moved = self.table.cursor_key != self._followed and (self._followed is None or self.state.rows.shows(self._followed))
        self.following = self.following and not moved

    def do_attempts(self) -> None:
        """Show the earlier attempts too, or the ones that count alone."""
        if not self.state.past:
            self.notice("No case has an earlier attempt.", Tone.MUTED)
        self.state.show_past(shown=not self.state.with_past and bool(self.state.past))
        self.show()

    def do_follow_runs(self) -> None:
        """Let the cursor go along with what changed last, or stay."""
        self.following = not self.following
        self._followed = self.table.cursor_key
        self.show()

    def _tall(self) -> bool:
        return self.size.height >= _TALL

    def show_detail(self) -> None:
        """The selected run's reason in full."""
        run = self.table.cursor_item
        why = why_line(run, self.services.now()) if run is not None else ()
        most = _WHY_LINES * (1 + self._tall())
        self.part("detail", SpanBlock).show(lambda width: clipped((why,), width, most) if why else ((),))

    def offer(self) -> Offer:
        """What is interrupted goes on with a key; so do runs that wait at their own caps."""
        group, run = self.state.group, self.table.cursor_item
        interrupted = run is not None and run_status(run).phase is RunPhase.INTERRUPTED
        interrupted = interrupted or (group is not None and status_of(group).phase is GroupPhase.INTERRUPTED)
        now = {"resume": interrupted, "extend_waiting": not interrupted and self.state.phases[RunPhase.WAITING] > 1}
        now["extend_group"] = group is not None and status_of(group).needed_cap_usd is not None
        ended = group is None or status_of(group).phase.ended
        without = {"extend_waiting": not self.state.phases[RunPhase.WAITING], "extend_group": ended}
        return Offer(
            now=frozenset(action for action, holds in now.items() if holds),
            without=frozenset(action for action, holds in without.items() if holds),
        )

    def problem(self) -> str:
        """Why the runs cannot be read."""
        return self.unread("The group", self._problem, "opening the group again")

    def empty_lines(self) -> tuple[Line, ...]:
        """A group may be gone, or have no runs yet."""
        if not self._problem and not self.state.loaded:
            return (line(muted("Reading the runs…")),)
        if not self._problem and self.state.gone:
            return (line(f"There is no group {self.group_name} any more. "), self.hint("back", " goes back."))
        return super().empty_lines()

    def nothing(self) -> tuple[Line, ...]:
        """Runs come with their tasks."""
        return (line("No runs yet: the tasks are being made."),)

    # Actions

    def open_item(self, item: AgentRun) -> None:
        """The run, its conversation and its calls."""
        self.app.push_screen(RunScreen(self.services, self.state, item.name))

    def _group(self) -> AgentGroup | None:
        if self.state.group is None:
            self.notice(f"The group {self.group_name} is not there.", Tone.WARN)
        return self.state.group

    def do_results(self) -> None:
        """The results of the group."""
        show_group_results(self, self.group_name)

    def do_timeline(self) -> None:
        """When each run did what."""
        # Imported here: its way back to a run is this view's.
        from nodus_tui.screens.timeline import TimelineScreen  # noqa: PLC0415

        self.app.push_screen(TimelineScreen(self.services, self.group_name))

    def do_what_if(self) -> None:
        """Another maxActive."""
        from nodus_tui.screens.what_if import WhatIfScreen  # noqa: PLC0415 - it is needed by those who ask

        self.app.push_screen(WhatIfScreen(self.services, self.group_name))

    async def do_kill(self) -> None:
        """Kill the selected run, or those that are picked."""
        if picked := self.picked():
            await acting_many.kill_runs(self, picked)
        elif (run := self.selected()) is not None:
            await acting.kill_run(self, run)

    async def do_extend(self) -> None:
        """Give the selected run a higher cap, or those that are picked."""
        if picked := self.picked():
            await acting_many.extend_runs(self, picked, self.state.group)
        elif (run := self.selected()) is not None:
            await acting.extend_run(self, run, self.state.group)

    async def do_retry(self) -> None:
        """Run the selected unscored case again, or those that are picked."""
        if picked := self.picked():
            await acting_many.retry_runs(self, picked, self.state.group)
        elif (run := self.selected()) is not None:
            await acting.retry_run(self, run)

    async def do_kill_group(self) -> None:
        """Kill the group."""
        if (group := self._group()) is not None:
            await acting.kill_group(self, group)

    async def do_extend_group(self) -> None:
        """Raise the group's cap."""
        if (group := self._group()) is not None:
            await acting.extend_group(self, group)

    async def do_extend_waiting(self) -> None:
        """Give every run that waits at its own cap a higher one."""
        if (group := self._group()) is not None:
            await acting_many.extend_waiting(self, group, self.state.waiting_at_own_caps())

    async def do_retry_group(self) -> None:
        """Run all unscored cases again."""
        if (group := self._group()) is not None:
            await acting.retry_group(self, group)

    async def do_resume(self) -> None:
        """Let the group go on."""
        if (group := self._group()) is not None:
            await acting.resume_group(self, group)
