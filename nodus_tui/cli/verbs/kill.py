"""`kill`: end a run, a job, a group with all its unfinished runs, or a sweep with all its unfinished cells."""

from collections.abc import Sequence

import click

from nodus_tui.cli.acting import act
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import TargetType, confirm, output_option, why_option, yes_option
from nodus_tui.cli.session import author
from nodus_tui.cli.targets import work_named
from nodus_tui.contract.actions import Action, Kill
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import Reason
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.sweep_results import SweepCell
from nodus_tui.view_state.any_job import waits_for_budget

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
            # With --yes the backend says so itself, in the format that is asked for.
            if not yes and (phase := _ended(resource)):
                say(f"{_WORDS[kind]} {resource.name} has ended ({phase}); there is nothing to kill")
                continue
            confirm(f"Kill {_WORDS[kind]} {resource.name}{_with_it(resource)}?", yes=yes)
            actions.append(Kill(kind=kind, name=resource.name, author=author(), why=why))
        return actions

    return act(plan, output, role="act")


def _ended(resource: Resource) -> str:
    """The phase in which it has ended; empty while a kill would change something, if only that what a budget stopped is given up."""
    match resource:
        case AgentGroup(status=status) if status is not None:
            ended = status.phase.ended and not status.verdicts.get(Reason.BUDGET_EXCEEDED)
        case Job(status=status) | TrainingJob(status=status) if status is not None:
            ended = status.ended and not waits_for_budget(resource)
        case Sandbox(status=status) if status is not None:
            ended = status.ended
        case AgentRun(status=status) | Sweep(status=status) if status is not None:
            ended = status.phase.ended
        case _:
            return ""
    return str(status.phase) if ended else ""


def _with_it(resource: Resource) -> str:
    """What else ends with it, in numbers."""
    match resource:
        case AgentGroup(status=status) if status is not None:
            given_up = status.verdicts.get(Reason.BUDGET_EXCEEDED, 0)
            unfinished = [_counted(status.pending, "unfinished case")] if status.pending or not given_up else []
            stopped = [f"{_counted(given_up, 'case')} that a budget stopped"] if given_up else []
            return " and its " + " and ".join((*unfinished, *stopped))
        case Job(status=JobStatus(serving=serving)) if serving is not None and serving.users:
            return f", which {', '.join(serving.users)} use{'s' if len(serving.users) == 1 else ''} and would wait for"
        case Sweep(status=status) if status is not None:
            return f" and its {_counted(status.cells - status.ended, 'unfinished cell')}"
        case Sandbox(status=status) if status is not None and status.commands:
            return f" with {_counted(status.commands, 'command')} running in it"
        case _:
            return ""


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count != 1 else ''}"


async def _cell(backend: Backend, name: str) -> SweepCell:
    """A sweep's cell, launched or not. Raises NodusError when there is none."""
    sweep = name.rpartition("-")[0]
    for cell in (await backend.sweep_results(sweep)).cells:
        if cell.name == name:
            return cell
    raise NodusError.not_found("SweepCell", name)
