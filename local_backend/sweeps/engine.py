"""All sweeps of a workspace that have not ended: which cells start, go on, or give their places back. Lives with the workspace's lock.

A cell is a group or a job that others work on: this follows it by its rows. Its cap is set aside before it is made, and it is marked as
launched in the transaction that makes it, so that a crash leaves it made once or not at all. Whatever would let a cell that holds no place
go on passes `actions`, which asks the sweep first.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from pydantic import TypeAdapter

from local_backend.scheduling.ledger import LedgerError
from local_backend.storage.store import Statement, Store
from local_backend.storage.sweep_records import CellRecord, SweepRecord
from local_backend.sweeps.book import CellState, reason_of
from local_backend.sweeps.standing import Standing, standings
from local_backend.sweeps.telling import OpenSweep, Wait, assess, cell_told, sweep_told
from nodus_tui.contract.actions import Action, Kill
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.registry import KINDS
from nodus_tui.contract.resources.sweep import SWEEP_LABEL

_log = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.2
"""Between two looks at least."""
_LOOK_SECONDS = 2.0
"""Between two looks at most, while a sweep goes on: the disk may have room again, a running job costs more."""
_FAULT_SECONDS = 5.0
_GRACE_SECONDS = 10.0
"""How long calls in flight may take to end when a sweep is killed."""

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)


class Surroundings(Struct, frozen=True):
    """What an engine has done by others."""

    launch: Callable[[Resource, Path | None, Mapping[str, int], Sequence[Statement]], Awaitable[None]]
    """Make a cell's group or job, with agents at these revisions, in one transaction with the statements. Raises NodusError."""
    perform: Callable[[Action], Awaitable[ActionOutcome]]
    """Act on a group, run or job, without asking its sweep."""
    unpaid: Callable[[Mapping[str, object]], str]
    """Why a budget pays for no new work with this metadata, as a sentence; empty where all do."""
    shortage: Callable[[], str]
    """Why the disk has no room for new work, as a sentence; empty when it has."""
    stop_groups: Callable[[tuple[str, ...], float], Awaitable[None]]
    """Let the calls in flight of groups end within so many seconds, and leave the groups interrupted."""


