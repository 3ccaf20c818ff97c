"""The results of one group: its pass rate with its error and coverage, what it cost, and the verdicts by task and repetition."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.comparison import compare_with_another
from nodus_tui.screens.exporting import export_group
from nodus_tui.screens.room import LOW_HEIGHT, ROOMY_HEIGHT
from nodus_tui.screens.run import RunScreen
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Tone, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.key_moves import move_keys
from nodus_tui.view_state.result_cases import TaskCases, case_lines
from nodus_tui.view_state.words import GROUP_SIGNS
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.span_block import SpanBlock

_HEAD_LINES = 9
_LOW_HEAD_LINES = 3


class ResultsScreen(TableScreen[TaskCases]):
    """The results of one group."""

    VIEW: ClassVar[View] = View.RESULTS
    ITEM: ClassVar[str] = "task"
    DETAIL_LINES: ClassVar[int] = 3
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_of(View.RESULTS),
        Binding(move_keys("left"), "answer(-1)", show=False, id="keys.left"),
        Binding(move_keys("right"), "answer(1)", show=False, id="keys.right"),
    ]
    DEFAULT_CSS = """
    ResultsScreen #head { padding: 0 1; margin: 0 0 1 0; }
    ResultsScreen.-short #head, ResultsScreen.-short #detail { margin: 0; }
    """

    def __init__(self, services: Services, name: str) -> None:
        self.state = services.feed.open_results(name)
        super().__init__(services, self.state)
        self.group_name = name
        self._problem = ""

    def above(self) -> ComposeResult:
        """The figures."""
        yield SpanBlock(widget_id="head")

    def on_mount(self) -> None:
        """Ask for the runs, where no view has them yet."""
        if not self.state.loaded:
            self.run_worker(self._load(), exit_on_error=True)

    def on_unmount(self) -> None:
        """Nobody looks at the results any more."""
        self.services.feed.close_results(self.group_name)

    async def _load(self) -> None:
        try:
            await self.services.feed.reload_group(self.group_name)
        except NodusError as error:
            self._problem = error.detail
        self.show()

    # What is shown

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("campaigns", self.group_name, "results")

    def headline(self) -> Line:
        """The phase."""
        group = self.state.group
        return GROUP_SIGNS[status_of(group).phase].spans() if group is not None else ()

    def problem(self) -> str:
        """Why the runs cannot be read."""
        return self.unread("The results", self._problem, "opening the results again")

    def empty_lines(self) -> tuple[Line, ...]:
        """A group may be gone, or have no runs yet."""
        if not self._problem and self.state.loaded and self.state.group is None:
            return (line(f"There is no group {self.group_name} any more. "), self.hint("back", " goes back."))
        return super().empty_lines()

    def nothing(self) -> tuple[Line, ...]:
        """Cases come with their tasks."""
        return (line("Nothing is asked yet: the tasks are being made."),)

    def show_state(self) -> None:
        """The figures, the tasks, and the answer that keys mean."""
        if self.table.rows is not self.state.rows:
            self.table.take(self.state.rows)
        now, low = self.services.now(), self.size.height < LOW_HEIGHT
        self.part("head", SpanBlock).show(
            lambda width: clipped(self._head(now, width, low=low), width, _LOW_HEAD_LINES if low else _HEAD_LINES)
        )
        self._mark()
        super().show_state()

    def _head(self, now: datetime, width: int, *, low: bool) -> Iterator[Line]:
        """The figures whole, in two lines where need be; what it was run with gives way where the height is short."""
        for place, each in enumerate(self.state.head(now, low=low, key=self.key)):
            gives_way = low or (place == 0 and self.size.height < ROOMY_HEIGHT)
            yield from clipped((each,), width, 1 if gives_way else 2)

    def _mark(self) -> None:
        key = self.table.cursor_key
        if key != self.state.selected:
            self.state.select(key, self.state.chosen)

    def detail(self, item: TaskCases, width: int) -> Sequence[Line]:
        """The answer that keys mean, in words."""
        choose = line(muted(f"({self.key('left')} {self.key('right')})"))
        facts, why = case_lines(item, self.services.now(), choose)
        return (*clipped((facts,), width, 2), *clipped((why,), width, self.DETAIL_LINES - 1))

    # Actions

    def action_answer(self, by: int) -> None:
        """Choose another answer to the selected task."""
        item = self.table.cursor_item
        if item is not None and len(item.runs) > 1:
            self.state.select(item.task_id, max(0, min(len(item.runs) - 1, (item.chosen or 0) + by)))
            self.show()

    def open_item(self, item: TaskCases) -> None:
        """The run of the answer that keys mean."""
        run = item.runs[min(item.chosen or 0, len(item.runs) - 1)]
        self.app.push_screen(RunScreen(self.services, self.state.group_state, run.name))

    async def do_compare_groups(self) -> None:
        """Compare this group with another one."""
        await compare_with_another(self, self.group_name)

    async def do_export(self) -> None:
        """Write the results to a file."""
        if self.state.group is None:
            self.notice(f"The group {self.group_name} is not there.", Tone.WARN)
            return
        await export_group(self, self.group_name)
