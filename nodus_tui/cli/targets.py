"""What a person names on the command line: kinds with their short names, and runs and groups by name."""

import difflib
from typing import Literal

import click

from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.meta import Resource

KIND_NAMES: dict[str, tuple[str, ...]] = {
    "Agent": ("agents", "agent"),
    "AgentRun": ("runs", "run", "agentruns", "agentrun"),
    "AgentGroup": ("groups", "group", "ag", "agentgroups", "agentgroup"),
    "Environment": ("environments", "environment", "env"),
    "Budget": ("budgets", "budget"),
    "Sandbox": ("sandboxes", "sandbox", "sb"),
    "Sweep": ("sweeps", "sweep", "sw"),
    "Job": ("jobs", "job"),
    "TrainingJob": ("trainingjobs", "trainingjob", "tj"),
}
"""Kind → the words that mean it; the first is its plural."""

_KIND_BY_WORD = {word: kind for kind, words in KIND_NAMES.items() for word in words}

RunOrGroup = Literal["AgentRun", "AgentGroup"]
Work = Literal["AgentRun", "AgentGroup", "Job", "TrainingJob", "Sweep", "Sandbox"]
JobKind = Literal["Job", "TrainingJob"]
JOB_WORDS: dict[JobKind, str] = {"Job": "job", "TrainingJob": "tj"}
"""How sentences name them: `job/NAME`, `tj/NAME`."""


def kind_of(word: str) -> str:
    """The kind that a word means. Raises UsageError with the nearest known word."""
    kind = _KIND_BY_WORD.get(word.lower())
    if kind is None:
        near = difflib.get_close_matches(word.lower(), _KIND_BY_WORD, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        plurals = ", ".join(words[0] for words in KIND_NAMES.values())
        raise click.UsageError(f"there is no kind {word!r}{hint} (kinds: {plurals})")
    return kind


def split_target(target: str) -> tuple[str, str]:
    """`groups/NAME` as kind and name; the name is empty where only a kind is given."""
    word, _, name = target.partition("/")
    return kind_of(word), name


async def run_or_group(backend: Backend, target: str) -> tuple[RunOrGroup, Resource]:
    """The run or group that `run/NAME`, `group/NAME` or just `NAME` means. Raises NodusError when there is none, or one of each."""
    word, slash, name = target.partition("/")
    if slash:
        kind = kind_of(word)
        if kind == "AgentRun":
            return "AgentRun", await backend.get(kind, name)
        if kind == "AgentGroup":
            return "AgentGroup", await backend.get(kind, name)
        raise click.UsageError(f"{target} is neither a run nor a group")
    group, run = await found_of(backend, "AgentGroup", target), await found_of(backend, "AgentRun", target)
    if group is not None and run is not None:
        raise NodusError(ErrorCode.CONFLICT, f'"{target}" is a group and a run; say group/{target} or run/{target}')
    if group is not None:
        return "AgentGroup", group
    if run is not None:
        return "AgentRun", run
    raise NodusError(ErrorCode.NOT_FOUND, f'there is no group and no run "{target}"; `nodus-tui get groups` lists them')


async def work_named(backend: Backend, target: str) -> tuple[Work, Resource]:
    """The run, group, job, sweep or Sandbox that `KIND/NAME` or just `NAME` means. Raises NodusError when there is none, or more than one.

    A sweep and a Sandbox may have the name of something else: they are meant by the name alone only where there is nothing else of it.
    """
    if "/" in target:
        kind, name = split_target(target)
        if kind == "Sweep":
            return "Sweep", await backend.get(kind, name)
        if kind == "Sandbox":
            return "Sandbox", await backend.get(kind, name)
        return (kind, await backend.get(kind, name)) if kind in JOB_WORDS else await run_or_group(backend, target)
    job = await job_of(backend, target)
    try:
        other = await run_or_group(backend, target)
    except NodusError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        if job is None and (rest := await _of_own_names(backend, target)) is not None:
            return rest
        if job is None:
            raise await _no_work(backend, target) from error
        return job
    if job is not None:
        raise NodusError(ErrorCode.CONFLICT, f'"{target}" is a job and something else; say job/{target}, group/{target} or run/{target}')
    return other


async def anything_named(backend: Backend, name: str) -> Resource:
    """What has a name, of whichever kind. Raises NodusError when nothing has it, or more than one thing."""
    found = [resource for kind in KIND_NAMES if (resource := await found_of(backend, kind, name)) is not None]
    if not found:
        kinds = ", ".join(words[1] for words in KIND_NAMES.values())
        raise NodusError(ErrorCode.NOT_FOUND, f'nothing is called "{name}": no {kinds}; `nodus-tui get KIND` lists what there is of one')
    if len(found) > 1:
        ways = " or ".join(f"{KIND_NAMES[each.kind][1]}/{name}" for each in found)
        raise NodusError(ErrorCode.CONFLICT, f'"{name}" is more than one thing; say {ways}')
    return found[0]


async def _of_own_names(backend: Backend, name: str) -> tuple[Work, Resource] | None:
    """The sweep or the Sandbox of a name. Raises NodusError where there is one of each."""
    sweep, sandbox = await found_of(backend, "Sweep", name), await found_of(backend, "Sandbox", name)
    if sweep is not None and sandbox is not None:
        raise NodusError(ErrorCode.CONFLICT, f'"{name}" is a sweep and a sandbox; say sweep/{name} or sandbox/{name}')
    if sandbox is not None:
        return "Sandbox", sandbox
    return None if sweep is None else ("Sweep", sweep)


async def _no_work(backend: Backend, name: str) -> NodusError:
    """Why a name is none of something that works: of what else it is, or that nothing has it."""
    for kind in ("Budget", "Agent", "Environment"):
        if await found_of(backend, kind, name) is not None:
            word = KIND_NAMES[kind][1]
            return NodusError(
                ErrorCode.NOT_FOUND,
                f'"{name}" is a {kind}: this is done with groups, runs, jobs, sweeps and sandboxes (see `describe {word}/{name}`)',
            )
    return NodusError(
        ErrorCode.NOT_FOUND, f'there is no group, run, job, trainingjob, sweep or sandbox "{name}"; `nodus-tui get groups` lists the groups'
    )


async def job_of(backend: Backend, name: str) -> tuple[JobKind, Resource] | None:
    """The job of a name, of whichever kind: they share one space of names."""
    for kind in JOB_WORDS:
        found = await found_of(backend, kind, name)
        if found is not None:
            return kind, found
    return None


async def found_of(backend: Backend, kind: str, name: str) -> Resource | None:
    """The resource of a kind with a name; None where there is none."""
    try:
        return await backend.get(kind, name)
    except NodusError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return None
        raise


async def all_of(backend: Backend, kind: str, query: Query) -> list[Resource]:
    """The resources of a kind, page after page."""
    found: list[Resource] = []
    while True:
        page = await backend.list(kind, query)
        found.extend(page.items)
        if not page.next_after:
            return found
        query = query.model_copy(update={"after": page.next_after})
