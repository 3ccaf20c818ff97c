"""All facts of a run in a dialog: those that have no room above its conversation, too."""

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.agent import Agent, AgentSandbox
from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.figures import clock_text
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.run_facts import run_pairs
from nodus_tui.widgets.facts_overlay import FactsOverlay


async def show_facts(screen: ViewScreen, run: AgentRun, transcript: Transcript | None, successor: AgentRun | None) -> None:
    """Ask for the limits of its sandbox, then show everything; without them where they cannot be read."""
    now = screen.services.now()
    pairs = run_pairs(
        run,
        limits=await _limits(screen, run),
        transcript=transcript,
        now=now,
        moment=lambda moment: clock_text(moment, now) if moment is not None else "–",
        successor=successor.name if successor is not None else "",
    )
    screen.app.push_screen(FactsOverlay(run.name, pairs))


async def _limits(screen: ViewScreen, run: AgentRun) -> AgentSandbox | None:
    """What the run's agent gives its sandboxes, as it was at the revision that the run pins; a backend may not keep those."""
    if run_status(run).sandbox is None:
        return None
    try:
        agent = await screen.services.backend.get("Agent", f"{run.spec.agent}@{run.spec.agent_revision}")
    except NodusError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            screen.notice(f"! The limits of its sandbox cannot be read: {error.detail}", Tone.BAD)
        return None
    return agent.spec.sandbox if isinstance(agent, Agent) else None
