"""One row of `sandboxes`, as a mutable record in memory, and the statement that writes it. Money is nano-dollars."""

import json
import sqlite3
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from pydantic import JsonValue

from local_backend.storage.records import stored, time_from, upsert
from local_backend.storage.store import Statement
from nodus_tui.contract.phases import UntilKind
from nodus_tui.contract.resources.sandbox import SandboxPhase, SandboxReason, SandboxSpec

_JSON = frozenset({"metadata", "spec", "notes", "devices", "device_names"})
_TIMES = ("created_at", "started_at", "ended_at", "idle_since", "seen_at", "until_at")
_FLAGS = ("weaker", "kept")


class SandboxRecord(Struct):
    """A Sandbox."""

    name: str
    metadata: dict[str, Any]
    spec: dict[str, Any]
    cap: int
    rate: int
    """An hour of its hardware: as it was when it was made, and from its start on of the devices that it was given."""
    created_at: datetime
    seq: int | None = None
    """Order of creation; given by the database."""
    cost: int = 0
    """Booked when it has stopped."""
    phase: SandboxPhase = "Pending"
    reason: SandboxReason | None = None
    message: str = ""
    until_at: datetime | None = None
    """When what it waits for comes free, where that is known."""
    until_kind: UntilKind = "Exact"
    hardware: str = ""
    """The name that its devices were given under."""
    devices: list[str] = field(default_factory=list)
    """By uuid."""
    device_names: list[str] = field(default_factory=list)
    """The same for people: the driver's number and name, as they were then."""
    engine: str = ""
    image: str = ""
    weaker: bool = False
    kept: bool = False
    """Whether the files of its work folder lie in the workspace."""
    notes: list[str] = field(default_factory=list)
    started_at: datetime | None = None
    seen_at: datetime | None = None
    """When it was last known to run."""
    idle_since: datetime | None = None
    ended_at: datetime | None = None
    commands: int = 0
    """That run in it now."""
    published: dict[str, JsonValue] = field(default_factory=dict)
    """The status fields that the last event told; not stored."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "SandboxRecord":
        """The record of a row."""
        values = dict(row)
        values.update({name: json.loads(values[name]) for name in _JSON})
        values.update({name: time_from(values[name]) for name in _TIMES})
        values.update({name: bool(values[name]) for name in _FLAGS})
        return cls(**values)

    @property
    def box(self) -> SandboxSpec:
        """Its spec."""
        return SandboxSpec.model_validate(self.spec)

    @property
    def ended(self) -> bool:
        """Whether it will never run again."""
        return self.phase not in {"Pending", "Running"}

    def save(self) -> Statement:
        """Write the whole row."""
        values = ((name, getattr(self, name)) for name in _COLUMNS)
        return _SAVE, [json.dumps(value) if name in _JSON else stored(value) for name, value in values]


_COLUMNS = tuple(name for name in SandboxRecord.__struct_fields__ if name not in {"published", "seq"})
_SAVE = upsert("sandboxes", _COLUMNS, ("name",))
