"""Two groups compared: how they differ with its error, and the tasks that came out differently, from which either run is opened."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.screens.base import ViewScreen, bindings_of
from nodus_tui.screens.filter_bar import FilterBar
from nodus_tui.screens.going import go_to_run
from nodus_tui.screens.group_choice import GroupChoice
from nodus_tui.screens.room import LOW_HEIGHT
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.cells import Line, Tone, line, muted
from nodus_tui.view_state.comparison import ComparedTask, ComparisonState, comparable_groups, compared_lines
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.key_moves import move_keys
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.span_block import SpanBlock

PAUSE_SECONDS = 2.0
"""Between two questions for the results, at least."""
_PATIENCE = 10
"""Of the time that goes by, at most one part in so many is spent with asking: large groups are asked less often."""
_HEAD_LINES = 10


async def compare_with_another(screen: ViewScreen, name: str) -> None:
    """Ask for a second group, and compare the two."""
    groups = screen.services.feed.campaigns.rows
    about = "Those that were asked the same tasks come first."
    choice = GroupChoice(f"Compare {name} with…", about, lambda typed: comparable_groups(groups.items(), name, typed), screen.services.now)
    second = await screen.app.push_screen_wait(choice)
    if second is None:
        return
    if isinstance(screen, ComparisonScreen):
        screen.app.pop_screen()
    screen.app.push_screen(ComparisonScreen(screen.services, name, second))


class ComparisonScreen(TableScreen[ComparedTask]):
    """Two groups compared."""

    VIEW: ClassVar[View] = View.COMPARISON
    ITEM: ClassVar[str] = "task"
    DETAIL_LINES: ClassVar[int] = 4
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_of(View.COMPARISON),
        Binding(move_keys("left"), "side(0)", show=False, id="keys.left"),
        Binding(move_keys("right"), "side(1)", show=False, id="keys.right"),
    ]
    DEFAULT_CSS = """
    ComparisonScreen #head { padding: 0 1; margin: 0 0 1 0; }
    ComparisonScreen.-short #head, ComparisonScreen.-short #detail { margin: 0; }
    """

    def __init__(self, services: Services, first: str, second: str) -> None:
        self.state = ComparisonState(first, second)
        super().__init__(services, self.state)
        self._problem = ""
        self._reading = False
        self._told_of: tuple[AgentGroup | None, ...] | None = None
        """Both groups as they stood when their results were asked for."""

    def above(self) -> ComposeResult:
        """The figures."""
        yield SpanBlock(widget_id="head")

    def on_mount(self) -> None:
        """Ask for the results."""
        self._read()

    def reread(self) -> None:
        """Ask for the results anew."""
        self._told_of = None

    # Reading

    def _groups(self) -> tuple[AgentGroup | None, ...]:
        return tuple(self.services.feed.campaigns.rows.find(name) for name in self.state.names)

    def _read(self) -> None:
        if not self._reading:
            self._reading = True
            self.run_worker(self._ask(), exit_on_error=True)

    async def _ask(self) -> None:
        self._told_of = self._groups()
        loop, backend = asyncio.get_running_loop(), self.services.backend
        began = loop.time()
        try:
            first, second = await asyncio.gather(*(backend.results(name) for name in self.state.names))
        except NodusError as error:
            self._problem = error.detail
        else:
            self._problem = ""
            self.state.load(first, second)
        self.show()
        await asyncio.sleep(max(PAUSE_SECONDS, _PATIENCE * (loop.time() - began)))
        self._reading = False
        self.show()

    # What is shown

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("campaigns", self.state.names[0], f"compared with {self.state.names[1]}")

    def names(self) -> tuple[str, ...]:
        """Both groups'."""
        return self.state.names

    def headline(self) -> Line:
        """Which tasks are shown."""
        return line(muted("all tasks" if self.state.all_tasks else "tasks that came out differently"))

    def problem(self) -> str:
        """Why the results cannot be read."""
        return self.unread("The comparison", self._problem, "comparing again")

    def empty_lines(self) -> tuple[Line, ...]:
        """No differences are no filter's doing."""
        difference = self.state.difference
        if difference is not None and not self.state.all_tasks and self.part("filter", FilterBar).active is None:
            words = "No task came out differently. " if difference.tasks else "No task was answered by both. "
            return (line(words, *self.hint("all_tasks", " shows all tasks.")),)
        return super().empty_lines()

    def nothing(self) -> tuple[Line, ...]:
        """Groups without cases."""
        return (line("Nothing is asked yet in either group."),)

    def show_state(self) -> None:
        """The figures, the tasks, the selected one in words; both are asked again when one has changed."""
        if self._told_of is None or any(known is not now for known, now in zip(self._told_of, self._groups(), strict=True)):
            self._read()
        low = self.size.height < LOW_HEIGHT
        self.part("head", SpanBlock).show(
            lambda width: clipped(self.state.head(low=low), width, self.size.height // 3 if low else _HEAD_LINES)
        )
        if self.table.cursor_key != self.state.selected:
            self.state.select(self.table.cursor_key, self.state.chosen)
        super().show_state()

    def detail(self, item: ComparedTask, width: int) -> Sequence[Line]:
        """What each of the two answered."""
        choose = line(muted(f"  ({self.key('left')} {self.key('right')})"))
        lines = compared_lines(item, self.state.names, choose)
        return tuple(shown for each in lines for shown in clipped((each,), width, self.DETAIL_LINES // 2))

    def offer(self) -> Offer:
        """What the key that changes the rows does now."""
        return Offer(words={"all_tasks": "differing" if self.state.all_tasks else "all tasks"})

    # Actions

    def action_side(self, which: int) -> None:
        """Choose the first or the second group's answer."""
        self.state.select(self.table.cursor_key, which)
        self.show()

    def open_item(self, item: ComparedTask) -> None:
        """The run of the answer that keys mean."""
        case = item.sides[item.chosen or 0].telling
        if case is None:
            self.notice(f"{self.state.names[item.chosen or 0]} was not asked {item.task_id}.", Tone.WARN)
        else:
            self.run_worker(go_to_run(self, case.run), exit_on_error=True)

    def do_all_tasks(self) -> None:
        """Show all tasks, or only those that came out differently."""
        self.state.show_all(wanted=not self.state.all_tasks)
        self.show()

    async def do_compare_groups(self) -> None:
        """Compare the first group with another one."""
        await compare_with_another(self, self.state.names[0])
