"""Ways from one thing to another that it belongs to: to a run, with its group below it, to a job, to a Sandbox."""

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.box import SandboxScreen
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.run import RunScreen
from nodus_tui.view_state.cells import Tone


def go_to_job(screen: ViewScreen, name: str) -> None:
    """Open a job; one that the console does not know is named."""
    if screen.services.feed.jobs.rows.find(name) is None:
        screen.notice(f"`nodus-tui describe {name}` shows {name}.", Tone.WARN)
    else:
        screen.app.push_screen(JobScreen(screen.services, name))


def go_to_box(screen: ViewScreen, name: str) -> None:
    """Open a Sandbox."""
    screen.app.push_screen(SandboxScreen(screen.services, name))


async def go_to_run(screen: ViewScreen, name: str) -> None:
    """Open a run; its group lies below it, as if one had come that way."""
    try:
        run = await screen.services.backend.get("AgentRun", name)
    except NodusError as error:
        screen.notice(f"! The run {name} cannot be read: {error.detail}", Tone.BAD)
        return
    if not isinstance(run, AgentRun) or not run.spec.group:
        screen.notice(f"{name} belongs to no group: `nodus-tui describe {name}` shows it.", Tone.WARN)
        return
    group = GroupScreen(screen.services, run.spec.group)
    await screen.app.push_screen(group)
    screen.app.push_screen(RunScreen(screen.services, group.state, run.name))
