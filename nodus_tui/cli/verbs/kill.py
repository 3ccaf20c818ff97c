"""`kill`: end a run, or a group with all its unfinished runs, at once."""

from collections.abc import Sequence

import click

from nodus_tui.cli.acting import act
from nodus_tui.cli.options import TargetType, confirm, output_option, why_option, yes_option
from nodus_tui.cli.session import author
from nodus_tui.cli.targets import run_or_group
from nodus_tui.contract.actions import Action, Kill
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.resources.agent_group import AgentGroup


@click.command("kill")
@click.argument("targets", type=TargetType(), nargs=-1, required=True, metavar="NAME...")
@yes_option()
@why_option()
@output_option("table", "json")
def command(targets: tuple[str, ...], why: str, output: str, *, yes: bool) -> int:
    """End each NAME at once: a run, or a group with all its unfinished runs (run/NAME or group/NAME where a name could be both).

    A model call in flight is charged its worst case. What has ended already stays as it is.
    """

    async def plan(backend: Backend) -> Sequence[Action]:
        actions = []
        for target in targets:
            kind, resource = await run_or_group(backend, target)
            many = ""
            if isinstance(resource, AgentGroup) and resource.status is not None:
                many = f" and its {resource.status.pending} unfinished cases"
            confirm(f"Kill {'group' if kind == 'AgentGroup' else 'run'} {resource.name}{many}?", yes=yes)
            actions.append(Kill(kind=kind, name=resource.name, author=author(), why=why))
        return actions

    return act(plan, output, role="act")
