"""The gold check from a client's side: which environment is meant, case by case, and the whole; for the command line and Python alike."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from msgspec import Struct

from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.environment_check import GoldCase, GoldSummary
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.spec_loading.nearest import nearest


class KnownEnvironment(Struct, frozen=True):
    """An environment of the catalogue, or one that was applied, in one form."""

    name: str
    version: str
    source: str
    splits: tuple[str, ...]
    tasks: int | None
    """Tasks of the largest split; null where there is no end."""
    description: str = ""
    problem: str = ""
    """Why it cannot be used here, and what to do; empty when it can."""
    digest: str = ""
    """Of the tasks and the grader, where it is known before tasks are made."""


async def known_environments(backend: Backend) -> tuple[KnownEnvironment, ...]:
    """Those of the catalogue, then those that were applied."""
    catalogue = (await backend.info()).environments
    found = [
        KnownEnvironment(each.name, each.version, each.source, each.splits, each.tasks, each.description, each.problem)
        for each in catalogue
    ]
    after = ""
    while True:
        page = await backend.list("Environment", Query(after=after))
        found += [_applied(each) for each in page.items if isinstance(each, Environment)]
        after = page.next_after
        if not after:
            return tuple(found)


def _applied(environment: Environment) -> KnownEnvironment:
    version, status = environment.spec.version, environment.status
    if status is None:
        return KnownEnvironment(environment.name, version, "", (), None)
    tasks = max(status.tasks.values(), default=None)
    return KnownEnvironment(environment.name, version, status.source, tuple(sorted(status.tasks)), tasks, digest=status.digest)


def _silent(_: GoldCase) -> None:
    """Tell nobody."""


async def check_environment(
    backend: Backend,
    reference: str,
    *,
    split: str | None = None,
    tasks: int | None = None,
    seed: int = 0,
    told: Callable[[GoldCase], None] = _silent,
) -> GoldSummary:
    """The whole check of `name@version`, or of the version there is of `name`; `told` is given each case as it comes.

    Raises NodusError when there is no such environment, it cannot be judged here, or the check cannot go on to its end.
    """
    name, at, version = reference.rpartition("@")
    name = name if at else reference
    known = await known_environments(backend)
    entry = next((each for each in known if each.name == name), None)
    if entry is None:
        raise NodusError.not_found("environment", name, nearest(name, [each.name for each in known]))
    # The backend judges a version that was named.
    full = reference if at else f"{name}@{entry.version}"
    cases: list[GoldCase] = []
    async with aclosing(_cases(backend, full, split=split, tasks=tasks, seed=seed)) as coming:
        async for case in coming:
            cases.append(case)
            told(case)
    problems = sum(bool(case.problem) for case in cases)
    digest = entry.digest if not at or version == entry.version else ""
    return GoldSummary(environment=full, digest=digest, tasks=len(cases), problems=problems, cases=tuple(cases))


async def _cases(backend: Backend, reference: str, *, split: str | None, tasks: int | None, seed: int) -> AsyncGenerator[GoldCase, None]:
    coming = backend.check_environment(reference, split=split, tasks=tasks, seed=seed)
    try:
        async for case in coming:
            yield case
    finally:
        if isinstance(coming, AsyncGenerator):
            await coming.aclose()
