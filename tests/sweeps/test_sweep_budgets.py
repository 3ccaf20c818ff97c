"""Budgets over sweeps: they pay for the cells, stop them, refuse the sweep, and what they stopped keeps its cap set aside."""

from decimal import Decimal

import pytest
from engine_place import Place, agent, environment, status, until
from model_server import ModelServer
from sweep_work import cell, group_sweep, launch, sweep_in, sweep_until

from nodus_tui.contract.actions import Kill
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.budget import Budget

pytestmark = pytest.mark.timeout(60)


def budget(limit: str) -> dict[str, object]:
    scope = {"selector": {"matchLabels": {"team": "a"}}}
    return {"apiVersion": "nodus.dev/v1", "kind": "Budget", "metadata": {"name": "lid"}, "spec": {"limitUSD": limit, "scope": scope}}


async def test_a_budget_stops_the_cells_of_a_sweep_and_a_raise_lets_them_go_on(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        # The worst case of one call is about a tenth of a cent: the limit pays for some calls of the first cells.
        await launch(place, backend, budget("0.0015"))
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=3, tasks=10, parallel=2))
        stalled = await sweep_until(backend, lambda each: each.phase == "Stalled" and each.reason == "BudgetExceeded")
        assert "budget lid" in stalled.message
        assert stalled.cost_usd <= Decimal("0.0015")
        # What a budget stopped goes on by itself: until then its cell keeps its place and its cap. It may have come before the second.
        assert (stalled.going, stalled.stalled in {1, 2}) == (0, True)
        assert stalled.reserved_usd == Decimal("1.00") * stalled.stalled
        assert not (await cell(backend, 3)).launched
        with pytest.raises(NodusError) as refused:
            await launch(place, backend, group_sweep(name="more"))
        assert refused.value.code is ErrorCode.BUDGET_EXCEEDED
        await launch(place, backend, budget("5.00"))
        done = await sweep_in(backend, "Completed")
        assert (done.ended, done.failed) == (3, 0)

        async def counted() -> bool:
            found = await backend.get("Budget", "lid")
            return isinstance(found, Budget) and found.status is not None and found.status.spent_usd == done.cost_usd

        await until(backend, counted)


async def test_a_kill_is_final_for_what_a_budget_stopped(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0008"))
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=1, repetitions=2, tasks=4, parallel=2))
        await sweep_until(backend, lambda each: each.phase == "Stalled" and each.reason == "BudgetExceeded")
        served = server.served
        await backend.act(Kill(kind="Sweep", name="grid"))
        killed = await sweep_in(backend, "Cancelled")
        assert (killed.ended, killed.reserved_usd) == (2, Decimal("0.00"))
        await launch(place, backend, budget("5.00"))
        # The raise has been acted on when its own status is told.
        stands = [await status(backend, name) for name in ("grid-1", "grid-2")]
        assert [(each.phase, each.reason) for each in stands] == [(GroupPhase.CANCELLED, Reason.KILLED)] * 2
        assert server.served == served
