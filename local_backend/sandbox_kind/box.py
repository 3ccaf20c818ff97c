"""One box over its life: it waits for what it needs, runs, is stopped by the first of its limits, and its files are kept.

Its time counts under the budgets from before its start, so that nobody else can take the room; it is booked from started to stopped.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

from msgspec import Struct

from local_backend.budgets.book import Work
from local_backend.budgets.keeper import BudgetKeeper, Purse
from local_backend.devices.allocation import Waits
from local_backend.devices.desk import DeviceDesk
from local_backend.devices.holding import Holding
from local_backend.devices.wanted import wanted_of
from local_backend.sandbox_kind.describing import record_limits, told
from local_backend.sandbox_kind.files import Files
from local_backend.sandbox_kind.limits import cost_of
from local_backend.sandbox_kind.sessions import Sessions
from local_backend.sandboxes.interface import ENGINE_SECONDS, WORK_FOLDER, Limits, Sandbox, SandboxError, SandboxRequest
from local_backend.sandboxes.pool import Place, SandboxPool
from local_backend.storage.artifacts import Artifacts
from local_backend.storage.sandbox_records import SandboxRecord
from local_backend.storage.store import Statement, Store
from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import UntilKind
from nodus_tui.contract.resources.sandbox import SandboxReason, SandboxSpec

T = TypeVar("T")

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
"""The longest time between two looks at the limits: a machine that slept is noticed after it."""
_TELL_SECONDS = 0.5
"""Commands that come and go are told at most so often."""
_ALIVE_SECONDS = 5.0
"""How often the engine is asked whether it lives."""
_SEEN = timedelta(seconds=30)
"""How often it is written down that it runs: what a crash leaves unknown of its time."""

_KEEP_SECONDS = 20.0
"""Taking its files out may take so long; the rest of a stop's time is for ending it."""
_LEAST_KEEP_SECONDS = 2.0
_HURRY_SECONDS = 8.0
"""The same where its scheduler ends."""

_SENTENCES: dict[SandboxReason, str] = {
    "IdleTimeout": "no command ran in it for {idle}",
    "MaxLifetime": "its lifetime was over",
    "MaxCostReached": "it was stopped before it passed its cap on cost",
    "BudgetExceeded": "a budget stopped it",
    "Killed": "it was killed",
    "Interrupted": "its scheduler was stopped, and it with it",
    "InfrastructureFailure": "its engine does not have it any more: it ended by itself, or was ended from outside",
}
"""What is said of each end."""


class _StoppedError(Exception):
    """It was told to stop before it ran."""


class Around(Struct, frozen=True):
    """What every box of a workspace is made with."""

    store: Store
    pool: SandboxPool
    kept: Artifacts
    clock: Callable[[], datetime]
    environ: Mapping[str, str]
    budgets: BudgetKeeper
    shortage: Callable[[], str]
    room: Callable[[], int | None]
    """Bytes that may be written to the workspace's disk."""
    devices: DeviceDesk
    """Where it gets its accelerators."""


