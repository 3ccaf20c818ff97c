"""The jobs that serve models: who uses which, whether each answers, when one is stopped or started again. For the engine of jobs.

The engine's own loop is the only writer of the records; health checks go on beside it and leave what they met for its next look.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime

from local_backend.jobs.deadlines import LEAST_US, affordable_us
from local_backend.jobs.endings import Ending
from local_backend.jobs.expected import expected_users
from local_backend.jobs.health import HealthChecks, HealthWatch
from local_backend.jobs.order import Report, StopReason
from local_backend.jobs.ports import LOOPBACK
from local_backend.jobs.standing import (
    NO_LONGER_USED,
    USES,
    WAITING_FOR_USERS,
    Standing,
    comes_back,
    newest_by_family,
    obstacle,
    served_family,
    serving_of,
    words,
)
from local_backend.models.catalogue import ResolvedModel
from local_backend.models.served import Obstacle
from local_backend.storage.job_records import SERVING_JOBS, JobRecord
from local_backend.storage.records import time_from, time_text
from local_backend.storage.store import Store
from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.job import MODEL_SERVER_ENDED, Serving

_AT_WORK = tuple(phase for phase in GroupPhase if not phase.at_rest)


class Servers:
    """All of one workspace."""

    def __init__(
        self, *, store: Store, clock: Callable[[], datetime], tell: Callable[[JobRecord], Awaitable[None]], wake: Callable[[], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._tell = tell
        self._wake = wake
        self.on_change: Callable[[], None] = lambda: None
        """Called when those who wait for a server should look again."""
        self._records: dict[str, JobRecord] = {}
        """By family: the job that serves it, or that did last."""
        self._users: dict[str, tuple[str, ...]] = {}
        self._stale = True
        """Whether it must be found out anew who uses which family."""
        self._watches: dict[str, HealthWatch] = {}
        self._checks = HealthChecks()

    async def open(self) -> None:
        """Find the families that were ever served."""
        self._records = newest_by_family(JobRecord.from_row(row) for row in await self._store.read(SERVING_JOBS))

    def adopt(self, record: JobRecord) -> None:
        """A job that has not ended: the engine's own record of it."""
        serve = serving_of(record)
        if serve is not None:
            self._records[serve.family] = record
        self.users_changed()

    def users_changed(self) -> None:
        """A group or a job has begun or ended: find out anew who uses which family."""
        self._stale = True
        self._wake()

    async def aclose(self) -> None:
        """Look at none any more; they go on."""
        for watch in tuple(self._watches.values()):
            await watch.aclose()
        self._watches.clear()
        await self._checks.aclose()

    # Who uses what.

    async def refresh(self, unfinished: Iterable[JobRecord], *, may_start: bool) -> list[JobRecord]:
        """Find out who uses which family, if that may have changed: before any server is looked at.

        Gives the jobs that had been stopped because nobody used them, and are wanted again: begun anew. The caller tells.
        """
        if not self._stale:
            return []
        await self._find_users(unfinished)
        if not may_start:
            return []
        wanted = [record for family, record in self._records.items() if family in self._users and comes_back(record)]
        for record in wanted:
            begin_again(record)
        return wanted

    async def _find_users(self, unfinished: Iterable[JobRecord]) -> None:
        self._stale = False
        marks = ", ".join("?" for _ in _AT_WORK)
        query = f"SELECT name, model FROM groups WHERE phase IN ({marks}) ORDER BY seq"  # noqa: S608 - question marks only
        users: dict[str, list[str]] = {}
        for row in await self._store.read(query, tuple(phase.value for phase in _AT_WORK)):
            users.setdefault(str(json.loads(row["model"]).get("family", "")), []).append(str(row["name"]))
        for record in unfinished:
            if record.serving.get(USES):
                users.setdefault(str(record.serving[USES]), []).append(f"job/{record.name}")
        self._users = {family: tuple(names) for family, names in users.items()}

    def users_of(self, serve: Serving) -> tuple[str, ...]:
        """Who is at work and names this family."""
        return self._users.get(serve.family, ())

    async def tell_users(self) -> None:
        """Write down who uses the servers that have not started. Those that run are looked at anyway."""
        for record in tuple(self._records.values()):
            serve = serving_of(record)
            if serve is not None and record.phase == "Pending":
                standing = Standing.of(record)
                standing.users = self.users_of(serve)
                if standing.keep(record):
                    await self._tell(record)

    def hold_back(self, waiting: Sequence[JobRecord], running: Sequence[JobRecord]) -> dict[str, tuple[str, str]]:
        """Why some of the waiting jobs are not to start whatever the machine has free, by name: reason and sentence."""
        held: dict[str, tuple[str, str]] = {}
        for record in waiting:
            serve = serving_of(record)
            if serve is None:
                found = self.obstacle(str(record.serving[USES])) if record.serving.get(USES) else None
                if found is not None:
                    held[record.name] = (MODEL_SERVER_ENDED if found.gone else Reason.WAITING_FOR_MODEL.value, found.message)
            elif not serve.keep and not self.users_of(serve):
                held[record.name] = (WAITING_FOR_USERS, f"waits for a group that uses the family {serve.family}")
            elif record.job.image is None and (other := _same_port(serve, running)):
                held[record.name] = ("WaitingForPort", f"waits for port {serve.port} of this machine, which job {other} has")
        return held

    # A running server.

    def started(self, record: JobRecord, report: Report) -> None:
        """It runs now; whether it answers is for its health checks to say. The caller tells."""
        serve = serving_of(record)
        if serve is None:
            return
        standing = Standing(
            address=f"http://{report.address or f'{LOOPBACK}:{serve.port}'}",
            users=self.users_of(serve),
            restarts=Standing.of(record).restarts,
        )
        standing.keep(record)
        record.reason, record.message = "Starting", words(serve, standing, record.started_at)

    async def look(self, record: JobRecord, *, wanted_by_others: bool = False) -> None:
        """Take what its health checks met, and decide whether it stays up. What somebody else waits for is not kept for cells to come."""
        serve = serving_of(record)
        if serve is None or record.phase not in {"Running", "Serving"}:
            return
        standing, now = Standing.of(record), self._clock()
        watch = self._watches.get(record.name)
        if watch is None:
            url, patience = standing.address + serve.health_path, serve.start_timeout.total_seconds()
            watch = self._watches[record.name] = HealthWatch(url, self._checks, self._heard, patience=patience)
        if watch.problem is not None:
            _take(standing, watch.problem, now)
        standing.users = self.users_of(serve)
        if not standing.users and not wanted_by_others:
            standing.users = (await expected_users(self._store)).get(serve.family, ())
        idle = not standing.users and not serve.keep
        standing.idle_since = (standing.idle_since or time_text(now) or "") if idle else ""
        stop = _stop_reason(serve, standing, record, now, checked=watch.problem is not None)
        phase, reason = ("Serving", None if standing.answering else "NotAnswering") if standing.up else ("Running", "Starting")
        message = _STOPPING[stop] if stop is not None else words(serve, standing, record.started_at)
        changed = standing.keep(record)
        if changed or stop is not None or (record.phase, record.reason, record.message) != (phase, reason, message):
            record.phase, record.reason, record.message = ("Serving" if standing.up else "Running"), reason, message
            record.stop = stop or ""
            await self._tell(record)

    def _heard(self) -> None:
        self._wake()
        # Those who wait see the obstacle, or its end, before the record tells of it.
        self.on_change()

    # Ends.

    def ending(self, record: JobRecord, how: Ending) -> Ending:
        """What a server's end is called: one that ends without being asked has failed, whatever its exit code."""
        serve = serving_of(record)
        if serve is None:
            return how
        standing = Standing.of(record)
        met = f" ({standing.said})" if standing.said else ""
        if how.phase == "Succeeded" and how.reason is None:
            return Ending("Failed", "ServerEnded", "the server ended by itself (it exited with 0)")
        if how.reason == "StartTimeout":
            span = duration_text(serve.start_timeout)
            return Ending(how.phase, how.reason, f"its health check GET {serve.health_path} did not answer 200 within {span}{met}")
        return how

    def begins_again(self, record: JobRecord, how: Ending) -> bool:
        """Whether a server that came to this end is started again; then its record stands as before its start. The caller tells."""
        serve = serving_of(record)
        if serve is None or record.stop == "Killed" or how.reason not in _RESTARTED:
            return False
        standing = Standing.of(record)
        left = affordable_us(record.cap_left - record.cost, record.rate)
        if not standing.up or standing.restarts >= serve.restarts or (left is not None and left < LEAST_US):
            return False
        standing.restarts += 1
        again = f"is started again (restart {standing.restarts} of {serve.restarts}): {how.message}"
        begin_again(record, restarts=standing.restarts)
        record.reason, record.message = "Restarting", again
        return True

    async def down(self, record: JobRecord) -> None:
        """It runs no more."""
        watch = self._watches.pop(record.name, None)
        if watch is not None:
            await watch.aclose()
        self.users_changed()

    def refuse_second(self, record: JobRecord) -> None:
        """Raise NodusError when another job serves the family of one that is to begin again."""
        serve = serving_of(record)
        if serve is None:
            return
        other = self._records.get(serve.family)
        if other is not None and other.name != record.name and not other.ended:
            said = f"{other.name} serves the family {serve.family} by now: kill that one first"
            raise NodusError(ErrorCode.INVALID_ACTION, said)

    def bereft(self, record: JobRecord) -> str:
        """Who waits for a server that was killed, and what starts it again, as the end of a sentence; empty where nobody does."""
        serve = serving_of(record)
        users = self.users_of(serve) if serve is not None else ()
        if not users:
            return ""
        waits = "waits" if len(users) == 1 else "wait"
        return f"; {', '.join(users)} {waits} for it now: `nodus-tui retry job/{record.name}` starts it again"

    def told(self, record: JobRecord) -> None:
        """What is known of a job has changed."""
        if serving_of(record) is not None:
            self.on_change()

    def forget(self, name: str) -> None:
        """The job was deleted."""
        self._records = {family: record for family, record in self._records.items() if record.name != name}
        self.on_change()

    async def leave(self, unfinished: Sequence[JobRecord]) -> list[JobRecord]:
        """The scheduler goes, and nobody would stop a server that nobody uses: gives those that are to be told to stop now."""
        await self._find_users(unfinished)
        expected = await expected_users(self._store)
        unused = []
        for record in unfinished:
            serve = serving_of(record)
            if serve is None or not record.token or serve.keep or record.stop:
                continue
            if not self.users_of(serve) and serve.family not in expected:
                record.stop, record.message = NO_LONGER_USED, _STOPPING["NoLongerUsed"]
                await self._tell(record)
                unused.append(record)
        return unused

    # For those who use them.

    def obstacle(self, family: str) -> Obstacle | None:
        """Why the family's model cannot be called now; None where it can."""
        record = self._records.get(family)
        if record is None:
            return Obstacle(f"no job serves {family} any more: apply a Job that does", gone=True)
        found = obstacle(record)
        watch = self._watches.get(record.name)
        if found is None and watch is not None and watch.problem:
            why = f"its health check does not answer ({watch.problem})"
            return Obstacle(f"waits for the model server of {family} (job {record.name}): {why}")
        return found

    def door(self, family: str) -> "ServedDoor":
        """The way to a family's model."""
        return ServedDoor(self, family)

    def model(self, family: str) -> ResolvedModel | None:
        """The family's model as it is reached now, its address empty where it is not up; None where no job ever served it."""
        record = self._records.get(family)
        return served_family(record).as_model() if record is not None else None

    async def check(self, family: str) -> None:
        """Look at the family's server now."""
        record = self._records.get(family)
        watch = self._watches.get(record.name) if record is not None else None
        if watch is not None:
            await watch.check()


