"""A backend that passes every call on to another one: the base of those that do something with a few of the calls."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Self

from nodus_tui.contract.actions import Action
from nodus_tui.contract.backend import Backend, Page, Query
from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.environment_tasks import TaskPage
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.events import EventBatch, Snapshot
from nodus_tui.contract.hardware_view import HardwareView
from nodus_tui.contract.outcomes import ActionOutcome, ApplyOutcome
from nodus_tui.contract.portions import LOG_BYTES, OUTPUT_SECONDS
from nodus_tui.contract.resources.agent_run import Transcript
from nodus_tui.contract.resources.job import JobLog
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.results import GroupResults
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece, ExecRequest, ExecSession, ExecSignal, ExecTaken, TerminalShape
from nodus_tui.contract.sandboxes import FileEntry, ReapOutcome, SandboxFact
from nodus_tui.contract.scheduler_view import SchedulerView
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.sweep_results import SweepResults


class PassingBackend:
    """Every call as the inner backend answers it. Each is written out, so that the type checker finds one that is new in the protocol."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner

    async def apply(self, bundle: SpecBundle, *, dry_run: bool = False, author: str = "", request_id: str = "") -> ApplyOutcome:
        """Pass it on."""
        return await self.inner.apply(bundle, dry_run=dry_run, author=author, request_id=request_id)

    async def estimate(self, bundle: SpecBundle, *, minutes_per_case: Decimal) -> tuple[Estimate | KindEstimate, ...]:
        """Pass it on."""
        return await self.inner.estimate(bundle, minutes_per_case=minutes_per_case)

    async def get(self, kind: str, name: str) -> Resource:
        """Pass it on."""
        return await self.inner.get(kind, name)

    async def list(self, kind: str, query: Query | None = None) -> Page:
        """Pass it on."""
        return await self.inner.list(kind, query)

    async def results(self, group: str) -> GroupResults:
        """Pass it on."""
        return await self.inner.results(group)

    async def sweep_results(self, sweep: str) -> SweepResults:
        """Pass it on."""
        return await self.inner.sweep_results(sweep)

    async def transcript(self, run: str, *, from_turn: int = 0) -> Transcript:
        """Pass it on."""
        return await self.inner.transcript(run, from_turn=from_turn)

    async def act(self, action: Action) -> ActionOutcome:
        """Pass it on."""
        return await self.inner.act(action)

    async def snapshot(self, *, runs_of: str | None = None) -> Snapshot:
        """Pass it on."""
        return await self.inner.snapshot(runs_of=runs_of)

    def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
        """Pass it on."""
        return self.inner.watch(after=after)

    async def info(self, *, probe: bool = False) -> BackendInfo:
        """Pass it on."""
        return await self.inner.info(probe=probe)

    async def gpus(self, *, history: bool = False, rates: bool = True) -> HardwareView:
        """Pass it on."""
        return await self.inner.gpus(history=history, rates=rates)

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        """Pass it on."""
        return await self.inner.sandboxes()

    async def reap_sandboxes(self) -> ReapOutcome:
        """Pass it on."""
        return await self.inner.reap_sandboxes()

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        """Pass it on."""
        return await self.inner.files(run)

    def read_file(self, run: str, path: str) -> AsyncIterator[bytes]:
        """Pass it on."""
        return self.inner.read_file(run, path)

    async def job_log(self, job: str, *, after: int = 0, limit: int = 65_536, wait_seconds: float = 0) -> JobLog:
        """Pass it on."""
        return await self.inner.job_log(job, after=after, limit=limit, wait_seconds=wait_seconds)

    async def job_files(self, job: str) -> tuple[FileEntry, ...]:
        """Pass it on."""
        return await self.inner.job_files(job)

    def read_job_file(self, job: str, path: str) -> AsyncIterator[bytes]:
        """Pass it on."""
        return self.inner.read_job_file(job, path)

    async def exec_start(self, sandbox: str, request: ExecRequest, *, request_id: str = "") -> ExecSession:
        """Pass it on."""
        return await self.inner.exec_start(sandbox, request, request_id=request_id)

    def exec_output(
        self, sandbox: str, session: str, *, after: int = 0, wait_seconds: float = OUTPUT_SECONDS
    ) -> AsyncIterator[ExecPiece | ExecEnd]:
        """Pass it on."""
        return self.inner.exec_output(sandbox, session, after=after, wait_seconds=wait_seconds)

    async def exec_input(self, sandbox: str, session: str, data: bytes, *, offset: int, end: bool = False) -> ExecTaken:
        """Pass it on."""
        return await self.inner.exec_input(sandbox, session, data, offset=offset, end=end)

    async def exec_resize(self, sandbox: str, session: str, terminal: TerminalShape) -> None:
        """Pass it on."""
        await self.inner.exec_resize(sandbox, session, terminal)

    async def exec_signal(self, sandbox: str, session: str, signal: ExecSignal) -> None:
        """Pass it on."""
        await self.inner.exec_signal(sandbox, session, signal)

    async def sandbox_files(self, sandbox: str) -> tuple[FileEntry, ...]:
        """Pass it on."""
        return await self.inner.sandbox_files(sandbox)

    def read_sandbox_file(self, sandbox: str, path: str) -> AsyncIterator[bytes]:
        """Pass it on."""
        return self.inner.read_sandbox_file(sandbox, path)

    def check_environment(
        self, reference: str, *, split: str | None = None, tasks: int | None = None, seed: int = 0
    ) -> AsyncIterator[GoldCase]:
        """Pass it on."""
        return self.inner.check_environment(reference, split=split, tasks=tasks, seed=seed)

    async def environment_tasks(self, reference: str, *, split: str = "test", seed: int = 0, after: int = 0, limit: int = 50) -> TaskPage:
        """Pass it on."""
        return await self.inner.environment_tasks(reference, split=split, seed=seed, after=after, limit=limit)

    async def scheduler_view(self, *, after: int = -LOG_BYTES, limit: int = LOG_BYTES) -> SchedulerView:
        """Pass it on."""
        return await self.inner.scheduler_view(after=after, limit=limit)

    async def stop_work(self, *, grace_seconds: float, groups: tuple[str, ...] = ()) -> None:
        """Pass it on."""
        await self.inner.stop_work(grace_seconds=grace_seconds, groups=groups)

    async def aclose(self) -> None:
        """Close the inner one."""
        await self.inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()
