"""Budgets as a backend tells of them, for tests of the console."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from console_records import NOW

from nodus_tui.contract.events import Event
from nodus_tui.contract.resources.budget import Budget, BudgetStatus


def budget(
    name: str = "month", *, limit: str = "200.00", spent: str = "90.00", status: dict[str, Any] | None = None, **spec: Any
) -> Budget:
    left = max(Decimal(0), Decimal(limit) - Decimal(spent))
    made = Budget.model_validate({"metadata": {"name": name}, "spec": {"limitUSD": limit, **spec}})
    known: dict[str, Any] = {
        "spent_usd": Decimal(spent),
        "left_usd": left,
        "period_started_at": NOW.replace(day=1, hour=0, minute=0, second=0, microsecond=0),
        "period_ends_at": NOW + timedelta(days=12) if made.spec.period == "Monthly" else None,
        "updated_at": NOW,
        **(status or {}),
    }
    return made.model_copy(update={"status": BudgetStatus(**known)})


BLOCKS = {"blocking": True, "message": "new work in its scope is refused, and running work was stopped", "thresholds_told": (50, 80, 100)}


def some_budgets() -> dict[str, Budget]:
    """One of each kind."""
    made = (
        budget(
            "team-a",
            spent="187.5",
            period="Monthly",
            scope={"project": "red", "selector": {"matchLabels": {"team": "a"}}},
            status={"thresholds_told": (50, 80)},
            notify={"emails": ["evals@example.com"], "command": ["tell", "the team"]},
        ),
        budget("all", limit="1000.00", spent="3.21", period="Monthly"),
        budget("trial", limit="0.05", spent="0.0499", status=BLOCKS, scope={"project": "trial"}),
        budget("watch", limit="10.00", spent="12.30", action="Notify", thresholds=[100, 120], status={"thresholds_told": (100, 120)}),
        budget("new", limit="5.00", spent="0.00"),
    )
    return {each.name: each for each in made}


def changed(name: str, cursor: int, **status: Any) -> Event:
    return Event(cursor=cursor, at=NOW, change="Changed", kind="Budget", name=name, status=status)