class ServedDoor:
    """The way to a model that a job serves."""

    def __init__(self, servers: Servers, family: str) -> None:
        self._servers = servers
        self._family = family
        self._last: ResolvedModel | None = None

    @property
    def model(self) -> ResolvedModel:
        """The model as it is reached now."""
        self._last = self._servers.model(self._family) or self._last
        if self._last is None:
            raise RuntimeError(f"no job ever served {self._family}")
        return self._last

    @property
    def obstacle(self) -> Obstacle | None:
        """Why no call may leave now."""
        return self._servers.obstacle(self._family)

    async def look(self) -> None:
        """Check its health now."""
        await self._servers.check(self._family)


_STOPPING: dict[StopReason, str] = {
    "NoLongerUsed": "is being stopped: nobody uses it any more",
    "StartTimeout": "is being ended: its health check did not answer within its startTimeout",
    "NotAnswering": "is being ended: its health check does not answer any more",
}
_RESTARTED = frozenset({"NonZeroExit", "ServerEnded", "NotAnswering", "InfrastructureFailure", "Interrupted"})
"""The ends after which a server that had served is started again, while it has restarts left."""


def _take(standing: Standing, problem: str, now: datetime) -> None:
    well = not problem
    if well != standing.answering:
        standing.answering, standing.since = well, time_text(now) or ""
    standing.up = standing.up or well
    standing.said = problem