class Box:
    """One of them. `live` is its whole life; everything else may be called beside it."""

    def __init__(self, record: SandboxRecord, around: Around) -> None:
        self.record = record
        self._around = around
        self._spec: SandboxSpec = record.box
        self._limits = record_limits(record)
        self._purse: Purse = around.budgets.of(Work.of(record.metadata))
        self._key = f"sandbox/{record.name}"
        self._counts = False
        self._place: Place | None = None
        self._devices = Holding(around.devices, f"Sandbox/{record.name}", f"sandbox {record.name}", wanted_of(self._spec))
        self._sandbox: Sandbox | None = None
        self.sessions: Sessions | None = None
        """Its commands; None before it runs."""
        self.files: Files | None = None
        """Its files as they are; None while it does not run."""
        self._stop: SandboxReason | None = None
        self._asked = asyncio.Event()
        self._changed = asyncio.Event()
        self._untold = False
        """Whether commands came or went since it was told last."""
        self._silent_since: float | None = None
        self.ended = asyncio.Event()
        """Set when its life is over."""

    @property
    def work(self) -> Work:
        """Where it belongs, as budgets see it."""
        return self._purse.work

    @property
    def counts(self) -> bool:
        """Whether its time counts under the budgets."""
        return self._counts

    def stop(self, reason: SandboxReason) -> None:
        """Have it stopped; the first reason counts. `ended` says when it has."""
        if self._stop is None:
            self._stop = reason
        self._asked.set()

    async def live(self) -> None:
        """Wait, run, stop. Raises NodusError when the database takes nothing any more; the sandbox is ended all the same."""
        try:
            await self._live()
        except Exception as error:  # A fault of ours in one is its failure: it is not to stand as if it ran, nor to begin again.
            if self._around.store.failure is not None:
                raise
            _log.exception("sandbox %s was ended by a fault of the scheduler", self.record.name)
            await self._end_by_fault(error.detail if isinstance(error, NodusError) else type(error).__name__)
        finally:
            await self._close()
            self.ended.set()

    async def _live(self) -> None:
        try:
            await self._start()
        except _StoppedError:
            await self._write_end("Stopped", self._stop, "it was stopped before it started")
        except SandboxError as error:
            await self._write_end("Failed", "NotStarted", str(error))
        else:
            await self._stop_for(await self._until_due())

    async def tell(self, also: Sequence[Statement] = ()) -> None:
        """Write it down, and tell what changed."""
        await self._around.store.commit([*also, *told(self.record, self._around.clock())])

    # Starting.

    async def _start(self) -> None:
        around, record = self._around, self.record
        while True:
            await self._until_paid()
            await self._take_devices()
            self._place = await self._wait_for_place()
            image = await self._image()
            if not self._unpaid():
                break
            self._give_back_place()
            self._devices.give_back()
        self._purse.begin(self._key, record.rate)
        self._counts = True
        request = SandboxRequest(
            run=record.name,
            purpose="sandbox",
            owner=around.pool.owner,
            lifetime_seconds=self._limits.end.total_seconds(),
            limits=Limits(
                cpus=self._spec.cpus,
                memory_bytes=round(self._spec.memory_gib * (1 << 30)),
                pids=self._spec.processes,
                disk_bytes=round(self._spec.disk_gib * (1 << 30)),
            ),
            network=self._spec.network,
            image=image,
            workdir=WORK_FOLDER,
            environ=self._environ(),
            devices=await self._devices.for_sandbox(),
        )
        try:
            around.kept.prepare()
        except OSError as error:
            raise SandboxError(f"there is no folder for its files: {error.strerror or error}") from error
        self._sandbox = sandbox = await self._or_stopped(around.pool.create(request))
        self.sessions = Sessions(sandbox, request.environ, self._commands_changed)
        self.files = Files(sandbox, around.kept, record.name, limit_bytes=2 * request.limits.disk_bytes)
        now = around.clock()
        self._devices.used_by(sandbox, now, now + self._limits.end)
        record.phase, record.reason, record.message, record.until_at = "Running", None, "", None
        record.engine, record.image = sandbox.engine, sandbox.image
        record.weaker = (await around.pool.facts()).isolation != "full"
        record.started_at = record.seen_at = record.idle_since = now
        await self.tell()

    async def _until_paid(self) -> None:
        """Wait while the disk is almost full, or a budget does not pay for it."""
        while True:
            if shortage := self._around.shortage():
                await self._waits("DiskAlmostFull", shortage)
            elif unpaid := self._unpaid():
                await self._waits("BudgetExceeded", unpaid)
            else:
                return
            await self._or_stopped(asyncio.sleep(_LOOK_SECONDS))

    def _unpaid(self) -> str:
        refusal = self._purse.refusal(0, rate=self.record.rate)
        return refusal.message if refusal is not None else ""

    async def _take_devices(self) -> None:
        """Wait for what it asks for; from then on its price is that of what it was given."""
        lease = await self._or_stopped(self._devices.take(self._waits_for_device))
        if lease is None:
            return
        record = self.record
        record.hardware, record.devices, record.device_names = lease.hardware, list(lease.uuids), list(lease.labels)
        record.rate = lease.tariff.rate
        try:
            self._limits = record_limits(record)
        except ValueError as error:
            raise SandboxError(f"its cap is too small: {error}") from error

    async def _waits_for_device(self, waits: Waits) -> None:
        await self._waits("WaitingForDevice", waits.message, waits.until, waits.until_kind)

    async def _wait_for_place(self) -> Place:
        pool = self._around.pool
        if not pool.free():
            await self._waits("WaitingForSandbox", f"{pool.taken} of {pool.places} sandboxes of this machine are taken")
        return await self._or_stopped(pool.place())

    async def _image(self) -> str | None:
        """Have the image here, and tell how far it is."""
        pool, image = self._around.pool, self._spec.image
        lines: list[str] = []
        preparing = asyncio.ensure_future(pool.prepare(image, lines.append))
        try:
            while not preparing.done():
                await self._or_stopped(asyncio.wait({preparing}, timeout=_LOOK_SECONDS))
                if lines and not preparing.done():
                    await self._waits("WaitingForSandbox", lines[-1])
            preparing.result()
        finally:
            preparing.cancel()
            await asyncio.gather(preparing, return_exceptions=True)
        return image

    def _environ(self) -> dict[str, str]:
        absent = [name for name in self._spec.env_from if name not in self._around.environ]
        if absent:
            raise SandboxError(f"envFrom names {', '.join(absent)}, which the scheduler's environment does not have")
        return {**{name: self._around.environ[name] for name in self._spec.env_from}, **self._spec.env}

    async def _waits(self, reason: SandboxReason, message: str, until: datetime | None = None, kind: UntilKind = "Exact") -> None:
        record = self.record
        if (record.reason, record.message, record.until_at, record.until_kind) != (reason, message, until, kind):
            record.reason, record.message, record.until_at, record.until_kind = reason, message, until, kind
            await self.tell()

    async def _or_stopped(self, work: Awaitable[T]) -> T:
        """Wait for something, unless it is told to stop meanwhile. Raises _StoppedError."""
        task, asked = asyncio.ensure_future(work), asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise _StoppedError
        finally:
            task.cancel()
            asked.cancel()
            await asyncio.gather(task, asked, return_exceptions=True)

    # Running.

    async def _until_due(self) -> SandboxReason:
        """Look after it until it has to be stopped; why."""
        looking: asyncio.Task[bool] | None = None
        looked_at = told_at = asyncio.get_running_loop().time()
        try:
            while True:
                self._changed.clear()
                now, moment = self._around.clock(), asyncio.get_running_loop().time()
                if self._stop is not None:
                    return self._stop
                if self.sessions is not None:
                    self.sessions.look()
                due, why = self._limits.due(self.record.started_at or now, self.record.idle_since)
                if due <= now:
                    return why
                if looking is not None and looking.done():
                    if not looking.result():
                        return "InfrastructureFailure"
                    looking, looked_at = None, moment
                if looking is None and (moment - looked_at >= _ALIVE_SECONDS or self._lost):
                    looking = asyncio.create_task(self._lives(), name=f"look at {self.record.name}")
                told_at = await self._tell_of_commands(now, moment, told_at)
                wait = min(_LOOK_SECONDS, (due - now).total_seconds())
                await self._something(max(0.0, wait), looking)
        finally:
            if looking is not None:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)

    async def _something(self, seconds: float, looking: "asyncio.Task[bool] | None") -> None:
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(each.wait()) for each in (self._asked, self._changed)]
        known: list[asyncio.Future[Any]] = [looking] if looking is not None else []
        try:
            await asyncio.wait({*waits, *known}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def _commands_changed(self) -> None:
        """A command has begun, or ended."""
        running = self.sessions.running if self.sessions is not None else 0
        self.record.commands = running
        self.record.idle_since = None if running else self._around.clock()
        self._untold = True
        if self.files is not None:
            self.files.changed()
        self._changed.set()

    @property
    def _lost(self) -> bool:
        return self.sessions is not None and self.sessions.lost

    async def _tell_of_commands(self, now: datetime, moment: float, told_at: float) -> float:
        """Tell of commands that came and went, not too often, and write down that it runs; when it was told last."""
        record = self.record
        stale = record.seen_at is None or now - record.seen_at >= _SEEN
        if not stale and not (self._untold and moment - told_at >= _TELL_SECONDS):
            return told_at
        record.seen_at, self._untold = now, False
        await self.tell()
        return moment

    async def _lives(self) -> bool:
        """Whether it still lives, as far as its engine says. One that does not answer for a minute has lost it."""
        loop = asyncio.get_running_loop()
        try:
            lives = self._sandbox is not None and await self._sandbox.alive()
        except SandboxError as error:
            self._silent_since = self._silent_since if self._silent_since is not None else loop.time()
            _log.info("sandbox %s: %s", self.record.name, error)
            return loop.time() - self._silent_since < ENGINE_SECONDS
        self._silent_since = None
        if lives and self.sessions is not None:
            self.sessions.lost = False
        return lives

    # Stopping.

    async def _stop_for(self, reason: SandboxReason) -> None:
        record = self.record
        why = _SENTENCES[reason].format(idle=duration_text(self._limits.idle))
        lost = reason == "InfrastructureFailure"
        record.reason, record.message = reason, "is being stopped: " + why
        with suppress(NodusError):  # It is ended all the same; the last word is told again.
            await self.tell()
        if self.sessions is not None:
            await self.sessions.close(reason, f"the sandbox was stopped: {why}", lost=lost)
        if not lost:
            await self._keep_files(hurry=reason == "Interrupted")
        if self._sandbox is not None:
            await self._around.pool.dispose(self._sandbox)
            self._sandbox = None
        await self._write_end("Failed" if lost else "Stopped", reason, why)

    async def _end_by_fault(self, said: str) -> None:
        """Its files are kept and its time is booked, as at any end."""
        if self.record.ended:
            return
        why = f"a fault of the scheduler ended it ({said}); the scheduler's log has the details"
        if self.sessions is not None:
            await self.sessions.close("InfrastructureFailure", f"the sandbox was stopped: {why}", lost=False)
        await self._keep_files(hurry=False)
        if self._sandbox is not None:
            await self._around.pool.dispose(self._sandbox)
            self._sandbox = None
        await self._write_end("Failed", "InfrastructureFailure", why)

    async def _keep_files(self, *, hurry: bool) -> None:
        files, record = self.files, self.record
        if files is None:
            return
        left = (self._limits.end - (self._around.clock() - (record.started_at or record.created_at))).total_seconds()
        # One whose end has come, by a clock that jumped, may live for all that.
        seconds = max(_LEAST_KEEP_SECONDS, min(_HURRY_SECONDS if hurry else _KEEP_SECONDS, left))
        problem = await files.keep(seconds=seconds, room=self._around.room())
        record.kept = not problem
        if problem:
            record.notes.append(f"The files of its work folder could not be kept: {problem}.")

    async def _write_end(self, phase: str, reason: SandboxReason | None, message: str) -> None:
        record, now = self.record, self._around.clock()
        record.phase = "Failed" if phase == "Failed" else "Stopped"
        record.reason, record.message, record.commands, record.idle_since = reason, message, 0, None
        record.ended_at = now
        if record.started_at is not None:
            record.cost = cost_of(cap=record.cap, rate=record.rate, started_at=record.started_at, ended_at=now, end=self._limits.end)
            if (used := self._devices.settle(now)) is not None:
                record.cost = min(record.cost, used.cost)
                record.notes += [used.note] if used.note else []
        record.until_at = None
        self._devices.give_back()
        await self.tell(self._no_longer_counted())

    def _no_longer_counted(self) -> list[Statement]:
        if not self._counts:
            return []
        self._counts = False
        return self._purse.end(self._key, self.record.cost)

    async def _close(self) -> None:
        """Whatever happened: nothing of it stays."""
        if self.sessions is not None:
            await self.sessions.close(self._stop, "the sandbox was ended", lost=self._sandbox is None)
        if self._sandbox is not None:
            await self._around.pool.dispose(self._sandbox)
            self._sandbox = None
        if self.files is not None:
            self.files.forget()
            self.files = None
        self._give_back_place()
        self._devices.give_back()
        if self._counts:
            self._counts = False
            self._purse.end(self._key, 0)

    def _give_back_place(self) -> None:
        if self._place is not None:
            self._place.release()
            self._place = None
