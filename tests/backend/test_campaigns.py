"""Campaigns from spec to verdicts on the real engine: caps, waiting, extending, killing, timing out, retrying."""

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from engine_place import (
    NUMBERS,
    PRICE_INPUT,
    PRICE_OUTPUT,
    Place,
    agent,
    at_rest,
    environment,
    group,
    in_phase,
    run_in_phase,
    run_status,
    runs,
    status,
    until,
)
from kept_waiting import kept_waiting
from model_server import INPUT_TOKENS, OUTPUT_TOKENS, ModelServer, Seen, reply, solve

from local_backend.backend import LocalBackend
from local_backend.scheduling.group_engine import GroupEngine
from local_backend.scheduling.scheduler import Scheduler
from nodus_tui.contract.actions import Delete, ExtendCap, Kill, Resume, Retry
from nodus_tui.contract.backend import Query
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.estimates import Estimate
from nodus_tui.contract.money import enough_text, enough_usd, usd_from_nano
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.phases import CaseState, GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.contract.resources.agent import Agent

pytestmark = pytest.mark.timeout(20)

CALL = usd_from_nano(INPUT_TOKENS * PRICE_INPUT + OUTPUT_TOKENS * PRICE_OUTPUT)
"""What one normal reply costs."""

TURNS = [{"id": "talk", "prompt": ["say 1", "say 2", "say 3"], "answer": "3"}]
"""One task of three turns."""


async def launch(place: Place, backend: LocalBackend, *documents: dict[str, object]) -> None:
    await backend.apply(place.specs(*documents), author="tester")


async def test_from_spec_to_verdicts(place: Place, server: ModelServer) -> None:
    async def half_right(seen: Seen) -> object:
        number = int(solve(seen.last_user_text))
        return reply(str(number) if number % 2 else "no idea" if number % 4 else str(number + 1))

    server.answer = half_right  # type: ignore[assignment]
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=100, max_active=25))
        found = await at_rest(backend)
        results = await backend.results("campaign")
    assert found.phase is GroupPhase.COMPLETED
    assert found.verdicts == {"Correct": 50, "Incorrect": 25, "InvalidOutput": 25}
    assert results.pass_rate == 0.5
    assert results.standard_error == pytest.approx(0.05)
    assert results.coverage.scored == results.coverage.total == 100
    assert results.cost.model_usd == 100 * CALL
    assert results.cost.unconfirmed_usd == 0
    assert {item.state for item in results.results} == {CaseState.SCORED}
    assert all(item.cost_usd == CALL <= item.cap_usd for item in results.results)
    assert server.served == 100
    assert results.environment is not None
    assert results.environment.digest.startswith("sha256:")
    assert found.money.spent_usd + found.money.reserved_usd + found.money.left_usd == found.money.cap_usd


async def test_no_more_than_max_active_runs_go_at_once(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=10, max_active=3))
        await server.until_seen(3)
        going = [run for run in await runs(backend) if run.status and run.status.phase.going]
        waiting = [run.status for run in await runs(backend) if run.status and run.status.phase is RunPhase.PENDING]
        assert len(going) == len(server.seen) == 3
        assert {each.reason for each in waiting if each} == {Reason.WAITING_FOR_SLOT}
        server.hold.set()
        assert (await at_rest(backend)).coverage.scored == 10


async def test_who_waits_for_a_place_at_the_provider_says_so_and_does_not_count_it_as_work(place: Place, server: ModelServer) -> None:
    place.max_concurrency = 1
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=3, max_active=3))
        await server.until_seen(1)

        async def waits() -> bool:
            found = [run.status for run in await runs(backend) if run.status]
            return [each.reason for each in found].count(Reason.RATE_LIMITED) == 2

        await until(backend, waits)
        messages = {run.status.message for run in await runs(backend) if run.status and run.status.reason is Reason.RATE_LIMITED}
        assert messages == {"waits for a place at stand-in-1: 1 call of it is under way, as many as its provider gets at once"}
        server.hold.set()
        assert (await at_rest(backend)).coverage.scored == 3
        last = [run.status for run in await runs(backend) if run.status]
    assert len(server.seen) == 3
    assert sum(any(each.activity == "Paused" for each in status.stretches) for status in last) == 2
    assert all(status.reason is None for status in last)


