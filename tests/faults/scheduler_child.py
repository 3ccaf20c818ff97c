"""The process that is killed: a scheduler that works on a campaign to its end, with a person who extends whatever cap it stalls at.

usage: scheduler_child.py HOME CONFIG SPEC

It loads everything, says `loaded`, and begins when it is sent a line: so a kill meets its work, not Python's imports.
"""

import asyncio
import sys
from decimal import Decimal
from pathlib import Path

import local_backend.models.providers.opening  # noqa: F401 - loaded now rather than at the first call
from local_backend.backend import open_backend
from nodus_tui.contract.actions import ExtendCap, Resume
from nodus_tui.contract.backend import Backend, BackendOptions, Query
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs


async def free(backend: Backend, group: AgentGroup) -> None:
    """Extend what the group is stalled at, by no more than it takes, so that it stalls again."""
    for run in (await backend.list("AgentRun", Query(group=group.name))).items:
        assert isinstance(run, AgentRun)
        assert run.status is not None
        if run.status.phase is RunPhase.WAITING and run.status.needed_cap_usd is not None:
            await extend(backend, ExtendCap(kind="AgentRun", name=run.name, cap_usd=run.status.needed_cap_usd + Decimal("0.001")))
    assert group.status is not None
    await extend(backend, ExtendCap(kind="AgentGroup", name=group.name, cap_usd=group.status.money.cap_usd + Decimal("0.01")))


async def extend(backend: Backend, action: ExtendCap) -> None:
    """Do it, unless what it was for has ended since it was looked at."""
    try:
        await backend.act(action)
    except NodusError as refused:
        print(f"{action.name}: {refused.detail}", file=sys.stderr)


async def main() -> None:
    """Work until every group has ended."""
    home, config, spec = map(Path, sys.argv[1:])
    async with await open_backend(BackendOptions(home, config, "work")) as backend:
        outcome = await backend.apply(load_specs([SpecSource(spec.name, spec.read_bytes(), spec.parent)]))
        name = next(each.name for each in outcome.documents if each.kind == "AgentGroup")
        await backend.act(Resume(group=name))
        async for _ in backend.watch(after=0):
            group = await backend.get("AgentGroup", name)
            assert isinstance(group, AgentGroup)
            assert group.status is not None
            if group.status.phase is GroupPhase.STALLED:
                await free(backend, group)
            elif group.status.phase.at_rest:
                print(group.status.phase, flush=True)
                return


print("loaded", flush=True)
sys.stdin.readline()
asyncio.run(main())
