"""Several processes over one workspace: a crash loses no spend, and requests reach the process that runs the scheduler."""

import asyncio
import signal
import sqlite3
from decimal import Decimal

import pytest
from engine_place import Place, agent, at_rest, environment, group, in_phase, run_status, runs, status
from model_server import ModelServer
from other_process import child

from nodus_tui.contract.actions import ExtendCap, Kill
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import CallState, GroupPhase, RunPhase

pytestmark = pytest.mark.timeout(60)


async def test_after_kill_9_calls_in_flight_are_charged_their_worst_case_and_runs_go_on(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with child(place, environment(), agent(), group(tasks=6, max_active=3)) as process:
        await server.until_seen(3)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    server.hold.set()
    server.hold = None
    async with place.backend() as backend:
        found = await at_rest(backend)
        first = await run_status(backend, "campaign-c001")
        transcript = await backend.transcript("campaign-c001")
        results = await backend.results("campaign")
    assert found.phase is GroupPhase.COMPLETED
    assert found.coverage.scored == 6
    assert [call.state for call in transcript.calls] == [CallState.UNCONFIRMED, CallState.SETTLED]
    assert first.unconfirmed_usd == transcript.calls[0].reserved_usd
    assert results.cost.unconfirmed_usd == 3 * first.unconfirmed_usd
    assert all(item.cost_usd <= item.cap_usd for item in results.results)


async def test_looking_at_a_crashed_campaign_starts_nothing(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with child(place, environment(), agent(), group(tasks=6, max_active=3)) as process:
        await server.until_seen(3)
        process.kill()
        await process.wait()
    seen = len(server.seen)
    async with place.backend("look") as backend:
        await backend.results("campaign")
        await backend.act(Kill(kind="AgentRun", name="campaign-c006"))
        killed = await run_status(backend, "campaign-c006")
        info = await backend.info()
    assert killed.phase is RunPhase.CANCELLED
    assert not info.scheduling
    assert len(server.seen) == seen


async def test_requests_from_another_process_reach_the_scheduler(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with child(place, environment(), agent(cap="0.10"), group(tasks=4, cap="0.20")) as process:
        await server.until_seen(2)
        async with place.backend("look") as backend:
            assert (await backend.info()).scheduler_elsewhere
            outcome = await backend.act(Kill(kind="AgentRun", name="campaign-c001", author="somebody"))
            assert outcome.changed
            assert outcome.author == "somebody"
            assert (await run_status(backend, "campaign-c001")).phase is RunPhase.CANCELLED
            with pytest.raises(NodusError) as refused:
                await backend.act(ExtendCap(kind="AgentRun", name="campaign-c001", cap_usd=Decimal("0.20")))
            assert refused.value.code is ErrorCode.INVALID_ACTION
            await backend.act(ExtendCap(kind="AgentGroup", name="campaign", cap_usd=Decimal("1.00")))
            await server.until_seen(4)
            server.hold.set()
            assert (await at_rest(backend)).coverage.scored == 3
        await asyncio.wait_for(process.wait(), 60)
        assert process.returncode == 0


async def test_a_second_worker_takes_over_when_the_first_is_gone(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with child(place, environment(), agent(), group(tasks=3, max_active=1)) as process:
        await server.until_seen(1)
        async with place.backend("work") as backend:
            assert (await backend.info()).scheduler_elsewhere
            process.kill()
            await process.wait()
            server.hold.set()
            server.hold = None
            found = await at_rest(backend)
            assert (await backend.info()).scheduling
    assert found.coverage.scored == 3


async def test_a_repeated_request_id_acts_once(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(cap="0.10"), group(tasks=3, cap="0.05")))
        await in_phase(backend, GroupPhase.STALLED)
        action = ExtendCap(kind="AgentGroup", name="campaign", cap_usd=Decimal("0.06"), request_id="once")
        first, second = await backend.act(action), await backend.act(action)
        assert first == second
        assert first.changed


async def test_a_request_that_was_written_down_before_a_crash_is_done_by_the_next_scheduler(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(cap="0.10"), group(tasks=3, cap="0.05")))
        await in_phase(backend, GroupPhase.STALLED)
    payload = Kill(kind="AgentGroup", name="campaign").model_dump_json(by_alias=True)
    with sqlite3.connect(place.home / "nodus.db") as database:
        database.execute(
            "INSERT INTO requests (request_id, form, payload, author, at, state) VALUES ('k', 'action', ?, 'me', '2026-01-01', 'Asked')",
            (payload,),
        )
    database.close()
    async with place.backend() as backend:
        assert (await status(backend)).phase is GroupPhase.CANCELLED
    assert server.seen == []


async def test_a_refused_apply_changes_nothing(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        before = await backend.snapshot(runs_of="")
        broken = group(tasks=3)
        broken["spec"]["evaluation"]["environment"] = "nodus/arithmetic-v2@9.9.9"  # type: ignore[index]
        with pytest.raises(NodusError) as refused:
            await backend.apply(
                place.specs(environment(), agent(family="nowhere"), broken, group(name="other", tasks=101 - 1, split="train"))
            )
        assert refused.value.code is ErrorCode.INVALID_SPEC
        assert {fault.path for fault in refused.value.faults} == {
            "spec.model.families",
            "spec.evaluation.environment",
            "spec.evaluation.tasks",
        }
        assert (await backend.snapshot(runs_of="")) == before
        assert (await backend.list("Agent")).items == ()
        assert await runs(backend, name="") == []
