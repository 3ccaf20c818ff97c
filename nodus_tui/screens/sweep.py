"""One sweep: its cells and its money as bars, and the cells as a grid of two axes or as a table; two of them can be compared."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.screens import sweep_acting
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.result_ways import show_group_results, show_job_results
from nodus_tui.screens.services import Services
from nodus_tui.screens.sweep_comparison import compare_cells
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.sweep_cells import CellNow, cell_facts, why_text
from nodus_tui.view_state.sweeps import forecast_line, resting, seconds_left, sweep_facts, sweep_status, sweep_why
from nodus_tui.view_state.words import GROUP_SIGNS
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.cell_grid import CellGrid
from nodus_tui.widgets.key_bar import NOTHING_SPECIAL, Offer
from nodus_tui.widgets.span_block import SpanBlock

PAUSE_SECONDS = 2.0
"""Between two questions for the cells, however often they change."""
_WHY_LINES = 2


class SweepScreen(TableScreen[CellNow]):
    """One sweep and its cells."""

    VIEW: ClassVar[View] = View.SWEEP
    ITEM: ClassVar[str] = "cell"
    DETAIL_LINES: ClassVar[int] = 5
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.SWEEP)]
    DEFAULT_CSS = """
    SweepScreen #head { padding: 0 1; margin: 0 0 1 0; }
    SweepScreen.-short #head, SweepScreen.-short #detail { margin: 0; }
    SweepScreen #grid { display: none; }
    SweepScreen.-grid #grid { display: block; }
    SweepScreen.-grid #rows { display: none; }
    """

    def __init__(self, services: Services, name: str) -> None:
        self.state = services.feed.sweep_state(name)
        super().__init__(services, self.state)
        self._problem = ""
        self._reading = False

    def above(self) -> ComposeResult:
        """The sweep's figures, and the grid."""
        yield SpanBlock(widget_id="head")
        yield CellGrid(self.state, self.services.now(), widget_id="grid")

    def on_mount(self) -> None:
        """Ask for the cells."""
        self._read()

    def on_unmount(self) -> None:
        """Nobody looks at the cells any more."""
        self.services.feed.close_sweep(self.state.name)

    def reread(self) -> None:
        """Ask for the cells anew."""
        self.state.stale = True

    # Reading

    def _read(self) -> None:
        if not self._reading:
            self._reading = True
            self.run_worker(self._ask(), exit_on_error=True)

    async def _ask(self) -> None:
        self.state.ask()
        try:
            results = await self.services.backend.sweep_results(self.state.name)
        except NodusError as error:
            self._problem = error.detail
        else:
            self._problem = ""
            first = not self.state.loaded
            self.state.load(results)
            if first:
                self._take_cells()
        self.show()
        await asyncio.sleep(PAUSE_SECONDS)
        self._reading = False
        self.show()

    def _take_cells(self) -> None:
        self.table.take(self.state.rows)
        self.set_class(self.state.grid is not None, "-grid")
        self.focus_home()

    # What is shown

    @property
    def grid(self) -> CellGrid:
        """The cells across two axes."""
        return self.part("grid", CellGrid)

    @property
    def as_grid(self) -> bool:
        """Whether the grid is shown, and not the table."""
        return self.has_class("-grid")

    def focus_home(self) -> None:
        """Keys go to the cells."""
        (self.grid if self.as_grid else self.table).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("sweeps", self.state.name)

    def headline(self) -> Line:
        """The phase, and the forecast."""
        sweep = self.state.sweep
        if sweep is None:
            return ()
        left = seconds_left(sweep, self.services.now(), self.state.begun())
        return joined((forecast_line(left), GROUP_SIGNS[sweep_status(sweep).phase].spans()))

    def status_parts(self) -> tuple[Line, ...]:
        """Which cells are marked, where the cursor is, and who does the work."""
        marked = self.state.marked
        words = {0: "", 1: "1 cell marked", 2: f"2 cells marked, {self.key('compare')} compares them"}[len(marked)]
        cell = self.current()
        place = line(muted(f"cell {cell.place + 1} of {self.state.rows.total}")) if cell is not None and self.as_grid else ()
        problem = line(Span(f"! {self._problem}", Tone.WARN)) if self._problem and self.as_grid else ()
        return (
            problem,
            line(Span(words, Tone.KEY)),
            *((place,) if self.as_grid else super().status_parts()),
            line(muted(self.services.whose_work())),
        )

    def problem(self) -> str:
        """Why the cells cannot be read."""
        return self.unread("The sweep", self._problem, "opening the sweep again")

    def nothing(self) -> tuple[Line, ...]:
        """A sweep has cells from the beginning on."""
        return (line("This sweep has no cells."),)

    def show_state(self) -> None:
        """The sweep's figures, the cells, the selected one in words."""
        if self.state.stale:
            self._read()
        now = self.services.now()
        self.part("head", SpanBlock).show(self._head)
        self.grid.show(now)
        super().show_state()

    def _head(self, width: int) -> Sequence[Line]:
        sweep = self.state.sweep
        if sweep is None:
            gone = self.services.feed.sweeps.loaded
            return (line(f"There is no sweep {self.state.name} any more. ", *self.hint("back", " goes back.")),) if gone else ()
        return _one_line_each(sweep_facts(sweep, self.services.now(), width, self.key_offered), len(sweep_why(sweep)), width)

    def current(self) -> CellNow | None:
        """The cell that keys mean."""
        if self.as_grid:
            return self.state.rows.find(self.grid.cursor_key) if self.grid.cursor_key is not None else None
        return self.table.cursor_item

    def subject(self) -> object:
        """The same: cells are not picked."""
        return self.current()

    def selected(self) -> CellNow | None:
        """The same; where there is none, that is told."""
        cell = self.current()
        if cell is None:
            self.notice("No cell is selected.", Tone.WARN)
        return cell

    def show_detail(self) -> None:
        """The selected cell in words; an empty line keeps its place."""
        cell, now = self.current(), self.services.now()

        def build(width: int) -> tuple[Line, ...]:
            if cell is None:
                return ((),)
            return _one_line_each(cell_facts(cell, self.state.pool_of(cell.name), now), bool(why_text(cell.cell)), width)

        self.part("detail", SpanBlock).show(build)

    def on_cell_grid_cursor_moved(self) -> None:
        """Another cell is selected."""
        self.show()

    def on_cell_grid_opened(self) -> None:
        """A click on the selected cell."""
        self.do_open()

    def offer(self) -> Offer:
        """Resume and pause where they do something; compare as soon as a cell is marked."""
        offer = offer_of(self.state.sweep)
        now = {"compare"} if self.state.marked else set()
        useless = {"compare": not self.state.marked, "layout": self.state.grid is None, "filter": self.as_grid}
        without = offer.without | {action for action, holds in useless.items() if holds}
        return Offer(now=offer.now | now, without=without, words={"layout": "table" if self.as_grid else "grid"})

    # Actions

    def do_open(self) -> None:
        """The cell's group or job."""
        if (item := self.current()) is None:
            return
        if not item.cell.launched:
            self.notice(f"{item.name} was not launched yet: {item.cell.message or 'it waits for its turn'}.", Tone.WARN)
        elif item.cell.kind == "AgentGroup":
            self.app.push_screen(GroupScreen(self.services, item.name))
        else:
            self.app.push_screen(JobScreen(self.services, item.name))

    def do_results(self) -> None:
        """The results of the selected cell's group or job."""
        cell = self.selected()
        if cell is None:
            return
        if not cell.cell.launched:
            self.notice(f"{cell.name} was not launched yet: {cell.cell.message or 'it waits for its turn'}.", Tone.WARN)
        elif cell.cell.kind == "AgentGroup":
            show_group_results(self, cell.name)
        else:
            show_job_results(self, cell.job)

    def do_layout(self) -> None:
        """The grid or the table, on the same cell."""
        if self.state.grid is None:
            self.notice("A grid takes two axes with more than one value each: this is the table of the cells.", Tone.WARN)
            return
        cell = self.current()
        self.toggle_class("-grid")
        if cell is not None and self.as_grid:
            self.grid.select(cell.name)
        elif cell is not None:
            self.table.select(cell.name)
        self.focus_home()
        self.show()

    def _as_table(self) -> None:
        if self.as_grid:
            self.do_layout()

    def do_sort(self) -> None:
        """Sort by the next column; the grid stands as the spec says, so this shows the table."""
        self._as_table()
        super().do_sort()

    def do_reverse(self) -> None:
        """Turn the order of the table round."""
        self._as_table()
        super().do_reverse()

    def do_sort_further(self) -> None:
        """Sort the table also by another column."""
        self._as_table()
        super().do_sort_further()

    async def do_columns(self) -> None:
        """Choose the columns of the table."""
        self._as_table()
        await super().do_columns()

    def do_filter(self) -> None:
        """Type a filter, of the table's rows."""
        self._as_table()
        super().do_filter()

    def do_copy(self) -> None:
        """Copy the selected cell as the table has it."""
        if self.as_grid and self.grid.cursor_key is not None:
            self.table.select(self.grid.cursor_key)
        super().do_copy()

    def _sweep(self) -> Sweep | None:
        if self.state.sweep is None:
            self.notice(f"The sweep {self.state.name} is not there.", Tone.WARN)
        return self.state.sweep

    async def do_kill(self) -> None:
        """Kill the selected cell."""
        if (cell := self.selected()) is not None:
            await sweep_acting.kill_cell(self, cell)

    async def do_extend(self) -> None:
        """Give the selected cell a higher cap."""
        if (cell := self.selected()) is not None and (sweep := self._sweep()) is not None:
            await sweep_acting.extend_cell(self, cell, sweep)

    async def do_retry(self) -> None:
        """Run the selected cell again."""
        if (cell := self.selected()) is not None and (sweep := self._sweep()) is not None:
            await sweep_acting.retry_cell(self, cell, sweep)

    async def do_kill_sweep(self) -> None:
        """Kill the sweep."""
        if (sweep := self._sweep()) is not None:
            await sweep_acting.kill_sweep(self, sweep)

    async def do_extend_sweep(self) -> None:
        """Raise the sweep's cap."""
        if (sweep := self._sweep()) is not None:
            await sweep_acting.extend_sweep(self, sweep)

    async def do_retry_sweep(self) -> None:
        """Run all broken cells again."""
        if (sweep := self._sweep()) is not None:
            await sweep_acting.retry_sweep(self, sweep)

    async def do_pause_sweep(self) -> None:
        """Let no further cell start."""
        if (sweep := self._sweep()) is not None:
            await sweep_acting.pause_sweep(self, sweep)

    async def do_resume(self) -> None:
        """Let the sweep go on."""
        if (sweep := self._sweep()) is not None:
            await sweep_acting.resume_sweep(self, sweep)

    def do_mark(self) -> None:
        """Mark the selected cell to be compared, or take its mark away."""
        if (cell := self.selected()) is not None:
            self.state.mark(cell.name)
            self.show()

    async def do_compare(self) -> None:
        """Compare the two marked cells, or the marked one with the selected one."""
        cell = self.current()
        names = [*self.state.marked, *([cell.name] if cell is not None and cell.name not in self.state.marked else [])][:2]
        items = [item for name in names if (item := self.state.rows.find(name)) is not None]
        if len(items) < 2:
            self.notice(f"Mark a cell with {self.key('mark')}, then select another: {self.key('compare')} compares the two.", Tone.WARN)
            return
        await compare_cells(self, items[0], items[1], self.state.pool_of(items[0].name), self.state.pool_of(items[1].name))


def _one_line_each(lines: Sequence[Line], whys: int, width: int) -> tuple[Line, ...]:
    """Each in one line of the screen; the last, where it says why something is as it is, in two."""
    facts, why = lines[: len(lines) - whys], lines[len(lines) - whys :]
    return (*(shown for each in facts for shown in clipped((each,), width, 1)), *clipped(why, width, _WHY_LINES))


def offer_of(sweep: Sweep | None) -> Offer:
    """Resume where it does something, pause where that does."""
    if sweep is None:
        return NOTHING_SPECIAL
    rests, ended = resting(sweep), sweep_status(sweep).phase.ended
    without = {"pause_sweep": rests or ended, "extend_sweep": ended}
    return Offer(
        now=frozenset({"resume"}) if rests else frozenset(),
        without=frozenset(action for action, holds in without.items() if holds),
    )
