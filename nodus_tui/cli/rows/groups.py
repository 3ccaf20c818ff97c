"""AgentGroups as lines of `get`: what is spent before the long words, for a narrow terminal cuts at its edge. Pure."""

from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.statistics.format import rate_text_of

TITLES = ("NAME", "PHASE", "ENDED", "SPENT", "CAP", "PASS RATE", "SANDBOXES", "AGENT", "ENVIRONMENT")


def group_row(group: AgentGroup) -> tuple[str, ...]:
    """The cells of one."""
    environment = group.spec.evaluation.environment if group.spec.evaluation else "-"
    status = group.status
    if status is None:
        return group.name, "-", "-", "-", "-", "-", "-", group.spec.agent, environment
    total = status.coverage.total
    money = status.money
    return (
        group.name,
        status.phase.value,
        f"{total - status.pending}/{total}",
        display_usd(money.model_usd),
        display_usd(money.cap_usd),
        rate_words(group),
        display_usd(money.sandbox_usd) if money.sandbox_usd else "-",
        group.spec.agent,
        environment,
    )


def rate_words(group: AgentGroup) -> str:
    """Its pass rate with the error and the coverage, and whether a model answered; `-` where nothing is graded."""
    status = group.status
    if status is None:
        return "-"
    mark = " (simulated)" if status.simulated else " (notional price)" if status.notional_price else ""
    if not group.spec.evaluation:
        return "-" + mark
    rate = rate_text_of(status)
    return rate + mark
