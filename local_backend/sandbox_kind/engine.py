"""All boxes of a workspace: which live here, what is done to them, what a dead scheduler left. Lives in the process that holds the lock.

A box lives in its scheduler's process: it ends with it, and nothing of it is found again but its files where they were kept.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from local_backend.budgets.book import Ceiling, Work
from local_backend.sandbox_kind.box import Around, Box
from local_backend.sandbox_kind.describing import cost_nano, record_limits, sandbox_resource, told
from local_backend.sandbox_kind.limits import cost_of
from local_backend.sandbox_kind.sessions import Sessions
from local_backend.storage.last_word import LastWord
from local_backend.storage.records import event
from local_backend.storage.sandbox_records import SandboxRecord
from nodus_tui.contract.actions import Delete, Kill
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import display_usd, usd_from_nano
from nodus_tui.contract.outcomes import ActionOutcome, Change
from nodus_tui.contract.resources.sandbox import SandboxSpec
from nodus_tui.contract.sandbox_exec import GONE_SECONDS

_log = logging.getLogger(__name__)

_STOP_PATIENCE = 120.0
"""So long a kill's answer waits for the end, in seconds."""

_LOST = "its scheduler ended while it ran, and it with it; its files are lost, and its time is booked up to what is known"


class BoxEngine:
    """One a workspace."""

    def __init__(self, around: Around, *, may_start: bool) -> None:
        self._around = around
        self._may_start = may_start
        self._boxes: dict[str, Box] = {}
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._past: dict[str, Sessions] = {}
        """Commands of those that have just stopped: their clients may yet ask how they ended."""
        self._closing = False

    async def open(self, before: LastWord) -> None:
        """Settle what an earlier scheduler left, and begin with those that wait."""
        rows = await self._around.store.read("SELECT name FROM sandboxes")
        await asyncio.to_thread(self._around.kept.sweep, {row["name"] for row in rows})
        for row in await self._around.store.read("SELECT * FROM sandboxes WHERE phase = 'Running' ORDER BY seq"):
            await self._settle(SandboxRecord.from_row(row), before)
        await self.wake()

    async def _settle(self, record: SandboxRecord, before: LastWord) -> None:
        """One that ran when its scheduler died. With bubblewrap it died as well; a container went on until it was found, or its end."""
        around, now = self._around, self._around.clock()
        ended = before.then(now) if record.engine == "docker" else max(before.at, record.seen_at or before.at)
        started = record.started_at or ended
        end = record_limits(record).end
        record.published = _published(record, now)
        record.cost = cost_of(cap=record.cap, rate=record.rate, started_at=started, ended_at=ended, end=end)
        record.phase, record.reason, record.message = "Failed", "InfrastructureFailure", _LOST
        record.ended_at, record.idle_since, record.commands = min(max(started, ended), started + end, max(started, now)), None, 0
        booked = around.budgets.of(Work.of(record.metadata)).charged(compute=record.cost)
        await around.store.commit([*booked, *told(record, now)])
        _log.warning("sandbox %s: %s", record.name, _LOST)

    async def wake(self) -> None:
        """New ones may have been written."""
        if not self._may_start or self._closing:
            return
        for row in await self._around.store.read("SELECT * FROM sandboxes WHERE phase = 'Pending' ORDER BY seq"):
            if row["name"] not in self._boxes:
                self._begin(SandboxRecord.from_row(row))

    def _begin(self, record: SandboxRecord) -> None:
        record.published = _published(record, self._around.clock())
        box = self._boxes[record.name] = Box(record, self._around)
        self._lives[record.name] = asyncio.create_task(self._live(box), name=f"sandbox {record.name}")

    async def _live(self, box: Box) -> None:
        name = box.record.name
        try:
            await box.live()
        except NodusError as error:
            # The disk takes nothing any more: the backend lets go of this engine, and begins from the disk when it does.
            _log.error("sandbox %s is not looked after: %s", name, error.detail)
        except Exception:  # noqa: BLE001 - a fault of ours in one must not take the others along
            _log.exception("sandbox %s was ended by a fault of the scheduler", name)
        finally:
            self._boxes.pop(name, None)
            self._lives.pop(name, None)
            if box.sessions is not None and not self._closing:
                self._past[name] = box.sessions
                asyncio.get_running_loop().call_later(GONE_SECONDS, self._forget, name, box.sessions)

    def _forget(self, name: str, sessions: Sessions) -> None:
        if self._past.get(name) is sessions:
            del self._past[name]

    async def aclose(self) -> None:
        """Stop them, their files kept; those that wait are left to the next scheduler."""
        self._closing = True
        for name, box in tuple(self._boxes.items()):
            if box.files is None:
                self._lives[name].cancel()
            else:
                box.stop("Interrupted")
        if self._lives:
            await asyncio.wait(tuple(self._lives.values()))

    # What is asked.

    def refusal(self, name: str, spec: SandboxSpec) -> str:
        """Why this scheduler cannot run one that was just asked for; empty where it can."""
        absent = [each for each in spec.env_from if each not in self._around.environ]
        return f"Sandbox {name}: envFrom names {', '.join(absent)}, which the scheduler's environment does not have" if absent else ""

    async def stop_for_budget(self, ceiling: Ceiling) -> None:
        """Have those in a budget's scope that cost money stop gracefully. What waits goes on waiting."""
        boxes = [box for box in self._boxes.values() if box.counts and ceiling.covers(box.work)]
        for box in boxes:
            box.stop("BudgetExceeded")
        await asyncio.gather(*(box.ended.wait() for box in boxes))

    async def sessions(self, name: str, *, past: bool = False) -> Sessions:
        """The commands of one that runs; with `past` also of one that has just stopped. Raises NodusError."""
        box = self._boxes.get(name)
        if box is not None and box.sessions is not None and box.files is not None:
            return box.sessions
        if past and name in self._past:
            return self._past[name]
        record = box.record if box is not None else await self._stored(name)
        why = f" ({record.message})" if record.message else ""
        state = "does not run yet" if record.phase == "Pending" else f"does not run any more: {record.reason or record.phase}"
        raise NodusError(ErrorCode.INVALID_ACTION, f"{name} {state}{why}")

    @contextlib.asynccontextmanager
    async def copy_of_files(self, name: str, *, fresh: bool) -> AsyncIterator[Path | None]:
        """An archive of the files of one that runs; None where it does not, or failed at it."""
        box = self._boxes.get(name)
        if box is None or box.files is None:
            yield None
            return
        async with box.files.copy(fresh=fresh) as found:
            yield found

    async def _stored(self, name: str) -> SandboxRecord:
        rows = await self._around.store.read("SELECT * FROM sandboxes WHERE name = ?", (name,))
        if not rows:
            raise NodusError.not_found("Sandbox", name)
        return SandboxRecord.from_row(rows[0])

    # Actions.

    async def perform(self, action: Kill | Delete) -> ActionOutcome:
        """A kill or a deletion of one. Raises NodusError."""
        return await (self._kill(action) if isinstance(action, Kill) else self._delete(action))

    async def _kill(self, action: Kill) -> ActionOutcome:
        box = self._boxes.get(action.name)
        if box is None:
            record = await self._stored(action.name)
            if record.ended:
                return self._outcome(action, f"{action.name} has ended already ({record.phase})")
            # Nobody starts it here and now: whoever would have, finds it ended.
            record.published = _published(record, self._now)
            before, record.phase, record.reason, record.message = record.phase, "Stopped", "Killed", "it was stopped before it started"
            record.ended_at = self._now
            await self._around.store.commit(told(record, self._now))
            return self._outcome(action, f"killed {action.name} before it started", [_change(record, before)])
        record, before = box.record, box.record.phase
        box.stop("Killed")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(box.ended.wait(), _STOP_PATIENCE)
        cost = display_usd(usd_from_nano(cost_nano(record, self._now)))
        if not record.ended:
            return self._outcome(action, f"{action.name} was told to stop; it has cost {cost} so far", [_change(record, before)])
        if record.reason != "Killed":
            return self._outcome(action, f"{action.name} came to its own end first ({record.reason}); it cost {cost}")
        kept = "; its files are kept" if record.kept else ""
        return self._outcome(action, f"killed {action.name}; it cost {cost}{kept}", [_change(record, before)])

    async def _delete(self, action: Delete) -> ActionOutcome:
        record, box = await self._stored(action.name), self._boxes.get(action.name)
        if record.ended and box is not None:  # Its end is told, and what comes after it is under way: whoever was told may delete.
            await box.ended.wait()
        if not record.ended or action.name in self._boxes:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{action.name} has not stopped: kill it first")
        removed = ("DELETE FROM sandboxes WHERE name = ?", (action.name,))
        await self._around.store.commit([removed, event(self._now, "Deleted", "Sandbox", action.name)])
        await asyncio.to_thread(self._around.kept.remove, action.name)
        self._past.pop(action.name, None)
        change = Change(kind="Sandbox", name=action.name, field="", old="there", new="deleted")
        return self._outcome(action, f"deleted Sandbox {action.name}", [change])

    @property
    def _now(self) -> datetime:
        return self._around.clock()

    def _outcome(self, action: Kill | Delete, message: str, changes: Sequence[Change] = ()) -> ActionOutcome:
        return ActionOutcome(
            action=action.action,
            kind="Sandbox",
            name=action.name,
            changed=bool(changes),
            message=message,
            changes=tuple(changes),
            at=self._now,
            author=action.author,
        )


def _change(record: SandboxRecord, before: str) -> Change:
    return Change(kind="Sandbox", name=record.name, field="phase", old=before, new=record.phase)


def _published(record: SandboxRecord, now: datetime) -> dict[str, JsonValue]:
    status = sandbox_resource(record, now).status
    return status.to_document() if status is not None else {}
