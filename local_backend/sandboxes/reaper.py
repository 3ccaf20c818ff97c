"""The reaper: removes the sandboxes whose owner is dead. At a scheduler's start and end, and by `nodus-tui sandboxes reap`."""

import asyncio
from collections.abc import Sequence

from local_backend.sandboxes.interface import FoundSandbox, SandboxEngine, SandboxError
from local_backend.sandboxes.owner import owner_alive


async def running(engines: Sequence[SandboxEngine]) -> list[FoundSandbox]:
    """Every sandbox of ours at these engines, whoever made it. Raises SandboxError."""
    return [found for engine in engines for found in await engine.list()]


async def reap(engines: Sequence[SandboxEngine]) -> tuple[list[FoundSandbox], int, list[str]]:
    """What was removed, how many were kept, and sentences about those that could not be removed, or engines that did not answer.

    Kept are those whose owner lives, and those of another host, where nobody here can know.
    """
    removed: list[FoundSandbox] = []
    failures: list[str] = []
    kept = 0
    for engine in engines:
        try:
            found = await engine.list()
        except SandboxError as error:
            failures.append(f"{engine.facts.engine}: its sandboxes could not be listed: {error}")
            continue
        orphans = [each for each in found if owner_alive(each.owner) is False]
        kept += len(found) - len(orphans)
        for each, problem in zip(orphans, await asyncio.gather(*(_remove(engine, each) for each in orphans)), strict=True):
            if problem is None:
                removed.append(each)
            else:
                failures.append(problem)
    return removed, kept, failures


async def _remove(engine: SandboxEngine, found: FoundSandbox) -> str | None:
    try:
        await engine.remove(found)
    except SandboxError as error:
        return f"the sandbox {found.id} of {found.run} ({found.engine}) could not be removed: {error}"
    return None
