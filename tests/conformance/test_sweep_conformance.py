"""Sweeps, whichever way the backend is reached: what is told of them, what a person does to them, and what is refused from afar."""

import json
from contextlib import aclosing
from decimal import Decimal
from typing import Any, cast

import pytest
from ways import Reached, bundle_of, spec_text

from nodus_tui.contract.actions import Delete, ExtendCap, Kill, PauseSweep, ResumeSweep, RetryCells
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.sweep import Sweep, SweepStatus

pytestmark = pytest.mark.timeout(60)

AXES: dict[str, Any] = {"shards": 3}


def sweep_text(*, cap: str = "5.00", cell_cap: str = "0.50", parallel: int = 1, family: str = "perfect", template: Any = None) -> str:
    evaluation = {"environment": "nodus/arithmetic-v2@2.0.0", "tasks": 2, "seed": 7}
    groups = {"kind": "AgentGroup", "spec": {"agent": "solver", "maxCostUSD": cell_cap, "evaluation": evaluation}}
    spec = {"maxCostUSD": cap, "maxParallel": parallel, "template": template or groups, "matrix": AXES}
    document = {"apiVersion": "nodus.dev/v1", "kind": "Sweep", "metadata": {"name": "grid"}, "spec": spec}
    return f"{spec_text(family=family).partition('---')[0]}---\n{json.dumps(document)}\n"


async def status_of(backend: Backend) -> SweepStatus:
    found = await backend.get("Sweep", "grid")
    assert isinstance(found, Sweep)
    assert found.status is not None
    return found.status


async def in_phase(backend: Backend, phase: GroupPhase) -> SweepStatus:
    async with aclosing(cast("Any", backend.watch(after=0))) as batches:
        while (status := await status_of(backend)).phase is not phase:
            await anext(batches)
    return status


async def test_a_sweep_is_told_alike_everywhere(there: Reached) -> None:
    cursor = (await there.backend.snapshot()).cursor
    outcome = await there.backend.apply(bundle_of(sweep_text()))
    assert [(each.kind, each.outcome) for each in outcome.documents] == [("Agent", "created"), ("Sweep", "created")]
    await in_phase(there.backend, GroupPhase.COMPLETED)
    assert await there.backend.get("Sweep", "grid") == await there.local.get("Sweep", "grid")
    assert (await there.backend.list("Sweep")).items == (await there.local.list("Sweep")).items
    assert (await there.backend.snapshot()).sweeps == (await there.local.snapshot()).sweeps
    results = await there.backend.sweep_results("grid")
    assert results == await there.local.sweep_results("grid")
    assert [(cell.name, dict(cell.axes), cell.rate.coverage.scored if cell.rate else None) for cell in results.cells] == [
        (f"grid-{shard}", {"shard": shard}, 2) for shard in (1, 2, 3)
    ]
    assert [len(pool.tasks) for pool in results.pooled] == [6]
    # The stream tells of the sweep and of its cells, and what it told is how they stand.
    sweeps: dict[str, Any] = {}
    cells: dict[str, dict[str, Any]] = {}
    async with aclosing(cast("Any", there.backend.watch(after=cursor))) as batches:
        while sweeps.get("phase") != "Completed":
            for event in (await anext(batches)).events:
                if event.kind == "Sweep":
                    sweeps |= event.status
                elif event.kind == "SweepCell":
                    assert event.group == "grid"
                    cells.setdefault(event.name, {}).update(event.status)
    assert SweepStatus.model_validate(sweeps) == await status_of(there.backend)
    assert {name: cell["phase"] for name, cell in cells.items()} == dict.fromkeys(("grid-1", "grid-2", "grid-3"), "Completed")
    with pytest.raises(NodusError) as missing:
        await there.backend.sweep_results("grids")
    assert (missing.value.code, "grid" in missing.value.detail) == (ErrorCode.NOT_FOUND, True)
    for name in ("", "..", "a/b"):
        with pytest.raises(NodusError) as missing:
            await there.backend.sweep_results(name)
        assert missing.value.code is ErrorCode.NOT_FOUND


async def test_a_sweep_is_acted_on_from_everywhere(there: Reached) -> None:
    await there.backend.apply(bundle_of(sweep_text(cap="0.50", family="slow")))
    paused = await there.backend.act(PauseSweep(name="grid", author="somebody"))
    assert (paused.changed, paused.kind, paused.author) == (True, "Sweep", there.author)
    with pytest.raises(NodusError) as refused:
        await there.backend.act(ExtendCap(kind="AgentGroup", name="grid-1", cap_usd=Decimal("0.60")))
    assert refused.value.code in {ErrorCode.BUDGET_EXCEEDED, ErrorCode.INVALID_ACTION}
    raised = await there.backend.act(ExtendCap(kind="Sweep", name="grid", cap_usd=Decimal("4.00")))
    assert raised.changes[0].new == "4.00"
    assert (await there.backend.act(ResumeSweep(name="grid"))).changed
    killed = await there.backend.act(Kill(kind="Sweep", name="grid"))
    assert killed.message.startswith("killed grid: 3 unfinished cells ended")
    assert (await status_of(there.backend)).phase is GroupPhase.CANCELLED
    again = await there.backend.act(RetryCells(name="grid", cells=("grid-2",)))
    assert again.message.startswith("grid: 1 cell tried again")
    await there.backend.act(Kill(kind="Sweep", name="grid"))
    assert (await there.backend.act(Delete(kind="Sweep", name="grid"))).changed
    assert not (await there.backend.list("Sweep")).items
    with pytest.raises(NodusError) as gone:
        await there.backend.act(PauseSweep(name="grid"))
    assert gone.value.code is ErrorCode.NOT_FOUND


async def test_cells_that_reach_for_the_servers_own_machine_are_launched_on_that_machine_only(there: Reached) -> None:
    job = {"kind": "Job", "spec": {"command": ["true"], "maxCostUSD": "0.10", "network": True, "envFrom": ["PATH"], "cpus": 0.1}}
    text = sweep_text(template=job)
    if there.way != "TCP with TLS":
        await there.backend.apply(bundle_of(text))
        await in_phase(there.backend, GroupPhase.COMPLETED)
        return
    with pytest.raises(NodusError) as refused:
        await there.backend.apply(bundle_of(text))
    assert [fault.path for fault in refused.value.faults] == ["spec.template.spec.command", "spec.template.spec.envFrom"]
    assert not (await there.local.list("Sweep")).items
