"""Starting jobs: which of those that wait starts next, if the machine, its devices and the budgets have room for it; and its launch."""

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from msgspec import Struct

from local_backend.devices.allocation import Waits
from local_backend.jobs import supervising
from local_backend.jobs.admission import Machine, Share, impossible, queue
from local_backend.jobs.describing import deadlines_of
from local_backend.jobs.endings import Ending
from local_backend.jobs.finishing import Finisher
from local_backend.jobs.launching import NotStartedError, missing, needed_image, order_for, prepare
from local_backend.jobs.order import Report
from local_backend.jobs.servers import Servers
from local_backend.jobs.under_way import UnderWay
from local_backend.storage.job_records import JobRecord
from nodus_tui.contract.phases import UntilKind
from nodus_tui.contract.resources.job import JobSpec
from nodus_tui.values import replace


class Translated(Struct, frozen=True):
    """What a job of another kind runs."""

    job: JobSpec
    needs_image: str | None = None
    """An image that its command uses by itself, and that must be at the engine before it starts."""


WorkOf = Callable[[JobRecord, Servers], Awaitable[Translated]]

NEVER_STARTED = "it was stopped before it started"
_GIB = 1 << 30


def this_machine() -> Machine:
    """What jobs may share here."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(len(os.sched_getaffinity(0)), memory / _GIB)


class Starter:
    """Of one engine's jobs."""

    def __init__(
        self,
        under_way: UnderWay,
        finisher: Finisher,
        *,
        environ: Mapping[str, str],
        log_bytes: int,
        min_free_bytes: int,
        shortage: Callable[[], str],
        machine: Machine,
        work_of: WorkOf | None,
    ) -> None:
        self._under = under_way
        self._finisher = finisher
        self._environ = environ
        self._log_bytes = log_bytes
        self._min_free_bytes = min_free_bytes
        self._shortage = shortage
        self._machine = machine
        self._work_of = work_of
        """What a TrainingJob runs, found out anew when it is started. Raises NotStartedError."""

    def refusal(self, name: str, spec: JobSpec, folder: str | None, kind: str = "Job") -> str:
        """Why this machine cannot run a job that was just asked for; empty where it can."""
        reason = impossible(_share(name, spec), self._machine) or missing(spec, folder, self._environ)
        return f"{kind} {name}: {reason}" if reason else ""

    async def start_waiting(self) -> None:
        """Start what may start, and tell why the others wait. Raises NodusError."""
        waiting = [
            each
            for each in self._under.records.values()
            if each.phase == "Pending" and not each.token and each.name not in self._under.busy
        ]
        for record in [each for each in waiting if each.stop]:
            waiting.remove(record)
            self._under.begin(record, self._finisher.write_end(record, Ending("Cancelled", record.stop, NEVER_STARTED)))
        names = {each.name for each in waiting}
        others = [each for each in self._under.records.values() if each.name not in names]
        held = self._under.servers.hold_back(waiting, others)
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
                self._under.devices.withdraw(record)
                await self._tell_wait(record, reason, message)
            else:
                await self._start_with_devices(record)

    async def _start_with_devices(self, record: JobRecord) -> None:
        """Start one for which the machine has room, if it has devices for it too and a budget pays for them."""
        ready = self._under.devices.ask(record)
        if ready is None:
            return  # The next look says more.
        if isinstance(ready, Waits):
            await self._tell_wait(record, "WaitingForDevice", ready.message, ready.until, ready.until_kind)
        elif unpaid := self._under.unpaid(record, ready.rate):
            self._under.devices.withdraw(record)
            await self._tell_wait(record, "BudgetExceeded", unpaid)
        elif self._under.devices.take(record, ready):
            self._under.count(record)
            self._under.begin(record, self._start(record))

    async def _tell_wait(
        self, record: JobRecord, reason: str, message: str, until: datetime | None = None, kind: UntilKind = "Exact"
    ) -> None:
        if (record.reason, record.message, record.until_at, record.until_kind) != (reason, message, until, kind):
            record.reason, record.message, record.until_at, record.until_kind = reason, message, until, kind
            await self._under.tell(record)

    async def _start(self, record: JobRecord) -> None:
        # The launch is on the disk before it is made: after a crash its folder says whether it was.
        record.token = uuid.uuid4().hex
        record.reason, record.message, record.until_at = None, "is being started", None
        await self._under.tell(record)
        try:
            deadlines = deadlines_of(record, self._under.grace)
            needs = None
            if record.kind == "TrainingJob" and self._work_of is not None:
                work = await self._work_of(record, self._under.servers)
                record.work, needs = work.job.to_document(), work.needs_image
            await asyncio.to_thread(prepare, self._under.home, record)
            order = order_for(
                self._under.home,
                record,
                deadlines,
                self._environ,
                grace=self._under.grace,
                log_bytes=self._log_bytes,
                min_free_bytes=self._min_free_bytes,
                devices=self._under.devices.places(record),
                claims=self._under.devices.descriptors(record),
            )
            if order.image is None:
                hidden, remarks = await asyncio.to_thread(self._under.devices.hidden, record)
                order = replace(order, hidden=hidden, remarks=remarks)
            if needs is not None:
                order = replace(order, needs=needed_image(needs, self._environ))
            report = await asyncio.to_thread(supervising.launch, order, self._environ)
            self._under.devices.handed_over(record)
        except (NotStartedError, ValueError) as error:
            await self._finisher.write_end(record, Ending("Failed", "NotStarted", str(error)))
        except OSError as error:
            where = f" at {error.filename}" if error.filename else ""
            await self._finisher.write_end(
                record, Ending("Failed", "InfrastructureFailure", f"it could not be started: {error.strerror}{where}")
            )
        except supervising.LaunchError as error:
            await self._finisher.write_end(record, Ending("Failed", "InfrastructureFailure", str(error)))
        else:
            await self._tell_begun(record, report)

    async def _tell_begun(self, record: JobRecord, report: Report | None) -> None:
        """Tell how far it is; without a report this machine is slow, and the next looks see one come, or that none comes."""
        if report is not None and report.state == "Preparing":
            record.message = "its image is being fetched"
            await self._under.tell(record)
        elif report is not None and report.state == "Running":
            await self._finisher.booked_start(record, report)


def _share(name: str, spec: JobSpec) -> Share:
    return Share(name, spec.cpus, spec.memory_gib)


def _share_of(record: JobRecord) -> Share:
    return _share(record.name, record.job)
