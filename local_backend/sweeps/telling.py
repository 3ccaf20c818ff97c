"""How a sweep stands when its cells are looked at together, and what is told of it and of them. Pure but for the records it changes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from pydantic import JsonValue

from local_backend.reporting import time_json
from local_backend.scheduling.admission import display_ceiling
from local_backend.storage.records import event
from local_backend.storage.store import Statement
from local_backend.storage.sweep_records import CellRecord, SweepRecord
from local_backend.sweeps.book import CellState, SweepBook
from nodus_tui.contract.money import usd_from_nano, usd_text
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.sweep import Sweep


class OpenSweep(Struct):
    """A sweep in memory: its record, its cells by name in their order, and its book."""

    record: SweepRecord
    cells: dict[str, CellRecord]
    book: SweepBook
    written: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """What of each cell stands on the disk."""

    @classmethod
    def of(cls, record: SweepRecord, cells: Sequence[CellRecord]) -> "OpenSweep":
        """From the disk. A cell that was let on and not launched before a crash waits again."""
        book = SweepBook(record.name, record.cap, record.max_parallel)
        for cell in cells:
            state = CellState(cell.state)
            if state is CellState.GOING and not cell.launched:
                state = CellState.WAITING
            cell.state = state
            book.open(cell.name, cap=cell.cap, spent=cell.spent, state=state, asking=cell.asking)
            cell.published = cell_fields(cell)
        return cls(record, {cell.name: cell for cell in cells}, book, {cell.name: cell.changing for cell in cells})

    @property
    def ended(self) -> bool:
        """Whether every cell has."""
        return all(self.book.state(name) is CellState.ENDED for name in self.cells) and not self.book.waiting

    @property
    def kind(self) -> str:
        """Of its cells."""
        return str(self.record.spec["template"]["kind"])

    def take_over(self, name: str) -> None:
        """Write how the book sees a cell into its record."""
        cell = self.cells[name]
        cell.state, cell.cap, cell.spent = self.book.state(name).value, self.book.cap_of(name), self.book.spent_by(name)
        cell.asking = name in self.book.waiting and cell.launched


class Wait(Struct, frozen=True):
    """Why a cell that is to start does not."""

    reason: str
    message: str
    shortfall: int = 0


def assess(sweep: OpenSweep, waits: Mapping[str, Wait], now: datetime) -> None:
    """Set the sweep's phase, reason and message. `waits` says why cells that are to start do not."""
    record, book = sweep.record, sweep.book
    short = [wait for wait in waits.values() if wait.shortfall > 0]
    record.needed = book.cap + book.missing if short else None
    if sweep.ended:
        _ended(sweep, now)
        return
    record.ended_at = None
    going = [sweep.cells[name] for name in book.names(CellState.GOING)]
    unpaid = [cell for cell in going if cell.phase is GroupPhase.STALLED]
    first = next((wait for wait in waits.values() if wait.reason != "WaitingForPlace"), None)
    if going and len(unpaid) == len(going) and not _may_start(sweep, waits):
        told = first or Wait(unpaid[0].reason or "", unpaid[0].message)
        record.phase, record.reason, record.message = GroupPhase.STALLED, told.reason, told.message
    elif going:
        record.phase, record.reason, record.message = GroupPhase.RUNNING, record.paused or None, _paused_message(sweep)
        if first is not None and not record.paused:
            record.reason, record.message = first.reason, first.message
    else:
        _nothing_goes(sweep, first, short)


def _may_start(sweep: OpenSweep, waits: Mapping[str, Wait]) -> bool:
    return not sweep.record.paused and any(name not in waits for name in sweep.book.waiting)


