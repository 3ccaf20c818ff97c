"""What people, budgets and schedulers do to jobs: end them, try them again, give them a higher cap, delete them."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from datetime import timedelta

from local_backend.jobs import attempts, supervising
from local_backend.jobs.describing import cost_nano
from local_backend.jobs.endings import Ending
from local_backend.jobs.finishing import Finisher
from local_backend.jobs.launching import job_folder
from local_backend.jobs.order import StopReason
from local_backend.jobs.removing import remove_tree
from local_backend.jobs.servers import begin_again
from local_backend.jobs.starting import NEVER_STARTED
from local_backend.jobs.under_way import UnderWay
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import event
from nodus_tui.contract.actions import Delete, ExtendCap, Kill, RetryJob
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import display_usd, nano_from_usd, usd_from_nano, usd_text
from nodus_tui.contract.outcomes import ActionOutcome, Change

_log = logging.getLogger(__name__)

JobAction = Kill | Delete | ExtendCap | RetryJob
"""What can be done to a job."""

_KILL_PATIENCE = timedelta(seconds=40)
"""How long after its grace a killed job's end is waited for."""


class JobActions:
    """On one engine's jobs."""

    def __init__(self, under_way: UnderWay, finisher: Finisher) -> None:
        self._under = under_way
        self._finisher = finisher

    async def stop(self, name: str, reason: StopReason) -> JobRecord:
        """Have a job end gracefully, and wait until it has. One that has not started ends at once. Raises NodusError for an unknown one."""
        record = self._under.records.get(name)
        if record is None:
            return await self._under.stored(name)
        while (busy := self._under.busy.get(name)) is not None:
            await asyncio.wait({busy})
        if record.ended:
            return record
        record.stop = reason
        if not record.token:
            await self._finisher.write_end(record, Ending("Cancelled", reason, NEVER_STARTED))
            return record
        record.message = "is being stopped"
        await self._under.tell(record)
        try:
            await self._under.tell_to_stop(record)
        except OSError as error:
            _log.warning("job %s could not be told to stop, and is told again: %s", name, error)
        until = self._under.clock() + self._under.grace + _KILL_PATIENCE
        while not record.ended and not self._under.closing and self._under.clock() < until:
            self._under.ended.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._under.ended.wait(), _KILL_PATIENCE.total_seconds())
        return record

    async def go_on_where_paid(self) -> None:
        """Those that a budget stopped go on where all budgets over them pay again. Raises NodusError."""
        while self._under.unpaid_ends:
            name = self._under.unpaid_ends.pop()
            with contextlib.suppress(NodusError):  # It was deleted; or somebody has had it go on.
                record = await self._under.at_rest(name)
                if attempts.waits_for_budget(record) and not self._under.unpaid(record, record.rate):
                    await self._go_on(record)

    async def perform(self, action: JobAction) -> ActionOutcome:
        """An action on a job. Raises NodusError."""
        if isinstance(action, Kill):
            return await self._kill(action)
        if isinstance(action, ExtendCap):
            return await self._extend(action)
        return await (self._retry(action) if isinstance(action, RetryJob) else self._delete(action))

    async def _retry(self, action: RetryJob) -> ActionOutcome:
        record = await self._under.at_rest(action.name)
        attempts.check_retry(record)
        before = record.phase
        await self._go_on(record)
        spent = display_usd(usd_from_nano(record.cost_before))
        message = f"{action.name} is tried again (attempt {record.attempt}); {spent} of its cap is spent"
        return self._outcome(action, message, [_change(record, before)])

    async def _go_on(self, record: JobRecord) -> None:
        """Begin an ended job's next attempt. Raises NodusError where another job does its work by now."""
        self._under.servers.refuse_second(record)
        if self._under.records.get(record.name, record) is not record:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{record.name} has just begun again by itself")
        begin_again(record)
        self._under.records[record.name] = record
        self._under.servers.adopt(record)
        await self._under.tell(record)
        self._under.wake.set()

    async def _extend(self, action: ExtendCap) -> ActionOutcome:
        record, cap = await self._under.at_rest(action.name), nano_from_usd(action.cap_usd)
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
        await self._under.tell(record)
        if record.started_at is not None and not record.ended:
            words = attempts.deadline_words(record, self._under.grace)
            try:
                await asyncio.to_thread(supervising.say, job_folder(self._under.home, record.name), words)
            except OSError as error:  # It ends by its old cap then, and goes on with its next attempt.
                _log.warning("job %s could not be told of its new cap: %s", record.name, error)
        how = f"; it has ended ({record.reason or record.phase}), and a retry begins its next attempt" if record.ended else ""
        if attempts.waits_for_budget(record):
            how = "; a budget stopped it, and it goes on where that has room"
            self._under.unpaid_ends.add(record.name)
            self._under.wake.set()
        return self._outcome(action, f"{action.name} has a cap of {raised} now{how}", changes)

    async def _kill(self, action: Kill) -> ActionOutcome:
        found = self._under.records.get(action.name) or await self._under.stored(action.name)
        before = found.phase
        if attempts.waits_for_budget(found):
            return await self._give_up(action, found)
        if before not in {"Pending", "Running", "Serving"}:
            return self._outcome(action, f"{action.name} has ended already ({before})")
        self._hurry(action.name)
        record = await self.stop(action.name, "Killed")
        cost = display_usd(usd_from_nano(cost_nano(record, self._under.clock())))
        if not record.ended:
            return self._outcome(action, f"{action.name} was told to end; it has cost {cost} so far", [_change(record, before)])
        if record.reason != "Killed":
            return self._outcome(action, f"{action.name} came to its own end first ({record.phase}); it cost {cost}")
        return self._outcome(action, f"killed {action.name}; it cost {cost}{self._under.servers.bereft(record)}", [_change(record, before)])

    async def _give_up(self, action: Kill, record: JobRecord) -> ActionOutcome:
        """A job that a budget stopped does not go on by itself any more."""
        record.reason, record.message = "Killed", "a budget stopped it, and then it was killed"
        await self._under.tell(record)
        change = Change(kind=record.kind, name=record.name, field="reason", old="BudgetExceeded", new="Killed")
        return self._outcome(
            action, f"killed {action.name}, which a budget had stopped: it does not go on when there is room again", [change]
        )

    def _hurry(self, name: str) -> None:
        """Where it has ended and its outputs are being kept, which may take long, that is given up."""
        record = self._under.records.get(name)
        if record is not None and record.ended_at is not None:
            self._under.hurried.add(name)

    async def _delete(self, action: Delete) -> ActionOutcome:
        record = self._under.records.get(action.name) or await self._under.stored(action.name)
        if record.ended:  # What comes after its end may just be under way: it is awaited, as whoever was told of the end may delete.
            record = await self._under.at_rest(action.name)
        if not record.ended:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{action.name} has not ended: kill it first")
        now = self._under.clock()
        await self._under.store.commit(
            [("DELETE FROM jobs WHERE name = ?", (action.name,)), event(now, "Deleted", record.kind, action.name)]
        )
        await asyncio.to_thread(remove_tree, job_folder(self._under.home, action.name))
        self._under.servers.forget(action.name)
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
            at=self._under.clock(),
            author=action.author,
        )


def _change(record: JobRecord, before: str) -> Change:
    return Change(kind=record.kind, name=record.name, field="phase", old=before, new=record.phase)
