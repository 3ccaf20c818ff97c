"""What the handles of sweeps do, over a backend: the one implementation behind the synchronous and the asynchronous interface."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

from nodus_tui.contract.actions import Delete, Kill
from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.sweep import Sweep, SweepStatus
from nodus_tui.contract.results import PairedDifference
from nodus_tui.contract.sweep_results import SweepResults
from nodus_tui.sdk.documents import Money, sweep_document
from nodus_tui.sdk.operations import act, apply
from nodus_tui.statistics.comparing import compared, means_of_pool


async def create(
    backend: Backend,
    name: str,
    *,
    template: Mapping[str, object],
    matrix: Mapping[str, object],
    max_cost: Money,
    max_parallel: int,
    repetitions: int,
    project: str | None,
    labels: Mapping[str, str] | None,
    exist_ok: bool,
) -> None:
    """Create a sweep."""
    document = sweep_document(
        name,
        template=template,
        matrix=matrix,
        max_cost=max_cost,
        max_parallel=max_parallel,
        repetitions=repetitions,
        project=project,
        labels=labels,
    )
    await apply(backend, document, must_be_new=not exist_ok)


async def status(backend: Backend, name: str) -> SweepStatus:
    """How a sweep stands. Raises NotFound."""
    found = await backend.get("Sweep", name)
    if not isinstance(found, Sweep) or found.status is None:
        raise NodusError(ErrorCode.UNAVAILABLE, f"the backend was asked for Sweep {name} and gave a {found.kind} without a sweep's status")
    return found.status


async def names(backend: Backend) -> Sequence[str]:
    """The names of all sweeps, in order of creation."""
    found: list[str] = []
    after = ""
    while True:
        page = await backend.list("Sweep", Query(after=after))
        found += [each.name for each in page.items]
        after = page.next_after
        if not after:
            return found


async def results(backend: Backend, name: str) -> SweepResults:
    """A sweep's cells and what they have come to."""
    return await backend.sweep_results(name)


async def compare(backend: Backend, name: str) -> list[PairedDifference]:
    """The first variant with each other one, task by task, shards and repetitions taken together."""
    pools = (await backend.sweep_results(name)).pooled
    means = [(", ".join(f"{axis}={value}" for axis, value in pool.axes.items()), means_of_pool(pool)) for pool in pools]
    return [compared(*means[0], *each) for each in means[1:]]


async def wait(backend: Backend, name: str, timeout: float | None, *, through_stalls: bool) -> SweepStatus:
    """Wait until the sweep is at rest, or stands stalled. Raises TimeoutError after so many seconds."""
    try:
        async with asyncio.timeout(timeout):
            return await _settled(backend, name, through_stalls=through_stalls)
    except TimeoutError:
        now = await status(backend, name)
        raise TimeoutError(f"{name} is {now.phase} after {timeout:g} s, {now.ended} of {now.cells} cells ended; it goes on") from None


async def _settled(backend: Backend, name: str, *, through_stalls: bool) -> SweepStatus:
    cursor = (await backend.snapshot()).cursor
    async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
        while True:
            now = await status(backend, name)
            if now.phase.at_rest or (not through_stalls and now.phase is GroupPhase.STALLED):
                return now
            while not any((event.kind, event.name) == ("Sweep", name) for event in (await anext(batches)).events):
                pass


async def delete(backend: Backend, name: str) -> None:
    """Remove a sweep with its groups and jobs; what of it is unfinished is killed first."""
    if not (await status(backend, name)).phase.ended:
        await act(backend, Kill(kind="Sweep", name=name, why="deleted"))
        await wait(backend, name, None, through_stalls=True)
    await act(backend, Delete(kind="Sweep", name=name))