async def test_a_run_whose_next_call_might_not_fit_its_cap_waits_and_makes_no_call(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.0005", max_tokens=100), group(tasks=2))
        stalled = await in_phase(backend, GroupPhase.STALLED)
        first = await run_status(backend, "campaign-c001")
    assert server.seen == []
    assert first.phase is RunPhase.WAITING
    assert first.reason is Reason.MAX_COST_REACHED
    assert first.needed_cap_usd is not None
    assert "2 runs wait at their own caps: extend to at least $0.000" in stalled.message
    assert stalled.going == 0
    assert stalled.money.reserved_usd == 0


async def test_extending_a_cap_goes_on_from_the_paid_conversation(place: Place, server: ModelServer) -> None:
    place.tasks(TURNS)
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.00070", max_tokens=100), group(tasks=1))
        await in_phase(backend, GroupPhase.STALLED)
        waiting = await run_status(backend, "campaign-c001")
        assert waiting.turns > 0
        assert waiting.needed_cap_usd is not None
        paid, served = waiting.cost_usd, server.served
        with pytest.raises(NodusError, match="never lowered"):
            await backend.act(ExtendCap(kind="AgentRun", name="campaign-c001", cap_usd=Decimal("0.0001")))
        outcome = await backend.act(ExtendCap(kind="AgentRun", name="campaign-c001", cap_usd=Decimal("0.01"), author="tester"))
        again = await backend.act(ExtendCap(kind="AgentRun", name="campaign-c001", cap_usd=Decimal("0.01")))
        found = await at_rest(backend)
        old, new = await run_status(backend, "campaign-c001"), await run_status(backend, "campaign-c001-2")
        transcript = await backend.transcript("campaign-c001-2")
        results = await backend.results("campaign")
    assert outcome.changed
    assert not again.changed
    assert old.phase is RunPhase.SUPERSEDED
    assert not old.current
    assert new.verdict is Verdict.CORRECT
    assert new.carried_usd == paid
    assert server.served == 3, "no paid turn was asked for again"
    assert served < 3
    assert [turn.text for turn in transcript.turns if turn.role == "assistant"] == ["1", "2", "3"]
    assert found.coverage.scored == 1
    assert results.cost.model_usd == 3 * CALL == results.results[0].cost_usd


async def test_a_cap_that_is_raised_too_little_is_answered_with_what_the_next_call_needs(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.0005", max_tokens=100), group(tasks=1))
        await in_phase(backend, GroupPhase.STALLED)
        needed = (await run_status(backend, "campaign-c001")).needed_cap_usd
        assert needed is not None
        outcome = await backend.act(ExtendCap(kind="AgentRun", name="campaign-c001", cap_usd=needed - Decimal("0.000000001")))
        assert outcome.message.endswith(f"but waits again: its next call needs at least {enough_text(needed)}")
        enough = await backend.act(ExtendCap(kind="AgentRun", name="campaign-c001-2", cap_usd=enough_usd(needed)))
        assert "waits again" not in enough.message
        assert (await at_rest(backend)).coverage.scored == 1
    assert server.served == 1


async def test_extending_with_restart_begins_afresh(place: Place, server: ModelServer) -> None:
    place.tasks(TURNS)
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.00070", max_tokens=100), group(tasks=1))
        await in_phase(backend, GroupPhase.STALLED)
        served = server.served
        await backend.act(ExtendCap(kind="AgentRun", name="campaign-c001", cap_usd=Decimal("0.01"), restart=True))
        await at_rest(backend)
        new = await run_status(backend, "campaign-c001-2")
        results = await backend.results("campaign")
    assert new.carried_usd == 0
    assert server.served == served + 3
    assert results.cost.model_usd == (served + 3) * CALL


async def test_a_group_cap_without_room_keeps_cases_waiting_until_it_is_raised(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group(tasks=5, cap="0.25"))
        await server.until_seen(2)

        async def told() -> bool:
            waiting = [await run_status(backend, f"campaign-c00{n}") for n in (3, 4, 5)]
            return all(each.reason is Reason.MAX_COST_REACHED for each in waiting)

        await until(backend, told)
        third = await run_status(backend, "campaign-c003")
        assert "waits for $0.05 of the group's cap" in third.message
        assert "$0.20 reserved by 2 runs" in third.message
        found = await status(backend)
        assert (found.money.reserved_usd, found.money.left_usd) == (Decimal("0.20"), Decimal("0.05"))
        outcome = await backend.act(ExtendCap(kind="AgentGroup", name="campaign", cap_usd=Decimal("0.50")))
        assert outcome.changed
        await server.until_seen(5)
        server.hold.set()
        assert (await at_rest(backend)).coverage.scored == 5


async def test_a_stalled_group_names_the_cap_and_the_amount(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group(tasks=3, cap="0.05"))
        stalled = await in_phase(backend, GroupPhase.STALLED)
        assert stalled.message == "3 cases cannot start: raise the group's cap by $0.05 to $0.10 for the next, to $0.30 for all"
        await backend.act(ExtendCap(kind="AgentGroup", name="campaign", cap_usd=Decimal("0.30")))
        assert (await at_rest(backend)).coverage.scored == 3


async def test_a_group_cap_of_tasks_times_per_run_cap_starts_every_case_at_once(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.01"), group(tasks=50, cap="0.50", max_active=1000))
        await server.until_seen(50)
        assert (await status(backend)).money.left_usd == 0
        server.hold.set()
        assert (await at_rest(backend)).coverage.scored == 50


async def test_killing_a_run_ends_its_call_and_charges_the_worst_case(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=2, max_active=1))
        await server.until_seen(1)
        outcome = await backend.act(Kill(kind="AgentRun", name="campaign-c001", author="tester"))
        killed = await run_status(backend, "campaign-c001")
        assert outcome.changed
        assert killed.phase is RunPhase.CANCELLED
        assert killed.cost_usd == killed.unconfirmed_usd > CALL
        assert killed.in_flight_usd == 0
        assert not (await backend.act(Kill(kind="AgentRun", name="campaign-c001"))).changed
        server.hold.set()
        found = await at_rest(backend)
        results = await backend.results("campaign")
    assert found.coverage.scored == 1
    assert found.verdicts == {"Correct": 1, "Killed": 1}
    assert results.results[0].verdict is None
    assert results.results[0].state is CaseState.UNSCORED
    assert results.cost.unconfirmed_usd == killed.unconfirmed_usd


async def test_a_queued_run_can_be_killed_and_never_starts(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=2, max_active=1))
        await server.until_seen(1)
        await backend.act(Kill(kind="AgentRun", name="campaign-c002"))
        server.hold.set()
        found = await at_rest(backend)
    assert len(server.seen) == 1
    assert found.verdicts == {"Correct": 1, "Killed": 1}


async def test_killing_a_group_ends_every_unfinished_run(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=10, max_active=4))
        await server.until_seen(4)
        outcome = await backend.act(Kill(kind="AgentGroup", name="campaign"))
        found = await at_rest(backend)
        assert "10 unfinished runs" in outcome.message
        assert found.phase is GroupPhase.CANCELLED
        assert found.going == found.pending == 0
        assert found.money.reserved_usd == 0
        assert not (await backend.act(Kill(kind="AgentGroup", name="campaign"))).changed
    assert len(server.seen) == 4


