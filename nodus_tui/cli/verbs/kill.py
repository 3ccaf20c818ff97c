"""`kill`: end a run, a job, or a group with all its unfinished runs."""

from collections.abc import Sequence

import click

from nodus_tui.cli.acting import act
from nodus_tui.cli.options import TargetType, confirm, output_option, why_option, yes_option
from nodus_tui.cli.session import author
from nodus_tui.cli.targets import work_named
from nodus_tui.contract.actions import Action, Kill
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.job import Job

_WORDS = {"AgentGroup": "group", "AgentRun": "run", "Job": "job", "TrainingJob": "job"}


@click.command("kill")
@click.argument("targets", type=TargetType(), nargs=-1, required=True, metavar="NAME...")
@yes_option()
@why_option()
@output_option("table", "json")
def command(targets: tuple[str, ...], why: str, output: str, *, yes: bool) -> int:
    """End each NAME: a run, a group with all its unfinished runs, or a job (run/NAME, group/NAME or job/NAME where it could be several).

    Runs end at once, and a model call in flight is charged its worst case. A job is asked to end first (SIGTERM), and all of it is killed
    when its grace is over. What has ended already stays as it is.
    """

    async def plan(backend: Backend) -> Sequence[Action]:
        actions = []
        for target in targets:
            kind, resource = await work_named(backend, target)
            many = ""
            if isinstance(resource, AgentGroup) and resource.status is not None:
                many = f" and its {resource.status.pending} unfinished cases"
            if isinstance(resource, Job) and resource.status is not None and resource.status.serving is not None:
                users = resource.status.serving.users
                many = f", which {', '.join(users)} use{'s' if len(users) == 1 else ''} and would wait for" if users else ""
            confirm(f"Kill {_WORDS[kind]} {resource.name}{many}?", yes=yes)
            actions.append(Kill(kind=kind, name=resource.name, author=author(), why=why))
        return actions

    return act(plan, output, role="act")