def _nothing_goes(sweep: OpenSweep, first: Wait | None, short: Sequence[Wait]) -> None:
    record, book = sweep.record, sweep.book
    stalled = [sweep.cells[name] for name in book.names(CellState.STALLED) if not sweep.cells[name].asking]
    resting = [name for name in book.names(CellState.RESTING) if not sweep.cells[name].asking]
    doomed = sum(cell.doomed for cell in sweep.cells.values())
    if record.paused:
        record.phase, record.reason, record.message = GroupPhase.INTERRUPTED, record.paused, _paused_message(sweep)
    elif doomed:
        # A group that is being killed gracefully rests for a moment before it has ended.
        record.phase, record.reason = GroupPhase.RUNNING, None
        record.message = f"{_cells(doomed)} {'is' if doomed == 1 else 'are'} being ended"
    elif short:
        record.phase, record.reason = GroupPhase.STALLED, Reason.MAX_COST_REACHED.value
        record.message = "; ".join(filter(None, (_stalled_message(stalled), _short_message(sweep, short))))
    elif first is not None:
        stalls = first.reason == Reason.BUDGET_EXCEEDED.value
        record.phase = GroupPhase.STALLED if stalls else GroupPhase.RUNNING
        record.reason, record.message = first.reason, first.message
    elif book.waiting:
        launched = any(cell.launched for cell in sweep.cells.values())
        record.phase, record.reason, record.message = (GroupPhase.RUNNING if launched else GroupPhase.PENDING), None, ""
    elif stalled:
        record.phase, record.reason, record.message = GroupPhase.STALLED, Reason.MAX_COST_REACHED.value, _stalled_message(stalled)
    else:
        record.phase, record.reason = GroupPhase.INTERRUPTED, Reason.INTERRUPTED.value
        record.message = f"{_cells(len(resting))} {'is' if len(resting) == 1 else 'are'} interrupted, the rest has ended"


def _paused_message(sweep: OpenSweep) -> str:
    if not sweep.record.paused:
        return ""
    count = len(sweep.book.waiting)
    word = "paused" if sweep.record.paused == "Paused" else "the scheduler was stopped"
    return f"{word}: {_cells(count)} {'waits' if count == 1 else 'wait'}, and none starts until it is resumed"


def _stalled_message(stalled: Sequence[CellRecord]) -> str:
    if not stalled:
        return ""
    more = len(stalled) - 1
    also = f", and {more} more cell{'s' if more > 1 else ''} likewise" if more else ""
    return f"{stalled[0].name} stalls at its caps ({stalled[0].message}){also}"


def _short_message(sweep: OpenSweep, short: Sequence[Wait]) -> str:
    cap, count = sweep.book.cap, len(short)
    one, whole = cap + min(wait.shortfall for wait in short), cap + sweep.book.missing
    rest = f", to {display_ceiling(whole)} for all" if whole > one else ""
    to_one = f"raise the sweep's cap by {display_ceiling(one - cap)} to {display_ceiling(one)} for the next"
    return f"{_cells(count)} cannot start: {to_one}{rest}"


def _ended(sweep: OpenSweep, now: datetime) -> None:
    record, cells = sweep.record, list(sweep.cells.values())
    record.ended_at = record.ended_at or now
    broken = sum(cell.broken for cell in cells)
    killed = sum(cell.reason == Reason.KILLED.value for cell in cells)
    record.reason, record.message = None, ""
    if record.killed:
        record.phase, record.reason = GroupPhase.CANCELLED, Reason.KILLED.value
        record.message = f"killed: {killed} of {_cells(len(cells))} {'was' if killed == 1 else 'were'} unfinished"
    elif all(cell.phase is GroupPhase.FAILED for cell in cells):
        record.phase, record.message = GroupPhase.FAILED, f"every cell failed, the first so: {cells[0].message}"
    else:
        record.phase = GroupPhase.COMPLETED
        if broken:
            record.message = f"{broken} of {_cells(len(cells))} ended broken or with cases unscored: a retry runs that again"


def _cells(count: int) -> str:
    return f"{count} cell{'s' if count != 1 else ''}"


# What is told.


def _usd(nano: int) -> str:
    return usd_text(usd_from_nano(nano))


