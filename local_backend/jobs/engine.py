"""All jobs of a workspace, looked after for as long as this process holds the workspace's lock.

The processes are their supervisors' (`supervisor.py`), and outlive this one: whoever comes next finds them again by their folders. What is
true of a running job is in its supervisor's report; the database learns of its start and its end. What starts, what ends and what people do
have rooms of their own (`starting`, `finishing`, `acting`), over one memory of what is under way.
"""

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from local_backend.budgets.book import Ceiling
from local_backend.budgets.keeper import BudgetKeeper
from local_backend.jobs import supervising
from local_backend.jobs.acting import JobAction, JobActions
from local_backend.jobs.admission import Machine
from local_backend.jobs.describing import deadlines_of, job_resource
from local_backend.jobs.finishing import Finisher
from local_backend.jobs.job_devices import JobDevices
from local_backend.jobs.launching import job_folder
from local_backend.jobs.order import Report, StopReason, read_report
from local_backend.jobs.set_back import by_this_clock
from local_backend.jobs.silence import Silences
from local_backend.jobs.starting import Starter, WorkOf, this_machine
from local_backend.jobs.telling import read_told
from local_backend.jobs.under_way import UnderWay
from local_backend.storage.job_records import JobRecord
from local_backend.storage.store import Store
from nodus_tui.contract.configuration import JobSettings
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.resources.job import JobSpec

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.2
"""How often the reports of running jobs are looked at."""
_FOR_THE_MACHINE = frozenset({"WaitingForMachine", "WaitingForDevice", "WaitingForPort"})
_MIB = 1 << 20


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
        work_of: WorkOf | None = None,
    ) -> None:
        self._may_start = may_start
        self._reap = reap
        self._under = UnderWay(store=store, home=home, grace=settings.stop_grace, clock=clock, budgets=budgets, devices=devices)
        self._jobs = self._under.records
        self.servers = self._under.servers
        """Those that serve models."""
        self._finisher = Finisher(self._under, shortage=shortage, reap=reap)
        self._starter = Starter(
            self._under,
            self._finisher,
            environ=environ,
            log_bytes=settings.max_log_mib * _MIB,
            min_free_bytes=min_free_bytes,
            shortage=shortage,
            machine=machine or this_machine(),
            work_of=work_of,
        )
        self._actions = JobActions(self._under, self._finisher)
        self._work: asyncio.Task[None] | None = None
        self._reaping: asyncio.Task[None] | None = None
        self._silences = Silences()
        self._unreadable: set[str] = set()
        """Jobs of which that was told."""
        self._faults: set[str] = set()
        """Faults of ours that were told."""

    async def open(self) -> None:
        """Find the jobs that have not ended, and go on with them."""
        await self.servers.open()
        await self._load()
        self._work = asyncio.create_task(self._run(), name="jobs")
        images = await self._under.store.read(
            "SELECT 1 FROM jobs WHERE coalesce(json_extract(work, '$.image'), json_extract(spec, '$.image')) IS NOT NULL LIMIT 1"
        )
        if images and self._may_start:
            # An engine may take its time to answer; nothing waits for it.
            self._reaping = asyncio.create_task(self._reap(), name="containers of jobs")

    async def wake(self) -> None:
        """New jobs may have been written."""
        await self._load()
        self._under.wake.set()

    async def aclose(self) -> None:
        """Let go: what is being started is written down first; running jobs go on, and the next scheduler finds them."""
        self._under.closing = True
        self._under.wake.set()
        self._under.ended.set()
        if self._reaping is not None:
            self._reaping.cancel()
            await asyncio.wait({self._reaping})
        if self._work is not None:
            await self._work
        while self._under.busy:
            await asyncio.wait(tuple(self._under.busy.values()))
        self._under.devices.aclose()
        try:
            for record in await self.servers.leave(tuple(self._jobs.values())):
                await self._under.tell_to_stop(record)
        except (NodusError, OSError) as error:
            _log.warning("model servers that nobody uses were not stopped: %s", error)
        await self.servers.aclose()

    def refusal(self, name: str, spec: JobSpec, folder: str | None, kind: str = "Job") -> str:
        """Why this machine cannot run a job that was just asked for; empty where it can."""
        return self._starter.refusal(name, spec, folder, kind)

    async def stop(self, name: str, reason: StopReason) -> JobRecord:
        """Have a job end gracefully, and wait until it has. One that has not started ends at once. Raises NodusError for an unknown one."""
        return await self._actions.stop(name, reason)

    async def stop_for_budget(self, ceiling: Ceiling) -> None:
        """Have the running jobs in a budget's scope end gracefully. What waits goes on waiting."""
        await asyncio.gather(*(self.stop(name, "BudgetExceeded") for name in self._under.counted_under(ceiling)))

    async def go_on_for_budgets(self) -> None:
        """A budget may have room again: what one stopped goes on where all pay."""
        rows = await self._under.store.read("SELECT name FROM jobs WHERE phase = 'Cancelled' AND reason = 'BudgetExceeded'")
        self._under.unpaid_ends |= {row["name"] for row in rows}
        self._under.wake.set()

    async def perform(self, action: JobAction) -> ActionOutcome:
        """An action on a job. Raises NodusError."""
        return await self._actions.perform(action)

    # Work.

    async def _load(self) -> None:
        rows = await self._under.store.read("SELECT * FROM jobs WHERE phase IN ('Pending', 'Running', 'Serving') ORDER BY seq")
        for row in rows:
            if row["name"] not in self._jobs:
                record = self._jobs[row["name"]] = JobRecord.from_row(row)
                status = job_resource(record, self._under.clock(), self._under.grace).status
                record.published = status.to_document() if status else {}
                if record.token and record.ended_at is None:
                    await self._look_at_clock(record)
                    self._under.count(record)
                    self._under.devices.adopt(record)
                self.servers.adopt(record)

    async def _look_at_clock(self, record: JobRecord) -> None:
        """Take its times by the clock as it is now, where that was set back since it started. Raises NodusError."""
        report = await asyncio.to_thread(read_report, job_folder(self._under.home, record.name), record.token)
        if report is not None and by_this_clock(record, report, self._under.clock()):
            _log.warning("job %s: the clock was set back since it started, which by this clock was at %s", record.name, record.started_at)
            await self._under.tell(record)

    async def _run(self) -> None:
        try:
            while not self._under.closing:
                self._under.wake.clear()
                await self._look_on()
                try:
                    await asyncio.wait_for(self._under.wake.wait(), _LOOK_SECONDS if self._jobs else None)
                except TimeoutError:
                    continue
        except NodusError as error:
            # The disk takes nothing any more: the backend lets go of this engine, and begins from the disk when it does.
            _log.error("jobs are not looked after: %s", error.detail)

    async def _look_on(self) -> None:
        """Look, and look again whatever fault of ours comes up: nobody else looks after the jobs. Raises NodusError."""
        try:
            await self._look()
        except NodusError:
            raise
        except Exception as error:  # noqa: BLE001 - see above
            said = f"{type(error).__name__}: {error}"
            if said not in self._faults:
                _log.exception("the jobs could not all be looked after, by a fault of the scheduler")
            self._faults.add(said)

    async def _look(self) -> None:
        wanted = await self.servers.refresh(self._jobs.values(), may_start=self._may_start)
        self._jobs.update({record.name: record for record in wanted})
        for record in wanted:
            await self._under.tell(record)
        await self.servers.tell_users()
        self._silences.keep_only({record.token for record in self._jobs.values()})
        for name, record in tuple(self._jobs.items()):
            if name in self._under.busy or not record.token:
                continue
            try:
                await self._look_at(record)
            except NodusError:
                raise
            except Exception as error:  # noqa: BLE001 - the others go on; this one may be read again
                if name not in self._unreadable:
                    fault = None if isinstance(error, OSError) else error
                    _log.error("job %s cannot be looked at: %s", name, error, exc_info=fault)
                self._unreadable.add(name)
        if self._may_start and not self._under.closing:
            await self._actions.go_on_where_paid()
            await self._starter.start_waiting()

    async def _look_at(self, record: JobRecord) -> None:
        folder = job_folder(self._under.home, record.name)
        report = await asyncio.to_thread(read_report, folder, record.token)
        if report is not None and report.state == "Ended":
            self._under.begin(record, self._finisher.finish(record, report))
        elif await asyncio.to_thread(supervising.alive, folder):
            if report is not None and report.state == "Running" and record.phase == "Pending":
                # Its image is here now; or the scheduler before this one died between the start and its booking.
                await self._finisher.booked_start(record, report)
                self._under.count(record)
            elif report is not None and report.state == "Preparing":
                self._under.count(record)  # Nothing of it has cost anything yet.
            if not record.stop:
                await self.servers.look(record, wanted_by_others=self._somebody_waits())
                await self._listen(record)
            await self._look_after_devices(record)
            if report is not None and report.state == "Running":
                await self._break_silence(record, report)
            if record.stop:
                await self._under.tell_to_stop(record)
        elif report is None and await asyncio.to_thread(supervising.give_up, folder, record.token):
            record.token = ""
            self._under.devices.not_begun(record)
            await self._under.tell(record, self._under.counted(record))
        else:
            self._under.begin(record, self._finisher.lose(record))

    async def _break_silence(self, record: JobRecord, report: Report) -> None:
        """See to it that a supervisor which somebody has stopped goes on; or that it is gone, and its job with it."""
        ends = timedelta(microseconds=deadlines_of(record, self._under.grace).ask_us) + self._under.grace
        overdue = bool(record.stop) or self._under.clock() - report.started > ends
        remedy = self._silences.remedy(record.token, report.used_us, time.monotonic(), overdue=overdue)
        if remedy == "wait":
            return
        number = signal.SIGCONT if remedy == "wake" else signal.SIGKILL
        _log.warning("the process that watches over job %s is silent: %s is sent", record.name, number.name)
        await asyncio.to_thread(supervising.send, job_folder(self._under.home, record.name), report, number)

    def _somebody_waits(self) -> bool:
        """Whether anybody waits for what running jobs have of this machine."""
        waiting = (each.reason for each in self._jobs.values() if each.phase == "Pending")
        return self._under.devices.somebody_waits or any(reason in _FOR_THE_MACHINE for reason in waiting)

    async def _listen(self, record: JobRecord) -> None:
        """Take what its command tells of itself."""
        told = await asyncio.to_thread(read_told, job_folder(self._under.home, record.name))
        if told is None or record.phase != "Running":
            return
        progress = None if told.progress is None else round(told.progress, 2)
        if (progress, told.message) != (record.progress, record.message):
            record.progress, record.message = progress, told.message
            await self._under.tell(record)

    async def _look_after_devices(self, record: JobRecord) -> None:
        """Say until when it has its devices, and keep what is measured of them."""
        if record.devices and record.started_at is not None and not record.ended:
            now = self._under.clock()
            self._under.devices.expect(record, deadlines_of(record, self._under.grace), now)
            if self._under.devices.readings_due(record, now):
                await self._under.tell(record)