class SweepEngine:
    """One a workspace."""

    def __init__(self, store: Store, clock: Callable[[], datetime], surroundings: Surroundings, *, may_start: bool) -> None:
        self.store = store
        self.clock = clock
        self.around = surroundings
        self.lock = asyncio.Lock()
        """Held while a sweep's book is looked at and changed; never while a cell's group or job is waited for."""
        self.acting: Counter[str] = Counter()
        """Cells that are being launched or acted on, and by how many: their rows do not tell yet."""
        self._may_start = may_start
        """False where the lock was taken for one action only: then no cell is started."""
        self._sweeps: dict[str, OpenSweep] = {}
        self._wake = asyncio.Event()
        self._acted = asyncio.Event()
        self._work: asyncio.Task[None] | None = None
        self._enders: dict[str, asyncio.Task[None]] = {}
        """The ends of killed cells, by sweep."""
        self._closing = False

    async def open(self) -> None:
        """Find the sweeps that have not ended. Their work begins with `start`."""
        for row in await self.store.read("SELECT name FROM sweeps WHERE ended_at IS NULL ORDER BY seq"):
            await self.sweep(row["name"])

    def start(self) -> None:
        """Go on with them."""
        self._work = asyncio.create_task(self._run(), name="sweeps")

    def wake(self) -> None:
        """Something was committed."""
        self._wake.set()

    def hold(self) -> None:
        """Start nothing more here."""
        self._may_start = False

    async def aclose(self) -> None:
        """Let go: what is being launched is launched, and everything else is left to the next scheduler."""
        self._closing = True
        self._wake.set()
        if self._work is not None:
            await self._work
        enders = tuple(self._enders.values())
        for task in enders:
            task.cancel()
        await asyncio.gather(*enders, return_exceptions=True)

    async def sweep(self, name: str) -> OpenSweep:
        """A sweep, from the memory or the disk. Raises NodusError NotFound."""
        if name not in self._sweeps:
            sweeps, cells = await self.store.read_many(
                [
                    ("SELECT * FROM sweeps WHERE name = ?", (name,)),
                    ("SELECT * FROM sweep_cells WHERE sweep = ? ORDER BY place", (name,)),
                ]
            )
            if not sweeps:
                raise NodusError.not_found("Sweep", name)
            self._sweeps[name] = OpenSweep.of(SweepRecord.from_row(sweeps[0]), [CellRecord.from_row(row) for row in cells])
        return self._sweeps[name]

    async def take_in(self, name: str) -> None:
        """A sweep was made."""
        async with self.lock:
            await self.sweep(name)
        self.wake()

    def forget(self, name: str) -> None:
        """A sweep was deleted."""
        self._sweeps.pop(name, None)

    async def rest(self) -> None:
        """The scheduler is being stopped by a person: no sweep starts anything more until it is resumed."""
        async with self.lock:
            for sweep in self._unfinished():
                sweep.record.paused = sweep.record.paused or "Interrupted"
                await self.store.commit([sweep.record.save()])
        self.wake()

    def _unfinished(self) -> list[OpenSweep]:
        return [sweep for sweep in self._sweeps.values() if not sweep.ended or sweep.record.ended_at is None]

    # Work.

    async def _run(self) -> None:
        while not self._closing:
            self._wake.clear()
            try:
                await self.look()
                await asyncio.sleep(_PAUSE_SECONDS if self._unfinished() else 0)
            except NodusError as error:
                if self.store.failure is not None:
                    # The backend lets go of this engine, and begins from the disk when it takes commits again.
                    _log.error("sweeps are not looked after: %s", error.detail)
                    return
                _log.error("a sweep could not be looked after: %s", error.detail)
                await asyncio.sleep(_FAULT_SECONDS)
            except Exception:  # noqa: BLE001 - a fault of ours in one look must not end them all
                _log.exception("a sweep could not be looked after, by a fault of the scheduler")
                await asyncio.sleep(_FAULT_SECONDS)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _LOOK_SECONDS if self._unfinished() else None)

    async def look(self) -> None:
        """Take in how all cells stand, tell it, and start what may start."""
        starts: list[tuple[OpenSweep, CellRecord]] = []
        async with self.lock:
            for sweep in self._unfinished():
                asked = self._let_on_before(sweep)
                self.acting.update(asked)
                await self.follow(sweep)
                started = [*asked, *await self.settle(sweep)]
                starts += [(sweep, sweep.cells[name]) for name in started]
                if any(cell.doomed for cell in sweep.cells.values()):
                    self.end_doomed(sweep)
        for sweep, cell in starts:
            await self._go(sweep, cell)

    def _let_on_before(self, sweep: OpenSweep) -> list[str]:
        """Cells that a scheduler let on which died before it did all that they were asked: it is done again, and what was done stands."""
        if not self._may_start or self._closing:
            return []
        return [name for name in sweep.book.names(CellState.GOING) if sweep.cells[name].asks and name not in self.acting]

    async def follow(self, sweep: OpenSweep, *names: str) -> None:
        """Take over how the groups and jobs of cells stand: of all that may have changed, or of the named ones. Under the lock."""
        followed = names or [*sweep.book.names(CellState.GOING, CellState.STALLED, CellState.RESTING)]
        wanted = [name for name in followed if sweep.cells[name].launched and name not in self.acting]
        found = await standings(self.store, sweep.kind, wanted, self.clock)
        for name in wanted:
            if name not in found:
                self._is_gone(sweep, sweep.cells[name])
            elif not found[name].ending:
                self._take_over(sweep, sweep.cells[name], found[name])

    def _take_over(self, sweep: OpenSweep, cell: CellRecord, standing: Standing) -> None:
        book, name = sweep.book, cell.name
        book.booked(name, standing.spent)
        if standing.state is CellState.GOING and book.state(name) is not CellState.GOING:
            self._goes_unasked(sweep, cell)
        if standing.cap > book.cap_of(name):
            try:
                book.extend(name, standing.cap)
            except LedgerError as error:
                _log.error("sweep %s: the cap of %s was raised without the sweep's knowledge: %s", sweep.record.name, name, error)
        elif standing.cap < book.cap_of(name) and not cell.asks:
            # An extension that was reserved for and came to nothing. One that waits for its place is still to be reserved, whole.
            book.correct(name, standing.cap)
        if standing.state is not CellState.GOING:
            if book.state(name) is CellState.GOING:
                book.stop(name, standing.state)
                if cell.asks:  # The scheduler that let it on died before it did what was asked.
                    book.ask(name, book.cap_of(name))
            else:
                book.rests(name, standing.state)
        cell.phase, cell.reason, cell.message, cell.broken = standing.phase, standing.reason, standing.message, standing.broken
        cell.simulated, cell.notional = standing.simulated, standing.notional
        cell.started_at, cell.ended_at = standing.started_at or cell.started_at, standing.ended_at
        cell.doomed = cell.doomed and standing.state is not CellState.ENDED
        sweep.take_over(name)

    def _goes_unasked(self, sweep: OpenSweep, cell: CellRecord) -> None:
        """A cell goes on although nobody asked the sweep: no way there is known. Its cap is set aside where it fits."""
        _log.error("sweep %s: %s goes on without the sweep's knowledge", sweep.record.name, cell.name)
        try:
            sweep.book.goes(cell.name)
        except LedgerError as error:
            _log.error("sweep %s: what %s may spend cannot be set aside: %s", sweep.record.name, cell.name, error)

    def _is_gone(self, sweep: OpenSweep, cell: CellRecord) -> None:
        if sweep.book.state(cell.name) is CellState.GOING:
            sweep.book.stop(cell.name, CellState.ENDED)
        else:
            sweep.book.rests(cell.name, CellState.ENDED)
        cell.message, cell.broken, cell.doomed, cell.ended_at = "was deleted", False, False, cell.ended_at or self.clock()
        sweep.take_over(cell.name)

    async def settle(self, sweep: OpenSweep) -> list[str]:
        """Let on what may start, assess the sweep and tell what changed. Under the lock; gives the cells to go with, marked as acting."""
        now = self.clock()
        started, waits = self._admit(sweep)
        self.acting.update(started)
        for name, wait in waits.items():
            cell = sweep.cells[name]
            cell.reason, cell.message = wait.reason, f"is to go on, and {wait.message}" if cell.launched else wait.message
        for cell in (sweep.cells[name] for name in started):
            if cell.launched:
                cell.phase, cell.reason, cell.message, cell.broken = GroupPhase.RUNNING, None, "", False
        if started:
            sweep.record.started_at = sweep.record.started_at or now
            sweep.record.killed = False
        assess(sweep, waits, now)
        await self.tell(sweep)
        return started

    async def settle_later(self, sweep: OpenSweep) -> None:
        """Tell what an action changed of a sweep; the next look lets on what may start now. Under the lock."""
        assess(sweep, {}, self.clock())
        await self.tell(sweep)
        self.wake()

    async def tell(self, sweep: OpenSweep, also: Sequence[Statement] = ()) -> None:
        """Commit the rows of a sweep and of its cells that have changed, with the events that tell of it. Under the lock."""
        now = self.clock()
        statements = list(also)
        for name, cell in sweep.cells.items():
            sweep.take_over(name)
            if cell.changing != sweep.written.get(name):
                sweep.written[name] = cell.changing
                statements += cell_told(cell, now)
        statements += sweep_told(sweep, now)
        if statements:
            await self.store.commit(statements)

    def _admit(self, sweep: OpenSweep) -> tuple[list[str], dict[str, Wait]]:
        waiting = sweep.book.waiting
        if not waiting or not self._may_start or self._closing:
            return [], {}
        if sweep.record.paused:
            return [], dict.fromkeys(waiting, Wait(sweep.record.paused, "the sweep is paused"))
        if shortage := self.around.shortage():
            return [], dict.fromkeys(waiting, Wait(Reason.DISK_ALMOST_FULL.value, shortage))
        if unpaid := self.around.unpaid(cell_metadata(sweep.record, waiting[0])):
            return [], dict.fromkeys(waiting, Wait(Reason.BUDGET_EXCEEDED.value, unpaid))
        started, waits = sweep.book.admit()
        return started, {name: Wait(reason_of(each), each.message, each.shortfall) for name, each in waits.items()}

    # One cell.

    async def _go(self, sweep: OpenSweep, cell: CellRecord) -> None:
        """Launch a cell that was let on, or do what it was asked to go on with."""
        try:
            if cell.launched:
                await self._go_on(sweep, cell)
            else:
                await self._launch(sweep, cell)
        finally:
            self.acted(cell.name)

    def acted(self, name: str) -> None:
        """A cell's launch, or an action on it, is over: its rows tell again."""
        self.acting[name] -= 1
        if not self.acting[name]:
            del self.acting[name]
        self._acted.set()
        self.wake()

    async def _launch(self, sweep: OpenSweep, cell: CellRecord) -> None:
        if cell.doomed or self._closing:
            await self._not_launched(sweep, cell, None)
            return
        record = sweep.record
        document = {"metadata": cell_metadata(record, cell.name), "spec": cell.spec}
        cell.launched, cell.phase, cell.reason, cell.message, cell.started_at = True, GroupPhase.PENDING, None, "", self.clock()
        sweep.written[cell.name] = cell.changing
        try:
            resource = KINDS[cell.kind].model_validate(document)
            folder = Path(record.folder) if record.folder is not None else None
            await self.around.launch(resource, folder, record.pins, cell_told(cell, self.clock()))
        except NodusError as error:
            cell.launched, cell.started_at = False, None
            if self.store.failure is not None:
                raise
            await self._not_launched(sweep, cell, error)
        except Exception:  # noqa: BLE001 - a fault of ours must not leave it holding a place for ever
            _log.exception("sweep %s: %s could not be launched, by a fault of the scheduler", record.name, cell.name)
            cell.launched, cell.started_at = False, None
            detail = "a fault of the scheduler kept it from being launched; its log has the details"
            await self._not_launched(sweep, cell, NodusError(ErrorCode.INTERNAL, detail))

    async def _not_launched(self, sweep: OpenSweep, cell: CellRecord, error: NodusError | None) -> None:
        async with self.lock:
            if cell.doomed:
                killed(sweep, cell, self.clock())
            elif error is None or error.code is ErrorCode.BUDGET_EXCEEDED:
                sweep.book.stop(cell.name, CellState.WAITING)
            else:
                sweep.book.stop(cell.name, CellState.ENDED)
                cell.phase, cell.reason, cell.message = GroupPhase.FAILED, "NotStarted", error.detail
                cell.broken, cell.ended_at = True, self.clock()
            await self.tell(sweep)

    async def _go_on(self, sweep: OpenSweep, cell: CellRecord) -> None:
        for ask in list(cell.asks):
            try:
                await self.around.perform(_ACTION.validate_python(ask))
            except NodusError as error:
                if self.store.failure is not None:
                    raise
                _log.warning("sweep %s: %s was let on, and refused what it was asked: %s", sweep.record.name, cell.name, error.detail)
        async with self.lock:
            cell.asks = []
            await self.tell(sweep)

    # Killing.

    def end_doomed(self, sweep: OpenSweep) -> "asyncio.Task[None]":
        """End the cells of a sweep that are being killed, once, in the background: a job may take its whole grace."""
        name = sweep.record.name
        if name not in self._enders:
            task = self._enders[name] = asyncio.create_task(self._end(sweep), name=f"sweep {name} ends cells")
            task.add_done_callback(lambda _: self._ended(name))
        return self._enders[name]

    def _ended(self, name: str) -> None:
        task = self._enders.pop(name)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("cells of sweep %s could not be ended: %s", name, error)
        self.wake()

    async def _end(self, sweep: OpenSweep) -> None:
        # What is being launched is launched first, so that nothing starts behind the kill.
        doomed = [cell for cell in sweep.cells.values() if cell.doomed]
        while any(cell.name in self.acting for cell in doomed):
            self._acted.clear()
            await self._acted.wait()
        launched = [cell for cell in doomed if cell.doomed and cell.launched]
        groups = tuple(cell.name for cell in launched if cell.kind == "AgentGroup")
        if groups:
            await self.around.stop_groups(groups, _GRACE_SECONDS)
        actions = [Kill.model_validate({"kind": cell.kind, "name": cell.name, "why": "its sweep was killed"}) for cell in launched]
        ends = await asyncio.gather(*map(self.around.perform, actions), return_exceptions=True)
        async with self.lock:
            await self.follow(sweep, *(cell.name for cell in launched))
            await self.settle(sweep)
        for end in ends:
            if isinstance(end, BaseException) and not (isinstance(end, NodusError) and end.code is ErrorCode.NOT_FOUND):
                raise end


def killed(sweep: OpenSweep, cell: CellRecord, now: datetime) -> None:
    """A cell that was never launched never will be."""
    if sweep.book.state(cell.name) is CellState.GOING:
        sweep.book.stop(cell.name, CellState.ENDED)
    else:
        sweep.book.rests(cell.name, CellState.ENDED)
    cell.phase, cell.reason, cell.message = GroupPhase.CANCELLED, Reason.KILLED.value, ""
    cell.broken, cell.doomed, cell.asks, cell.ended_at = True, False, [], now


def cell_metadata(record: SweepRecord, cell: str) -> dict[str, Any]:
    """The metadata of a cell's group or job: the sweep's project and labels, and one that names the sweep."""
    labels = {**record.metadata.get("labels", {}), SWEEP_LABEL: record.name}
    return {"name": cell, "project": record.metadata.get("project"), "labels": labels}