async def test_an_answer_that_is_not_graded_in_time_is_an_evaluation_timeout_outside_the_pass_rate(
    place: Place, server: ModelServer
) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=3, max_active=1, timeout="1m"))

        async def first_done() -> bool:
            return (await status(backend)).coverage.scored > 0

        held = asyncio.Event()
        await until(backend, first_done)
        server.hold = held
        place.clock.ahead = timedelta(minutes=2)
        found = await at_rest(backend)
        results = await backend.results("campaign")
    assert found.phase is GroupPhase.COMPLETED
    late = [item for item in results.results if item.reason is Reason.EVALUATION_TIMEOUT]
    assert len(late) + found.coverage.scored == 3
    assert all(item.verdict is None and item.state is CaseState.UNSCORED for item in late)
    assert results.pass_rate == 1.0


async def test_stalled_cases_end_unscored_at_the_timeout(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group(tasks=2, cap="0.05", timeout="1m"))
        await in_phase(backend, GroupPhase.STALLED)
        place.clock.ahead = timedelta(minutes=2)
        await backend.act(ExtendCap(kind="AgentGroup", name="campaign", cap_usd=Decimal("0.06")))
        found = await at_rest(backend)
    assert found.reason is Reason.EVALUATION_TIMEOUT
    assert found.verdicts == {"EvaluationTimeout": 2}
    assert found.coverage.scored == 0
    assert found.pass_rate is None
    assert server.seen == []


