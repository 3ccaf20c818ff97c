"""`kill`: end a run, a job, a group with all its unfinished runs, or a sweep with all its unfinished cells."""

from collections.abc import Sequence

import click

from nodus_tui.cli.acting import act
from nodus_tui.cli.options import TargetType, confirm, output_option, why_option, yes_option
from nodus_tui.cli.session import author
from nodus_tui.cli.targets import work_named
from nodus_tui.contract.actions import Action, Kill
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.sweep_results import SweepCell

_WORDS = {"AgentGroup": "group", "AgentRun": "run", "Job": "job", "TrainingJob": "job", "Sweep": "sweep", "Sandbox": "sandbox"}
_CELL_WORDS = frozenset({"cell", "cells"})


@click.command("kill")
@click.argument("targets", type=TargetType(), nargs=-1, required=True, metavar="NAME...")
@yes_option()
@why_option()
@output_option("table", "json")
def command(targets: tuple[str, ...], why: str, output: str, *, yes: bool) -> int:
    """End each NAME: a run, a group with all its unfinished runs, a job, a sandbox, or a sweep with all its unfinished cells (run/NAME,
    group/NAME, job/NAME, sandbox/NAME or sweep/NAME where it could be several). A cell that was not launched yet is cell/NAME.

    Runs end at once, and a model call in flight is charged its worst case. A job is asked to end first (SIGTERM), and all of it is killed
    when its grace is over. What runs in a sandbox is hung up, and its files are kept. A sweep's calls in flight get ten seconds to end.
    What has ended already stays as it is.
    """

    async def plan(backend: Backend) -> Sequence[Action]:
        actions = []
        for target in targets:
            if target.partition("/")[0] in _CELL_WORDS:
                cell = await _cell(backend, target.partition("/")[2])
                confirm(f"Kill cell {cell.name}?", yes=yes)
                actions.append(Kill.model_validate({"kind": cell.kind, "name": cell.name, "author": author(), "why": why}))
                continue
            kind, resource = await work_named(backend, target)
            many = ""
            if isinstance(resource, AgentGroup) and resource.status is not None:
                many = f" and its {resource.status.pending} unfinished cases"
            if isinstance(resource, Job) and resource.status is not None and resource.status.serving is not None:
                users = resource.status.serving.users
                many = f", which {', '.join(users)} use{'s' if len(users) == 1 else ''} and would wait for" if users else ""
            if isinstance(resource, Sweep) and resource.status is not None:
                many = f" and its {resource.status.cells - resource.status.ended} unfinished cells"
            if isinstance(resource, Sandbox) and resource.status is not None and resource.status.commands:
                many = f" with the {resource.status.commands} commands that run in it"
            confirm(f"Kill {_WORDS[kind]} {resource.name}{many}?", yes=yes)
            actions.append(Kill(kind=kind, name=resource.name, author=author(), why=why))
        return actions

    return act(plan, output, role="act")


async def _cell(backend: Backend, name: str) -> SweepCell:
    """A sweep's cell, launched or not. Raises NodusError when there is none."""
    sweep = name.rpartition("-")[0]
    for cell in (await backend.sweep_results(sweep)).cells:
        if cell.name == name:
            return cell
    raise NodusError.not_found("SweepCell", name)
