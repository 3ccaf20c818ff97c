"""Rows of `sweeps` and `sweep_cells`, as mutable records in memory, and the statements that write them. Money is nano-dollars."""

import json
import sqlite3
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from pydantic import JsonValue

from local_backend.storage.records import stored, time_from, upsert
from local_backend.storage.store import Statement
from nodus_tui.contract.phases import GroupPhase

_JSON = frozenset({"metadata", "spec", "pins", "status", "axes", "asks"})


class SweepRecord(Struct):
    """A sweep."""

    name: str
    metadata: dict[str, Any]
    spec: dict[str, Any]
    """As launched; the cap and maxParallel in force are the fields below."""
    folder: str | None
    """Where relative paths in its template start."""
    pins: dict[str, int]
    """The revision of each agent that its groups have, as it was when the sweep was made."""
    cap: int
    max_parallel: int
    created_at: datetime
    seq: int | None = None
    """Order of creation; given by the database."""
    paused: str = ""
    """Why no further cell starts: `Paused` by a person, or `Interrupted` with the scheduler; empty where they do."""
    killed: bool = False
    phase: GroupPhase = GroupPhase.PENDING
    reason: str | None = None
    message: str = ""
    needed: int | None = None
    """While cells cannot start for its cap: the least cap that gives all of them room."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    status: dict[str, Any] = field(default_factory=dict)
    """The status as the last event told it."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "SweepRecord":
        """The record of a row."""
        values = _values(row, ("created_at", "started_at", "ended_at"))
        values["killed"] = bool(values["killed"])
        values["phase"] = GroupPhase(values["phase"])
        return cls(**values)

    def save(self) -> Statement:
        """Write the whole row."""
        return _SAVE_SWEEP, _stored(self, _SWEEP_COLUMNS)


class CellRecord(Struct):
    """A cell of a sweep. Its name is also that of its group or job."""

    sweep: str
    place: int
    """From 1, in the order in which cells start."""
    name: str
    kind: str
    axes: dict[str, Any]
    spec: dict[str, Any]
    """Of its group or job, as it is launched."""
    cap: int
    """In force: raised when the cell's is."""
    spent: int = 0
    state: str = "Waiting"
    """A `CellState` of the sweep's book."""
    launched: bool = False
    """Whether its group or job was made; written in the same transaction."""
    asking: bool = False
    """It holds no place and is to go on."""
    asks: list[dict[str, Any]] = field(default_factory=list)
    """Actions that are to be done when it goes on."""
    doomed: bool = False
    """It is being killed."""
    phase: GroupPhase = GroupPhase.PENDING
    reason: str | None = None
    message: str = ""
    broken: bool = False
    """It has ended, and a retry would run something of it again."""
    simulated: bool = False
    notional: bool = False
    started_at: datetime | None = None
    ended_at: datetime | None = None
    published: dict[str, JsonValue] = field(default_factory=dict)
    """The status fields that the last event told; not stored."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "CellRecord":
        """The record of a row."""
        values = _values(row, ("started_at", "ended_at"))
        for name in ("launched", "asking", "doomed", "broken", "simulated", "notional"):
            values[name] = bool(values[name])
        values["phase"] = GroupPhase(values["phase"])
        return cls(**values)

    @property
    def changing(self) -> tuple[Any, ...]:
        """What of the row may change; what a going cell has spent is found again in its group or job."""
        spent = 0 if self.state == "Going" else self.spent
        money = (self.cap, spent, self.simulated, self.notional)
        told = (self.phase, self.reason, self.message, self.broken, self.started_at, self.ended_at)
        return (self.state, self.launched, self.asking, len(self.asks), self.doomed, *money, *told)

    def save(self) -> Statement:
        """Write the whole row."""
        return _SAVE_CELL, _stored(self, _CELL_COLUMNS)


def _values(row: sqlite3.Row, times: tuple[str, ...]) -> dict[str, Any]:
    values = {name: json.loads(value) if name in _JSON else value for name, value in dict(row).items()}
    return values | {name: time_from(values[name]) for name in times}


def _stored(record: SweepRecord | CellRecord, columns: tuple[str, ...]) -> list[Any]:
    values = ((name, getattr(record, name)) for name in columns)
    return [json.dumps(value) if name in _JSON else stored(value) for name, value in values]


_SWEEP_COLUMNS = tuple(name for name in SweepRecord.__struct_fields__ if name != "seq")
_CELL_COLUMNS = tuple(name for name in CellRecord.__struct_fields__ if name != "published")
_SAVE_SWEEP = upsert("sweeps", _SWEEP_COLUMNS, ("name",))
_SAVE_CELL = upsert("sweep_cells", _CELL_COLUMNS, ("sweep", "place"))