def _stop_reason(serve: Serving, standing: Standing, record: JobRecord, now: datetime, *, checked: bool) -> StopReason | None:
    idle = time_from(standing.idle_since or None)
    if idle is not None and now - idle >= serve.stop_after:
        return "NoLongerUsed"
    since = time_from(standing.since or None) if standing.up else record.started_at
    late = since is not None and now - since >= serve.start_timeout
    if not checked or standing.answering or not late:
        return None
    return "NotAnswering" if standing.up else "StartTimeout"


def _same_port(serve: Serving, running: Sequence[JobRecord]) -> str:
    """The running command that serves at the same port, if there is one."""
    for record in running:
        other = serving_of(record)
        if other is not None and record.job.image is None and other.port == serve.port:
            return record.name
    return ""


def begin_again(record: JobRecord, *, restarts: int = 0) -> None:
    """Make an ended job's record that of its next attempt, which counts under the same cap."""
    record.cost_before, record.cost = record.cost_before + record.cost, 0
    record.attempt += 1
    record.phase, record.reason, record.message = "Pending", None, ""
    record.token, record.stop, record.exit_code = "", "", None
    record.started_at = record.ended_at = record.progress = None
    record.outputs, record.notes, record.scores, record.devices = [], [], [], []
    record.device_names, record.hardware, record.until_at = [], "", None
    record.energy.pop("note", None)
    if serving_of(record) is not None:
        Standing(restarts=restarts).keep(record)
