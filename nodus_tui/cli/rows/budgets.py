"""Budgets as lines of `get`. Pure."""

from nodus_tui.cli.cell_texts import time_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.view_state.budgets import scope_text, standing_word, used_bar, used_text
from nodus_tui.view_state.cells import plain

TITLES = ("NAME", "USED", "SPENT", "LIMIT", "LEFT", "STATE", "ACTION", "PERIOD", "ENDS", "SCOPE")

_BAR_CELLS = 12


def budget_row(budget: Budget, *, bars: bool) -> tuple[str, ...]:
    """The cells of one."""
    spec, status = budget.spec, budget.status
    used, limit, scope = used_text(budget), display_usd(spec.limit_usd), scope_text(budget)
    if status is None:
        return budget.name, "-", "-", limit, "-", "-", spec.action, spec.period, "-", scope
    return (
        budget.name,
        f"{plain(used_bar(budget, _BAR_CELLS))} {used:>4}" if bars else used,
        display_usd(status.spent_usd),
        limit,
        display_usd(status.left_usd),
        standing_word(status),
        spec.action,
        spec.period,
        time_text(status.period_ends_at),
        scope,
    )
