"""An agent in detail. Pure."""

from nodus_tui.cli.cell_texts import time_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.view_state.run_facts import limits_text


def pairs(agent: Agent) -> list[tuple[str, str]]:
    """What is to be known of it."""
    spec = agent.spec
    return [
        ("Revision", str(agent.status.revision) if agent.status else ""),
        ("Updated", time_text(agent.status.updated_at) if agent.status else ""),
        ("Model families", ", ".join(spec.model.families)),
        ("Max tokens", str(spec.model.max_tokens)),
        ("Cap of a run", display_usd(spec.per_run_max_cost_usd)),
        ("Max turns", str(spec.max_turns)),
        ("Tools", ", ".join(spec.tools)),
        ("Sandbox", limits_text(spec.sandbox) if spec.tools else ""),
        ("System", spec.system.rstrip("\n")),
    ]
