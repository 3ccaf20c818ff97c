"""`environment`: which ones there are, and the gold check of one."""

import click

from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.cli.failures import say
from nodus_tui.cli.gold import case_line, problems_text
from nodus_tui.cli.options import TargetType, output_option
from nodus_tui.cli.output import emit, json_text, table_text
from nodus_tui.cli.session import with_backend
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.environment_check import GoldCase, GoldSummary
from nodus_tui.contract.environment_tasks import MOST_TASKS, TaskPage, TaskView
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.gold_check import KnownEnvironment, check_environment, known_environments
from nodus_tui.text import safe_text
from nodus_tui.values import fields_of


@click.group("environment")
def command() -> None:
    """Task sets with their graders: those that come with nodus-tui, and those that were applied."""


@command.command("list")
@output_option("table", "json")
def list_environments(output: str) -> int:
    """Each environment with its version, splits and number of tasks."""
    found = with_backend("look", known_environments)
    if output == "json":
        emit(json_text([{**fields_of(each), "splits": list(each.splits)} for each in found]))
    else:
        emit(table_text(("NAME", "VERSION", "SOURCE", "TASKS", "DESCRIPTION"), [_row(each) for each in found]))
    return Exit.DONE


def _row(entry: KnownEnvironment) -> tuple[str, ...]:
    tasks = "no end" if entry.tasks is None else str(entry.tasks)
    splits = f" in {', '.join(entry.splits)}" if entry.splits else ""
    return entry.name, entry.version, entry.source, tasks + splits, " — ".join(filter(None, (entry.description, entry.problem)))


@command.command("tasks")
@click.argument("reference", type=TargetType(), metavar="NAME[@VERSION]")
@click.option("--split", metavar="SPLIT", default="test", show_default=True, help="Of this split.")
@click.option("--after", type=click.IntRange(0, 1_000_000), default=0, show_default=True, help="Without the first N.", metavar="N")
@click.option("--limit", type=click.IntRange(1, MOST_TASKS), default=20, show_default=True, help="At most N.", metavar="N")
@click.option("--seed", type=click.IntRange(0, 2_147_483_647), default=0, show_default=True, help="For environments that make their tasks.")
@output_option("text", "json")
def tasks(reference: str, split: str, after: int, limit: int, seed: int, output: str) -> int:
    """Its tasks as agents see them: prompts and files' names, never answers."""

    async def ask(backend: Backend) -> TaskPage:
        return await backend.environment_tasks(reference, split=split, seed=seed, after=after, limit=limit)

    page = with_backend("look", ask)
    if output == "json":
        emit(json_text(page.to_document()))
        return Exit.DONE
    if page.tasks:
        emit("\n\n".join(_task_text(task) for task in page.tasks))
    more = f"; --after {after + len(page.tasks)} shows more" if page.more else ""
    count = f"{len(page.tasks)} of {page.total}" if page.total is not None else f"{len(page.tasks)} tasks; there are always more"
    say(f"{count}{more}", prefix="")
    return Exit.DONE


def _task_text(task: TaskView) -> str:
    about = [f"files: {', '.join(task.files)}"] if task.files else []
    about += [f"image: {task.image}"] if task.image else []
    said = [line for prompt in task.prompts for line in prompt.split("\n")]
    return "\n".join(safe_text(line, limit=len(line) + 1) for line in (task.id, *about, *(f"  {line}" for line in said)))


@command.command("check")
@click.argument("reference", type=TargetType(), metavar="NAME[@VERSION]")
@click.option("--split", metavar="SPLIT", help="Of this split only; without it, of every one.")
@click.option("--tasks", type=click.IntRange(1, 1_000_000), metavar="N", help="The first N tasks of each split; without it, all.")
@click.option("--seed", type=click.IntRange(0, 2_147_483_647), default=0, show_default=True, help="For environments that make their tasks.")
@click.option("-q", "--quiet", is_flag=True, help="No line a task on stderr.")
@output_option("table", "json")
def check(reference: str, split: str | None, tasks: int | None, seed: int, output: str, *, quiet: bool) -> int:
    """The gold check: run each task's reference solution and an empty answer through the grader.

    A task is at fault when its reference solution fails or the empty answer passes. Exit 1 when there is one, 4 when the grader itself
    fails. No model is asked and nothing is charged; it takes the machine's time.
    """
    count = 0

    def told(case: GoldCase) -> None:
        nonlocal count
        count += 1
        if not quiet:
            say(case_line(case), prefix="")

    async def ask(backend: Backend) -> GoldSummary:
        return await check_environment(backend, reference, split=split, tasks=tasks, seed=seed, told=told)

    try:
        summary = with_backend("look", ask)
    except (NodusError, KeyboardInterrupt):
        if count:
            say(f"the check of {reference} ended early, after {count} task{'s' if count != 1 else ''}")
        raise
    emit(json_text(summary.to_document()) if output == "json" else problems_text(summary))
    if not summary.cases:
        raise NodusError(ErrorCode.NOT_FOUND, f"{summary.environment} has no task there, so nothing was checked")
    return gravest(tuple(_exit(case) for case in summary.cases))


def _exit(case: GoldCase) -> Exit:
    if case.problem == "GraderFails":
        return Exit.INFRASTRUCTURE
    return Exit.GATE if case.problem else Exit.DONE
