"""Actions on sweeps, and the one door for actions on their cells: what lets a cell spend more, or again, is asked of its sweep first."""

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Any

from msgspec import Struct

from local_backend.scheduling.admission import display_ceiling, money
from local_backend.storage.records import event
from local_backend.storage.sweep_records import CellRecord
from local_backend.sweeps.book import CellState
from local_backend.sweeps.engine import SweepEngine, killed
from local_backend.sweeps.telling import OpenSweep, spec_told
from nodus_tui.contract.actions import Action, Delete, ExtendCap, Kill, PauseSweep, Resume, ResumeSweep, Retry, RetryCells, RetryJob
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import nano_from_usd, usd_from_nano, usd_text
from nodus_tui.contract.outcomes import ActionOutcome, Change
from nodus_tui.contract.phases import GroupPhase


class _Target(Struct, frozen=True):
    """The cell that an action is about."""

    sweep: OpenSweep
    cell: CellRecord


class SweepActions:
    """What a person can do to sweeps and their cells, done by the process that holds the workspace's lock."""

    def __init__(self, engine: SweepEngine, clock: Callable[[], datetime]) -> None:
        self._engine = engine
        self._clock = clock
        self._methods: dict[type[Any], Callable[[Any], Awaitable[ActionOutcome]]] = {
            Kill: self._kill,
            ExtendCap: self._raise_cap,
            RetryCells: self._retry,
            PauseSweep: self._pause,
            ResumeSweep: self._resume,
            Delete: self._delete,
        }

    async def perform(self, action: Action) -> ActionOutcome:
        """Do it, whatever it is about: what is about no sweep and no cell is passed on. Raises NodusError."""
        if not isinstance(action, Retry | Resume) and action.kind == "Sweep":
            return await self._on_sweep(action)
        target = await self._cell_of(action)
        if target is not None:
            return await self._on_cell(action, target)
        if isinstance(action, Delete):
            await self._refuse_needed(action)
        return await self._engine.around.perform(action)

    async def _on_sweep(self, action: Action) -> ActionOutcome:
        for kind, method in self._methods.items():
            if isinstance(action, kind):
                return await method(action)
        raise NodusError(ErrorCode.INVALID_ACTION, f"{action.action} is nothing that can be done to a sweep")

    async def _on_cell(self, action: Action, target: _Target) -> ActionOutcome:
        if isinstance(action, Kill):
            return await self._kill_cell(action, target)
        if isinstance(action, Delete):
            return await self._delete_cell(action, target)
        return await self._let_on(action, target)

    async def _refuse_needed(self, action: Delete) -> None:
        """What an unfinished sweep names is not deleted: its next cells need it."""
        if action.kind not in {"Agent", "Environment"}:
            return
        rows = await self._engine.store.read(
            "SELECT name, pins, coalesce(json_extract(spec, '$.template.spec.evaluation.environment'), "
            "json_extract(spec, '$.template.spec.environment'), '') AS environment FROM sweeps WHERE ended_at IS NULL ORDER BY seq"
        )
        for row in rows:
            names = json.loads(row["pins"]) if action.kind == "Agent" else [row["environment"].partition("@")[0]]
            if action.name in names:
                raise NodusError(ErrorCode.INVALID_ACTION, f"{action.name} is in use: sweep {row['name']} is unfinished")

    def _outcome(self, action: Action, kind: str, name: str, message: str, changes: Sequence[Change] = ()) -> ActionOutcome:
        return ActionOutcome(
            action=action.action,
            kind=kind,
            name=name,
            changed=bool(changes),
            message=message,
            changes=tuple(changes),
            at=self._clock(),
            author=action.author,
        )

    # Cells.

    async def _cell_of(self, action: Action) -> _Target | None:
        """The cell that the action is about: its own group or job, or a run of its group."""
        if isinstance(action, Retry | Resume):
            kind, name = "AgentGroup", action.group
        elif action.kind == "AgentRun":
            rows = await self._engine.store.read("SELECT group_name FROM runs WHERE name = ?", (action.name,))
            kind, name = "AgentGroup", str(rows[0]["group_name"]) if rows else ""
        else:
            kind, name = action.kind, action.name
        rows = await self._engine.store.read("SELECT sweep FROM sweep_cells WHERE name = ? AND kind = ?", (name, kind))
        if not rows:
            return None
        async with self._engine.lock:
            sweep = await self._engine.sweep(str(rows[0]["sweep"]))
        return _Target(sweep, sweep.cells[name])

    async def _kill_cell(self, action: Kill, target: _Target) -> ActionOutcome:
        sweep, cell = target.sweep, target.cell
        if action.kind == "AgentRun":
            return await self._engine.around.perform(action)
        async with self._engine.lock:
            before, at_launch = cell.phase, cell.name in self._engine.acting and not cell.launched
            if at_launch:
                cell.doomed = True  # Its launch sees it, or the look after it.
            elif not cell.launched and sweep.book.state(cell.name) is CellState.WAITING:
                killed(sweep, cell, self._clock())
            elif cell.launched:
                sweep.book.withdraw(cell.name)
                cell.asks = []
            await self._engine.settle_later(sweep)
        if cell.launched:
            return await self._engine.around.perform(action)
        if at_launch:
            return self._outcome(action, cell.kind, cell.name, f"{cell.name} is being launched, and ends at once", [_phase(cell, before)])
        if cell.phase is before:
            return self._outcome(action, cell.kind, cell.name, f"{cell.name} has ended already ({cell.phase})")
        return self._outcome(action, cell.kind, cell.name, f"killed {cell.name}; it was not launched", [_phase(cell, before)])

    async def _delete_cell(self, action: Delete, target: _Target) -> ActionOutcome:
        if not target.sweep.ended:
            name = target.sweep.record.name
            raise NodusError(ErrorCode.INVALID_ACTION, f"{target.cell.name} is a cell of sweep {name}, which is unfinished: kill it first")
        return await self._engine.around.perform(action)

    async def _let_on(self, action: Action, target: _Target) -> ActionOutcome:
        """An extension, a retry or a resumption of a cell: done now where the sweep has the money, and a place for one that holds none."""
        sweep, cell = target.sweep, target.cell
        async with self._engine.lock:
            how = await self._reserve(action, sweep, cell)
        if how is _How.LATER:
            places = f"one of the {sweep.book.max_parallel} places" if sweep.book.max_parallel > 1 else "the place"
            message = f"{cell.name} goes on as soon as {places} of sweep {sweep.record.name} is free (maxParallel)"
            asked = Change(kind=cell.kind, name=cell.name, field="asked", old="", new=action.action)
            return self._outcome(action, cell.kind, cell.name, message, [asked])
        if how is not _How.RESERVED:
            return await self._engine.around.perform(action)
        try:
            outcome = await self._engine.around.perform(action)
        except NodusError:
            self._engine.acted(cell.name)
            # What was reserved for it came to nothing; a cell that has ended is looked at by nobody else.
            async with self._engine.lock:
                await self._engine.follow(sweep, cell.name)
                await self._engine.settle_later(sweep)
            raise
        except BaseException:
            self._engine.acted(cell.name)
            raise
        self._engine.acted(cell.name)
        return outcome

    async def _reserve(self, action: Action, sweep: OpenSweep, cell: CellRecord) -> "_How":
        """Set aside what the action may make the cell spend, or write down that it waits for a place."""
        name, book = cell.name, sweep.book
        if not cell.launched:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{name} is a cell of sweep {sweep.record.name} and has not been launched")
        if cell.doomed:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{name} is being killed with sweep {sweep.record.name}: a retry can follow its end")
        await self._engine.follow(sweep, name)
        cap = book.cap_of(name)
        if isinstance(action, ExtendCap) and action.kind != "AgentRun":
            cap = max(cap, nano_from_usd(action.cap_usd))
        state = book.state(name)
        goes_on = state is CellState.GOING or _lets_on(action, state, cell)
        if not goes_on and cap == book.cap_of(name):
            return _How.AS_IT_IS
        if book.refusal(name, cap):
            # A cell that has ended since the last look holds nothing any more.
            await self._engine.follow(sweep)
        if refusal := book.refusal(name, cap):
            raise NodusError(ErrorCode.BUDGET_EXCEEDED, refusal)
        if state is CellState.GOING or not goes_on:
            book.extend(name, cap)
        else:
            book.ask(name, cap)
            if book.going >= book.max_parallel:
                cell.asks = [*cell.asks, action.to_document()]
                await self._engine.settle_later(sweep)
                return _How.LATER
            book.goes(name)
            cell.phase, cell.reason, cell.message, cell.broken = GroupPhase.RUNNING, None, "", False
            sweep.record.killed = False
        self._engine.acting[name] += 1
        await self._engine.settle_later(sweep)
        return _How.RESERVED

    # Sweeps.

    async def _kill(self, action: Kill) -> ActionOutcome:
        name, now = action.name, self._clock()
        async with self._engine.lock:
            sweep = await self._engine.sweep(name)
            await self._engine.follow(sweep)
            if sweep.ended:
                return self._outcome(action, "Sweep", name, f"{name} has ended already ({sweep.record.phase})")
            before = sweep.record.phase
            doomed = [cell for cell in sweep.cells.values() if sweep.book.state(cell.name) is not CellState.ENDED or cell.asking]
            sweep.record.killed, sweep.record.paused = True, ""
            for cell in doomed:
                if sweep.book.state(cell.name) is CellState.WAITING:
                    killed(sweep, cell, now)
                else:
                    sweep.book.withdraw(cell.name)
                    cell.asks = []
                    cell.doomed = sweep.book.state(cell.name) is not CellState.ENDED
            await self._engine.settle_later(sweep)
            ending = self._engine.end_doomed(sweep)
        await ending
        count = len(doomed)
        changes = [Change(kind="Sweep", name=name, field="phase", old=before, new=GroupPhase.CANCELLED)]
        changes += [Change(kind=cell.kind, name=cell.name, field="phase", old="unfinished", new=cell.phase) for cell in doomed]
        spent = money(sweep.book.spent)
        message = f"killed {name}: {count} unfinished cell{'s' if count != 1 else ''} ended; all its cells have spent {spent}"
        return self._outcome(action, "Sweep", name, message, changes)

    async def _raise_cap(self, action: ExtendCap) -> ActionOutcome:
        cap = nano_from_usd(action.cap_usd)
        async with self._engine.lock:
            sweep = await self._engine.sweep(action.name)
            old = sweep.book.cap
            if cap == old:
                return self._outcome(action, "Sweep", action.name, f"{action.name} has that cap already")
            if cap < old:
                raise NodusError(ErrorCode.INVALID_ACTION, f"a cap is raised, never lowered: {action.name} has {money(old)} now")
            await self._set(sweep, cap, sweep.book.max_parallel)
        change = Change(
            kind="Sweep", name=action.name, field="maxCostUSD", old=usd_text(usd_from_nano(old)), new=usd_text(usd_from_nano(cap))
        )
        return self._outcome(action, "Sweep", action.name, f"raised the cap of {action.name} from {money(old)} to {money(cap)}", [change])

    async def change(self, name: str, cap: int, max_parallel: int) -> None:
        """What an apply changes of a sweep in place: its cap, upwards, and how many cells go at once."""
        async with self._engine.lock:
            await self._set(await self._engine.sweep(name), cap, max_parallel)

    async def _set(self, sweep: OpenSweep, cap: int, max_parallel: int) -> None:
        sweep.book.raise_cap(cap)
        sweep.book.max_parallel = max_parallel
        sweep.record.cap, sweep.record.max_parallel = cap, max_parallel
        await self._engine.store.commit(spec_told(sweep, self._clock()))
        await self._engine.settle_later(sweep)

    async def _retry(self, action: RetryCells) -> ActionOutcome:
        async with self._engine.lock:
            sweep = await self._engine.sweep(action.name)
            await self._engine.follow(sweep)
            chosen = [cell for cell in sweep.cells.values() if cell.name in action.cells or not action.cells]
            if unknown := set(action.cells) - set(sweep.cells):
                raise NodusError.not_found("SweepCell", min(unknown))
            chosen = [cell for cell in chosen if self._retryable(sweep, cell)]
            if not chosen:
                what = "of those cells nothing is" if action.cells else "no cell of it has ended broken: nothing is"
                return self._outcome(action, "Sweep", action.name, f"{action.name}: {what} there to retry")
            for cell in chosen:
                self._ask(sweep, cell)
            sweep.record.killed, before = False, sweep.record.phase
            await self._engine.settle_later(sweep)
        short = sweep.book.missing
        lacking = f"; for all at once its cap lacks {display_ceiling(short)}" if short else ""
        count = len(chosen)
        changes = [Change(kind="Sweep", name=action.name, field="phase", old=before, new=sweep.record.phase)]
        changes += [Change(kind=cell.kind, name=cell.name, field="asked", old="", new="retry") for cell in chosen]
        message = (
            f"{action.name}: {count} cell{'s' if count != 1 else ''} tried again under the cap and in the places of the sweep{lacking}"
        )
        return self._outcome(action, "Sweep", action.name, message, changes)

    def _retryable(self, sweep: OpenSweep, cell: CellRecord) -> bool:
        state = sweep.book.state(cell.name)
        waits = cell.name in sweep.book.waiting or cell.name in self._engine.acting or cell.doomed
        return not waits and (state is CellState.RESTING or (state is CellState.ENDED and cell.broken))

    def _ask(self, sweep: OpenSweep, cell: CellRecord) -> None:
        """Have a cell that rests or has ended go on when the sweep has room for it."""
        if not cell.launched:
            sweep.book.rests(cell.name, CellState.WAITING)
            cell.phase, cell.broken, cell.ended_at = GroupPhase.PENDING, False, None
            return
        again: Action
        if cell.kind == "AgentGroup":
            again = Retry(group=cell.name, why="its sweep was retried")
        else:
            again = RetryJob.model_validate({"kind": cell.kind, "name": cell.name, "why": "its sweep was retried"})
        sweep.book.ask(cell.name, sweep.book.cap_of(cell.name))
        cell.asks = [again.to_document()]

    async def _pause(self, action: PauseSweep) -> ActionOutcome:
        async with self._engine.lock:
            sweep = await self._engine.sweep(action.name)
            if sweep.ended:
                return self._outcome(action, "Sweep", action.name, f"{action.name} has ended already ({sweep.record.phase})")
            if sweep.record.paused == "Paused":
                return self._outcome(action, "Sweep", action.name, f"{action.name} is paused already")
            sweep.record.paused = "Paused"
            await self._engine.settle_later(sweep)
            going = sweep.book.going
        change = Change(kind="Sweep", name=action.name, field="paused", old="", new="Paused")
        on = (
            f"the {going} that {'goes' if going == 1 else 'go'} now {'goes' if going == 1 else 'go'} on to the end"
            if going
            else "none goes"
        )
        return self._outcome(action, "Sweep", action.name, f"paused {action.name}: no further cell starts; {on}", [change])

    async def _resume(self, action: ResumeSweep) -> ActionOutcome:
        async with self._engine.lock:
            sweep = await self._engine.sweep(action.name)
            await self._engine.follow(sweep)
            resting = [cell for cell in sweep.cells.values() if self._rests(sweep, cell)]
            before = sweep.record.paused
            if not before and not resting:
                phase = sweep.record.phase
                return self._outcome(action, "Sweep", action.name, f"{action.name} is not paused, and none of its cells rests ({phase})")
            sweep.record.paused = ""
            for cell in resting:
                sweep.book.ask(cell.name, sweep.book.cap_of(cell.name))
                cell.asks = [Resume(group=cell.name, why="its sweep was resumed").to_document()]
            waiting = len(sweep.book.waiting)
            await self._engine.settle_later(sweep)
        changes = [Change(kind="Sweep", name=action.name, field="paused", old=before, new="")]
        changes += [Change(kind=cell.kind, name=cell.name, field="asked", old="", new="resume") for cell in resting]
        message = f"{action.name} goes on: {waiting} cell{'s' if waiting != 1 else ''} to start or to go on with"
        return self._outcome(action, "Sweep", action.name, message, changes)

    def _rests(self, sweep: OpenSweep, cell: CellRecord) -> bool:
        resting = sweep.book.state(cell.name) is CellState.RESTING and not cell.doomed
        return resting and cell.name not in sweep.book.waiting and cell.name not in self._engine.acting

    async def _delete(self, action: Delete) -> ActionOutcome:
        async with self._engine.lock:
            sweep = await self._engine.sweep(action.name)
            if not sweep.ended:
                raise NodusError(ErrorCode.INVALID_ACTION, f"{action.name} is unfinished ({sweep.record.phase}): kill it first")
            for cell in sweep.cells.values():
                await self._delete_work(cell)
            await self._engine.store.commit(
                [
                    ("DELETE FROM sweep_cells WHERE sweep = ?", (action.name,)),
                    ("DELETE FROM sweeps WHERE name = ?", (action.name,)),
                    event(self._clock(), "Deleted", "Sweep", action.name),
                ]
            )
            self._engine.forget(action.name)
        change = Change(kind="Sweep", name=action.name, field="", old="there", new="deleted")
        count = len(sweep.cells)
        message = f"deleted Sweep {action.name} with its {count} cell{'s' if count != 1 else ''}"
        return self._outcome(action, "Sweep", action.name, message, [change])

    async def _delete_work(self, cell: CellRecord) -> None:
        if not cell.launched:
            return
        try:
            await self._engine.around.perform(Delete(kind=cell.kind, name=cell.name, why="its sweep was deleted"))
        except NodusError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise


class _How(Enum):
    """What became of an action on a cell before it is done."""

    AS_IT_IS = auto()
    """It lets nothing be spent: it is refused by what it is about, or changes nothing there."""
    RESERVED = auto()
    LATER = auto()


def _lets_on(action: Action, state: CellState, cell: CellRecord) -> bool:
    """Whether an action on a cell that holds no place lets it go on."""
    if isinstance(action, ExtendCap):
        # An interrupted group keeps resting under a higher cap; a job that its cap has ended goes on with the next attempt.
        return state is CellState.STALLED or (cell.kind != "AgentGroup" and cell.broken)
    # Where all else stalls at caps, a case that is tried again, or was interrupted, may have room.
    return state in {CellState.RESTING, CellState.STALLED} or (cell.broken and not isinstance(action, Resume))


def _phase(cell: CellRecord, before: GroupPhase) -> Change:
    return Change(kind=cell.kind, name=cell.name, field="phase", old=before, new=GroupPhase.CANCELLED)
