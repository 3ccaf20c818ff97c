"""Campaigns under random trouble: failures, rate limits, kills, extensions, raises and retries. Every event is checked against the caps.

The engine runs for real over a simulated model; the seeds fix what happens to whom, the event loop decides when.
"""

import random
from decimal import Decimal
from typing import Any

import pytest
from engine_place import Place, agent, at_rest, group, runs, status, until

from local_backend.backend import LocalBackend
from local_backend.reading.stream import event_from_row
from nodus_tui.contract.actions import ExtendCap, Kill, Retry
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.events import Event

pytestmark = pytest.mark.timeout(60)

CASES = 24


class Watcher:
    """Folds the events and holds each state against the rules."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.group: dict[str, Any] = {}
        self.group_cap = Decimal(0)
        self.highest = Decimal(0)

    def take(self, event: Event) -> None:
        if event.kind == "AgentRun":
            state = self.runs.setdefault(event.name, {})
            state |= event.status
            state["cap"] = event.spec.get("maxCostUSD", state.get("cap"))
            self._check_run(event.name, state)
        elif event.kind == "AgentGroup":
            self.group |= event.status
            self._check_group()

    def _check_run(self, name: str, state: dict[str, Any]) -> None:
        may_have_cost = Decimal(state["costUSD"]) + Decimal(state["inFlightUSD"])
        assert may_have_cost <= Decimal(state["cap"]), f"{name} may have cost {may_have_cost} under a cap of {state['cap']}"

    def _check_group(self) -> None:
        money = {name: Decimal(value) for name, value in self.group["money"].items()}
        assert money["spentUSD"] + money["reservedUSD"] + money["leftUSD"] == money["capUSD"]
        assert money["modelUSD"] <= money["capUSD"]
        self.highest = max(self.highest, money["modelUSD"])


async def _meddle(backend: LocalBackend, chance: random.Random) -> None:
    """One random action of a person; a refusal is as good as a deed."""
    everything = await runs(backend)
    if not everything:
        return
    run = chance.choice(everything)
    assert run.spec.max_cost_usd is not None
    choice = chance.random()
    try:
        if choice < 0.25:
            await backend.act(Kill(kind="AgentRun", name=run.name))
        elif choice < 0.6:
            more = run.spec.max_cost_usd + Decimal(chance.randint(1, 30)) / 1000
            await backend.act(ExtendCap(kind="AgentRun", name=run.name, cap_usd=more, restart=chance.random() < 0.3))
        elif choice < 0.8:
            cap = (await status(backend)).money.cap_usd + Decimal(chance.randint(1, 40)) / 1000
            await backend.act(ExtendCap(kind="AgentGroup", name="campaign", cap_usd=cap))
        else:
            await backend.act(Retry(group="campaign"))
    except NodusError as refused:
        if refused.code is not ErrorCode.INVALID_ACTION:
            raise


@pytest.mark.parametrize("seed", range(8))
async def test_caps_hold_whatever_happens(place: Place, seed: int) -> None:
    chance = random.Random(seed)
    place.simulated = {
        "accuracy": 0.5,
        "invalid": 0.1,
        "outputTokens": 300,
        "outputSpread": 0.9,
        "rateLimited": 0.1,
        "retryAfterSeconds": 0.01,
        "failures": 0.15,
        "latencySeconds": 0.005,
        "latencySpread": 0.9,
        "seed": seed,
    }
    place.tasks([{"id": f"t{n}", "prompt": ["one", "two", "three"], "answer": str(n)} for n in range(CASES)])
    cap = Decimal(chance.choice(["0.010", "0.006", "0.004"]))
    documents = (
        {
            "apiVersion": "nodus.dev/v1",
            "kind": "Environment",
            "metadata": {"name": "numbers"},
            "spec": {"version": "1.0.0", "file": "tasks.jsonl", "grader": {"type": "numeric"}},
        },
        agent("sim", cap=str(cap), max_tokens=600),
        group(tasks=CASES, cap=str(cap * chance.randint(2, CASES)), max_active=chance.randint(2, 12)),
    )
    watcher = Watcher()
    async with place.backend() as backend:
        await backend.apply(place.specs(*documents))

        async def prepared() -> bool:
            found = await status(backend)
            assert not found.phase.at_rest, found.message
            return bool(await runs(backend))

        await until(backend, prepared)
        for _ in range(30):
            await _meddle(backend, chance)
        await backend.act(Kill(kind="AgentGroup", name="campaign"))
        await at_rest(backend)
        for row in await backend._store.read("SELECT * FROM events ORDER BY cursor"):
            watcher.take(event_from_row(row))
        results = await backend.results("campaign")
        stored = await backend._store.read("SELECT coalesce(sum(cost), 0) AS paid FROM calls")
        open_calls = await backend._store.read("SELECT count(*) AS n FROM calls WHERE state = 'Reserved'")
    assert int(results.cost.model_usd * 10**9) == stored[0]["paid"], "the runs' spend is that of their calls"
    assert open_calls[0]["n"] == 0
    assert results.cost.model_usd <= results.cost.cap_usd
    assert watcher.highest > 0
    assert all(item.cost_usd <= item.cap_usd for item in results.results)
