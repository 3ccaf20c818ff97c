"""AgentGroups as lines of `get`. Pure."""

from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.statistics.format import pass_rate_text

TITLES = ("NAME", "PHASE", "ENDED", "PASS RATE", "SPENT", "CAP", "SANDBOXES", "AGENT", "ENVIRONMENT")


def group_row(group: AgentGroup) -> tuple[str, ...]:
    """The cells of one."""
    environment = group.spec.evaluation.environment if group.spec.evaluation else "-"
    status = group.status
    if status is None:
        return group.name, "-", "-", "-", "-", "-", "-", group.spec.agent, environment
    total = status.coverage.total
    rate = pass_rate_text(
        pass_rate=status.pass_rate,
        standard_error=status.standard_error,
        ci95=status.ci95,
        scored=status.coverage.scored,
        total=total,
        ended=status.phase.ended,
    )
    mark = " (simulated)" if status.simulated else " (notional price)" if status.notional_price else ""
    money = status.money
    ended = f"{total - status.pending}/{total}"
    return (
        group.name,
        status.phase.value,
        ended,
        (rate if group.spec.evaluation else "-") + mark,
        display_usd(money.model_usd),
        display_usd(money.cap_usd),
        display_usd(money.sandbox_usd) if money.sandbox_usd else "-",
        group.spec.agent,
        environment,
    )
