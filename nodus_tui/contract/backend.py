"""The Backend protocol: everything that a console asks of a backend. The same calls work in process and over a wire.

What a call takes and gives is named here for the reader: whoever makes the call loads it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self, runtime_checkable

from msgspec import Struct
from pydantic import Field

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.portions import LOG_BYTES, OUTPUT_SECONDS
from nodus_tui.contract.resources.meta import Resource

if TYPE_CHECKING:
    from nodus_tui.contract.actions import Action
    from nodus_tui.contract.backend_info import BackendInfo
    from nodus_tui.contract.environment_check import GoldCase
    from nodus_tui.contract.environment_tasks import TaskPage
    from nodus_tui.contract.estimates import Estimate, KindEstimate
    from nodus_tui.contract.events import EventBatch, Snapshot
    from nodus_tui.contract.hardware_view import HardwareView
    from nodus_tui.contract.outcomes import ActionOutcome, ApplyOutcome
    from nodus_tui.contract.resources.agent_run import Transcript
    from nodus_tui.contract.resources.job import JobLog
    from nodus_tui.contract.results import GroupResults
    from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece, ExecRequest, ExecSession, ExecSignal, ExecTaken, TerminalShape
    from nodus_tui.contract.sandboxes import FileEntry, ReapOutcome, SandboxFact
    from nodus_tui.contract.scheduler_view import SchedulerView
    from nodus_tui.contract.spec_loading.bundle import SpecBundle
    from nodus_tui.contract.sweep_results import SweepResults

ENTRY_POINT_GROUP = "nodus_tui.backends"
"""Where backends register a `BackendFactory` under their name."""


class Query(ContractModel):
    """Which resources `list` gives."""

    group: str = ""
    """Runs of this AgentGroup only."""
    project: str = ""
    current_only: bool = True
    """Leave out runs whose case another attempt took over."""
    unfinished: bool = False
    """Leave out runs that have ended: what is left waits or goes."""
    limit: int = Field(default=1000, ge=1, le=10_000)
    after: str = ""
    """The name of the last resource of the page before."""


class Page(ContractModel):
    """Resources in order of creation; `next_after` is empty on the last page."""

    items: tuple[Resource, ...]
    next_after: str = ""


class Backend(Protocol):
    """A backend. Every call raises NodusError, and nothing else, when it cannot do what is asked."""

    async def apply(self, bundle: SpecBundle, *, dry_run: bool = False, author: str = "", request_id: str = "") -> ApplyOutcome:
        """Create or change all resources of the bundle, or none: with any fault it raises InvalidSpec with every one.

        A bundle that is for checking only may be had for a dry run alone; then no fault is told that follows from a value that is made
        up (`in_doubt`) or from a document that could not be read (`may_lack`). A repeated request id acts once and gives the first answer
        again; with another bundle it is refused as a Conflict.
        """
        ...

    async def estimate(self, bundle: SpecBundle, *, minutes_per_case: Decimal) -> tuple[Estimate | KindEstimate, ...]:
        """The estimate of each document that can cost money, in order; a group's agent may be in the bundle or applied before."""
        ...

    async def get(self, kind: str, name: str) -> Resource:
        """One resource with its status. An Agent as it was at a revision, as the runs of a group pin it, is called NAME@REVISION."""
        ...

    async def list(self, kind: str, query: Query | None = None) -> Page:
        """Resources of a kind; without a query, the first page of all."""
        ...

    async def results(self, group: str) -> GroupResults:
        """The results of a group as they stand."""
        ...

    async def sweep_results(self, sweep: str) -> SweepResults:
        """A sweep's cells and what they have come to."""
        ...

    async def transcript(self, run: str, *, from_turn: int = 0) -> Transcript:
        """A run's conversation, from this index of its turns on, and all its calls. Turns never change once they are told."""
        ...

    async def act(self, action: Action) -> ActionOutcome:
        """Do it; the answer comes when it is durable."""
        ...

    async def snapshot(self, *, runs_of: str | None = None) -> Snapshot:
        """All groups, jobs, budgets, sweeps and Sandboxes, and the runs of one group (`""` means of every group, None of none)."""
        ...

    def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
        """Everything after a cursor, in order, for ever; batches are merged per object while the reader is slow."""
        ...

    async def info(self, *, probe: bool = False) -> BackendInfo:
        """What this backend is and what it can use. With `probe` it also finds out which engine makes sandboxes, by making some."""
        ...

    async def gpus(self, *, history: bool = False, rates: bool = True) -> HardwareView:
        """The backend's machine: its accelerators, their processes, CPU, memory, disk, network; with `history` the last samples too.

        Where nobody has looked for a while, shares of the CPU and amounts a second take two samples: without `rates` they are not waited
        for, and null.

        What cannot be found out is null with a sentence, never an error: a machine without a driver is told as one without devices.
        """
        ...

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        """Every sandbox of ours on the backend's machine, those of dead owners included."""
        ...

    async def reap_sandboxes(self) -> ReapOutcome:
        """Remove the sandboxes whose owner is dead."""
        ...

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        """The files in a run's work folder: as they are while its sandbox lives, as they were kept afterwards, in order of their paths."""
        ...

    def read_file(self, run: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them. Raises NodusError (NotFound) for a path that is no regular file there."""
        ...

    async def exec_start(self, sandbox: str, request: ExecRequest, *, request_id: str = "") -> ExecSession:
        """Start a command in a Sandbox that runs. A repeated request id gives the first session. Raises NodusError: InvalidAction where it
        does not run, Unavailable where it failed at it.
        """
        ...

    def exec_output(
        self, sandbox: str, session: str, *, after: int = 0, wait_seconds: float = OUTPUT_SECONDS
    ) -> AsyncIterator[ExecPiece | ExecEnd]:
        """What a command writes from a place on, as it comes, and last its end.

        It ends without one after `wait_seconds`, or when it has given WINDOW_BYTES: ask again with where it ended. That says that all
        before has arrived, and it is kept no longer. The last one who asks gets the output.
        """
        ...

    async def exec_input(self, sandbox: str, session: str, data: bytes, *, offset: int, end: bool = False) -> ExecTaken:
        """Feed a command, or type on its terminal: up to INPUT_BYTES that begin at that place of all its input; with `end` nothing follows.

        What was sent before is not taken again. Fewer may be taken than were sent; it waits a while for room for the first.
        """
        ...

    async def exec_resize(self, sandbox: str, session: str, terminal: TerminalShape) -> None:
        """A command's terminal has another size. Raises NodusError: InvalidAction where it has no terminal."""
        ...

    async def exec_signal(self, sandbox: str, session: str, signal: ExecSignal) -> None:
        """Send a signal to a command and all that it started in its session."""
        ...

    async def sandbox_files(self, sandbox: str) -> tuple[FileEntry, ...]:
        """The files in a Sandbox's work folder: as they are while it runs, as they were kept afterwards, in order of their paths."""
        ...

    def read_sandbox_file(self, sandbox: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them; those read one after the other are as they were at one moment. Raises NodusError (NotFound)."""
        ...

    async def job_log(self, job: str, *, after: int = 0, limit: int = 65_536, wait_seconds: float = 0) -> JobLog:
        """What a job wrote, from a place on; a negative `after` counts from the end. At most `limit` bytes (4 or more).

        Where there is nothing after that place yet, it waits up to `wait_seconds` for some, or for the job's end.
        """
        ...

    async def job_files(self, job: str) -> tuple[FileEntry, ...]:
        """The outputs of a job that has ended, as they were kept, in order of their paths."""
        ...

    def read_job_file(self, job: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them. Raises NodusError: NotFound for a path that is none, Unavailable where it is not what was kept."""
        ...

    def check_environment(
        self, reference: str, *, split: str | None = None, tasks: int | None = None, seed: int = 0
    ) -> AsyncIterator[GoldCase]:
        """The gold check of an environment, case by case: of a split or both, of the first `tasks` tasks or of all."""
        ...

    async def environment_tasks(self, reference: str, *, split: str = "test", seed: int = 0, after: int = 0, limit: int = 50) -> TaskPage:
        """Tasks of an environment as agents see them, at most `limit` (MOST_TASKS or fewer) after the first `after` of the seed's order."""
        ...

    async def scheduler_view(self, *, after: int = -LOG_BYTES, limit: int = LOG_BYTES) -> SchedulerView:
        """Who does the work and how well, and its log from a byte on; a negative `after` counts from the end. An operator's call."""
        ...

    async def stop_work(self, *, grace_seconds: float, groups: tuple[str, ...] = ()) -> None:
        """Let calls in flight end within the grace, then charge them their worst case; the groups are left interrupted, all is kept.

        With groups only those, wherever they are worked on (`BackendInfo.can_stop_groups`); without, everything at work here.
        """
        ...

    async def aclose(self) -> None:
        """Let go of the backend; work that it does not own goes on."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...


class LinkState(Struct, frozen=True):
    """How the way to a backend in another process stands. What is shown is as old as `last_heard`."""

    connected: bool
    since: datetime
    """When it became so."""
    last_heard: datetime
    """When the last byte came, heartbeats included."""
    silence: str = ""
    """What the other process is doing, in words that begin a sentence, while an answer is waited for that long; empty otherwise."""


@runtime_checkable
class Linked(Protocol):
    """What a backend in another process also has."""

    @property
    def link(self) -> LinkState:
        """How the way there stands."""
        ...


class BackendOptions(Struct, frozen=True):
    """How to open a backend."""

    home: Path
    """The state folder (NODUS_HOME)."""
    config: Path | None
    """The configuration file (NODUS_CONFIG); None when there is none."""
    role: Literal["work", "look"] = "look"
    """`work` runs the scheduler here when no other process does; `look` never starts work."""


class BackendFactory(Protocol):
    """What a backend registers."""

    async def __call__(self, options: BackendOptions) -> Backend:
        """Open it; raises NodusError when it cannot be opened."""
        ...
