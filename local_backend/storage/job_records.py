"""One row of `jobs`, as a mutable record in memory, and the statement that writes it. Money is nano-dollars."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from local_backend.storage.records import stored, time_from, upsert

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

    from pydantic import JsonValue

    from local_backend.storage.store import Statement
    from nodus_tui.contract.phases import UntilKind
    from nodus_tui.contract.resources.job import JobPhase, JobSpec

_JSON = frozenset({"metadata", "spec", "work", "choices", "devices", "outputs", "notes", "scores", "serving", "energy", "device_names"})


SERVING_JOBS = "SELECT * FROM jobs WHERE kind = 'Job' AND json_extract(spec, '$.serve.family') IS NOT NULL ORDER BY seq"
"""All jobs that serve or served."""

JobKind = Literal["Job", "TrainingJob"]
"""The kinds that run as jobs. They share one space of names."""


class JobRecord(Struct):
    """A job, of any of the kinds that run as one."""

    name: str
    metadata: dict[str, Any]
    spec: dict[str, Any]
    folder: str | None
    """Where relative paths in its spec start."""
    cap: int
    rate: int
    """An hour of its hardware, as it was when the job was made."""
    created_at: datetime
    seq: int | None = None
    """Order of creation; given by the database."""
    kind: JobKind = "Job"
    work: dict[str, Any] = field(default_factory=dict)
    """The Job's spec that the engine runs, where the kind is another one; empty where it is `spec` itself."""
    choices: list[str] = field(default_factory=list)
    """Names of the hardware of which any will do, where there is more than the one of its spec."""
    hardware: str = ""
    """The name that its devices were given under."""
    devices: list[str] = field(default_factory=list)
    """The devices that it has, by uuid."""
    device_names: list[str] = field(default_factory=list)
    """The same for people: the driver's number and name, as they were then."""
    energy: dict[str, Any] = field(default_factory=dict)
    """What is measured of its devices, where their electricity is what they cost; empty where it is not."""
    cost: int = 0
    """Of this attempt; booked when it has ended."""
    cost_before: int = 0
    """Of the attempts before this one, which count under the same cap."""
    attempt: int = 1
    progress: float | None = None
    """0 to 1 where its output tells."""
    scores: list[dict[str, Any]] = field(default_factory=list)
    """Of a TrainingJob."""
    serving: dict[str, Any] = field(default_factory=dict)
    """Where a job that serves is reached, and since when."""
    phase: JobPhase = "Pending"
    reason: str | None = None
    message: str = ""
    until_at: datetime | None = None
    """When what it waits for comes free, where that is known."""
    until_kind: UntilKind = "Exact"
    exit_code: int | None = None
    outputs: list[dict[str, Any]] = field(default_factory=list)
    """Path, bytes and sha256 of each kept file."""
    notes: list[str] = field(default_factory=list)
    token: str = ""
    """Of its launch; empty before. Written before anything is started."""
    stop: str = ""
    """Why somebody asked it to end, if anybody did."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    published: dict[str, JsonValue] = field(default_factory=dict)
    """The status fields that the last event told; not stored."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> JobRecord:
        """The record of a row."""
        values = dict(row)
        for name in _JSON:
            values[name] = json.loads(values[name])
        for name in ("created_at", "started_at", "ended_at", "until_at"):
            values[name] = time_from(values[name])
        return cls(**values)

    @property
    def ended(self) -> bool:
        """Whether it will never do anything again."""
        return self.phase not in {"Pending", "Running", "Serving"}

    @property
    def job(self) -> JobSpec:
        """What the engine runs."""
        from nodus_tui.contract.resources.job import JobSpec  # noqa: PLC0415 - whoever looks for what jobs serve finds none as a rule

        return JobSpec.model_validate(self.work or self.spec)

    @property
    def cap_left(self) -> int:
        """What this attempt may cost."""
        return max(0, self.cap - self.cost_before)

    def save(self) -> Statement:
        """Write the whole row."""
        values = ((name, getattr(self, name)) for name in _COLUMNS)
        return _SAVE, [json.dumps(value) if name in _JSON else stored(value) for name, value in values]


_COLUMNS = tuple(name for name in JobRecord.__struct_fields__ if name not in {"published", "seq"})
_SAVE = upsert("jobs", _COLUMNS, ("name",))
