"""The records that live in the database, as mutable rows in memory, and the statements that write them.

The engine changes a record, then commits its row and the event that tells of it in one transaction. Money is nano-dollars.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from local_backend.storage.store import Statement
from nodus_tui.contract.phases import CallState, GroupPhase, Reason, RunPhase, UntilKind, Verdict

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from nodus_tui.contract.phases import RunActivity


def time_text(moment: datetime | None) -> str | None:
    """A moment in UTC as the database keeps it."""
    return moment.isoformat(timespec="microseconds") if moment is not None else None


def time_from(text: str | None) -> datetime | None:
    """The moment of a text that `time_text` made."""
    return datetime.fromisoformat(text) if text is not None else None


def _known_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


class SandboxUse(Struct):
    """What is booked of a run's sandboxes. Times are UTC; money is nano-dollars."""

    hardware: str = "CPU"
    devices: list[str] = field(default_factory=list)
    """By uuid: those of the episode's sandbox that runs, or ran last."""
    device_names: list[str] = field(default_factory=list)
    """The same for people: the driver's number and name, as they were then."""
    rate: int = 0
    """Nano-dollars an hour of the episode's sandbox."""
    grading_rate: int = 0
    """The same of a grading sandbox, which has no devices."""
    engine: str = ""
    weaker: bool = False
    """Whether the engine isolates less than it could."""
    image: str = ""
    grader_image: str = ""
    """What its answer was graded in."""
    started_at: datetime | None = None
    """Of the episode's sandbox that runs, or ran last."""
    running: bool = False
    lifetime: float = 0
    """Seconds after which that one ends by itself, whoever lives; 0 where it is not known."""
    grading_at: datetime | None = None
    """Since when a grading sandbox may be at work for it."""
    grading_lifetime: float = 0
    """As `lifetime`, of that one."""
    settled_seconds: float = 0
    """Of sandboxes that have stopped."""
    cost: int = 0
    """Of the same."""
    kept: bool = False
    """Whether the agent's files lie in the workspace."""
    not_kept: str = ""
    """Why they do not, as a sentence, where they were to be kept."""
    lost: bool = False
    """Whether the work in a sandbox went down with its scheduler: the conversation cannot go on from there."""

    def handed_on(self) -> SandboxUse:
        """For the run that goes on from this one's work."""
        return SandboxUse(hardware=self.hardware, rate=self.rate, grading_rate=self.grading_rate, kept=self.kept)

    def stopped(self, moment: datetime, measured: int | None = None) -> None:
        """Book the time of the episode's sandbox, which does not run any more. It never ran past its lifetime, whenever that is noticed.

        `measured` is what its time cost where that was measured; it counts where it is less than time × rate.
        """
        self.running = False
        if self.started_at is not None:
            seconds = max(0.0, (moment - self.started_at).total_seconds())
            before = self.cost
            self.charge(min(seconds, self.lifetime) if self.lifetime else seconds)
            if measured is not None:
                self.cost = min(self.cost, before + measured)

    def grading_stopped(self, moment: datetime) -> None:
        """The same for a grading sandbox that did not come to its own end, if there was one."""
        if self.grading_at is not None:
            seconds = max(0.0, (moment - self.grading_at).total_seconds())
            self.charge_grading(min(seconds, self.grading_lifetime) if self.grading_lifetime else seconds)
        self.grading_at = None

    def charge(self, seconds: float) -> None:
        """Book time of an episode's sandbox that has stopped; rounded up to the nano-dollar."""
        self._charge(seconds, self.rate)

    def charge_grading(self, seconds: float) -> None:
        """The same of a grading sandbox."""
        self._charge(seconds, self.grading_rate)

    def _charge(self, seconds: float, rate: int) -> None:
        self.settled_seconds += seconds
        self.cost += -(-round(seconds * 1_000_000) * rate // 3_600_000_000)

    def to_text(self) -> str:
        """As the database keeps it."""
        values = {name: stored(getattr(self, name)) for name in self.__struct_fields__}
        # The rate of grading stands there also where it is nothing: without it, the record is of a time when there was one rate only.
        return json.dumps({name: value for name, value in values.items() if value not in (None, 0, "", []) or name == "grading_rate"})

    @classmethod
    def from_text(cls, text: str) -> SandboxUse:
        """What `to_text` made."""
        values = json.loads(text)
        for name in ("started_at", "grading_at"):
            values[name] = time_from(values.get(name))
        for name in ("running", "kept", "lost", "weaker"):
            values[name] = bool(values.get(name))
        values.setdefault("grading_rate", values.get("rate", 0))
        return cls(**values)


class Stretch(Struct, frozen=True):
    """What a run did from a moment on."""

    activity: RunActivity
    reason: Reason | None
    since: datetime


def stretches_text(stretches: Sequence[Stretch]) -> str:
    """As the database keeps them."""
    return json.dumps([[each.activity, each.reason, time_text(each.since)] for each in stretches])


def stretches_from(text: str) -> list[Stretch]:
    """What `stretches_text` made."""
    return [Stretch(activity, Reason(reason) if reason else None, _known_time(since)) for activity, reason, since in json.loads(text)]


class RunRecord(Struct):
    """One row of `runs`."""

    seq: int
    """Order of creation over all groups."""
    name: str
    group_name: str
    case_index: int
    task_position: int
    task_id: str
    repetition: int
    attempt: int
    cap: int
    created_at: datetime
    predecessor: str | None = None
    current: bool = True
    phase: RunPhase = RunPhase.PENDING
    reason: Reason | None = Reason.WAITING_FOR_SLOT
    message: str = ""
    until_at: datetime | None = None
    until_kind: UntilKind = "Exact"
    verdict: Verdict | None = None
    reward: float | None = None
    grade_message: str = ""
    carried: int = 0
    spent: int = 0
    in_flight: int = 0
    unconfirmed: int = 0
    needed: int | None = None
    """While it waits at its own cap: the least cap under which its next call would fit."""
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    turns: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    rested_at: datetime | None = None
    """Since when it has not gone on, once it had started: it waits again, is interrupted, or waits at its cap."""
    answered: bool = False
    """Whether its conversation is complete: what is left is its grade."""
    sandbox: SandboxUse | None = None
    """None for a run without tools, and until it first asked for a sandbox."""
    stretches: list[Stretch] = field(default_factory=list)
    """What it did when, oldest first."""
    published: dict[str, JsonValue] = field(default_factory=dict)
    """The status fields that the last event told, to find what changed; not stored."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> RunRecord:
        """The record of a row."""
        values = dict(row)
        for name in ("until_at", "started_at", "ended_at", "rested_at", "created_at"):
            values[name] = time_from(values[name])
        values["current"] = bool(values["current"])
        values["answered"] = bool(values["answered"])
        values["sandbox"] = SandboxUse.from_text(values["sandbox"]) if values["sandbox"] else None
        values["stretches"] = stretches_from(values["stretches"])
        values["phase"] = RunPhase(values["phase"])
        values["reason"] = Reason(values["reason"]) if values["reason"] else None
        values["verdict"] = Verdict(values["verdict"]) if values["verdict"] else None
        return cls(**values)

    def save(self) -> Statement:
        """Write the whole row."""
        values = [stored(getattr(self, name)) for name in _RUN_COLUMNS]
        values[_SANDBOX_COLUMN] = self.sandbox.to_text() if self.sandbox else ""
        values[_STRETCHES_COLUMN] = stretches_text(self.stretches)
        return _SAVE_RUN, values


def stored(value: Any) -> Any:
    """A value as the database keeps it."""
    if isinstance(value, datetime):
        return time_text(value)
    return int(value) if isinstance(value, bool) else value


def upsert(table: str, columns: tuple[str, ...], key: tuple[str, ...]) -> str:
    """SQL that writes a whole row. The names are constants of the callers: nothing from outside enters the text."""
    marks = ", ".join("?" for _ in columns)
    sets = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT ({', '.join(key)}) DO UPDATE SET {sets}"  # noqa: S608 - constants only


_RUN_COLUMNS = tuple(name for name in RunRecord.__struct_fields__ if name != "published")
_SANDBOX_COLUMN = _RUN_COLUMNS.index("sandbox")
_STRETCHES_COLUMN = _RUN_COLUMNS.index("stretches")
_SAVE_RUN = upsert("runs", _RUN_COLUMNS, ("name",))


class GroupRecord(Struct):
    """One row of `groups`."""

    seq: int
    name: str
    metadata: dict[str, Any]
    spec: dict[str, Any]
    """As launched; the cap and maxActive in force are the columns below."""
    agent: str
    agent_revision: int
    cap: int
    max_active: int
    environment: dict[str, Any]
    """The resolved environment: name, version, source, options; empty without evaluation."""
    model: dict[str, Any]
    """Family, provider, name, price source, simulated, notional: as they were at launch."""
    created_at: datetime
    deadline_at: datetime | None = None
    digest: str = ""
    phase: GroupPhase = GroupPhase.PENDING
    reason: Reason | None = None
    message: str = ""
    needed: int | None = None
    """While cases cannot start for the group's cap: the least cap that gives all of them room."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    status: dict[str, Any] = field(default_factory=dict)
    """The status as the last event told it."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> GroupRecord:
        """The record of a row."""
        values = dict(row)
        for name in ("metadata", "spec", "environment", "model", "status"):
            values[name] = json.loads(values[name])
        for name in ("created_at", "deadline_at", "started_at", "ended_at"):
            values[name] = time_from(values[name])
        values["phase"] = GroupPhase(values["phase"])
        values["reason"] = Reason(values["reason"]) if values["reason"] else None
        return cls(**values)

    def save(self) -> Statement:
        """Write the whole row."""
        values = [
            json.dumps(value) if name in {"metadata", "spec", "environment", "model", "status"} else stored(value)
            for name, value in ((name, getattr(self, name)) for name in _GROUP_COLUMNS)
        ]
        return _SAVE_GROUP, values


_GROUP_COLUMNS = GroupRecord.__struct_fields__
_SAVE_GROUP = upsert("groups", _GROUP_COLUMNS, ("name",))


class CallRow(Struct):
    """One row of `calls`: written Reserved before the request leaves, and once more when its outcome is known."""

    run: str
    number: int
    turn: int
    attempt: int
    reserved: int
    input_bound: int
    started_at: datetime
    state: CallState = CallState.RESERVED
    cost: int = 0
    usage: dict[str, int] | None = None
    over_bound: bool = False
    ended_at: datetime | None = None
    stop_reason: str = ""
    error: str = ""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> CallRow:
        """The record of a row."""
        values = dict(row)
        values["usage"] = json.loads(values["usage"]) if values["usage"] else None
        values["started_at"] = _known_time(values["started_at"])
        values["ended_at"] = time_from(values["ended_at"])
        values["state"] = CallState(values["state"])
        values["over_bound"] = bool(values["over_bound"])
        return cls(**values)

    def save(self) -> Statement:
        """Write the whole row."""
        values = [
            (json.dumps(value) if value is not None else None) if name == "usage" else stored(value)
            for name, value in ((name, getattr(self, name)) for name in _CALL_COLUMNS)
        ]
        return _SAVE_CALL, values


_CALL_COLUMNS = CallRow.__struct_fields__
_SAVE_CALL = upsert("calls", _CALL_COLUMNS, ("run", "number"))


class TurnRow(Struct, frozen=True):
    """One row of `turns`."""

    run: str
    position: int
    role: str
    text: str
    at: datetime
    call: int | None = None
    tools: Sequence[Mapping[str, JsonValue]] = ()
    """The tool calls of a reply, or the results of role tool, under the contract's names."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> TurnRow:
        """The record of a row."""
        values = dict(row)
        values["at"] = _known_time(values["at"])
        values["tools"] = json.loads(values["tools"]) if values["tools"] else ()
        return cls(**values)

    def save(self) -> Statement:
        """Add the row; a turn is never changed."""
        return (
            "INSERT INTO turns (run, position, role, text, at, call, tools) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self.run, self.position, self.role, self.text, time_text(self.at), self.call, json.dumps(self.tools) if self.tools else None),
        )


class TaskRow(Struct, frozen=True):
    """One row of `tasks`: what an agent may see of a task."""

    group_name: str
    position: int
    task_id: str
    prompts: tuple[str, ...]
    metadata: Mapping[str, JsonValue]
    workbench: Mapping[str, JsonValue] | None = None
    """What the task puts into the agent's sandbox."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> TaskRow:
        """The record of a row."""
        bench = json.loads(row["workbench"]) if row["workbench"] else None
        prompts, metadata = tuple(json.loads(row["prompts"])), json.loads(row["metadata"])
        return cls(row["group_name"], row["position"], row["task_id"], prompts, metadata, bench)

    def save(self) -> Statement:
        """Add the row."""
        return (
            "INSERT INTO tasks (group_name, position, task_id, prompts, metadata, workbench) VALUES (?, ?, ?, ?, ?, ?)",
            (
                self.group_name,
                self.position,
                self.task_id,
                json.dumps(self.prompts),
                json.dumps(dict(self.metadata)),
                json.dumps(self.workbench) if self.workbench is not None else "",
            ),
        )


def event(
    at: datetime,
    change: str,
    kind: str,
    name: str,
    *,
    group: str = "",
    status: Mapping[str, JsonValue] | None = None,
    spec: Mapping[str, JsonValue] | None = None,
    metadata: Mapping[str, JsonValue] | None = None,
) -> Statement:
    """Add an event; its cursor is given by the database in the order of commits."""
    body: dict[str, Any] = {}
    if status:
        body["status"] = status
    if spec:
        body["spec"] = spec
    if metadata:
        body["metadata"] = metadata
    return (
        "INSERT INTO events (at, change, kind, name, group_name, body) VALUES (?, ?, ?, ?, ?, ?)",
        (time_text(at), change, kind, name, group, json.dumps(body)),
    )