async def test_retry_makes_new_runs_for_unscored_cases_only(place: Place, server: ModelServer) -> None:
    broken = True

    async def first_breaks(seen: Seen) -> object:
        if broken and seen.number == 1:
            return reply(solve(seen.last_user_text), usage={})
        return reply(solve(seen.last_user_text))

    server.answer = first_breaks  # type: ignore[assignment]
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=3))
        found = await at_rest(backend)
        assert found.verdicts.get("InfrastructureFailure") == 1
        assert found.coverage.scored == 2
        broken = False
        with pytest.raises(NodusError) as refused:
            scored = next(run for run in await runs(backend) if run.status and run.status.verdict is Verdict.CORRECT)
            await backend.act(Retry(group="campaign", runs=(scored.name,)))
        assert refused.value.code is ErrorCode.INVALID_ACTION
        outcome = await backend.act(Retry(group="campaign"))
        assert outcome.changed
        found = await at_rest(backend)
        everything = await runs(backend, current_only=False)
        results = await backend.results("campaign")
        assert not (await backend.act(Retry(group="campaign"))).changed
    assert found.coverage.scored == 3
    assert len(everything) == 4
    assert results.cost.model_usd > 3 * CALL, "the unconfirmed charge of the first attempt stays in the group's cost"
    assert len(server.seen) == 4


async def test_members_pin_the_revision_that_their_group_was_created_with(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=2, max_active=1))
        await server.until_seen(1)
        await launch(place, backend, agent(system="Shout."))
        newest = await backend.get("Agent", "worker")
        assert isinstance(newest, Agent)
        assert newest.status is not None
        assert newest.status.revision == 2
        server.hold.set()
        await at_rest(backend)
        await launch(place, backend, group(name="second", tasks=1))
        await at_rest(backend, "second")
        first, second = await backend.results("campaign"), await backend.results("second")
    assert (first.agent.revision, second.agent.revision) == (1, 2)
    systems = [each.body["messages"][0]["content"] for each in server.seen]
    assert systems == ["Be brief.", "Be brief.", "Shout."]


async def test_a_group_without_evaluation_answers_and_the_caller_grades(place: Place, server: ModelServer) -> None:
    plain = {
        "apiVersion": "nodus.dev/v1",
        "kind": "AgentGroup",
        "metadata": {"name": "campaign"},
        "spec": {"agent": "worker", "maxCostUSD": "1.00", "inputs": [{"id": "a", "prompt": "say 1"}, {"id": "b", "prompt": "say 2"}]},
    }
    async with place.backend() as backend:
        await launch(place, backend, agent(), plain)
        found = await at_rest(backend)
        results = await backend.results("campaign")
        transcript = await backend.transcript(results.results[1].run)
    assert found.phase is GroupPhase.COMPLETED
    assert {item.state for item in results.results} == {CaseState.ANSWERED}
    assert results.pass_rate is None
    assert transcript.turns[-1].text == "2"


