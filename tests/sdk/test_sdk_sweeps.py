"""Sweeps by the Python interface: made, waited for, compared, stalled and extended, paused and killed; by both kinds of calls alike."""

import inspect
from decimal import Decimal
from typing import Any

import pytest
from sdk_place import EVALUATION

from nodus_tui import sdk as nodus
from nodus_tui.sdk import aio, sweeps

pytestmark = pytest.mark.timeout(120)


def template(max_cost: str = "0.50") -> dict[str, Any]:
    return {"kind": "AgentGroup", "spec": {"agent": "worker", "maxCostUSD": max_cost, "evaluation": EVALUATION}}


def worker(name: str = "worker", family: str = "haiku") -> None:
    nodus.Agent.create(name, families=[family], system="Be brief.", max_tokens=100, per_run_max_cost="0.10")


def test_a_sweep_is_run_and_its_variants_are_compared() -> None:
    worker()
    worker("other")
    sweep = nodus.Sweep.create(
        "grid", template=template(), matrix={"agents": ["worker", "other"], "shards": 2}, max_cost=Decimal("3.00"), max_parallel=2
    )
    status = sweep.wait(timeout=50)
    assert (status.phase, status.ended, status.cap_usd) == (nodus.GroupPhase.COMPLETED, 4, Decimal("3.00"))
    results = sweep.results()
    assert [pool.rate.pass_rate for pool in results.pooled] == [1.0, 1.0]
    (difference,) = sweep.compare()
    assert (difference.first, difference.second, difference.tasks, difference.difference) == ("agent=worker", "agent=other", 4, 0.0)
    assert nodus.AgentGroup.get("grid-1").results().summary.coverage.scored == 2
    assert [each.name for each in nodus.Sweep.list()] == ["grid"]
    assert nodus.Sweep.get("grid").status() == sweep.status()
    with pytest.raises(nodus.NodusError) as taken:
        nodus.Sweep.create("grid", template=template(), matrix={}, max_cost="3.00")
    assert taken.value.code is nodus.ErrorCode.CONFLICT
    sweep.delete()
    assert not nodus.Sweep.list()
    assert not nodus.AgentGroup.list()


def test_a_stalled_sweep_goes_on_when_its_cap_is_raised_and_a_killed_one_when_it_is_retried() -> None:
    worker()
    sweep = nodus.Sweep.create("grid", template=template(), matrix={"shards": 2}, max_cost="0.50")
    stalled = sweep.wait(timeout=50)
    assert stalled.phase is nodus.GroupPhase.STALLED
    assert "cannot start" in stalled.message
    assert sweep.extend_cap("1.00").changed
    assert sweep.wait(timeout=50).ended == 2
    worker("sleeper", "slow")
    slow = nodus.Sweep.create("slow", template=template(), matrix={"agents": ["sleeper"], "shards": 2}, max_cost="1.00")
    assert slow.pause().changed
    with pytest.raises(TimeoutError, match="of 2 cells ended; it goes on"):
        slow.wait(timeout=0.05, through_stalls=True)
    assert slow.kill().changed
    assert slow.status().phase is nodus.GroupPhase.CANCELLED
    assert slow.retry(["slow-1"]).message.startswith("slow: 1 cell tried again")
    assert not slow.resume().changed
    slow.delete()
    with pytest.raises(TypeError, match="max_cost is money"):
        nodus.Sweep.create("x", template=template(), matrix={}, max_cost=1.0)  # type: ignore[arg-type]
    with pytest.raises(nodus.NodusError) as faults:
        nodus.Sweep.create("x", template=template(), matrix={"shrads": 2}, max_cost="1.00")
    assert faults.value.faults[0].suggestion == "shards"


async def test_both_interfaces_have_the_same_calls() -> None:
    calls = {each for each in vars(sweeps.Sweep) if not each.startswith("_")}
    assert calls == {each for each in vars(aio.Sweep) if not each.startswith("_")}
    for call in calls:
        one, other = getattr(sweeps.Sweep, call), getattr(aio.Sweep, call)
        assert inspect.signature(one) == inspect.signature(other)
        assert inspect.getdoc(one) == inspect.getdoc(other)
        assert inspect.iscoroutinefunction(other)
    with pytest.raises(nodus.NodusError):
        await aio.Sweep.get("none")
