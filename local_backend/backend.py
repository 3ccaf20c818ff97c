"""LocalBackend: the contract on top of this package's rooms, over one workspace.

The process that holds the workspace's lock runs the scheduler and does all writing. Any other process reads the database directly,
and hands what it asks over through the `requests` table, where the scheduler's process finds, does and answers it.
"""

import asyncio
import logging
import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter

from local_backend.applying.applier import Applier
from local_backend.applying.plan import Plan
from local_backend.boxes_here import BoxesHere
from local_backend.budgets.book import Ceiling, Work
from local_backend.budgets.notices import Notices
from local_backend.clock import SteadyClock
from local_backend.devices.desk import DeviceDesk
from local_backend.devices.pricing import Pricing
from local_backend.devices.telling import with_holders
from local_backend.environments_here import LocalEnvironments
from local_backend.estimating import estimate_bundle
from local_backend.hardware_here import hardware_here
from local_backend.jobs.desk import JobDesk
from local_backend.jobs.engine import JobAction, JobEngine
from local_backend.jobs.job_devices import JobDevices
from local_backend.models.catalogue import ModelCatalogue
from local_backend.reading import POLL_SECONDS, Reader
from local_backend.requests import Requests
from local_backend.sandbox_kind.box import Around
from local_backend.sandbox_kind.engine import BoxEngine
from local_backend.sandboxing import SandboxDesk, file_in, files_in
from local_backend.scheduler_here import SchedulerHere
from local_backend.scheduling.actions import Actions
from local_backend.scheduling.endings import StopOrder
from local_backend.scheduling.scheduler import Scheduler
from local_backend.storage.space import MIB, SpaceGuard
from local_backend.storage.store import Statement, Store
from local_backend.storage.workspace import Workspace
from local_backend.sweeps.actions import SweepActions
from local_backend.sweeps.engine import Surroundings, SweepEngine
from local_backend.training.desk import TrainingDesk
from nodus_tui import __version__
from nodus_tui.contract.actions import Action, ActionOutcome, ApplyOutcome, Delete, Kill
from nodus_tui.contract.backend import Backend, BackendInfo, BackendOptions, EnvironmentFact, ModelFact, Page, Query
from nodus_tui.contract.configuration import Configuration
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.environment_tasks import TaskPage
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.events import EventBatch, Snapshot
from nodus_tui.contract.hardware_view import HardwareView
from nodus_tui.contract.phases import Reason
from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
from nodus_tui.contract.resources.job import JobLog
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.results import GroupResults
from nodus_tui.contract.sandbox_exec import (
    OUTPUT_SECONDS,
    ExecEnd,
    ExecPiece,
    ExecRequest,
    ExecSession,
    ExecSignal,
    ExecTaken,
    TerminalShape,
)
from nodus_tui.contract.sandboxes import FileEntry, ReapOutcome, SandboxFact
from nodus_tui.contract.scheduler_view import LOG_BYTES, SchedulerView
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle
from nodus_tui.contract.spec_loading.loader import load_configuration
from nodus_tui.contract.spec_loading.packing import pack_bundle, unpack_bundle
from nodus_tui.contract.sweep_results import SweepResults
from nodus_tui.statistics.hardware_rates import rates_with

_log = logging.getLogger(__name__)

_ANSWER_TRIES = 1500
"""Looks for another process's answer, 0.2 seconds apart; an extension may wait for a call in flight to end."""

_MEND_LOOKS = 10
"""After the disk failed, writing is tried again at each such look after the workspace, so every two seconds."""

