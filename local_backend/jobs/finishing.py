"""The ends of jobs: their time is booked, their outputs are kept, and how each came to it is told; also where nobody watched any more."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from local_backend.jobs import supervising
from local_backend.jobs.attempts import raised_while_ending
from local_backend.jobs.deadlines import charge
from local_backend.jobs.endings import MACHINE_DOWN, NOT_WATCHED, Ending, ending
from local_backend.jobs.job_devices import energy_notes
from local_backend.jobs.launching import job_folder, work_folder
from local_backend.jobs.order import Report, boot_id, read_report
from local_backend.jobs.outputs import GivenUpError, Kept, keep_outputs
from local_backend.jobs.removing import remove_tree
from local_backend.jobs.replacing import finish_replacing
from local_backend.jobs.servers import begin_again
from local_backend.jobs.set_back import started_by
from local_backend.jobs.speeds import measured
from local_backend.jobs.telling import Told, read_told
from local_backend.jobs.under_way import UnderWay
from local_backend.storage.job_records import JobRecord
from nodus_tui.values import replace

_log = logging.getLogger(__name__)


class Finisher:
    """Of one engine's jobs."""

    def __init__(self, under_way: UnderWay, *, shortage: Callable[[], str], reap: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._under = under_way
        self._shortage = shortage
        self._reap = reap
        """Removes the containers of dead supervisors."""

    async def booked_start(self, record: JobRecord, report: Report, *, alive: bool = True) -> None:
        """It runs, or did: write down since when."""
        record.phase, record.reason, record.message = "Running", None, ""
        record.started_at = started_by(report, self._under.clock(), alive=alive)
        self._under.devices.started(record)
        record.notes = [*report.remarks, *energy_notes(record)]
        self._under.servers.started(record, report)
        await self._under.tell(record)

    async def finish(self, record: JobRecord, report: Report) -> None:
        """Book its time, keep its outputs, and tell its end."""
        if record.phase == "Pending" and report.started_at:
            await self.booked_start(record, report, alive=False)
        await self._book(record, report.used_us)
        record.exit_code = report.exit_code
        record.notes = [*report.remarks, *energy_notes(record)]
        how = await self._last_words(record, ending(report))
        await self._keep(record)
        await self._come_to_end(record, how)

    async def _last_words(self, record: JobRecord, how: Ending) -> Ending:
        """Take what its command told last; an end that it knows the cause of tells that too."""
        told = await asyncio.to_thread(read_told, job_folder(self._under.home, record.name)) or Told()
        record.progress = 1.0 if how.phase == "Succeeded" and told.progress is not None else told.progress
        record.notes += told.notes
        record.scores = [each.to_document() for each in told.scores] if record.kind == "TrainingJob" else []
        if told.measured is not None and record.kind == "TrainingJob":
            await self._under.store.commit([measured(record, told.measured, self._under.clock())])
        return replace(how, message=f"{how.message}: {told.problem}") if told.problem and how.reason == "NonZeroExit" else how

    async def lose(self, record: JobRecord) -> None:
        """Its supervisor is gone without a word: end what is left of it, and book the time up to what is known."""
        folder = job_folder(self._under.home, record.name)
        report = await asyncio.to_thread(read_report, folder, record.token)
        if report is None or report.state == "Ended":
            return  # It came to its end just now: the next look sees it.
        if record.phase == "Pending" and report.started_at:
            await self.booked_start(record, report, alive=False)
        down = report.boot != boot_id()
        left = 0 if down else await asyncio.to_thread(supervising.end_leftovers, record.token)
        used = report.used_us
        if record.job.image:
            # Its container went on; the reaper knows it by its owner, who is dead.
            await self._reap()
            left = 1
        if left and record.started_at is not None:
            used = max(used, (self._under.clock() - record.started_at) // timedelta(microseconds=1))
        await self._book(record, used)
        record.notes = [*report.remarks, *energy_notes(record)]
        await self._keep(record)
        await self._come_to_end(record, MACHINE_DOWN if down else NOT_WATCHED)

    async def _come_to_end(self, record: JobRecord, how: Ending) -> None:
        how = self._under.servers.ending(record, how)
        if self._under.servers.begins_again(record, how):
            await self._under.tell(record)
            await self._under.servers.down(record)
        elif raised_while_ending(record, how, self._under.grace):
            # In one step: nobody is to find it ended, and have what it may spend.
            begin_again(record)
            record.message = "goes on with its next attempt: its cap was raised while it was being ended"
            await self._under.tell(record)
            await self._under.servers.down(record)
        else:
            await self.write_end(record, how)

    async def _book(self, record: JobRecord, used_us: int) -> None:
        """Its money and its end stand before its outputs are kept, which may take long and costs nothing."""
        if record.ended_at is not None or record.started_at is None:
            return
        # The kill itself may have come late on a busy machine, or after its sleep: what is booked never passes the cap.
        record.cost = min(record.cap_left, charge(used_us, record.rate))
        record.ended_at = record.started_at + timedelta(microseconds=used_us)
        measured_cost, remark = self._under.devices.settle(record, record.ended_at)
        record.cost = record.cost if measured_cost is None else min(record.cost, measured_cost)
        record.energy |= {"note": remark} if remark else {}
        self._under.devices.release(record)
        if record.job.outputs:
            record.message = "has ended; its outputs are being kept"
        await self._under.tell(record, self._under.counted(record))

    async def _keep(self, record: JobRecord) -> None:
        outputs = record.job.outputs
        if not outputs:
            return

        def work() -> Kept:
            folder, source = job_folder(self._under.home, record.name), work_folder(self._under.home, record)
            if record.kind == "TrainingJob":  # Its runner may have been killed while it wrote them: they belong together.
                for output in outputs:
                    finish_replacing(source / output)
            return keep_outputs(source, outputs, folder, shortage=self._shortage, given_up=given_up)

        def given_up() -> bool:
            return self._under.closing or record.name in self._under.hurried

        try:
            kept = await asyncio.to_thread(work)
        except GivenUpError:
            if record.name not in self._under.hurried:
                raise
            record.notes.append("Its outputs were not kept: it was killed while they were.")
            return
        except OSError as error:
            record.notes.append(f"Its outputs could not be kept: {error.strerror or error}.")
            return
        except Exception as error:  # noqa: BLE001 - a fault of ours costs the copies of its outputs, and not its end
            _log.exception("the outputs of job %s could not be kept, by a fault of the scheduler", record.name)
            record.notes.append(
                f"Its outputs could not be kept, by a fault of the scheduler ({type(error).__name__}); its log has the details."
            )
            return
        record.outputs = [each.to_document() for each in kept.files]
        record.notes += kept.notes

    async def write_end(self, record: JobRecord, how: Ending) -> None:
        """Tell how it came to its end, and forget it here."""
        record.phase, record.reason, record.message = how.phase, how.reason, how.message
        record.ended_at = record.ended_at or self._under.clock()
        record.until_at = None
        self._under.devices.release(record)
        await self._under.tell(record, self._under.counted(record))
        self._under.records.pop(record.name, None)
        self._under.hurried.discard(record.name)
        if how.reason == "BudgetExceeded":
            self._under.unpaid_ends.add(record.name)  # Its limit may have been raised while it was ending.
        self._under.ended.set()
        await self._under.servers.down(record)
        await asyncio.to_thread(remove_tree, job_folder(self._under.home, record.name) / "tmp")