async def test_stopping_the_work_keeps_everything_and_resume_goes_on(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=5, max_active=2))
        await server.until_seen(2)
        stopping = asyncio.create_task(backend.stop_work(grace_seconds=30))
        await asyncio.sleep(0)
        server.hold.set()
        await stopping
        found = await status(backend)
        assert found.phase is GroupPhase.INTERRUPTED
        assert found.coverage.scored == 2, "calls in flight ended and were graded"
        assert len(server.seen) == 2
    async with place.backend() as backend:
        assert (await status(backend)).phase is GroupPhase.INTERRUPTED, "nothing goes on unasked"
        assert (await backend.act(Resume(group="campaign"))).changed
        found = await at_rest(backend)
    assert found.coverage.scored == 5
    assert server.served == 5
    assert found.money.unconfirmed_usd == 0


async def test_a_group_that_is_stopped_amid_its_last_calls_has_ended_with_them(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=2))
        await server.until_seen(2)
        stopping = asyncio.create_task(backend.stop_work(grace_seconds=30))
        await asyncio.sleep(0)
        server.hold.set()
        await stopping
        found = await status(backend)
        assert (found.phase, found.reason, found.coverage.scored) == (GroupPhase.COMPLETED, None, 2)
        assert not (await backend.act(Resume(group="campaign"))).changed


async def test_to_retry_an_interrupted_group_is_to_resume_it(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=4, max_active=1))
        await server.until_seen(1)
        stopping = asyncio.create_task(backend.stop_work(grace_seconds=30))
        await asyncio.sleep(0)
        server.hold.set()
        await stopping
        # What is left was never begun: no case of it has ended unscored.
        assert {run.status.phase for run in await runs(backend) if run.status} == {RunPhase.SUCCEEDED, RunPhase.PENDING}
        killed_only = await backend.act(Retry(group="campaign", reasons=(Reason.KILLED,)))
        assert not killed_only.changed
        outcome = await backend.act(Retry(group="campaign"))
        assert outcome.message == "campaign goes on: 3 unfinished cases gone on with"
        assert (await at_rest(backend)).coverage.scored == 4


async def test_a_retry_tells_of_what_was_asked_for_alone_and_of_a_group_that_stays_stalled_why(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group(tasks=5, cap="0.05"))
        await in_phase(backend, GroupPhase.STALLED)
        for number in (1, 2):
            await backend.act(Kill(kind="AgentRun", name=f"campaign-c00{number}"))
        outcome = await backend.act(Retry(group="campaign", runs=("campaign-c001", "campaign-c002")))
        assert outcome.message == (
            "campaign stays stalled, with 2 cases tried again, and none can start: "
            "waits for $0.05 of the group's cap: it needs $0.10, $0.05 of $0.05 is left ($0.00 spent)"
        )
        assert (await in_phase(backend, GroupPhase.STALLED)).pending == 5
    assert server.served == 0


async def test_a_group_that_was_killed_before_its_tasks_existed_is_retried_with_all_its_cases(place: Place, server: ModelServer) -> None:
    async with place.backend("look") as onlooker:
        await launch(place, onlooker, environment(), agent(), group(tasks=3))
        assert (await onlooker.act(Kill(kind="AgentGroup", name="campaign"))).changed
    async with place.backend() as backend:
        assert (await status(backend)).phase is GroupPhase.CANCELLED
        assert await runs(backend) == []
        outcome = await backend.act(Retry(group="campaign"))
        assert (outcome.changed, outcome.message) == (True, "campaign goes on, with a new timeout: its tasks are made")
        found = await at_rest(backend)
    assert (found.phase, found.coverage.scored) == (GroupPhase.COMPLETED, 3)