_REAP_LOOKS = 3000
"""Sandboxes that dead owners left are looked for at each such look, so every ten minutes."""

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)


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
        clock = clock or SteadyClock()
        self._clock = clock
        self._space = SpaceGuard(workspace.home, configuration.min_free_disk_mib * MIB)
        self._catalogue = ModelCatalogue(configuration, environ, clock=clock)
        rates = rates_with(configuration.rates)
        electricity = configuration.electricity
        pricing = Pricing(rates, electricity.usd_per_kwh if electricity is not None else None)
        self._devices = DeviceDesk(self._look_at_hardware, configuration.hardware, pricing, clock)
        self._desk = SandboxDesk(workspace.home, configuration, environ, clock, self._devices)
        self._environments = LocalEnvironments(workspace.home, self._desk.pool, environ, clock)
        self._scheduler_here = SchedulerHere(workspace.home, workspace.database, clock)
        self._environ = environ
        self._job_desk = JobDesk(store, workspace.home, configuration.jobs.stop_grace, clock)
        self._reader = Reader(store, clock, self._check, self._job_desk)
        self._hardware = hardware_here(workspace.home, self._desk, environ, clock, self._reader.launches)
        self._requests = Requests(store, clock)
        self._training = TrainingDesk(
            str(workspace.home), configuration.evaluate, environ, self._catalogue, self._environments.grading_engine
        )
        self._applier = Applier(
            store,
            self._catalogue,
            self._environments,
            clock,
            training=self._training,
            devices=self._devices,
            rates=rates,
            grace=configuration.jobs.stop_grace,
        )
        self._scheduler: Scheduler | None = None
        self._actions: Actions | None = None
        self._jobs: JobEngine | None = None
        self._boxes: BoxEngine | None = None
        self._boxes_here = BoxesHere(self._desk, self._reader.boxes, lambda: self._boxes)
        self._sweeps: SweepEngine | None = None
        self._sweep_actions: SweepActions | None = None
        store.on_commit(self._wake_sweeps)
        self._keeper: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        """One owning at a time; held while the lock is taken for a single request."""
        self._applying = asyncio.Lock()
        """A plan holds only while nothing else is written: one apply at a time."""
        self._doing: set[int] = set()
        self._helpers: set[asyncio.Task[None]] = set()
        self._stopped = False

    async def _look_at_hardware(self) -> HardwareView:
        return await self._hardware.view()

    async def start(self) -> None:
        """With role `work`: run the scheduler here, now or as soon as no other process does."""
        if self._options.role == "work":
            if self._workspace.try_own():
                await self._own(may_start=True)
            self._keeper = asyncio.create_task(self._keep(), name="workspace keeper")

    @property
    def owns_work(self) -> bool:
        """Whether this process holds the workspace's lock, and so runs its scheduler."""
        return self._workspace.owned

    @property
    def desk(self) -> SandboxDesk:
        """This workspace's sandboxes."""
        return self._desk

    @property
    def configuration(self) -> Configuration:
        """The configuration that this was opened with."""
        return self._configuration

    # Owning the scheduler.

    async def _own(self, *, may_start: bool) -> None:
        self._scheduler = Scheduler(
            store=self._store,
            catalogue=self._catalogue,
            clock=self._clock,
            start_grader=self._environments.start,
            shortage=self._space.shortage,
            workplaces=self._desk.workplaces,
            notices=Notices(self._configuration.smtp, self._environ),
            may_start=may_start,
        )
        self._actions = Actions(self._scheduler, self._store, self._clock)
        self._jobs = JobEngine(
            store=self._store,
            home=self._workspace.home,
            settings=self._configuration.jobs,
            environ=self._environ,
            clock=self._clock,
            shortage=self._space.shortage,
            budgets=self._scheduler.budgets,
            devices=JobDevices(self._devices, self._devices.pricing.rates),
            may_start=may_start,
            reap=self._desk.reap_quietly,
            min_free_bytes=self._space.floor,
            work_of=self._training.work_now,
        )
        self._boxes = BoxEngine(self._around_boxes(self._scheduler), may_start=may_start)
        self._scheduler.also_stopped_by_budgets = self._stop_for_budget
        self._scheduler.serve_from(self._jobs.servers)
        self._sweeps = SweepEngine(self._store, self._clock, self._sweeps_surroundings(), may_start=may_start)
        self._sweep_actions = SweepActions(self._sweeps, self._clock)
        try:
            if self._desk.used and may_start:
                await self._desk.reap_quietly()
            rows = await self._store.read("SELECT name FROM runs")
            await asyncio.to_thread(self._desk.artifacts.sweep, {row["name"] for row in rows})
            await self._scheduler.open()
            await self._jobs.open()
            await self._boxes.open()
            await self._sweeps.open()
            for number, form, payload, author in await self._requests.open_ones():
                await self._answer_once(number, form, payload, author)
            await self._scheduler.start_unfinished()
            if may_start:
                self._sweeps.start()
        except BaseException:
            await self._let_go_of_scheduler()
            raise

    async def _disown(self) -> None:
        await self._let_go_of_scheduler()
        self._workspace.disown()

    def _around_boxes(self, scheduler: Scheduler) -> Around:
        return Around(
            store=self._store,
            pool=self._desk.pool,
            kept=self._desk.kept_boxes,
            clock=self._clock,
            environ=self._environ,
            budgets=scheduler.budgets,
            shortage=self._space.shortage,
            room=self._space.room,
            devices=self._devices,
        )

    async def _stop_for_budget(self, ceiling: Ceiling) -> None:
        """What beside runs costs money in a budget's scope."""
        engines = [each for each in (self._jobs, self._boxes) if each is not None]
        await asyncio.gather(*(each.stop_for_budget(ceiling) for each in engines))

    def _sweeps_surroundings(self) -> Surroundings:
        return Surroundings(
            launch=self._launch_cell,
            perform=self._perform,
            unpaid=self._unpaid,
            shortage=self._space.shortage,
            stop_groups=self._stop_groups,
        )

    def _wake_sweeps(self) -> None:
        if self._sweeps is not None:
            self._sweeps.wake()

    async def _launch_cell(self, resource: Resource, folder: Path | None, pins: Mapping[str, int], also: Sequence[Statement]) -> None:
        await self._apply_here(SpecBundle((LoadedDocument(resource, "<sweep>", 0, folder),)), pins=pins, also=also)

    def _unpaid(self, metadata: Mapping[str, object]) -> str:
        refusal = self._scheduler.budgets.of(Work.of(metadata)).refusal() if self._scheduler is not None else None
        return refusal.message if refusal is not None else ""

    async def _stop_groups(self, groups: tuple[str, ...], grace_seconds: float) -> None:
        if self._scheduler is not None and groups:
            await self._scheduler.stop(StopOrder.SHUTDOWN, grace_seconds=grace_seconds, groups=groups)

    async def _let_go_of_scheduler(self) -> None:
        if self._sweeps is not None:
            await self._sweeps.aclose()
        self._sweeps, self._sweep_actions = None, None
        scheduler, self._scheduler, self._actions = self._scheduler, None, None
        jobs, self._jobs = self._jobs, None
        boxes, self._boxes = self._boxes, None
        if boxes is not None:
            await boxes.aclose()
        if jobs is not None:
            await jobs.aclose()
        if scheduler is not None:
            await scheduler.aclose()
            await self._desk.leave_nothing()

    async def _keep(self) -> None:
        """Answer other processes' requests while this one owns the scheduler; take it over when its owner is gone."""
        version, looks, told = -1, 0, ""
        while not self._stopped:
            await self._scheduler_here.lag.sleep(POLL_SECONDS)
            self._store.look_after()
            looks += 1
            try:
                if self._scheduler is not None and looks % _REAP_LOOKS == 0 and self._desk.used:
                    await self._desk.reap_quietly()
                if self._store.failure is not None:
                    await self._after_failure(try_again=looks % _MEND_LOOKS == 0)
                    continue
                if self._scheduler is None:
                    await self._take_over()
                    continue
                seen = await self._store.data_version()
                if seen != version:
                    version = seen
                    await self._answer_others()
                told = ""
            except NodusError as error:
                if error.detail != told:
                    _log.error("the workspace could not be looked after: %s", error.detail)
                told = error.detail

    async def _after_failure(self, *, try_again: bool) -> None:
        """Nothing can be written: stop all work, forget what only the memory knows, and begin from the disk once it takes commits."""
        async with self._turn:
            if self._scheduler is not None:
                _log.error("all work stops: %s", self._store.failure)
                await self._let_go_of_scheduler()
            if self._stopped or self._doing or not try_again or not self._store.may_get_well or self._space.shortage():
                return
            try:
                await self._store.mend()
            except NodusError:
                return  # It was told when it began; every call says it again.
            _log.warning("the database takes commits again; going on from what it holds")
            if self._workspace.owned:
                await self._own(may_start=True)

    async def _take_over(self) -> None:
        async with self._turn:
            if not self._stopped and self._workspace.try_own():
                await self._own(may_start=True)

    async def _answer_others(self) -> None:
        for number, form, payload, author in await self._requests.open_ones():
            if number not in self._doing:
                helper = asyncio.create_task(self._answer_one(number, form, payload, author))
                self._helpers.add(helper)
                helper.add_done_callback(self._helpers.discard)

    async def _answer_one(self, number: int, form: str, payload: str, author: str) -> None:
        try:
            await self._answer_once(number, form, payload, author)
        except NodusError as error:
            _log.error("request %s could not be answered: %s", number, error.detail)

    async def _answer_once(self, number: int, form: str, payload: str, author: str) -> None:
        """Do a request, unless somebody here does it now or has done it since it was looked at: whoever asked and the keeper both come."""
        if number in self._doing:
            return
        self._doing.add(number)
        try:
            if await self._requests.is_open(number):
                await self._requests.answer(number, partial(self._do, form, payload, author))
        finally:
            self._doing.discard(number)

    @asynccontextmanager
    async def _owner_for_now(self) -> AsyncIterator[bool]:
        """True when this process may write: it owns the scheduler, or takes the lock for as long as this lasts."""
        self._check()
        if self._scheduler is not None:
            yield True
            return
        async with self._turn:
            if not self._workspace.try_own():
                yield False
                return
            try:
                await self._own(may_start=False)
                yield True
            finally:
                await self._disown()

    async def _ask(self, form: str, payload: str, *, author: str, request_id: str) -> str:
        if self._keeper is None and self._store.failure is not None:
            await self._store.mend()
        number = await self._requests.ask(form, payload, author=author, request_id=request_id or uuid.uuid4().hex)
        for _ in range(_ANSWER_TRIES):
            async with self._owner_for_now() as mine:
                text = await self._requests.outcome(number)
                if text is None and mine:
                    await self._answer_one(number, form, payload, author)
                    text = await self._requests.outcome(number)
            if text is not None:
                return text
            await asyncio.sleep(POLL_SECONDS)
        raise NodusError(
            ErrorCode.UNAVAILABLE,
            "the process that runs this workspace's scheduler has not answered; what was asked stays recorded and is done when it does",
        )

    async def _do(self, form: str, payload: str, author: str) -> str:
        if form == "apply":
            outcome = await self._apply_here(unpack_bundle(payload))
            return outcome.model_dump_json(by_alias=True)
        if self._sweep_actions is None:
            raise NodusError(ErrorCode.UNAVAILABLE, "the scheduler of this workspace has just stopped; ask again")
        action = _ACTION.validate_json(payload)
        done = await self._sweep_actions.perform(action.model_copy(update={"author": action.author or author}))
        return done.model_dump_json(by_alias=True)

    async def _perform(self, action: Action) -> ActionOutcome:
        """Act on what is no sweep. What is a sweep's cell comes here after its sweep was asked."""
        if self._actions is None:
            raise NodusError(ErrorCode.UNAVAILABLE, "the scheduler of this workspace has just stopped; ask again")
        if isinstance(action, JobAction) and action.kind in {"Job", "TrainingJob"} and self._jobs is not None:
            return await self._jobs.perform(action)
        if isinstance(action, Kill | Delete) and action.kind == "Sandbox" and self._boxes is not None:
            return await self._boxes.perform(action)
        return await self._actions.perform(action)

    # The contract.

    async def apply(self, bundle: SpecBundle, *, dry_run: bool = False, author: str = "", request_id: str = "") -> ApplyOutcome:
        """Create or change everything, or nothing."""
        if dry_run:
            plan = await self._applier.plan(bundle)
            plan.refuse(dry_run=True)
            return ApplyOutcome(dry_run=True, documents=tuple(plan.applied))
        bundle.refuse_mended()
        text = await self._ask("apply", pack_bundle(bundle), author=author, request_id=request_id)
        return ApplyOutcome.model_validate_json(text)

    async def _apply_here(
        self, bundle: SpecBundle, *, pins: Mapping[str, int] | None = None, also: Sequence[Statement] = ()
    ) -> ApplyOutcome:
        """Create or change everything, or nothing. A sweep's cell comes with its agents' revisions, and what is written beside it."""
        async with self._applying:
            plan = await self._applier.plan(bundle, pins=pins)
            plan.refuse(dry_run=False)
            await self._desk.refuse_what_cannot_be_had(plan.needs)
            self._refuse_jobs(plan)
            await self._refuse_boxes(plan)
            if self._scheduler is not None:
                self._scheduler.refuse_unpaid(plan.paid_from)
            if plan.statements:
                await self._store.commit([*plan.statements, *also])
        await self._after_apply(plan)
        return ApplyOutcome(dry_run=False, documents=tuple(plan.applied))

    def _refuse_jobs(self, plan: Plan) -> None:
        if self._jobs is None:
            return
        reasons = [reason for need in plan.jobs if (reason := self._jobs.refusal(need.name, need.spec, need.folder, need.kind))]
        if reasons:
            raise NodusError(ErrorCode.NOT_SUPPORTED, "; ".join(reasons) + "; nothing was changed")

    async def _refuse_boxes(self, plan: Plan) -> None:
        reasons = [reason for need in plan.boxes if self._boxes is not None and (reason := self._boxes.refusal(need.name, need.spec))]
        if reasons:
            raise NodusError(ErrorCode.NOT_SUPPORTED, "; ".join(reasons) + "; nothing was changed")
        await self._desk.refuse_boxes(plan.boxes)

    async def _after_apply(self, plan: Plan) -> None:
        if plan.jobs and self._jobs is not None:
            await self._jobs.wake()
        if plan.boxes and self._boxes is not None:
            await self._boxes.wake()
        if self._scheduler is None:
            return
        for name in plan.budgets:
            await self._scheduler.budget_changed(name)
        for name, cap, max_active in plan.raises:
            engine = await self._scheduler.engine(name)
            await engine.raise_cap(cap)
            await engine.set_max_active(max_active)
            await self._scheduler.let_go(name)
        for name in plan.launches:
            await self._scheduler.start(name)
        if self._sweeps is not None and self._sweep_actions is not None:
            for name in plan.sweeps:
                await self._sweeps.take_in(name)
            for name, cap, max_parallel in plan.sweep_changes:
                await self._sweep_actions.change(name, cap, max_parallel)

    async def estimate(self, bundle: SpecBundle, *, minutes_per_case: Decimal) -> tuple[Estimate | KindEstimate, ...]:
        """What each document costs at most, and how long it takes."""
        return await estimate_bundle(bundle, minutes_per_case, self._applier, rates_with(self._configuration.rates))

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
        return await self._reader.results(group)

    async def sweep_results(self, sweep: str) -> SweepResults:
        """A sweep's cells and what they have come to."""
        self._check()
        return await self._reader.sweep_results(sweep)

    async def transcript(self, run: str) -> Transcript:
        """A run's conversation and calls."""
        self._check()
        return await self._reader.transcript(run)

    async def act(self, action: Action) -> ActionOutcome:
        """Do it, here or in the process that runs the scheduler."""
        text = await self._ask("action", action.model_dump_json(by_alias=True), author=action.author, request_id=action.request_id)
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

    def _check(self) -> None:
        self._store.look_after()
        failure = self._store.failure
        # A process that only looks may read on while its own writing is in trouble.
        if failure is not None and (self._keeper is not None or not self._store.may_get_well):
            raise failure
        if self._scheduler is not None and self._scheduler.failure is not None:
            raise self._scheduler.failure

    async def info(self, *, probe: bool = False) -> BackendInfo:
        """What this backend is and can use."""
        elsewhere = self._scheduler is None and not self._workspace.free()
        return BackendInfo(
            name="local",
            version=__version__,
            workspace=str(self._options.home),
            scheduling=self._scheduler is not None,
            scheduler_elsewhere=elsewhere,
            can_stop_groups=self._scheduler is not None,
            sandbox=await self._desk.fact() if probe else self._desk.known_fact,
            sandboxes_running=self._desk.running,
            evaluation=await self._training.fact() if probe else None,
            models=(*self._catalogue.facts(), *await self._served_models()),
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
                for entry in self._environments.catalogue.entries()
            ),
            gold_checks=await asyncio.to_thread(self._environments.checked.all),
        )

    async def _served_models(self) -> tuple[ModelFact, ...]:
        """The families that jobs serve, or will when a group names them."""
        try:
            served = await self._applier.served_families()
        except NodusError:
            return ()  # The database is in trouble, which every other call tells.
        return tuple(each.fact() for each in served.values() if not each.problem)

    async def gpus(self, *, history: bool = False) -> HardwareView:
        """This machine, sampled while somebody looks."""
        holders = self._devices.holders() if self._scheduler is not None else await self._reader.device_holders()
        return with_holders(await self._hardware.view(history=history), holders)

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        """Every sandbox of ours on this machine."""
        found = await self._desk.list()
        mine = [each for each in found if each.mine]
        costs = {
            "episode": await self._reader.sandbox_costs([each.run for each in mine if each.purpose == "episode"]),
            "sandbox": await self._reader.boxes.costs([each.run for each in mine if each.purpose == "sandbox"]),
        }
        return tuple(each.model_copy(update={"cost_usd": costs.get(each.purpose, {}).get(each.run)}) for each in found)

    async def reap_sandboxes(self) -> ReapOutcome:
        """Remove the sandboxes whose owner is dead."""
        return await self._desk.reap()

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        """The files in a run's work folder."""
        async with self._files_of(run) as archive:
            return await files_in(archive, run)

    async def read_file(self, run: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them."""
        async with self._files_of(run) as archive:
            async for piece in file_in(archive, run, path):
                yield piece

    @asynccontextmanager
    async def _files_of(self, run: str) -> AsyncIterator[Path]:
        """The run's files: as they are now where its sandbox lives here, else as they were kept. Raises NodusError."""
        found = await self.get("AgentRun", run)
        status = found.status if isinstance(found, AgentRun) else None
        told = status is not None and status.reason in {Reason.INTERRUPTED, Reason.INFRASTRUCTURE_FAILURE}
        live = await self._scheduler.copy_of_files(run) if self._scheduler is not None else None
        try:
            yield live or self._desk.kept(run, status.message if status is not None and told else "")
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
        async with aclosing(self._environments.check(reference, self._applier, split=split, tasks=tasks, seed=seed)) as cases:
            async for case in cases:
                yield case

    async def environment_tasks(self, reference: str, *, split: str = "test", seed: int = 0, after: int = 0, limit: int = 50) -> TaskPage:
        """Tasks of an environment as agents see them."""
        self._check()
        return await self._environments.tasks(reference, self._applier, split=split, seed=seed, after=after, limit=limit)

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
        if self._sweeps is not None and not groups:
            await self._sweeps.rest()
        if self._scheduler is not None:
            await self._scheduler.stop(StopOrder.SHUTDOWN, grace_seconds=grace_seconds, groups=groups)
        if self._sweeps is not None:
            await self._sweeps.look()

    async def hand_over(self, *, grace_seconds: float) -> None:
        """Start nothing more here and let calls in flight end within the grace; the groups are left as they are, for the next scheduler."""
        if self._sweeps is not None:
            self._sweeps.hold()
        if self._scheduler is not None:
            await self._scheduler.stop(StopOrder.PAUSE, grace_seconds=grace_seconds)

    async def aclose(self) -> None:
        """Let go of the workspace."""
        self._stopped = True
        if self._keeper is not None:
            await self._keeper
        for helper in tuple(self._helpers):
            await helper
        await self._disown()
        await self._devices.aclose()
        await self._hardware.aclose()
        await self._desk.aclose()
        await self._store.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


async def open_backend(options: BackendOptions) -> Backend:
    """What is registered as the backend `local`: `open_local`."""
    return await open_local(options)


async def open_local(options: BackendOptions) -> LocalBackend:
    """Open the workspace of the options. Raises NodusError when its folder, database or configuration cannot be used."""
    configuration = Configuration()
    if options.config is not None:
        try:
            text = options.config.read_bytes()
        except OSError as error:
            raise NodusError(
                ErrorCode.CONFIGURATION, f"the configuration file {options.config} cannot be read: {error.strerror}"
            ) from error
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
