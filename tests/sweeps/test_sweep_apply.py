"""Applying sweeps: faults stand where they come from, names that are taken are told, and what changes in place does."""

import asyncio
import json
from decimal import Decimal

import pytest
from engine_place import Place, agent, environment, group, status
from model_server import ModelServer
from sweep_work import group_sweep, job_sweep, launch, sweep_in, sweep_status, sweep_until

from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.outcomes import ApplyOutcome
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

pytestmark = pytest.mark.timeout(60)

SWEEP = """\
apiVersion: nodus.dev/v1
kind: Sweep
metadata: {name: grid}
spec:
  maxCostUSD: "10.00"
  template:
    kind: AgentGroup
    spec:
      agent: worker
      maxCostUSD: "1.00"
      evaluation: {environment: numbers@1.0.0, tasks: 30, split: test}
  matrix:
    agents: [worker, wroker]
    shards: 4
"""


async def faults(place: Place, *documents: dict[str, object], text: str = "") -> tuple[Fault, ...]:
    bundle = load_specs([SpecSource("sweep.yaml", text.encode(), place.folder)]) if text else place.specs(*documents)
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent())
        with pytest.raises(NodusError) as refused:
            await backend.apply(bundle, dry_run=True)
        assert not (await backend.list("Sweep")).items
    return refused.value.faults


def told(found: tuple[Fault, ...]) -> list[tuple[int, str, str, str]]:
    return [(fault.line, fault.path, fault.message, fault.suggestion) for fault in found]


async def test_faults_of_cells_are_told_once_where_they_stand_in_the_sweep(place: Place) -> None:
    found = told(await faults(place, text=SWEEP))
    there = "numbers@1.0.0 has 100 tasks in its test split, not 120"
    assert found == [
        (13, "spec.matrix.agents[1]", 'there is no Agent "wroker", here or applied before', "worker"),
        (14, "spec.matrix.shards", f"{there}: that many are 4 shards of 30 tasks each", ""),
    ]


async def test_a_fault_of_the_template_is_told_in_the_template(place: Place) -> None:
    found = told(
        await faults(place, text=SWEEP.replace(", wroker", "").replace("numbers@1.0.0", "nubers@1.0.0").replace("shards: 4", "shards: 2"))
    )
    assert [(line, path, suggestion) for line, path, _, suggestion in found] == [
        (11, "spec.template.spec.evaluation.environment", "numbers@1.0.0")
    ]


async def test_a_job_template_is_checked_as_a_job(place: Place) -> None:
    sweep = job_sweep(parameters={"A": [1, 2]}, cell_cap="0.000000001")
    assert [(path, message.partition(":")[0]) for _, path, message, _ in told(await faults(place, sweep))] == [
        ("spec.template.spec.maxCostUSD", "this cap is too small")
    ]
    serving = job_sweep()
    serving["spec"]["template"]["spec"]["serve"] = {"family": "mine", "port": 8000}
    assert [path for _, path, _, _ in told(await faults(place, serving))] == ["spec.template.spec.serve"]


async def test_a_name_too_long_for_its_cells_or_taken_by_something_is_told(place: Place) -> None:
    (long,) = await faults(place, group_sweep(name="n" * 48, shards=10))
    assert long.message == f"the name has 48 letters; a sweep's of 10 cells has at most 47, for its cells are called {'n' * 48}-10"
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(name="grid-2", tasks=1))
        with pytest.raises(NodusError) as refused:
            await launch(place, backend, group_sweep(shards=3))
    assert refused.value.code is ErrorCode.CONFLICT
    assert refused.value.faults[0].message == (
        "the cells of grid are called grid-1 to grid-3, and grid-2 exists already: give it another name"
    )


async def test_a_sweep_is_changed_in_place_where_it_may_be_and_else_refused(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=4, parallel=1))
        await server.until_seen(1)

        async def again(**values: object) -> ApplyOutcome:
            return await launch(place, backend, group_sweep(**{"shards": 4, "parallel": 1, **values}))  # type: ignore[arg-type]

        assert (await again()).documents[0].outcome == "unchanged"
        changed = (await again(parallel=3, cap="12.00")).documents[0]
        assert [(each.field, each.old, each.new) for each in changed.changes] == [
            ("maxCostUSD", "10.00", "12.00"),
            ("maxParallel", "1", "3"),
        ]
        await sweep_until(backend, lambda each: each.going == 3)
        found = await backend.get("Sweep", "grid")
        assert isinstance(found, Sweep)
        assert (found.spec.max_cost_usd, found.spec.max_parallel) == (Decimal("12.00"), 3)
        assert (await again(parallel=3)).documents[0].outcome == "unchanged"
        for values, message in (({"cap": "11.00"}, "a cap is raised, never lowered: grid has $12.00 now"), ({"tasks": 3}, "another spec")):
            with pytest.raises(NodusError) as refused:
                await again(parallel=3, **values)
            assert message in refused.value.faults[0].message
        server.hold.set()
        assert (await sweep_in(backend, "Completed")).ended == 4


async def test_documents_of_groups_neither_take_a_cell_s_name_nor_raise_its_cap_behind_the_sweep(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=2, parallel=1, cell_cap="0.05", cap="0.10"))
        await sweep_in(backend, "Stalled")
        first = await backend.get("AgentGroup", "grid-1")
        document = json.loads(first.model_copy(update={"status": None}).model_dump_json(by_alias=True, exclude_none=True))
        assert (await launch(place, backend, document)).documents[0].outcome == "unchanged"
        document["spec"]["maxCostUSD"] = "5.00"
        with pytest.raises(NodusError) as refused:
            await launch(place, backend, document)
        assert refused.value.faults[0].message == (
            "grid-1 is a cell of sweep grid, which must have the money: raise its cap with extend-cap group/grid-1"
        )
        assert (await status(backend, "grid-1")).money.cap_usd == Decimal("0.05")
        server.hold = asyncio.Event()
        await launch(place, backend, group_sweep(shards=2, name="other", parallel=1))
        await server.until_seen(1)
        with pytest.raises(NodusError) as refused:
            await launch(place, backend, group(name="other-2", tasks=1))
        assert refused.value.faults[0].message.startswith("other-2 is a cell of sweep other, which launches it")
        assert (await sweep_status(backend)).cost_usd == 0
        server.hold.set()
        await sweep_in(backend, "Completed", "other")
