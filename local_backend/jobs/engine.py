"""All jobs of a workspace: which starts when, what came of it, what is kept of it. Lives in the process that holds the workspace's lock.

The processes are their supervisors' (`supervisor.py`), and outlive this one: whoever comes next finds them again by their folders. What is
true of a running job is in its supervisor's report; the database learns of its start and its end.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from local_backend.budgets.book import STOP_SECONDS, Ceiling, Work
from local_backend.budgets.keeper import BudgetKeeper, Purse
from local_backend.devices.allocation import Waits
from local_backend.jobs import attempts, supervising
from local_backend.jobs.admission import Machine, Share, impossible, queue
from local_backend.jobs.deadlines import charge
from local_backend.jobs.describing import cost_nano, deadlines_of, job_resource, told
from local_backend.jobs.endings import MACHINE_DOWN, NOT_WATCHED, Ending, ending
from local_backend.jobs.job_devices import JobDevices, energy_notes
from local_backend.jobs.launching import NotStartedError, job_folder, missing, order_for, prepare, work_folder
from local_backend.jobs.order import Report, StopReason, boot_id, read_report
from local_backend.jobs.outputs import GivenUpError, Kept, keep_outputs
from local_backend.jobs.servers import Servers, begin_again
from local_backend.jobs.speeds import measured
from local_backend.jobs.telling import Told, read_told
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import event
from local_backend.storage.store import Statement, Store
from nodus_tui.contract.actions import ActionOutcome, Change, Delete, ExtendCap, Kill, RetryJob
from nodus_tui.contract.configuration import JobSettings
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import display_usd, nano_from_usd, usd_from_nano, usd_text
from nodus_tui.contract.phases import UntilKind
from nodus_tui.contract.resources.job import JobSpec

_log = logging.getLogger(__name__)

JobAction = Kill | Delete | ExtendCap | RetryJob
"""What can be done to a job."""

_LOOK_SECONDS = 0.2
"""How often the reports of running jobs are looked at."""
_KILL_PATIENCE = timedelta(seconds=40)
"""How long after its grace a killed job's end is waited for."""
_FOR_THE_MACHINE = frozenset({"WaitingForMachine", "WaitingForDevice", "WaitingForPort"})
_NEVER_STARTED = "it was stopped before it started"
_MIB = 1 << 20
_GIB = 1 << 30


