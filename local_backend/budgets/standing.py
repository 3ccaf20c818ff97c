"""A budget as it stands now, for whoever only reads a workspace: its record is as old as the last scheduler's last word.

Jobs go on without a scheduler, so what they have cost since is added to it. Sandboxes end with theirs.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime

from local_backend.budgets.book import Ceiling, Work, charge
from local_backend.storage.job_records import JobRecord
from local_backend.storage.store import Store
from nodus_tui.contract.money import nano_from_usd, usd_from_nano
from nodus_tui.contract.resources.budget import Budget

_HOUR_FORMAT = "%Y-%m-%dT%H"


def ceiling_of(budget: Budget, created_at: datetime) -> Ceiling:
    """The ceiling that a Budget's spec says."""
    spec = budget.spec
    labels = spec.scope.selector.match_labels if spec.scope.selector is not None else {}
    return Ceiling(
        name=budget.name,
        limit=nano_from_usd(spec.limit_usd),
        created_at=created_at,
        monthly=spec.period == "Monthly",
        block=spec.action == "Block",
        project=spec.scope.project,
        match_labels=tuple(sorted(labels.items())),
        thresholds=spec.thresholds,
    )


async def spend_on_record(store: Store, ceiling: Ceiling, since: datetime) -> int:
    """Nano-dollars that were spent in the ceiling's scope since a moment, by whole hours."""
    rows = await store.read("SELECT project, labels, model + compute AS nano FROM spend WHERE hour >= ?", (hour_of(since),))
    return sum(row["nano"] for row in rows if ceiling.covers(_work_of_row(row["project"], row["labels"])))


async def spend_to_come(store: Store, ceiling: Ceiling, now: datetime) -> dict[datetime, int]:
    """What stands on record in the ceiling's periods after the present one, by their beginnings: spent while the clock was ahead."""
    end = ceiling.period_end(now)
    found: dict[datetime, int] = {}
    if end is None:
        return found
    for row in await store.read("SELECT hour, project, labels, model + compute AS nano FROM spend WHERE hour >= ?", (hour_of(end),)):
        if ceiling.covers(_work_of_row(row["project"], row["labels"])):
            start = ceiling.period_start(datetime.strptime(row["hour"], _HOUR_FORMAT).replace(tzinfo=UTC))
            found[start] = found.get(start, 0) + int(row["nano"])
    return found


async def standing_now(store: Store, budget: Budget, clock: Callable[[], datetime]) -> Budget:
    """The budget at this moment, in its next month where its last has ended and no scheduler has begun the new one yet."""
    now, status = clock(), budget.status
    if status is None:
        return budget
    ceiling = ceiling_of(budget, status.period_started_at)
    if status.period_ends_at is None or now < status.period_ends_at:
        running = await _spent_by_jobs(store, ceiling, status.updated_at, now)
        spent = status.spent_usd + usd_from_nano(running)
        left = max(budget.spec.limit_usd - spent, usd_from_nano(0))
        standing = {"spent_usd": spent, "left_usd": left, "updated_at": now} if running else {}
        return budget.model_copy(update={"status": status.model_copy(update=standing)})
    started = ceiling.period_start(now)
    spent = usd_from_nano(await spend_on_record(store, ceiling, started) + await _spent_by_jobs(store, ceiling, started, now))
    limit = budget.spec.limit_usd
    begun = {
        "spent_usd": spent,
        "left_usd": max(limit - spent, usd_from_nano(0)),
        "blocking": ceiling.block and spent >= limit,
        "message": "",
        "thresholds_told": (),
        "period_started_at": started,
        "period_ends_at": ceiling.period_end(now),
    }
    return budget.model_copy(update={"status": status.model_copy(update=begun)})


async def _spent_by_jobs(store: Store, ceiling: Ceiling, since: datetime, now: datetime) -> int:
    """Nano-dollars that running jobs in the ceiling's scope have cost since a moment, and that are not on record yet."""
    rows = await store.read("SELECT * FROM jobs WHERE phase IN ('Running', 'Serving') AND started_at IS NOT NULL AND ended_at IS NULL")
    records = (record for record in map(JobRecord.from_row, rows) if ceiling.covers(Work.of(record.metadata)))
    # A clock that was set back since takes nothing off.
    return sum(max(0, _spent_by(record, now) - _spent_by(record, since)) for record in records)


def _spent_by(record: JobRecord, upto: datetime) -> int:
    return 0 if record.started_at is None else min(record.cap_left, charge(record.rate, record.started_at, upto))


def hour_of(moment: datetime) -> str:
    """The hour of a moment in UTC, as the table `spend` has it."""
    return moment.astimezone(UTC).strftime(_HOUR_FORMAT)


def _work_of_row(project: str, labels: str) -> Work:
    return Work(project or None, tuple((str(name), str(value)) for name, value in json.loads(labels)))
