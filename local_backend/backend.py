"""LocalBackend: the contract on top of this package's rooms, over one workspace.

Whoever holds the workspace's lock does the work (`owner.py`, `working.py`); reading is done here, straight from the database. What checks,
estimates or works is loaded when it is first asked for: most processes that open a workspace read a little and leave.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from local_backend.clock import SteadyClock
from local_backend.reading.reader import Reader
from local_backend.storage.store import Store
from local_backend.storage.workspace import Workspace
from nodus_tui import __version__
from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.configuration import Configuration
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Reason
from nodus_tui.contract.portions import LOG_BYTES, OUTPUT_SECONDS
from nodus_tui.contract.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from datetime import datetime
    from decimal import Decimal
    from pathlib import Path

    from local_backend.boxes_here import BoxesHere
    from local_backend.hardware.watch import HardwareWatch
    from local_backend.jobs.desk import JobDesk
    from local_backend.jobs.engine import JobEngine
    from local_backend.owner import Owner
    from local_backend.rooms import Rooms
    from local_backend.sandbox_kind.engine import BoxEngine
    from local_backend.sandboxing import SandboxDesk
    from local_backend.scheduler_here import SchedulerHere
    from local_backend.scheduling.scheduler import Scheduler
    from local_backend.working import Working
    from nodus_tui.contract.actions import Action
    from nodus_tui.contract.backend import Backend, BackendOptions
    from nodus_tui.contract.backend_info import BackendInfo, ModelFact
    from nodus_tui.contract.environment_check import GoldCase
    from nodus_tui.contract.environment_tasks import TaskPage
    from nodus_tui.contract.estimates import Estimate, KindEstimate
    from nodus_tui.contract.events import EventBatch, Snapshot
    from nodus_tui.contract.hardware_view import HardwareView
    from nodus_tui.contract.outcomes import ActionOutcome, ApplyOutcome
    from nodus_tui.contract.resources.agent_run import Transcript
    from nodus_tui.contract.resources.job import JobLog
    from nodus_tui.contract.resources.meta import Resource
    from nodus_tui.contract.results import GroupResults
    from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece, ExecRequest, ExecSession, ExecSignal, ExecTaken, TerminalShape
    from nodus_tui.contract.sandboxes import FileEntry, ReapOutcome, SandboxFact
    from nodus_tui.contract.scheduler_view import SchedulerView
    from nodus_tui.contract.spec_loading.bundle import SpecBundle
    from nodus_tui.contract.sweep_results import SweepResults

_log = logging.getLogger(__name__)


class LocalBackend:
    """One workspace, open. Made by `open_backend`."""

    def __init__(
        self,
        *,
        options: BackendOptions,
        workspace: Workspace,
        store: Store,
        configuration: Configuration,
        environ: Mapping[str, str],
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._options = options
        self._workspace = workspace
        self._store = store
        self._configuration = configuration
        self._environ = environ
        self._clock = clock = clock or SteadyClock()
        self._reader = Reader(store, clock, self._check, lambda: self._job_desk, self._kept_budget)

    # What is there once it was asked for; until then nothing of it is loaded.

    @cached_property
    def _scheduler_here(self) -> SchedulerHere:
        from local_backend.scheduler_here import SchedulerHere  # noqa: PLC0415 - most that read ask for none of it

        return SchedulerHere(self._workspace.home, self._workspace.database, self._clock)

    @cached_property
    def _job_desk(self) -> JobDesk:
        from local_backend.jobs.desk import JobDesk  # noqa: PLC0415 - see above

        return JobDesk(self._store, self._workspace.home, self._configuration.jobs.stop_grace, self._clock)

    @cached_property
    def _rooms(self) -> Rooms:
        from local_backend.rooms import Rooms  # noqa: PLC0415 - reading does without

        return Rooms(
            workspace=self._workspace,
            store=self._store,
            configuration=self._configuration,
            environ=self._environ,
            clock=self._clock,
            look=self._look_at_hardware,
        )

    @cached_property
    def _owner(self) -> Owner:
        from local_backend.owner import Owner  # noqa: PLC0415 - see above

        return Owner(self._rooms, self._scheduler_here.lag.sleep)

    @cached_property
    def _hardware(self) -> HardwareWatch:
        from local_backend.hardware_here import hardware_here  # noqa: PLC0415 - see above

        return hardware_here(self._workspace.home, self._rooms.machine_sandboxes, self._environ, self._clock, self._reader.launches)

    @cached_property
    def _boxes_here(self) -> BoxesHere:
        from local_backend.boxes_here import BoxesHere  # noqa: PLC0415 - see above

        return BoxesHere(self.desk, self._reader.boxes, lambda: self._boxes)

    def _kept_budget(self, name: str) -> Mapping[str, Any] | None:
        return self._scheduler.budgets.standing(name) if self._scheduler is not None else None

    def _is_there(self, name: str) -> bool:
        """Whether one of these was asked for before."""
        return name in vars(self)

    def _check(self) -> None:
        """Raise NodusError where nothing can be told or done, for the disk or the scheduler has failed."""
        if self._is_there("_owner"):
            self._owner.check()
        else:
            self._store.check()

    async def _look_at_hardware(self) -> HardwareView:
        return await self._hardware.view()

    async def start(self) -> None:
        """With role `work`: run the scheduler here, now or as soon as no other process does."""
        if self._options.role == "work":
            await self._owner.start()

    @property
    def owns_work(self) -> bool:
        """Whether this process holds the workspace's lock, and so runs its scheduler."""
        return self._workspace.owned

    @property
    def desk(self) -> SandboxDesk:
        """This workspace's sandboxes."""
        return self._rooms.desk

    @property
    def configuration(self) -> Configuration:
        """The configuration that this was opened with."""
        return self._configuration

    # What works here; nothing while another process does the work.

    @property
    def _working(self) -> Working | None:
        return self._owner.working if self._is_there("_owner") else None

    @property
    def _scheduler(self) -> Scheduler | None:
        return self._working.scheduler if self._working is not None else None

    @property
    def _jobs(self) -> JobEngine | None:
        return self._working.jobs if self._working is not None else None

    @property
    def _boxes(self) -> BoxEngine | None:
        return self._working.boxes if self._working is not None else None

    # The contract.

    async def apply(self, bundle: SpecBundle, *, dry_run: bool = False, author: str = "", request_id: str = "") -> ApplyOutcome:
        """Create or change everything, or nothing."""
        from nodus_tui.contract.outcomes import ApplyOutcome  # noqa: PLC0415 - reading does without

        if dry_run:
            plan = await self._rooms.applier.plan(bundle)
            plan.refuse(dry_run=True)
            return ApplyOutcome(dry_run=True, documents=tuple(plan.applied))
        from nodus_tui.contract.spec_loading.packing import pack_bundle  # noqa: PLC0415 - reading does without

        bundle.refuse_mended()
        text = await self._owner.ask("apply", pack_bundle(bundle), author=author, request_id=request_id)
        return ApplyOutcome.model_validate_json(text)

    async def estimate(self, bundle: SpecBundle, *, minutes_per_case: Decimal) -> tuple[Estimate | KindEstimate, ...]:
        """What each document costs at most, and how long it takes."""
        from local_backend.estimating import estimate_bundle  # noqa: PLC0415 - reading does without

        return await estimate_bundle(bundle, minutes_per_case, self._rooms.lookups, self._rooms.rates)

    async def get(self, kind: str, name: str) -> Resource:
        """One resource."""
        self._check()
        return await self._reader.get(kind, name)

    async def list(self, kind: str, query: Query | None = None) -> Page:
        """Resources of a kind."""
        self._check()
        return await self._reader.page(kind, query or Query())

    async def results(self, group: str) -> GroupResults:
        """The results of a group as they stand."""
        self._check()
        return await self._reader.groups.results(group)

    async def sweep_results(self, sweep: str) -> SweepResults:
        """A sweep's cells and what they have come to."""
        self._check()
        return await self._reader.sweeps.results(sweep)

    async def transcript(self, run: str, *, from_turn: int = 0) -> Transcript:
        """A run's conversation, from this index of its turns on, and all its calls."""
        self._check()
        return await self._reader.groups.transcript(run, from_turn)

    async def act(self, action: Action) -> ActionOutcome:
        """Do it, here or in the process that runs the scheduler."""
        from nodus_tui.contract.outcomes import ActionOutcome  # noqa: PLC0415 - reading does without

        text = await self._owner.ask("action", action.model_dump_json(by_alias=True), author=action.author, request_id=action.request_id)
        return ActionOutcome.model_validate_json(text)

    async def snapshot(self, *, runs_of: str | None = None) -> Snapshot:
        """The state at a cursor."""
        self._check()
        return await self._reader.snapshot(runs_of)

    async def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
        """Everything after a cursor."""
        async for batch in self._reader.watch(after):
            self._check()
            yield batch

    async def info(self, *, probe: bool = False) -> BackendInfo:
        """What this backend is and can use."""
        from nodus_tui.contract.backend_info import BackendInfo, EnvironmentFact  # noqa: PLC0415 - reading does without

        rooms = self._rooms
        elsewhere = self._scheduler is None and not self._workspace.free()
        return BackendInfo(
            name="local",
            version=__version__,
            workspace=str(self._options.home),
            scheduling=self._scheduler is not None,
            scheduler_elsewhere=elsewhere,
            can_stop_groups=self._scheduler is not None,
            sandbox=await rooms.desk.fact() if probe else rooms.desk.known_fact,
            sandboxes_running=rooms.desk.running,
            evaluation=await rooms.training.fact() if probe else None,
            models=(*rooms.catalogue.facts(), *await self._served_models()),
            environments=tuple(
                EnvironmentFact(
                    name=entry.name,
                    version=entry.version,
                    description=entry.description,
                    splits=entry.splits,
                    tasks=entry.size,
                    source=entry.source,
                    problem=entry.problem,
                    grader=entry.grader,
                    in_sandbox=entry.in_sandbox,
                )
                for entry in rooms.environments.catalogue.entries()
            ),
            gold_checks=await asyncio.to_thread(rooms.environments.checked.all),
        )

    async def _served_models(self) -> tuple[ModelFact, ...]:
        """The families that jobs serve, or will when a group names them."""
        try:
            served = await self._rooms.lookups.served_families()
        except NodusError:
            return ()  # The database is in trouble, which every other call tells.
        return tuple(each.fact() for each in served.values() if not each.problem)

    async def gpus(self, *, history: bool = False, rates: bool = True) -> HardwareView:
        """This machine, sampled while somebody looks."""
        from local_backend.devices.telling import with_holders  # noqa: PLC0415 - reading does without

        holders = self._rooms.devices.holders() if self._scheduler is not None else await self._reader.device_holders()
        return with_holders(await self._hardware.view(history=history, rates=rates), holders)

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        """Every sandbox of ours on this machine."""
        found = await self._rooms.machine_sandboxes.list()
        runs, boxes = ([each.run for each in found if each.mine and each.purpose == purpose] for purpose in ("episode", "sandbox"))
        costs = {
            "episode": await self._reader.groups.sandbox_costs(runs) if runs else {},
            "sandbox": await self._reader.boxes.costs(boxes) if boxes else {},
        }
        # Another workspace may call one of its own the same.
        return tuple(
            each.model_copy(update={"cost_usd": costs.get(each.purpose, {}).get(each.run)}) if each.mine else each for each in found
        )

    async def reap_sandboxes(self) -> ReapOutcome:
        """Remove the sandboxes whose owner is dead."""
        return await self._rooms.machine_sandboxes.reap()

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        """The files in a run's work folder."""
        from local_backend.sandboxing import files_in  # noqa: PLC0415 - reading does without

        async with self._files_of(run) as archive:
            return await files_in(archive, run)

    async def read_file(self, run: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them."""
        from local_backend.sandboxing import file_in  # noqa: PLC0415 - reading does without

        async with self._files_of(run) as archive:
            async for piece in file_in(archive, run, path):
                yield piece

    @asynccontextmanager
    async def _files_of(self, run: str) -> AsyncIterator[Path]:
        """The run's files: as they are now where its sandbox lives here, else as they were kept. Raises NodusError."""
        from nodus_tui.contract.resources.agent_run import AgentRun  # noqa: PLC0415 - reading does without

        found = await self.get("AgentRun", run)
        status = found.status if isinstance(found, AgentRun) else None
        told = status is not None and status.reason in {Reason.INTERRUPTED, Reason.INFRASTRUCTURE_FAILURE}
        live = await self._scheduler.copy_of_files(run) if self._scheduler is not None else None
        try:
            yield live or self.desk.kept(run, status.message if status is not None and told else "")
        finally:
            if live is not None:
                live.unlink(missing_ok=True)

    async def exec_start(self, sandbox: str, request: ExecRequest, *, request_id: str = "") -> ExecSession:
        """Start a command in a Sandbox that runs."""
        self._check()
        return await self._boxes_here.start(sandbox, request, request_id)

    async def exec_output(
        self, sandbox: str, session: str, *, after: int = 0, wait_seconds: float = OUTPUT_SECONDS
    ) -> AsyncIterator[ExecPiece | ExecEnd]:
        """What a command writes from a place on."""
        async with aclosing(self._boxes_here.output(sandbox, session, after, wait_seconds)) as pieces:
            async for piece in pieces:
                yield piece

    async def exec_input(self, sandbox: str, session: str, data: bytes, *, offset: int, end: bool = False) -> ExecTaken:
        """Feed a command, or type on its terminal."""
        return await self._boxes_here.input(sandbox, session, data, offset=offset, end=end)

    async def exec_resize(self, sandbox: str, session: str, terminal: TerminalShape) -> None:
        """A command's terminal has another size."""
        await self._boxes_here.resize(sandbox, session, terminal)

    async def exec_signal(self, sandbox: str, session: str, signal: ExecSignal) -> None:
        """Send a signal to a command and its session."""
        await self._boxes_here.signal(sandbox, session, signal)

    async def sandbox_files(self, sandbox: str) -> tuple[FileEntry, ...]:
        """The files in a Sandbox's work folder."""
        self._check()
        return await self._boxes_here.files(sandbox)

    async def read_sandbox_file(self, sandbox: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them."""
        async for piece in self._boxes_here.read_file(sandbox, path):
            yield piece

    async def check_environment(
        self, reference: str, *, split: str | None = None, tasks: int | None = None, seed: int = 0
    ) -> AsyncIterator[GoldCase]:
        """The gold check of an environment."""
        async with aclosing(self._rooms.environments.check(reference, self._rooms.lookups, split=split, tasks=tasks, seed=seed)) as cases:
            async for case in cases:
                yield case

    async def environment_tasks(self, reference: str, *, split: str = "test", seed: int = 0, after: int = 0, limit: int = 50) -> TaskPage:
        """Tasks of an environment as agents see them."""
        self._check()
        return await self._rooms.environments.tasks(reference, self._rooms.lookups, split=split, seed=seed, after=after, limit=limit)

    async def scheduler_view(self, *, after: int = -LOG_BYTES, limit: int = LOG_BYTES) -> SchedulerView:
        """Who does the work and how well, and its log. It answers in trouble too: then it is looked at most."""
        last = 0
        with suppress(NodusError):
            last = await self._reader.last_event()
        return await self._scheduler_here.view(works=self._scheduler is not None, last_event=last, after=after, limit=limit)

    async def job_log(self, job: str, *, after: int = 0, limit: int = 65_536, wait_seconds: float = 0) -> JobLog:
        """What a job wrote, from a place on."""
        self._check()
        return await self._job_desk.log(job, after=after, limit=limit, wait_seconds=wait_seconds)

    async def job_files(self, job: str) -> tuple[FileEntry, ...]:
        """The outputs of a job that has ended."""
        return await self._job_desk.files(job)

    async def read_job_file(self, job: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them."""
        async for piece in self._job_desk.read_file(job, path):
            yield piece

    async def stop_work(self, *, grace_seconds: float, groups: tuple[str, ...] = ()) -> None:
        """Stop everything that this process runs, or the named groups; they are left interrupted."""
        if self._is_there("_owner"):
            await self._owner.stop_work(grace_seconds=grace_seconds, groups=groups)

    async def hand_over(self, *, grace_seconds: float) -> None:
        """Start nothing more here and let calls in flight end within the grace; the groups are left as they are, for the next scheduler."""
        if self._is_there("_owner"):
            await self._owner.hand_over(grace_seconds=grace_seconds)

    async def aclose(self) -> None:
        """Let go of the workspace."""
        async with AsyncExitStack() as whatever_fails:
            whatever_fails.push_async_callback(self._store.aclose)
            if self._is_there("_hardware"):
                whatever_fails.push_async_callback(self._hardware.aclose)
            # Whoever looks at the hardware goes first.
            if self._is_there("_rooms"):
                whatever_fails.push_async_callback(self._rooms.aclose)
            if self._is_there("_owner"):
                await self._owner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


async def open_backend(options: BackendOptions) -> Backend:
    """What is registered as the backend `local`: `open_local`."""
    return await open_local(options)


async def open_local(options: BackendOptions) -> LocalBackend:
    """Open the workspace of the options. Raises NodusError when its folder, database or configuration cannot be used."""
    configuration = Configuration.model_construct()  # All defaults: to check them would take longer than all else here.
    if options.config is not None:
        try:
            text = read_regular(options.config)
        except OSError as error:
            raise NodusError(
                ErrorCode.CONFIGURATION, f"the configuration file {options.config} cannot be read: {error.strerror}"
            ) from error
        from nodus_tui.contract.spec_loading.loader import load_configuration  # noqa: PLC0415 - reads YAML, where there is any

        configuration = load_configuration(str(options.config), text)
    workspace = Workspace(options.home)
    workspace.prepare()
    store = await Store.open(workspace.database)
    backend = LocalBackend(options=options, workspace=workspace, store=store, configuration=configuration, environ=os.environ)
    try:
        await backend.start()
    except BaseException:
        await backend.aclose()
        raise
    return backend