def this_machine() -> Machine:
    """What jobs may share here."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(len(os.sched_getaffinity(0)), memory / _GIB)


class JobEngine:
    """One a workspace."""

    def __init__(
        self,
        *,
        store: Store,
        home: Path,
        settings: JobSettings,
        environ: Mapping[str, str],
        clock: Callable[[], datetime],
        shortage: Callable[[], str],
        budgets: BudgetKeeper,
        devices: JobDevices,
        may_start: bool,
        reap: Callable[[], Coroutine[Any, Any, None]],
        min_free_bytes: int = 0,
        machine: Machine | None = None,
        work_of: Callable[[JobRecord, Servers], Awaitable[JobSpec]] | None = None,
    ) -> None:
        self._store = store
        self._home = home
        self._grace = settings.stop_grace
        self._log_bytes = settings.max_log_mib * _MIB
        self._environ = environ
        self._clock = clock
        self._shortage = shortage
        self._budgets = budgets
        self._devices = devices
        self._counting: set[str] = set()
        """Jobs whose time counts under the budgets at this moment."""
        self._may_start = may_start
        self._reap = reap
        """Removes the containers of dead supervisors."""
        self._min_free_bytes = min_free_bytes
        self._machine = machine or this_machine()
        self._work_of = work_of
        """What a TrainingJob runs, found out anew when it is started. Raises NotStartedError."""
        self._jobs: dict[str, JobRecord] = {}
        """Those that have not ended, in order of creation."""
        self._busy: dict[str, asyncio.Task[None]] = {}
        """Jobs that are being started or whose end is being written down."""
        self._wake = asyncio.Event()
        self._ended = asyncio.Event()
        """Set whenever a job has ended."""
        self._work: asyncio.Task[None] | None = None
        self._reaping: asyncio.Task[None] | None = None
        self._closing = False
        self._unreadable: set[str] = set()
        """Jobs of which that was told."""
        self.servers = Servers(store=store, clock=clock, tell=self._tell, wake=self._wake.set)
        """Those that serve models."""

    async def open(self) -> None:
        """Find the jobs that have not ended, and go on with them."""
        await self.servers.open()
        await self._load()
        self._work = asyncio.create_task(self._run(), name="jobs")
        images = await self._store.read(
            "SELECT 1 FROM jobs WHERE coalesce(json_extract(work, '$.image'), json_extract(spec, '$.image')) IS NOT NULL LIMIT 1"
        )
        if images and self._may_start:
            # An engine may take its time to answer; nothing waits for it.
            self._reaping = asyncio.create_task(self._reap(), name="containers of jobs")

    async def wake(self) -> None:
        """New jobs may have been written."""
        await self._load()
        self._wake.set()

    async def aclose(self) -> None:
        """Let go: what is being started is written down first; running jobs go on, and the next scheduler finds them."""
        self._closing = True
        self._wake.set()
        self._ended.set()
        if self._reaping is not None:
            self._reaping.cancel()
            await asyncio.wait({self._reaping})
        if self._work is not None:
            await self._work
        while self._busy:
            await asyncio.wait(tuple(self._busy.values()))
        self._devices.aclose()
        try:
            for record in await self.servers.leave(tuple(self._jobs.values())):
                await self._tell_to_stop(record)
        except (NodusError, OSError) as error:
            _log.warning("model servers that nobody uses were not stopped: %s", error)
        await self.servers.aclose()

    def refusal(self, name: str, spec: JobSpec, folder: str | None, kind: str = "Job") -> str:
        """Why this machine cannot run a job that was just asked for; empty where it can."""
        reason = impossible(_share(name, spec), self._machine) or missing(spec, folder, self._environ)
        return f"{kind} {name}: {reason}" if reason else ""

    async def _load(self) -> None:
        rows = await self._store.read("SELECT * FROM jobs WHERE phase IN ('Pending', 'Running', 'Serving') ORDER BY seq")
        for row in rows:
            if row["name"] not in self._jobs:
                record = self._jobs[row["name"]] = JobRecord.from_row(row)
                status = job_resource(record, self._clock(), self._grace).status
                record.published = status.to_document() if status else {}
                if record.token and record.ended_at is None:
                    self._count(record)
                    self._devices.adopt(record)
                self.servers.adopt(record)

    # Work.

    async def _run(self) -> None:
        try:
            while not self._closing:
                self._wake.clear()
                await self._look()
                try:
                    await asyncio.wait_for(self._wake.wait(), _LOOK_SECONDS if self._jobs else None)
                except TimeoutError:
                    continue
        except NodusError as error:
            # The disk takes nothing any more: the backend lets go of this engine, and begins from the disk when it does.
            _log.error("jobs are not looked after: %s", error.detail)

    async def _look(self) -> None:
        wanted = await self.servers.refresh(self._jobs.values(), may_start=self._may_start)
        self._jobs |= {record.name: record for record in wanted}
        for record in wanted:
            await self._tell(record)
        await self.servers.tell_users()
        for name, record in tuple(self._jobs.items()):
            if name in self._busy or not record.token:
                continue
            try:
                await self._look_at(record)
            except OSError as error:
                # The others go on; this one may be read again.
                if name not in self._unreadable:
                    _log.error("job %s cannot be looked at: %s", name, error)
                self._unreadable.add(name)
        if self._may_start and not self._closing:
            await self._start_waiting()

    async def _look_at(self, record: JobRecord) -> None:
        folder = job_folder(self._home, record.name)
        report = await asyncio.to_thread(read_report, folder, record.token)
        if report is not None and report.state == "Ended":
            self._begin(record, self._finish(record, report))
        elif await asyncio.to_thread(supervising.alive, folder):
            if report is not None and report.state == "Running" and record.phase == "Pending":
                # Its image is here now; or the scheduler before this one died between the start and its booking.
                await self._booked_start(record, report)
            if not record.stop:
                await self.servers.look(record, wanted_by_others=self._somebody_waits())
                await self._listen(record)
            await self._look_after_devices(record)
            if record.stop:
                await self._tell_to_stop(record)
        elif report is None and await asyncio.to_thread(supervising.give_up, folder, record.token):
            record.token = ""
            self._devices.not_begun(record)
            await self._tell(record, self._counted(record))
        else:
            self._begin(record, self._lose(record))

    def _somebody_waits(self) -> bool:
        """Whether anybody waits for what running jobs have of this machine."""
        waiting = (each.reason for each in self._jobs.values() if each.phase == "Pending")
        return self._devices.somebody_waits or any(reason in _FOR_THE_MACHINE for reason in waiting)

    async def _listen(self, record: JobRecord) -> None:
        """Take what its command tells of itself."""
        told = await asyncio.to_thread(read_told, job_folder(self._home, record.name))
        if told is None or record.phase != "Running":
            return
        progress = None if told.progress is None else round(told.progress, 2)
        if (progress, told.message) != (record.progress, record.message):
            record.progress, record.message = progress, told.message
            await self._tell(record)

    async def _look_after_devices(self, record: JobRecord) -> None:
        """Say until when it has its devices, and keep what is measured of them."""
        if record.devices and record.started_at is not None and not record.ended:
            now = self._clock()
            self._devices.expect(record, deadlines_of(record, self._grace), now)
            if self._devices.readings_due(record, now):
                await self._tell(record)

    def _begin(self, record: JobRecord, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(record, work), name=f"job {record.name}")
        self._busy[record.name] = task

    async def _guarded(self, record: JobRecord, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except NodusError as error:
            _log.error("job %s: %s", record.name, error.detail)
        except GivenUpError:
            _log.info("keeping the outputs of %s is left to the next scheduler", record.name)
        except Exception:  # noqa: BLE001 - a fault of ours must not be met again and again
            _log.exception("job %s is not looked after any more, by a fault of the scheduler", record.name)
            self._jobs.pop(record.name, None)
        finally:
            self._busy.pop(record.name, None)
            self._wake.set()

    async def _tell(self, record: JobRecord, also: Sequence[Statement] = ()) -> None:
        await self._store.commit([*also, *told(record, self._clock(), self._grace)])
        self.servers.told(record)

    # Budgets.

    def _purse(self, record: JobRecord) -> Purse:
        return self._budgets.of(Work.of(record.metadata))

    @property
    def _stop_seconds(self) -> float:
        """What the graceful stop of a job takes at most, from the decision to its last process's end."""
        return STOP_SECONDS + self._grace.total_seconds()

    def _unpaid(self, record: JobRecord, rate: int) -> str:
        """Why no budget pays for a job's start at this rate, as a sentence; empty where all do."""
        refusal = self._purse(record).refusal(0, rate=rate, stop_seconds=self._stop_seconds)
        return "" if refusal is None else refusal.message

    def _count(self, record: JobRecord) -> None:
        self._purse(record).begin(_key(record), record.rate, since=record.started_at, stop_seconds=self._stop_seconds)
        self._counting.add(record.name)

    def _counted(self, record: JobRecord) -> list[Statement]:
        """Its time is known: it no longer counts as running."""
        if record.name not in self._counting:
            return []
        self._counting.discard(record.name)
        return self._purse(record).end(_key(record), record.cost)

    async def stop_for_budget(self, ceiling: Ceiling) -> None:
        """Have the running jobs in a budget's scope end gracefully. What waits goes on waiting."""
        names = [name for name in self._counting if ceiling.covers(Work.of(self._jobs[name].metadata))]
        await asyncio.gather(*(self.stop(name, "BudgetExceeded") for name in names))

    # Starting.

    async def _start_waiting(self) -> None:
        waiting = [each for each in self._jobs.values() if each.phase == "Pending" and not each.token and each.name not in self._busy]
        for record in [each for each in waiting if each.stop]:
            waiting.remove(record)
            self._begin(record, self._write_end(record, Ending("Cancelled", record.stop, _NEVER_STARTED)))
        names = {each.name for each in waiting}
        others = [each for each in self._jobs.values() if each.name not in names]
        held = self.servers.hold_back(waiting, others)
        for record in [each for each in waiting if each.name in held]:
            waiting.remove(record)
            await self._tell_wait(record, *held[record.name])
        if not waiting:
            return
        shortage = self._shortage()
        running = [_share_of(each) for each in others]
        reasons = queue([_share_of(each) for each in waiting], running, self._machine)
        for record in waiting:
            reason, message = ("DiskAlmostFull", shortage) if shortage else ("WaitingForMachine", reasons[record.name])
            if message:
                # It has no place among those who wait for devices while it could not use one.
                self._devices.withdraw(record)
                await self._tell_wait(record, reason, message)
            else:
                await self._start_with_devices(record)

    async def _start_with_devices(self, record: JobRecord) -> None:
        """Start one for which the machine has room, if it has devices for it too and a budget pays for them."""
        ready = self._devices.ask(record)
        if ready is None:
            return  # The next look says more.
        if isinstance(ready, Waits):
            await self._tell_wait(record, "WaitingForDevice", ready.message, ready.until, ready.until_kind)
        elif unpaid := self._unpaid(record, ready.rate):
            self._devices.withdraw(record)
            await self._tell_wait(record, "BudgetExceeded", unpaid)
        elif self._devices.take(record, ready):
            self._count(record)
            self._begin(record, self._start(record))

    async def _tell_wait(
        self, record: JobRecord, reason: str, message: str, until: datetime | None = None, kind: UntilKind = "Exact"
    ) -> None:
        if (record.reason, record.message, record.until_at, record.until_kind) != (reason, message, until, kind):
            record.reason, record.message, record.until_at, record.until_kind = reason, message, until, kind
            await self._tell(record)

    async def _start(self, record: JobRecord) -> None:
        # The launch is on the disk before it is made: after a crash its folder says whether it was.
        record.token = uuid.uuid4().hex
        record.reason, record.message, record.until_at = None, "is being started", None
        await self._tell(record)
        try:
            deadlines = deadlines_of(record, self._grace)
            if record.kind == "TrainingJob" and self._work_of is not None:
                record.work = (await self._work_of(record, self.servers)).to_document()
            await asyncio.to_thread(prepare, self._home, record)
            order = order_for(
                self._home,
                record,
                deadlines,
                self._environ,
                grace=self._grace,
                log_bytes=self._log_bytes,
                min_free_bytes=self._min_free_bytes,
                devices=self._devices.places(record),
                claims=self._devices.descriptors(record),
            )
            if order.image is None:
                hidden, remarks = await asyncio.to_thread(self._devices.hidden, record)
                order = replace(order, hidden=hidden, remarks=remarks)
            report = await asyncio.to_thread(supervising.launch, order, self._environ)
            self._devices.handed_over(record)
        except (NotStartedError, ValueError) as error:
            await self._write_end(record, Ending("Failed", "NotStarted", str(error)))
        except (supervising.LaunchError, OSError) as error:
            await self._write_end(record, Ending("Failed", "InfrastructureFailure", str(error)))
        else:
            if report.state == "Preparing":
                record.message = "its image is being fetched"
                await self._tell(record)
            elif report.state == "Running":
                await self._booked_start(record, report)

    async def _booked_start(self, record: JobRecord, report: Report) -> None:
        record.phase, record.reason, record.message = "Running", None, ""
        record.started_at = report.started
        self._devices.started(record)
        record.notes = [*report.remarks, *energy_notes(record)]
        self.servers.started(record, report)
        await self._tell(record)

    # Ending.

    async def _finish(self, record: JobRecord, report: Report) -> None:
        """Book its time, keep its outputs, and tell its end."""
        if record.phase == "Pending" and report.started_at:
            await self._booked_start(record, report)
        await self._book(record, report.used_us)
        record.exit_code = report.exit_code
        record.notes = [*report.remarks, *energy_notes(record)]
        how = await self._last_words(record, ending(report))
        await self._keep(record)
        await self._come_to_end(record, how)

    async def _last_words(self, record: JobRecord, how: Ending) -> Ending:
        """Take what its command told last; an end that it knows the cause of tells that too."""
        told = await asyncio.to_thread(read_told, job_folder(self._home, record.name)) or Told()
        record.progress = 1.0 if how.phase == "Succeeded" and told.progress is not None else told.progress
        record.notes += told.notes
        record.scores = [each.to_document() for each in told.scores] if record.kind == "TrainingJob" else []
        if told.measured is not None and record.kind == "TrainingJob":
            await self._store.commit([measured(record, told.measured, self._clock())])
        return replace(how, message=f"{how.message}: {told.problem}") if told.problem and how.reason == "NonZeroExit" else how

    async def _lose(self, record: JobRecord) -> None:
        """Its supervisor is gone without a word: end what is left of it, and book the time up to what is known."""
        folder = job_folder(self._home, record.name)
        report = await asyncio.to_thread(read_report, folder, record.token)
        if report is None or report.state == "Ended":
            return  # It came to its end just now: the next look sees it.
        if record.phase == "Pending" and report.started_at:
            await self._booked_start(record, report)
        down = report.boot != boot_id()
        left = 0 if down else await asyncio.to_thread(supervising.end_leftovers, record.token)
        used = report.used_us
        if record.job.image:
            # Its container went on; the reaper knows it by its owner, who is dead.
            await self._reap()
            left = 1
        if left and report.started_at:
            used = max(used, (self._clock() - report.started) // timedelta(microseconds=1))
        await self._book(record, used)
        record.notes = [*report.remarks, *energy_notes(record)]
        await self._keep(record)
        await self._come_to_end(record, MACHINE_DOWN if down else NOT_WATCHED)

    async def _come_to_end(self, record: JobRecord, how: Ending) -> None:
        how = self.servers.ending(record, how)
        if self.servers.begins_again(record, how):
            await self._tell(record)
            await self.servers.down(record)
        else:
            await self._write_end(record, how)

    async def _book(self, record: JobRecord, used_us: int) -> None:
        """Its money and its end stand before its outputs are kept, which may take long and costs nothing."""
        if record.ended_at is not None or record.started_at is None:
            return
        # The kill itself may have come late on a busy machine, or after its sleep: what is booked never passes the cap.
        record.cost = min(record.cap_left, charge(used_us, record.rate))
        record.ended_at = record.started_at + timedelta(microseconds=used_us)
        measured_cost, remark = self._devices.settle(record, record.ended_at)
        record.cost = record.cost if measured_cost is None else min(record.cost, measured_cost)
        record.energy |= {"note": remark} if remark else {}
        self._devices.release(record)
        if record.job.outputs:
            record.message = "has ended; its outputs are being kept"
        await self._tell(record, self._counted(record))

    async def _keep(self, record: JobRecord) -> None:
        outputs = record.job.outputs
        if not outputs:
            return

        def work() -> Kept:
            folder, source = job_folder(self._home, record.name), work_folder(self._home, record)
            return keep_outputs(source, outputs, folder, shortage=self._shortage, given_up=lambda: self._closing)

        try:
            kept = await asyncio.to_thread(work)
        except OSError as error:
            record.notes.append(f"Its outputs could not be kept: {error.strerror or error}.")
            return
        record.outputs = [each.to_document() for each in kept.files]
        record.notes += kept.notes

    async def _write_end(self, record: JobRecord, how: Ending) -> None:
        record.phase, record.reason, record.message = how.phase, how.reason, how.message
        record.ended_at = record.ended_at or self._clock()
        record.until_at = None
        self._devices.release(record)
        await self._tell(record, self._counted(record))
        self._jobs.pop(record.name, None)
        self._ended.set()
        await self.servers.down(record)
        await asyncio.to_thread(shutil.rmtree, job_folder(self._home, record.name) / "tmp", ignore_errors=True)

    # Actions.

    async def stop(self, name: str, reason: StopReason) -> JobRecord:
        """Have a job end gracefully, and wait until it has. One that has not started ends at once. Raises NodusError for an unknown one."""
        record = self._jobs.get(name)
        if record is None:
            return await self._stored(name)
        while (busy := self._busy.get(name)) is not None:
            await asyncio.wait({busy})
        if record.ended:
            return record
        record.stop = reason
        if not record.token:
            await self._write_end(record, Ending("Cancelled", reason, _NEVER_STARTED))
            return record
        record.message = "is being stopped"
        await self._tell(record)
        await self._tell_to_stop(record)
        until = self._clock() + self._grace + _KILL_PATIENCE
        while not record.ended and not self._closing and self._clock() < until:
            self._ended.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _KILL_PATIENCE.total_seconds())
        return record

    async def _tell_to_stop(self, record: JobRecord) -> None:
        await asyncio.to_thread(supervising.tell_to_stop, job_folder(self._home, record.name), record.stop)

    async def _stored(self, name: str) -> JobRecord:
        rows = await self._store.read("SELECT * FROM jobs WHERE name = ?", (name,))
        if not rows:
            raise NodusError.not_found("Job", name)
        return JobRecord.from_row(rows[0])

    async def perform(self, action: JobAction) -> ActionOutcome:
        """An action on a job. Raises NodusError."""
        if isinstance(action, Kill):
            return await self._kill(action)
        if isinstance(action, ExtendCap):
            return await self._extend(action)
        return await (self._retry(action) if isinstance(action, RetryJob) else self._delete(action))

    async def _at_rest(self, name: str) -> JobRecord:
        """The job as it is when nothing of it is just being written. Raises NodusError for an unknown one."""
        while (busy := self._busy.get(name)) is not None:
            await asyncio.wait({busy})
        return self._jobs.get(name) or await self._stored(name)

    async def _retry(self, action: RetryJob) -> ActionOutcome:
        record = await self._at_rest(action.name)
        attempts.check_retry(record)
        before = record.phase
        await self._go_on(record)
        spent = display_usd(usd_from_nano(record.cost_before))
        message = f"{action.name} is tried again (attempt {record.attempt}); {spent} of its cap is spent"
        return self._outcome(action, message, [_change(record, before)])

    async def _go_on(self, record: JobRecord) -> None:
        """Begin an ended job's next attempt. Raises NodusError where another job does its work by now."""
        self.servers.refuse_second(record)
        if self._jobs.get(record.name, record) is not record:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{record.name} has just begun again by itself")
        begin_again(record)
        self._jobs[record.name] = record
        self.servers.adopt(record)
        await self._tell(record)
        self._wake.set()

    async def _extend(self, action: ExtendCap) -> ActionOutcome:
        record, cap = await self._at_rest(action.name), nano_from_usd(action.cap_usd)
        attempts.check_cap(record, cap)
        raised = display_usd(action.cap_usd)
        if cap == record.cap:
            return self._outcome(action, f"{action.name} has that cap already ({raised})")
        old, before = usd_text(usd_from_nano(record.cap)), record.phase
        record.cap = cap
        changes = [Change(kind=record.kind, name=action.name, field="maxCostUSD", old=old, new=usd_text(action.cap_usd))]
        if attempts.goes_on(record):
            await self._go_on(record)
            return self._outcome(action, f"{action.name} has a cap of {raised} now, and goes on", [*changes, _change(record, before)])
        await self._tell(record)
        if record.started_at is not None and not record.ended:
            words = attempts.deadline_words(record, self._grace)
            await asyncio.to_thread(supervising.say, job_folder(self._home, record.name), words)
        how = f"; it has ended ({record.reason or record.phase}), and a retry begins its next attempt" if record.ended else ""
        return self._outcome(action, f"{action.name} has a cap of {raised} now{how}", changes)

    async def _kill(self, action: Kill) -> ActionOutcome:
        before = (self._jobs.get(action.name) or await self._stored(action.name)).phase
        if before not in {"Pending", "Running", "Serving"}:
            return self._outcome(action, f"{action.name} has ended already ({before})")
        record = await self.stop(action.name, "Killed")
        cost = display_usd(usd_from_nano(cost_nano(record, self._clock())))
        if not record.ended:
            return self._outcome(action, f"{action.name} was told to end; it has cost {cost} so far", [_change(record, before)])
        if record.reason != "Killed":
            return self._outcome(action, f"{action.name} came to its own end first ({record.phase}); it cost {cost}")
        return self._outcome(action, f"killed {action.name}; it cost {cost}{self.servers.bereft(record)}", [_change(record, before)])

    async def _delete(self, action: Delete) -> ActionOutcome:
        record = await self._stored(action.name)
        if not record.ended or action.name in self._busy:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{action.name} has not ended: kill it first")
        now = self._clock()
        await self._store.commit([("DELETE FROM jobs WHERE name = ?", (action.name,)), event(now, "Deleted", record.kind, action.name)])
        await asyncio.to_thread(shutil.rmtree, job_folder(self._home, action.name), ignore_errors=True)
        self.servers.forget(action.name)
        change = Change(kind=record.kind, name=action.name, field="", old="there", new="deleted")
        return self._outcome(action, f"deleted {record.kind} {action.name}", [change])

    def _outcome(self, action: JobAction, message: str, changes: Sequence[Change] = ()) -> ActionOutcome:
        return ActionOutcome(
            action=action.action,
            kind=action.kind,
            name=action.name,
            changed=bool(changes),
            message=message,
            changes=tuple(changes),
            at=self._clock(),
            author=action.author,
        )


def _key(record: JobRecord) -> str:
    """Under which key the budgets know a job."""
    return f"job/{record.name}"


def _change(record: JobRecord, before: str) -> Change:
    return Change(kind=record.kind, name=record.name, field="phase", old=before, new=record.phase)


def _share(name: str, spec: JobSpec) -> Share:
    return Share(name, spec.cpus, spec.memory_gib)


def _share_of(record: JobRecord) -> Share:
    return _share(record.name, record.job)
