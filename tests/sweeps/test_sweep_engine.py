"""Sweeps over real groups and jobs: they start under the cap and in the places, stall, are extended, retried, killed, and end."""

import asyncio
from decimal import Decimal

import pytest
from engine_place import Place, agent, environment, status
from model_server import ModelServer
from sweep_work import cell, group_sweep, job_sweep, launch, sweep_in, sweep_status

from nodus_tui.contract.phases import GroupPhase

pytestmark = pytest.mark.timeout(60)


async def test_a_sweep_over_agents_and_shards_runs_every_cell_once_and_pools_its_shards(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), agent(name="other", cap="0.10"))
        outcome = await launch(place, backend, group_sweep(agents=["worker", "other"], shards=3))
        assert outcome.documents[0].message == "6 cells of AgentGroup, at most 2 at once, cap $10.00"
        done = await sweep_in(backend, "Completed")
        results = await backend.sweep_results("grid")
        groups = [await backend.results(each.name) for each in results.cells]
    assert (done.cells, done.ended, done.going, done.failed) == (6, 6, 0, 0)
    assert done.cost_usd == done.spent_usd == sum(each.cost.model_usd for each in groups) > 0
    assert done.spent_usd + done.reserved_usd + done.left_usd == done.cap_usd == Decimal("10.00")
    assert server.served == 12
    for agent_name in ("worker", "other"):
        mine = [each for each in groups if each.agent.name == agent_name]
        assert [each.environment.shard.index for each in mine if each.environment and each.environment.shard] == [1, 2, 3]
        assert len({case.task_id for each in mine for case in each.results}) == 6
    assert [(dict(pool.axes), pool.rate.coverage.scored, len(pool.tasks)) for pool in results.pooled] == [
        ({"agent": "worker"}, 6, 6),
        ({"agent": "other"}, 6, 6),
    ]