async def test_stopping_at_once_charges_the_calls_in_flight(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=3, max_active=2))
        await server.until_seen(2)
        await backend.stop_work(grace_seconds=0)
        found = await status(backend)
    assert found.phase is GroupPhase.INTERRUPTED
    assert found.money.unconfirmed_usd == found.money.model_usd > 0
    assert found.money.reserved_usd == 0


async def test_the_time_of_a_run_stands_still_while_it_rests_and_goes_on_with_it(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=2, max_active=1))
        await server.until_seen(1)
        assert (await run_status(backend, "campaign-c001")).rested_at is None
        place.clock.ahead = timedelta(seconds=7)
        await backend.stop_work(grace_seconds=0)
        place.clock.ahead = timedelta(hours=1)
        rested, unstarted = await run_status(backend, "campaign-c001"), await run_status(backend, "campaign-c002")
        assert rested.phase is RunPhase.INTERRUPTED
        assert rested.started_at is not None
        assert rested.rested_at is not None
        assert timedelta(seconds=7) <= rested.rested_at - rested.started_at < timedelta(minutes=1)
        assert unstarted.rested_at is None
        server.hold.set()
        await backend.act(Resume(group="campaign"))
        assert (await at_rest(backend)).phase is GroupPhase.COMPLETED
        assert (await run_status(backend, "campaign-c001")).rested_at is None


async def test_a_run_tells_what_it_did_when_and_its_group_what_a_run_takes(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=2, max_active=1))
        found = await at_rest(backend)
        first, second = await run_status(backend, "campaign-c001"), await run_status(backend, "campaign-c002")
        unfinished = await backend.list("AgentRun", Query(group="campaign", unfinished=True))
    assert [each.activity for each in first.stretches] == ["Queued", "Working", "Grading"]
    assert [each.since for each in second.stretches[:2]] == [second.created_at, second.started_at]
    assert second.stretches[0].reason is Reason.WAITING_FOR_SLOT
    assert found.mean_run_seconds is not None
    assert found.mean_run_usd == first.cost_usd == second.cost_usd
    assert unfinished.items == ()


async def test_unfinished_runs_are_listed_until_they_have_ended(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=3, max_active=1))
        await server.until_seen(1)
        unfinished = await backend.list("AgentRun", Query(unfinished=True))
        await backend.act(Kill(kind="AgentRun", name="campaign-c003"))
        left = await backend.list("AgentRun", Query(unfinished=True))
        await backend.stop_work(grace_seconds=0)
    assert [each.name for each in unfinished.items] == ["campaign-c001", "campaign-c002", "campaign-c003"]
    assert [each.name for each in left.items] == ["campaign-c001", "campaign-c002"]


async def test_applying_the_same_group_again_changes_nothing_and_pays_nothing(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=3))
        await at_rest(backend)
        outcome = await backend.apply(place.specs(environment(), agent(), group(tasks=3)))
        assert [each.outcome for each in outcome.documents] == ["unchanged"] * 3
        with pytest.raises(NodusError) as refused:
            await backend.apply(place.specs(group(tasks=4)))
        assert refused.value.code is ErrorCode.CONFLICT
        assert refused.value.faults[0].path == "metadata.name"
    assert server.served == 3


async def test_an_environment_changed_under_its_version_is_a_conflict(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment())
        place.tasks(NUMBERS[:50])
        with pytest.raises(NodusError) as refused:
            await backend.apply(place.specs(environment()))
        assert refused.value.code is ErrorCode.CONFLICT
        assert refused.value.faults[0].path == "spec.version"
        await backend.apply(place.specs(environment(version="1.0.1")))


