"""What a budget's figures mean in words: how much of the limit is used, what is in its scope, how it stands."""

from decimal import Decimal

from nodus_tui.contract.resources.budget import Budget, BudgetStatus
from nodus_tui.view_state.cells import Line, Tone
from nodus_tui.view_state.figures import bar, share


def used_text(budget: Budget) -> str:
    """Percent of the limit that is spent, rounded down: only what is reached reads as reached, and a little reads as more than nothing."""
    spent = budget.status.spent_usd if budget.status is not None else Decimal(0)
    percent = int(100 * spent / budget.spec.limit_usd)
    return "<1%" if percent == 0 and spent > 0 else f"{percent}%"


def used_bar(budget: Budget, width: int) -> Line:
    """What is spent of the limit, what is left as the empty part; more than the limit fills it as the limit does."""
    spent = budget.status.spent_usd if budget.status is not None else Decimal(0)
    return bar(share(spent, budget.spec.limit_usd), width, tone_of(budget))


def tone_of(budget: Budget) -> Tone:
    """Calm, near its highest threshold below the limit, or at an end."""
    status = budget.status
    if status is None:
        return Tone.INFO
    if status.blocking or status.spent_usd >= budget.spec.limit_usd:
        return Tone.BAD
    return Tone.WARN if any(percent < 100 for percent in status.thresholds_told[1:]) else Tone.INFO


def scope_text(budget: Budget) -> str:
    """What counts under it."""
    scope = budget.spec.scope
    labels = scope.selector.match_labels if scope.selector is not None else {}
    parts = [f"project {scope.project}"] if scope.project is not None else []
    parts += [f"{name}={value}" for name, value in labels.items()]
    return ", ".join(parts) or "everything"


def standing_word(status: BudgetStatus) -> str:
    """Whether new work in its scope is refused now."""
    return "blocking" if status.blocking else "open"
