"""`environment`: which ones there are, and the gold check of one."""

from contextlib import aclosing
from typing import Any

import click
from pydantic import JsonValue

from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.cli.failures import say
from nodus_tui.cli.gold import case_line, problems_text, summary_of
from nodus_tui.cli.options import TargetType, output_option
from nodus_tui.cli.output import emit, json_text, table_text
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.targets import all_of
from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.environment_check import GoldCase, GoldSummary
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.spec_loading.nearest import nearest


@click.group("environment")
def command() -> None:
    """Task sets with their graders: those that come with nodus-tui, and those that were applied."""


@command.command("list")
@output_option("table", "json")
def list_environments(output: str) -> int:
    """Each environment with its version, splits and number of tasks."""
    found = with_backend("look", _known)
    if output == "json":
        emit(json_text(list(found)))
    else:
        titles = ("NAME", "VERSION", "SOURCE", "TASKS", "DESCRIPTION")
        emit(table_text(titles, [_row(each) for each in found]))
    return Exit.DONE


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

    async def ask(backend: Backend) -> GoldSummary:
        name, digest = await _resolved(backend, reference)
        cases: list[GoldCase] = []
        stream: Any = backend.check_environment(name, split=split, tasks=tasks, seed=seed)
        try:
            async with aclosing(stream) as coming:
                async for case in coming:
                    cases.append(case)
                    if not quiet:
                        say(case_line(case), prefix="")
        except NodusError:
            if cases:
                say(f"the check of {name} ended early, after {len(cases)} tasks")
            raise
        return summary_of(name, digest, cases)

    summary = with_backend("look", ask)
    emit(json_text(summary.to_document()) if output == "json" else problems_text(summary))
    if not summary.cases:
        raise NodusError(ErrorCode.NOT_FOUND, f"{summary.environment} has no task there, so nothing was checked")
    return gravest(tuple(_exit(case) for case in summary.cases))


def _exit(case: GoldCase) -> Exit:
    if case.problem == "GraderFails":
        return Exit.INFRASTRUCTURE
    return Exit.GATE if case.problem else Exit.DONE


async def _known(backend: Backend) -> tuple[dict[str, JsonValue], ...]:
    """The catalogue's, then those that were applied, in one form."""
    catalogue = (await backend.info()).environments
    found: list[dict[str, JsonValue]] = [{**each.to_document(), "digest": ""} for each in catalogue]
    for environment in await _applied(backend):
        status = environment.status
        splits: list[JsonValue] = [*sorted(status.tasks)] if status else []
        found.append(
            {
                "name": environment.name,
                "version": environment.spec.version,
                "description": "",
                "splits": splits,
                "tasks": max(status.tasks.values(), default=None) if status else None,
                "source": status.source if status else "",
                "problem": "",
                "digest": status.digest if status else "",
            }
        )
    return tuple(found)


async def _applied(backend: Backend) -> list[Environment]:
    return [each for each in await all_of(backend, "Environment", Query()) if isinstance(each, Environment)]


def _row(entry: dict[str, JsonValue]) -> tuple[str, ...]:
    splits = entry["splits"]
    named = ", ".join(str(each) for each in splits) if isinstance(splits, list) else ""
    tasks = "no end" if entry["tasks"] is None else str(entry["tasks"])
    about = " — ".join(str(part) for part in (entry["description"], entry["problem"]) if part)
    return str(entry["name"]), str(entry["version"]), str(entry["source"]), f"{tasks} in {named}" if named else tasks, about


async def _resolved(backend: Backend, reference: str) -> tuple[str, str]:
    """`name@version` for a name with or without its version, and the digest where it is known. The backend judges the version."""
    name, at, version = reference.rpartition("@")
    name = name if at else reference
    known = await _known(backend)
    entry = next((each for each in known if each["name"] == name), None)
    if entry is None:
        near = nearest(name, [str(each["name"]) for each in known])
        raise NodusError.not_found("environment", name, near)
    same = not at or version == entry["version"]
    return (reference if at else f"{name}@{entry['version']}"), str(entry["digest"]) if same else ""