async def test_a_group_that_was_killed_is_deleted_before_its_own_end_is_written(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_deadline, ended, go_on, waits = GroupEngine._keep_deadline, Scheduler.ended, asyncio.Event(), asyncio.Event()

    async def slow(engine: GroupEngine) -> None:
        if engine.killed:
            await go_on.wait()
        await keep_deadline(engine)

    async def seen(scheduler: Scheduler, name: str) -> None:
        waits.set()
        await ended(scheduler, name)

    monkeypatch.setattr(GroupEngine, "_keep_deadline", slow)
    monkeypatch.setattr(Scheduler, "ended", seen)
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=3))
        await server.until_seen(1)
        await backend.act(Kill(kind="AgentGroup", name="campaign"))
        await kept_waiting(backend.act(Delete(kind="AgentGroup", name="campaign")), waits=waits, go_on=go_on.set)
        with pytest.raises(NodusError) as gone:
            await backend.get("AgentGroup", "campaign")
        assert gone.value.code is ErrorCode.NOT_FOUND


async def test_deleting_a_group_takes_its_records_with_it(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=1))
        await server.until_seen(1)
        with pytest.raises(NodusError, match="kill it first"):
            await backend.act(Delete(kind="AgentGroup", name="campaign"))
        with pytest.raises(NodusError, match="in use"):
            await backend.act(Delete(kind="Agent", name="worker"))
        server.hold.set()
        await at_rest(backend)
        await backend.act(Delete(kind="AgentGroup", name="campaign"))
        with pytest.raises(NodusError) as gone:
            await backend.get("AgentGroup", "campaign")
        assert gone.value.code is ErrorCode.NOT_FOUND
        await backend.act(Delete(kind="Agent", name="worker"))


async def test_a_running_run_can_be_extended_after_its_call_in_flight(place: Place, server: ModelServer) -> None:
    place.tasks(TURNS)
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=1))
        await server.until_seen(1)
        extending = await _extension_under_way(backend, "0.20")
        server.hold.set()
        await extending
        await run_in_phase(backend, "campaign-c001-2", RunPhase.SUCCEEDED)
        results = await backend.results("campaign")
    assert server.served == 3
    assert results.cost.unconfirmed_usd == 0
    assert results.results[0].cap_usd == Decimal("0.20")


async def test_the_estimate_tells_of_a_cap_that_no_call_fits(place: Place) -> None:
    async with place.backend("look") as backend:
        small, enough = [
            await backend.estimate(place.specs(environment(), agent(cap=cap, max_tokens=1000), group()), minutes_per_case=Decimal(1))
            for cap in ("0.004", "0.10")
        ]
    assert isinstance(small[0], Estimate)
    assert isinstance(enough[0], Estimate)
    assert any("every run would wait at its cap" in note for note in small[0].notes)
    assert (small[0].every_run_waits, enough[0].every_run_waits) == (True, False)
    assert not any("wait at its cap" in note for note in enough[0].notes)


async def _extension_under_way(backend: LocalBackend, cap: str) -> "asyncio.Task[object]":
    """An extension that waits for the call in flight of the first run."""
    assert backend._scheduler is not None
    engine = await backend._scheduler.engine("campaign")
    waits = asyncio.Event()
    stop_going = engine._stop_going

    async def noted(*args: Any, **options: Any) -> None:
        waits.set()
        await stop_going(*args, **options)

    engine._stop_going = noted  # type: ignore[method-assign]
    task: asyncio.Task[object] = asyncio.create_task(backend.act(ExtendCap(kind="AgentRun", name="campaign-c001", cap_usd=Decimal(cap))))
    await waits.wait()
    engine._stop_going = stop_going  # type: ignore[method-assign]
    return task


