"""A budget as it stands now, for whoever only reads a workspace: its record is as old as the last scheduler's last word."""

import json
from collections.abc import Callable
from datetime import datetime

from local_backend.budgets.book import Ceiling, Work
from local_backend.storage.store import Store
from nodus_tui.contract.money import nano_from_usd, usd_from_nano
from nodus_tui.contract.resources.budget import Budget


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


async def standing_now(store: Store, budget: Budget, clock: Callable[[], datetime]) -> Budget:
    """The budget itself; or, where its month has ended and no scheduler has begun the next one yet, as it stands in that one."""
    now = clock()
    if budget.status is None or budget.status.period_ends_at is None or now < budget.status.period_ends_at:
        return budget
    ceiling = ceiling_of(budget, budget.status.period_started_at)
    started = ceiling.period_start(now)
    spent = usd_from_nano(await spend_on_record(store, ceiling, started))
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
    return budget.model_copy(update={"status": budget.status.model_copy(update=begun)})


def hour_of(moment: datetime) -> str:
    """The hour of a moment in UTC, as the table `spend` has it."""
    return moment.strftime("%Y-%m-%dT%H")


def _work_of_row(project: str, labels: str) -> Work:
    return Work(project or None, tuple((str(name), str(value)) for name, value in json.loads(labels)))
