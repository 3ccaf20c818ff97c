"""Agents as lines of `get`. Pure."""

from nodus_tui.cli.cell_texts import time_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent import Agent

TITLES = ("NAME", "REVISION", "CAP", "MODEL", "UPDATED")


def agent_row(agent: Agent) -> tuple[str, ...]:
    """The cells of one."""
    status = agent.status
    revision, updated = ("-", None) if status is None else (str(status.revision), status.updated_at)
    return agent.name, revision, display_usd(agent.spec.per_run_max_cost_usd), ",".join(agent.spec.model.families), time_text(updated)
