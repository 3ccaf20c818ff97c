"""A backend for tests of the screens that runs nothing: it answers with recorded values and keeps what it was asked."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Literal, Self

from console_records import NOW, conversation

from nodus_tui.contract.actions import Action
from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.backend_info import BackendInfo, EnvironmentFact
from nodus_tui.contract.environment_check import GoldCase, GoldRecord
from nodus_tui.contract.environment_tasks import TaskPage, TaskView
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.events import Event, EventBatch, Snapshot
from nodus_tui.contract.hardware_view import HardwareView, MachineFact
from nodus_tui.contract.outcomes import ActionOutcome, AppliedDocument, ApplyOutcome
from nodus_tui.contract.portions import LOG_BYTES, OUTPUT_SECONDS
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.resources.job import Job, JobLog
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.results import GroupResults
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece, ExecRequest, ExecSession, ExecSignal, ExecTaken, TerminalShape
from nodus_tui.contract.sandboxes import FileEntry, ReapOutcome, SandboxFact
from nodus_tui.contract.scheduler_view import SchedulerFacts, SchedulerLog, SchedulerView
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.sweep_results import SweepResults
from nodus_tui.view_state.folding import group_after, run_after


class ScriptedBackend:
    """Implements Backend from recorded values."""

    def __init__(
        self,
        groups: list[AgentGroup] | None = None,
        runs: list[AgentRun] | None = None,
        *,
        scheduling: bool = False,
        role: Literal["viewer", "operator"] = "operator",
    ) -> None:
        self.groups = {group.name: group for group in groups or []}
        self.runs = {run.name: run for run in runs or []}
        self.jobs: dict[str, Job] = {}
        self.training_jobs: dict[str, TrainingJob] = {}
        self.budgets: dict[str, Budget] = {}
        self.sweeps: dict[str, Sweep] = {}
        self.sweep_answers: dict[str, SweepResults] = {}
        self.group_answers: dict[str, GroupResults] = {}
        self.logs: dict[str, str] = {}
        self.transcripts: dict[str, Transcript] = {}
        self.turns_asked: list[int] = []
        """From which turn on each transcript was asked for."""
        self.cursor = 100
        self.scheduling = scheduling
        self.role: Literal["viewer", "operator"] = role
        self.elsewhere = False
        self.unchanged: set[str] = set()
        """Resources that an apply finds as they are in the workspace."""
        self.breaks: Exception | None = None
        """What no backend may raise, and one with a fault does."""
        self.acted: list[Action] = []
        self.applied: list[SpecBundle] = []
        self.stopped_with: list[float] = []
        self.refuse: NodusError | None = None
        self.lost: NodusError | None = None
        self.estimates: tuple[Estimate, ...] = ()
        self.contents: dict[str, bytes] = {}
        """The files of every run."""
        self.more_files: tuple[FileEntry, ...] = ()
        """Folders and links."""
        self.catalogue: tuple[EnvironmentFact, ...] = ()
        self.environments: dict[str, Environment] = {}
        self.gold_checks: tuple[GoldRecord, ...] = ()
        self.gold_cases: dict[str, tuple[GoldCase, ...]] = {}
        self.tasks: dict[str, tuple[TaskView, ...]] = {}
        self.task_pages_asked: list[tuple[str, str, int]] = []
        self.scheduler: SchedulerFacts | None = None
        """None: who asks is a viewer."""
        self.scheduler_log = ""
        """ASCII, so that bytes are letters."""
        self.sandboxes_running = 0
        self.boxes: dict[str, Sandbox] = {}
        self.sandbox_facts: tuple[SandboxFact, ...] = ()
        self.hardware = HardwareView(at=NOW, machine=MachineFact(host="here"), notes=("no NVIDIA driver here",))
        self.hardware_lost: NodusError | None = None
        self.looks = 0
        """How often the hardware was asked for."""
        self._readers: list[asyncio.Queue[EventBatch | NodusError]] = []

    def emit(self, *events: Event) -> None:
        """Let something happen: the state changes and the readers are told."""
        for event in events:
            self.cursor = max(self.cursor, event.cursor)
            if event.kind == "AgentGroup":
                group = group_after(self.groups.get(event.name), event)
                self.groups.pop(event.name, None)
                if group is not None:
                    self.groups[event.name] = group
            else:
                run = run_after(self.runs.get(event.name), event)
                self.runs.pop(event.name, None)
                if run is not None:
                    self.runs[event.name] = run
        for reader in self._readers:
            reader.put_nowait(EventBatch(cursor=self.cursor, events=events))

    def break_off(self, error: NodusError) -> None:
        """Lose the connection; it stays lost until `lost` is None."""
        self.lost = error
        for reader in self._readers:
            reader.put_nowait(error)

    async def apply(self, bundle: SpecBundle, *, dry_run: bool = False, author: str = "", request_id: str = "") -> ApplyOutcome:
        if self.refuse is not None:
            raise self.refuse
        if not dry_run:
            self.applied.append(bundle)
        documents = tuple(
            AppliedDocument(
                kind=each.resource.kind,
                name=each.resource.name,
                outcome="unchanged" if each.resource.name in self.unchanged else "created",
            )
            for each in bundle
        )
        return ApplyOutcome(dry_run=dry_run, documents=documents)

    async def estimate(self, bundle: SpecBundle, *, minutes_per_case: Decimal) -> tuple[Estimate | KindEstimate, ...]:
        if self.refuse is not None:
            raise self.refuse
        return tuple(each.model_copy(update={"minutes_per_case": minutes_per_case}) for each in self.estimates)

    async def get(self, kind: str, name: str) -> Resource:
        raise NodusError.not_found(kind, name)

    async def list(self, kind: str, query: Query | None = None) -> Page:
        if self.lost is not None:
            raise self.lost
        if kind == "Environment":
            return Page(items=tuple(self.environments.values()))
        if kind != "AgentRun" or query is None:
            return Page(items=())
        found = [run for run in self.runs.values() if run.status is not None and run.status.current]
        return Page(items=tuple(run for run in found if not (query.unfinished and run.status.phase.ended)))

    async def results(self, group: str) -> GroupResults:
        if group not in self.group_answers:
            raise NodusError.not_found("AgentGroup", group)
        return self.group_answers[group]

    async def sweep_results(self, sweep: str) -> SweepResults:
        if self.lost is not None:
            raise self.lost
        if sweep not in self.sweep_answers:
            raise NodusError.not_found("Sweep", sweep)
        return self.sweep_answers[sweep]

    async def transcript(self, run: str, *, from_turn: int = 0) -> Transcript:
        if self.refuse is not None:
            raise self.refuse
        self.turns_asked.append(from_turn)
        return (self.transcripts.get(run) or conversation(run)).from_turn(from_turn)

    async def act(self, action: Action) -> ActionOutcome:
        if self.breaks is not None:
            raise self.breaks
        if self.refuse is not None:
            raise self.refuse
        self.acted.append(action)
        name = getattr(action, "name", None) or getattr(action, "group", "")
        return ActionOutcome(action=action.action, kind="", name=name, changed=True, message=f"{action.action} of {name} is done", at=NOW)

    async def snapshot(self, *, runs_of: str | None = None) -> Snapshot:
        if self.lost is not None:
            raise self.lost
        runs = tuple(run for run in self.runs.values() if runs_of is not None and runs_of in ("", run.spec.group))
        return Snapshot(
            cursor=self.cursor,
            groups=tuple(self.groups.values()),
            runs=runs,
            jobs=tuple(self.jobs.values()),
            training_jobs=tuple(self.training_jobs.values()),
            budgets=tuple(self.budgets.values()),
            sweeps=tuple(self.sweeps.values()),
            sandboxes=tuple(self.boxes.values()),
        )

    async def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
        queue: asyncio.Queue[EventBatch | NodusError] = asyncio.Queue()
        self._readers.append(queue)
        try:
            while True:
                item = await queue.get()
                if isinstance(item, NodusError):
                    raise item
                yield item
        finally:
            self._readers.remove(queue)

    async def gpus(self, *, history: bool = False, rates: bool = True) -> HardwareView:
        self.looks += 1
        if self.hardware_lost is not None:
            raise self.hardware_lost
        return self.hardware

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        if self.lost is not None:
            raise self.lost
        return self.sandbox_facts

    async def reap_sandboxes(self) -> ReapOutcome:
        return ReapOutcome()

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        if self.refuse is not None:
            raise self.refuse
        return (*(FileEntry(path=path, kind="file", size=len(text)) for path, text in self.contents.items()), *self.more_files)

    async def read_file(self, run: str, path: str) -> AsyncIterator[bytes]:
        if path not in self.contents:
            raise NodusError.not_found("file", path)
        yield self.contents[path]

    async def job_log(self, job: str, *, after: int = 0, limit: int = 65_536, wait_seconds: float = 0) -> JobLog:
        text = self.logs.get(job, "")
        after = max(0, len(text.encode()) + after) if after < 0 else after
        piece = text.encode()[after:][:limit].decode()
        end = after + len(piece.encode())
        known = self.jobs.get(job) or self.training_jobs.get(job)
        over = known is None or known.status is None or known.status.ended
        return JobLog(job=job, offset=after, next_offset=end, size=len(text.encode()), text=piece, ended=over and end == len(text.encode()))

    async def job_files(self, job: str) -> tuple[FileEntry, ...]:
        return await self.files(job)

    async def read_job_file(self, job: str, path: str) -> AsyncIterator[bytes]:
        async for piece in self.read_file(job, path):
            yield piece

    async def exec_start(self, sandbox: str, request: ExecRequest, *, request_id: str = "") -> ExecSession:
        raise NodusError.not_found("Sandbox", sandbox)

    async def exec_output(
        self, sandbox: str, session: str, *, after: int = 0, wait_seconds: float = OUTPUT_SECONDS
    ) -> AsyncIterator[ExecPiece | ExecEnd]:
        raise NodusError.not_found("Sandbox", sandbox)
        yield  # it is a generator

    async def exec_input(self, sandbox: str, session: str, data: bytes, *, offset: int, end: bool = False) -> ExecTaken:
        raise NodusError.not_found("Sandbox", sandbox)

    async def exec_resize(self, sandbox: str, session: str, terminal: TerminalShape) -> None:
        raise NodusError.not_found("Sandbox", sandbox)

    async def exec_signal(self, sandbox: str, session: str, signal: ExecSignal) -> None:
        raise NodusError.not_found("Sandbox", sandbox)

    async def sandbox_files(self, sandbox: str) -> tuple[FileEntry, ...]:
        return await self.files(sandbox)

    async def read_sandbox_file(self, sandbox: str, path: str) -> AsyncIterator[bytes]:
        async for piece in self.read_file(sandbox, path):
            yield piece

    async def check_environment(
        self, reference: str, *, split: str | None = None, tasks: int | None = None, seed: int = 0
    ) -> AsyncIterator[GoldCase]:
        if reference not in self.gold_cases:
            raise NodusError.not_found("Environment", reference)
        for case in self.gold_cases[reference]:
            yield case

    async def environment_tasks(self, reference: str, *, split: str = "test", seed: int = 0, after: int = 0, limit: int = 50) -> TaskPage:
        self.task_pages_asked.append((reference, split, after))
        tasks = self.tasks.get(reference)
        if tasks is None:
            raise NodusError.not_found("Environment", reference)
        part = tasks[after : after + limit]
        more = after + len(part) < len(tasks)
        return TaskPage(environment=reference, split=split, seed=seed, total=len(tasks), after=after, tasks=part, more=more)

    async def scheduler_view(self, *, after: int = -LOG_BYTES, limit: int = LOG_BYTES) -> SchedulerView:
        if self.scheduler is None:
            raise NodusError(ErrorCode.FORBIDDEN, "you look on as a viewer: the scheduler's log is an operator's")
        text = self.scheduler_log
        begin = max(0, len(text) + after) if after < 0 else after if after <= len(text) else 0
        piece = text[begin : begin + limit]
        log = SchedulerLog(text=piece, offset=begin, next_offset=begin + len(piece), size=len(text), path="/home/ann/.nodus/log")
        return SchedulerView(at=NOW, facts=self.scheduler, log=log)

    async def info(self, *, probe: bool = False) -> BackendInfo:
        return BackendInfo(
            name="scripted",
            version="0",
            workspace="nowhere",
            scheduling=self.scheduling,
            scheduler_elsewhere=self.elsewhere,
            role=self.role,
            sandboxes_running=self.sandboxes_running,
            environments=self.catalogue,
            gold_checks=self.gold_checks,
        )

    async def stop_work(self, *, grace_seconds: float) -> None:
        self.stopped_with.append(grace_seconds)

    async def aclose(self) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


UNREACHABLE = NodusError(ErrorCode.UNAVAILABLE, "the scheduler's socket does not answer")