def sweep_fields(sweep: OpenSweep) -> dict[str, JsonValue]:
    """The status of a sweep under the contract's names."""
    record, book, cells = sweep.record, sweep.book, sweep.cells.values()
    # What a budget stopped holds its cap, for it goes on by itself; going it is not.
    held = sum(sweep.cells[name].phase is GroupPhase.STALLED for name in book.names(CellState.GOING))
    return {
        "phase": record.phase.value,
        "reason": record.reason,
        "message": record.message,
        "cells": len(sweep.cells),
        "ended": len(book.names(CellState.ENDED)),
        "failed": sum(cell.broken for cell in cells if book.state(cell.name) is CellState.ENDED),
        "going": book.going - held,
        "stalled": len(book.names(CellState.STALLED)) + held,
        "capUSD": _usd(book.cap),
        "costUSD": _usd(book.spent),
        "spentUSD": _usd(book.settled),
        "reservedUSD": _usd(book.reserved),
        "leftUSD": _usd(max(0, book.left)),
        "neededCapUSD": _usd(record.needed) if record.needed is not None else None,
        "simulated": any(cell.simulated for cell in cells),
        "notionalPrice": any(cell.notional for cell in cells),
        "createdAt": time_json(record.created_at),
        "startedAt": time_json(record.started_at),
        "endedAt": time_json(record.ended_at),
    }


def cell_fields(cell: CellRecord) -> dict[str, JsonValue]:
    """What events tell of a cell; its money while it goes is its group's or its job's."""
    return {
        "launched": cell.launched,
        "phase": cell.phase.value,
        "reason": cell.reason,
        "message": cell.message,
        "capUSD": _usd(cell.cap),
        "startedAt": time_json(cell.started_at),
        "endedAt": time_json(cell.ended_at),
    }


def cell_told(cell: CellRecord, now: datetime) -> list[Statement]:
    """A cell's row, and the event with what changed of it."""
    fields = cell_fields(cell)
    changed = {name: value for name, value in fields.items() if cell.published.get(name, ...) != value}
    cell.published = fields
    told = [event(now, "Changed", "SweepCell", cell.name, group=cell.sweep, status=changed)] if changed else []
    return [cell.save(), *told]


def sweep_told(sweep: OpenSweep, now: datetime) -> list[Statement]:
    """A sweep's row, and the event with what changed of its status; nothing where nothing did."""
    fields = sweep_fields(sweep)
    changed = {name: value for name, value in fields.items() if sweep.record.status.get(name, ...) != value}
    if not changed:
        return []
    sweep.record.status = fields
    return [sweep.record.save(), event(now, "Changed", "Sweep", sweep.record.name, status=changed)]


def spec_in_force(record: SweepRecord) -> dict[str, JsonValue]:
    """What of a sweep's spec may change after its launch, as it is now."""
    return {"maxCostUSD": _usd(record.cap), "maxParallel": record.max_parallel}


def spec_told(sweep: OpenSweep, now: datetime) -> list[Statement]:
    """The row and the event with the cap and maxParallel in force."""
    return [sweep.record.save(), event(now, "Changed", "Sweep", sweep.record.name, spec=spec_in_force(sweep.record))]


def created(record: SweepRecord, cells: Sequence[CellRecord]) -> list[Statement]:
    """The statements that make a sweep, and tell of it."""
    record.status = sweep_fields(OpenSweep.of(record, cells))
    told = event(record.created_at, "Created", "Sweep", record.name, status=record.status, spec=record.spec, metadata=record.metadata)
    return [record.save(), *(cell.save() for cell in cells), told]


def sweep_resource(record: SweepRecord) -> Sweep:
    """A sweep as `get` gives it: its spec with the cap and maxParallel in force, its status as last told."""
    document = {"metadata": record.metadata, "spec": {**record.spec, **spec_in_force(record)}, "status": record.status or None}
    return Sweep.model_validate(document)