async def test_a_stop_lets_the_call_end_of_a_run_that_was_just_being_started(place: Place, server: ModelServer) -> None:
    place.tasks(NUMBERS)
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=2, max_active=1))
        await server.until_seen(1)
        assert backend._scheduler is not None
        engine = await backend._scheduler.engine("campaign")
        admit = engine._admit
        stopping: list[asyncio.Task[None]] = []

        def stopped_meanwhile(waiting: Any) -> Any:
            started, waits = admit(waiting)
            if started and not stopping:
                server.hold = asyncio.Event()
                stopping.append(asyncio.create_task(backend.stop_work(grace_seconds=60)))
            return started, waits

        engine._admit = stopped_meanwhile  # type: ignore[method-assign]
        server.hold.set()
        await server.until_seen(2)
        assert not stopping[0].done()
        server.hold.set()
        await stopping[0]
        results = await backend.results("campaign")
    assert results.cost.model_usd == 2 * CALL
    assert results.cost.unconfirmed_usd == 0


async def test_two_extensions_of_a_run_in_flight_make_one_successor(place: Place, server: ModelServer) -> None:
    place.tasks(TURNS)
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=1))
        await server.until_seen(1)
        first, second = await _extension_under_way(backend, "0.20"), await _extension_under_way(backend, "0.30")
        server.hold.set()
        await asyncio.gather(first, second, return_exceptions=True)
        found = await at_rest(backend)
        everything = await runs(backend, current_only=False)
        results = await backend.results("campaign")
    assert [run.name for run in everything if run.status and run.status.current] == ["campaign-c001-2"]
    assert len(everything) == 2
    assert found.coverage.scored == 1
    assert server.served == 3, "no turn is paid twice"
    assert results.cost.model_usd == 3 * CALL


@pytest.mark.parametrize(("cap", "told"), [("0.20", "campaign-c001-2 has that cap already"), ("0.30", "extend campaign-c001-2")])
async def test_who_comes_second_with_an_extension_is_told_of_the_first(place: Place, server: ModelServer, cap: str, told: str) -> None:
    place.tasks(TURNS)
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=1))
        await server.until_seen(1)
        first, second = await _extension_under_way(backend, "0.20"), await _extension_under_way(backend, cap)
        server.hold.set()
        answers = await asyncio.gather(first, second, return_exceptions=True)
        await at_rest(backend)
    said = [each.detail if isinstance(each, NodusError) else str(getattr(each, "message", each)) for each in answers]
    assert sum("takes the place of campaign-c001" in each for each in said) == 1
    assert sum(told in each for each in said) == 1


@pytest.mark.parametrize("kind", ["AgentRun", "AgentGroup"])
async def test_a_kill_wins_over_an_extension_that_waits(place: Place, server: ModelServer, kind: str) -> None:
    place.tasks(TURNS)
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=1))
        await server.until_seen(1)
        extension = await _extension_under_way(backend, "0.20")
        name = "campaign-c001" if kind == "AgentRun" else "campaign"
        await backend.act(Kill.model_validate({"kind": kind, "name": name}))
        server.hold.set()
        outcome = ActionOutcome.model_validate(await extension)
        found = await at_rest(backend)
        everything = await runs(backend, current_only=False)
    assert outcome.message == "campaign-c001 was killed before its cap was extended"
    assert [run.status.phase for run in everything if run.status] == [RunPhase.CANCELLED]
    assert found.phase is GroupPhase.CANCELLED
    assert len(server.seen) == 1


async def test_retries_at_once_make_one_new_attempt_for_each_case(place: Place, server: ModelServer) -> None:
    async def breaks(_: Seen) -> object:
        return reply("1", usage={})

    server.answer = breaks  # type: ignore[assignment]
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(), group(tasks=3))
        await at_rest(backend)
        server.answer = None
        server.hold = asyncio.Event()
        await asyncio.gather(*(backend.act(Retry(group="campaign")) for _ in range(4)))
        server.hold.set()
        found = await at_rest(backend)
        everything = await runs(backend, current_only=False)
    assert found.coverage.scored == 3
    assert len(everything) == 6
    assert sum(run.status.current for run in everything if run.status) == 3
