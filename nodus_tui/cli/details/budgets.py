"""A budget in detail, and what it stops."""

from nodus_tui.cli.cell_texts import time_text
from nodus_tui.cli.rows.jobs import command_text
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.view_state.budget_holds import Holdable, held, held_by, held_line
from nodus_tui.view_state.budgets import scope_text, used_bar, used_text
from nodus_tui.view_state.cells import plain

_BAR_CELLS = 24
_COMMAND_CHARACTERS = 1000


def pairs(budget: Budget) -> list[tuple[str, str]]:
    """What is to be known of it."""
    spec, status = budget.spec, budget.status
    action = "new work is refused and running work stops" if spec.action == "Block" else "nothing is stopped"
    notify = [*spec.notify.emails, *([command_text(spec.notify.command, _COMMAND_CHARACTERS)] if spec.notify.command else [])]
    pairs = [
        ("Scope", scope_text(budget)),
        ("Limit", f"{display_usd(spec.limit_usd)}, on models, sandboxes and jobs together"),
        ("At the limit", f"{spec.action}: {action}"),
        ("Thresholds", ", ".join(f"{percent}%" for percent in spec.thresholds)),
        ("Notices", "\n".join(["the scheduler's log", *notify])),
    ]
    if status is None:
        return pairs
    begun = f"{spec.period}, since {time_text(status.period_started_at)}"
    return [
        *pairs,
        ("Period", begun + (f", until {time_text(status.period_ends_at)}" if status.period_ends_at else "")),
        ("Used", f"{plain(used_bar(budget, _BAR_CELLS))} {used_text(budget)}"),
        ("Spent", f"{display_usd(status.spent_usd)}; {display_usd(status.left_usd)} left"),
        ("Blocking", f"yes: {status.message}" if status.blocking else "no"),
        ("Told", ", ".join(f"{percent}%" for percent in status.thresholds_told)),
        ("Updated", time_text(status.updated_at)),
    ]


async def stops_text(backend: Backend, budget: Resource) -> str:
    """What a budget that blocks stops, as a sentence; empty where it stops nothing that is known. Raises NodusError."""
    if not isinstance(budget, Budget) or budget.status is None or not budget.status.blocking:
        return ""
    snapshot = await backend.snapshot()
    every: tuple[Holdable, ...] = (*snapshot.groups, *snapshot.jobs, *snapshot.training_jobs, *snapshot.sweeps, *snapshot.sandboxes)
    stops = plain(held_line(held_by(budget, held(every))))
    return f"It {stops}. A higher limit lets that go on: `nodus-tui extend-cap budget/{budget.name} AMOUNT`." if stops else ""
