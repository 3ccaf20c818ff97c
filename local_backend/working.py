"""All that works on a workspace while this process holds its lock: the engines of groups, jobs, Sandboxes and sweeps, made together.

What it is asked to do it does here; who asks, and how the answer is kept, is its owner's business.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from pydantic import TypeAdapter

from local_backend.applying.plan import Plan
from local_backend.budgets.book import Ceiling, Work
from local_backend.budgets.notices import Notices
from local_backend.jobs.acting import JobAction
from local_backend.jobs.engine import JobEngine
from local_backend.jobs.job_devices import JobDevices
from local_backend.rooms import Rooms
from local_backend.sandbox_kind.box import Around
from local_backend.sandbox_kind.engine import BoxEngine
from local_backend.scheduling.actions import Actions
from local_backend.scheduling.endings import StopOrder
from local_backend.scheduling.scheduler import Scheduler
from local_backend.storage.last_word import last_word
from local_backend.storage.store import Statement
from local_backend.sweeps.actions import SweepActions
from local_backend.sweeps.engine import Surroundings, SweepEngine
from nodus_tui.contract.actions import Action, Delete, Kill
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.outcomes import ActionOutcome, ApplyOutcome
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle
from nodus_tui.contract.spec_loading.packing import unpack_bundle
from nodus_tui.values import replace

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)


class Working:
    """One holding of the lock."""

    def __init__(self, rooms: Rooms, *, may_start: bool) -> None:
        self._rooms = rooms
        self._may_start = may_start
        """False where the lock was taken for one request only: then nothing is started."""
        self._applying = asyncio.Lock()
        """A plan holds only while nothing else is written: one apply at a time."""
        self.scheduler = Scheduler(
            store=rooms.store,
            catalogue=rooms.catalogue,
            clock=rooms.clock,
            start_grader=rooms.environments.start,
            shortage=rooms.space.shortage,
            workplaces=replace(rooms.desk.workplaces, room=rooms.space.room),
            notices=Notices(rooms.configuration.smtp, rooms.environ),
            may_start=may_start,
        )
        self._actions = Actions(self.scheduler, rooms.store, rooms.clock)
        self.jobs = JobEngine(
            store=rooms.store,
            home=rooms.workspace.home,
            settings=rooms.configuration.jobs,
            environ=rooms.environ,
            clock=rooms.clock,
            shortage=rooms.space.shortage,
            budgets=self.scheduler.budgets,
            devices=JobDevices(rooms.devices, rooms.devices.pricing.rates),
            may_start=may_start,
            reap=rooms.machine_sandboxes.reap_quietly,
            min_free_bytes=rooms.space.floor,
            work_of=rooms.training.work_now,
        )
        self.boxes = BoxEngine(self._around_boxes(), may_start=may_start)
        self.scheduler.also_stopped_by_budgets = self._stop_for_budget
        self.scheduler.also_goes_on_for_budgets = self.jobs.go_on_for_budgets
        self.scheduler.serve_from(self.jobs.servers)
        self.sweeps = SweepEngine(rooms.store, rooms.clock, self._around_sweeps(), may_start=may_start)
        self._sweep_actions = SweepActions(self.sweeps, rooms.clock)

    async def open(self) -> None:
        """Find what has not ended. Raises NodusError."""
        rooms = self._rooms
        if rooms.desk.used and self._may_start:
            await rooms.machine_sandboxes.reap_quietly()
        rows = await rooms.store.read("SELECT name FROM runs")
        await asyncio.to_thread(rooms.desk.artifacts.sweep, {row["name"] for row in rows})
        before = await last_word(rooms.store, rooms.clock())
        await self.scheduler.open(before)
        await self.jobs.open()
        await self.boxes.open(before)
        await self.sweeps.open()

    async def go_on(self) -> None:
        """Go on with it, once what was asked before is done."""
        await self.scheduler.start_unfinished()
        if self._may_start:
            self.sweeps.start()

    async def aclose(self) -> None:
        """Let go of everything; the sweeps were let go of before, for what they launch needs all the others."""
        async with AsyncExitStack() as whatever_fails:
            whatever_fails.push_async_callback(self._leave_no_sandbox)
            whatever_fails.push_async_callback(self.scheduler.aclose)
            whatever_fails.push_async_callback(self.jobs.aclose)
            await self.boxes.aclose()

    async def _leave_no_sandbox(self) -> None:
        if self._rooms.desk.used:
            await self._rooms.machine_sandboxes.leave_nothing(self._rooms.desk.pool.owner)

    # What each has of the others.

    def _around_boxes(self) -> Around:
        rooms = self._rooms
        return Around(
            store=rooms.store,
            pool=rooms.desk.pool,
            kept=rooms.desk.kept_boxes,
            clock=rooms.clock,
            environ=rooms.environ,
            budgets=self.scheduler.budgets,
            shortage=rooms.space.shortage,
            room=rooms.space.room,
            devices=rooms.devices,
        )

    def _around_sweeps(self) -> Surroundings:
        return Surroundings(
            launch=self._launch_cell,
            perform=self._perform,
            unpaid=self._unpaid,
            shortage=self._rooms.space.shortage,
            stop_groups=self._stop_groups,
        )

    async def _stop_for_budget(self, ceiling: Ceiling) -> None:
        """What beside runs costs money in a budget's scope."""
        await asyncio.gather(self.jobs.stop_for_budget(ceiling), self.boxes.stop_for_budget(ceiling))

    async def _launch_cell(self, resource: Resource, folder: Path | None, pins: Mapping[str, int], also: Sequence[Statement]) -> None:
        await self.apply(SpecBundle((LoadedDocument(resource, "<sweep>", 0, folder),)), pins=pins, also=also)

    def _unpaid(self, metadata: Mapping[str, object]) -> str:
        refusal = self.scheduler.budgets.of(Work.of(metadata)).refusal()
        return refusal.message if refusal is not None else ""

    async def _stop_groups(self, groups: tuple[str, ...], grace_seconds: float) -> None:
        if groups:
            await self.scheduler.stop(StopOrder.SHUTDOWN, grace_seconds=grace_seconds, groups=groups, killed=True)

    # What is asked.

    async def do(self, form: str, payload: str, author: str) -> str:
        """A request as it was written down; gives the answer as text. Raises NodusError."""
        if form == "apply":
            outcome = await self.apply(unpack_bundle(payload))
            return outcome.model_dump_json(by_alias=True)
        action = _ACTION.validate_json(payload)
        done = await self._sweep_actions.perform(action.model_copy(update={"author": action.author or author}))
        return done.model_dump_json(by_alias=True)

    async def _perform(self, action: Action) -> ActionOutcome:
        """Act on what is no sweep. What is a sweep's cell comes here after its sweep was asked."""
        if isinstance(action, JobAction) and action.kind in {"Job", "TrainingJob"}:
            return await self.jobs.perform(action)
        if isinstance(action, Kill | Delete) and action.kind == "Sandbox":
            return await self.boxes.perform(action)
        return await self._actions.perform(action)

    async def apply(self, bundle: SpecBundle, *, pins: Mapping[str, int] | None = None, also: Sequence[Statement] = ()) -> ApplyOutcome:
        """Create or change everything, or nothing. A sweep's cell comes with its agents' revisions, and what is written beside it."""
        async with self._applying:
            plan = await self._rooms.applier.plan(bundle, pins=pins)
            plan.refuse(dry_run=False)
            await self._rooms.desk.refuse_what_cannot_be_had(plan.needs)
            await self._refuse(plan)
            self.scheduler.refuse_unpaid(plan.paid_from)
            if plan.statements:
                await self._rooms.store.commit([*plan.statements, *also])
        await self._begin(plan)
        return ApplyOutcome(dry_run=False, documents=tuple(plan.applied))

    async def _refuse(self, plan: Plan) -> None:
        for reasons in (
            [reason for need in plan.jobs if (reason := self.jobs.refusal(need.name, need.spec, need.folder, need.kind))],
            [reason for need in plan.boxes if (reason := self.boxes.refusal(need.name, need.spec))],
        ):
            if reasons:
                raise NodusError(ErrorCode.NOT_SUPPORTED, "; ".join(reasons) + "; nothing was changed")
        await self._rooms.desk.refuse_boxes(plan.boxes)

    async def _begin(self, plan: Plan) -> None:
        """Take up what was written."""
        if plan.jobs:
            await self.jobs.wake()
        if plan.boxes:
            await self.boxes.wake()
        for name in plan.budgets:
            await self.scheduler.budget_changed(name)
        for name, cap, max_active in plan.raises:
            engine = await self.scheduler.engine(name)
            await engine.raise_cap(cap)
            await engine.set_max_active(max_active)
            await self.scheduler.let_go(name)
        for name in plan.launches:
            await self.scheduler.start(name)
        for name in plan.sweeps:
            await self.sweeps.take_in(name)
        for name, cap, max_parallel in plan.sweep_changes:
            await self._sweep_actions.change(name, cap, max_parallel)
