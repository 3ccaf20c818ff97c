"""Events: one totally ordered stream of changes with integer cursors. A snapshot and what comes after its cursor give the present."""

from typing import Literal

from pydantic import Field, JsonValue

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob


class Event(ContractModel):
    """One change of one object. It carries the changed fields only, under their camelCase names."""

    cursor: int
    at: UTCTime
    change: Literal["Created", "Changed", "Deleted"]
    kind: str
    """A resource's, or `SweepCell`, whose status has the fields of `sweep_results.SweepCell`."""
    name: str
    group: str = ""
    """The AgentGroup that a run belongs to, or the Sweep of a cell."""
    spec: dict[str, JsonValue] = Field(default_factory=dict)
    """Changed fields of the spec; the whole spec when created."""
    status: dict[str, JsonValue] = Field(default_factory=dict)
    """Changed fields of the status; the whole status when created."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    """The whole metadata when created, else empty."""


class EventBatch(ContractModel):
    """Events in order. `cursor` is where to go on from; it moves even when a filter or a merge left no event."""

    cursor: int
    events: tuple[Event, ...] = ()


class Snapshot(ContractModel):
    """The state at a cursor."""

    cursor: int
    groups: tuple[AgentGroup, ...] = ()
    runs: tuple[AgentRun, ...] = ()
    """Of the groups asked for, superseded ones included."""
    jobs: tuple[Job, ...] = ()
    training_jobs: tuple[TrainingJob, ...] = ()
    budgets: tuple[Budget, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    sandboxes: tuple[Sandbox, ...] = ()
    """Those of the kind; what runs for runs and graders is told by `sandboxes`."""
