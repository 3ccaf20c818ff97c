"""How a job that serves stands, from its record: what it tells of itself, and what those who use it are told. Pure."""

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from local_backend.jobs.deadlines import LEAST_US, affordable_us
from local_backend.models.endpoints import checked_base_url
from local_backend.models.served import Obstacle, ServedFamily
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import time_from
from nodus_tui.contract.resources.job import Serving, ServingStatus
from nodus_tui.values import fields_of

NO_LONGER_USED = "NoLongerUsed"
WAITING_FOR_USERS = "WaitingForUsers"
USES = "uses"
"""Under this name the record of a job that serves nothing holds the family that it uses, if it uses one."""


class Standing(Struct):
    """What is known of a server beside its job's phase; kept in the record."""

    address: str = ""
    """Scheme, host and port."""
    up: bool = False
    """Whether it has answered since it was started."""
    answering: bool = False
    since: str = ""
    """Since when it answers, or does not any more."""
    said: str = ""
    """What the last health check met where it met no answer."""
    users: tuple[str, ...] = ()
    idle_since: str = ""
    """Since when nobody uses it; empty while somebody does."""
    restarts: int = 0

    @classmethod
    def of(cls, record: JobRecord) -> "Standing":
        """What the record holds."""
        values = {**record.serving, "users": tuple(record.serving.get("users", ()))}
        return cls(**values)

    def keep(self, record: JobRecord) -> bool:
        """Write it into the record; says whether anything changed."""
        values = {**fields_of(self), "users": list(self.users)}
        changed = values != record.serving
        record.serving = values
        return changed

    @property
    def base_url(self) -> str:
        """Where calls go."""
        return checked_base_url(f"{self.address}/v1") if self.address else ""


def serving_of(record: JobRecord) -> Serving | None:
    """The part of its spec that says what it serves; None for a job that serves nothing."""
    return record.job.serve if (record.work or record.spec).get("serve") else None


def newest_by_family(records: Iterable[JobRecord]) -> dict[str, JobRecord]:
    """Of each family the job that serves it, or else the one that did last. The records come in order of creation."""
    found: dict[str, JobRecord] = {}
    for record in records:
        serve = serving_of(record)
        if serve is not None and (serve.family not in found or found[serve.family].ended):
            found[serve.family] = record
    return found


def serving_status(record: JobRecord) -> ServingStatus | None:
    """What the contract tells of it."""
    serve = serving_of(record)
    if serve is None:
        return None
    standing = Standing.of(record)
    idle = time_from(standing.idle_since or None)
    here = standing if not record.ended else Standing(restarts=standing.restarts)
    return ServingStatus(
        family=serve.family,
        model=serve.model or serve.family,
        address=here.base_url or None,
        answering=here.answering,
        since=time_from(here.since or None),
        users=here.users,
        stops_at=idle + serve.stop_after if idle is not None and here.address and not serve.keep else None,
        restarts=standing.restarts,
    )


def _clock_words(moment: datetime | None) -> str:
    return f"at {moment:%H:%M} UTC" if moment is not None else "a moment ago"


def words(serve: Serving, standing: Standing, started_at: datetime | None) -> str:
    """What a running server says of itself."""
    met = f" ({standing.said})" if standing.said else ""
    check = f"GET {serve.health_path}"
    if not standing.up:
        return f"started {_clock_words(started_at)}, its health check {check} has not answered 200 yet{met}"
    if not standing.answering:
        return f"its health check {check} stopped answering {_clock_words(time_from(standing.since or None))}{met}"
    users = f"used by {', '.join(standing.users)}" if standing.users else "used by nobody now"
    return f"serves {serve.family} at {standing.base_url}, {users}"


def comes_back(record: JobRecord) -> bool:
    """Whether the next one that uses its family has it started again: it ended because nobody did, and its cap pays for more."""
    left = affordable_us(record.cap - record.cost_before - record.cost, record.rate)
    return record.phase == "Succeeded" and record.reason == NO_LONGER_USED and (left is None or left >= LEAST_US)


def ended_words(record: JobRecord, family: str) -> str:
    """Why a family is served no more, and what to do about it."""
    how = ", ".join(part for part in (record.phase, record.message) if part)
    again = f"`nodus-tui retry job/{record.name}` starts it again"
    if record.reason in {"NonZeroExit", "StartTimeout", "NotAnswering"}:
        again = f"{again}, and `nodus-tui logs {record.name}` shows why it failed"
    if record.reason == "MaxCostReached" or (record.reason == NO_LONGER_USED and not comes_back(record)):
        again = f"with a higher cap (`nodus-tui extend-cap job/{record.name} AMOUNT`) {again}"
    if record.reason == "BudgetExceeded":
        again = f"when that budget has room, {again}"
    return f"the model server of {family} has ended: job {record.name} ({how}); {again}, or apply another Job that serves {family}"


def served_family(record: JobRecord) -> ServedFamily:
    """The family of a job that serves, as the catalogue has it beside its own. ValueError for a job that serves nothing."""
    serve = serving_of(record)
    if serve is None:
        raise ValueError(f"{record.name} serves nothing")
    problem = ended_words(record, serve.family) if record.ended and not comes_back(record) else ""
    address = "" if record.ended else Standing.of(record).base_url
    return ServedFamily(
        record.name,
        serve,
        base_url=address,
        cap=record.cap,
        rate=record.rate,
        standing=record.phase,
        ended=record.ended,
        problem=problem,
    )


def obstacle(record: JobRecord) -> Obstacle | None:
    """Why the model that this job serves cannot be called now; None where it can."""
    serve = serving_of(record)
    if serve is None:
        raise ValueError(f"{record.name} serves nothing")
    if record.ended and not comes_back(record):
        return Obstacle(ended_words(record, serve.family), gone=True)
    if record.phase == "Serving" and Standing.of(record).answering:
        return None
    how = "is started again" if record.ended else record.message or "is to be started"
    return Obstacle(f"waits for the model server of {serve.family} (job {record.name}): {how}")
