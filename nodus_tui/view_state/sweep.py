"""One sweep: its cells by name, kept true by the events of the sweep and of its groups and jobs, and the grid that two axes make."""

from collections.abc import Iterable

from msgspec import Struct

from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.sweep_results import PooledCells, SweepAxis, SweepCell, SweepResults
from nodus_tui.view_state.any_job import AnyJob
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.sweep_cells import CellNow, cell_columns, searchable_cell

COMPARED = 2
"""Cells that are compared, so that as many can be marked."""


class Grid(Struct, frozen=True):
    """Two axes across each other. A place is (row, column), from 0."""

    rows: SweepAxis
    columns: SweepAxis
    cells: dict[tuple[int, int], str]
    """The name of the cell at each place."""

    def place_of(self, name: str) -> tuple[int, int] | None:
        """Where a cell stands."""
        return next((place for place, each in self.cells.items() if each == name), None)


def grid_of(results: SweepResults) -> Grid | None:
    """The grid of a sweep in which exactly two axes vary; the shorter one lies across, for cells are wide. None for any other."""
    varied = [axis for axis in results.axes if len(axis.values) > 1]
    if len(varied) != COMPARED:
        return None
    rows, columns = varied if len(varied[1].values) <= len(varied[0].values) else reversed(varied)
    row_places = {value: place for place, value in enumerate(rows.values)}
    column_places = {value: place for place, value in enumerate(columns.values)}
    places = {(row_places[cell.axes[rows.name]], column_places[cell.axes[columns.name]]): cell.name for cell in results.cells}
    return Grid(rows, columns, places)


class SweepState:
    """A sweep with its cells. The backend tells of the cells when it is asked, so it is asked again when one has changed its phase."""

    def __init__(self, name: str, sweeps: Rows[Sweep], groups: Rows[AgentGroup], jobs: Rows[AnyJob]) -> None:
        self.name = name
        self._sweeps = sweeps
        self._groups = groups
        self._jobs = jobs
        self.rows: Rows[CellNow] = Rows(cell_columns((), ""), searchable=searchable_cell, asks=("state", "cost"))
        self.grid: Grid | None = None
        self.marked: tuple[str, ...] = ()
        self.stale = True
        """Whether the backend has more to tell than is known here."""
        self._cells: dict[str, SweepCell] = {}
        self._places: dict[str, int] = {}
        self._pools: dict[str, PooledCells] = {}
        self._axes: tuple[SweepAxis, ...] | None = None
        self._early: list[Event] | None = None
        """What came while the backend was asked; None while it is not."""

    @property
    def sweep(self) -> Sweep | None:
        """The sweep as it stands; None where there is none of that name (any more)."""
        return self._sweeps.find(self.name)

    @property
    def loaded(self) -> bool:
        """Whether its cells are known."""
        return self._axes is not None

    def ask(self) -> None:
        """The backend is asked for the cells: keep what comes meanwhile."""
        self._early, self.stale = [], False

    def load(self, results: SweepResults) -> None:
        """Take the cells instead of what was known, then the events that overtook them."""
        if self._axes != results.axes:
            self._axes = results.axes
            columns = cell_columns(results.axes, results.cells[0].kind if results.cells else "")
            self.rows = Rows(columns, sort="cell", searchable=searchable_cell, asks=("state", "cost"))
            self.grid = grid_of(results)
        self._cells = {cell.name: cell for cell in results.cells}
        self._places = {name: place for place, name in enumerate(self._cells)}
        self._pools = {name: pool for pool in results.pooled if len(pool.cells) > 1 for name in pool.cells}
        early, self._early = self._early or [], None
        for event in early:
            self._merge(event)
        self.look()

    def look(self) -> None:
        """Take what is known of all groups and jobs now."""
        for name in self._cells:
            self._put(name)

    def fold(self, event: Event) -> bool:
        """Take one event, which all groups, jobs and sweeps have been told before; says whether anything here changed."""
        if event.kind == "SweepCell" and event.group == self.name:
            if self._early is not None:
                self._early.append(event)
            # What only the backend adds up, such as scores and pooled rates, is another now.
            self.stale = self.stale or not {"phase", "launched", "endedAt"}.isdisjoint(event.status)
            return self._merge(event)
        if event.kind in {"AgentGroup", "Job", "TrainingJob"} and event.name in self._cells:
            self._put(event.name)
            return True
        return event.kind == "Sweep" and event.name == self.name

    def _merge(self, event: Event) -> bool:
        known = self._cells.get(event.name)
        if known is None:
            return False
        self._cells[event.name] = SweepCell.model_validate({**known.to_document(), **event.status})
        self._put(event.name)
        return True

    def _put(self, name: str) -> None:
        cell = self._cells[name]
        group = self._groups.find(name) if cell.kind == "AgentGroup" else None
        job = self._jobs.find(name) if cell.kind != "AgentGroup" else None
        self.rows.put(name, CellNow(cell, self._places[name], group, job, name in self.marked))

    def cells(self) -> Iterable[CellNow]:
        """All of them."""
        return self.rows.items()

    def pool_of(self, name: str) -> PooledCells | None:
        """What a cell comes to with those that differ by shard and repetition only; None where there are none."""
        return self._pools.get(name)

    def mark(self, name: str) -> None:
        """Mark a cell to be compared, or take its mark away; of more than two the first gives way."""
        marked = tuple(each for each in self.marked if each != name) if name in self.marked else (*self.marked, name)[-COMPARED:]
        changed = {*self.marked, *marked}
        self.marked = marked
        for each in changed:
            self._put(each)

    def filter(self, chosen: Filter | None) -> None:
        """Show the cells that a filter keeps, or all."""
        self.rows.filter(chosen)

    def moving(self) -> bool:
        """Whether figures of time and money here change by themselves."""
        return any(item.cell.phase is GroupPhase.RUNNING for item in self.cells())

    def begun(self) -> float | None:
        """How many cells those that are going amount to; None where they do not tell how far they are."""
        going = [item.begun for item in self.cells() if item.cell.phase is GroupPhase.RUNNING]
        told = [part for part in going if part is not None]
        return sum(told) if len(told) == len(going) else None
