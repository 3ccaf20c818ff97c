"""What every backend does, whichever way it is reached: the calls, the errors, the stream, and that nothing is done twice."""

from contextlib import aclosing
from decimal import Decimal
from typing import Any, cast

import pytest
from ways import Reached, bundle_of, spec, spec_text

from nodus_tui import __version__
from nodus_tui.contract.actions import Delete, ExtendCap, Kill, Resume
from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.estimates import Estimate
from nodus_tui.contract.events import Event
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.spec_loading.checking import check_specs
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs, read_specs
from nodus_tui.view_state.folding import group_after, run_after

pytestmark = pytest.mark.timeout(60)


async def until(backend: Backend, phase: GroupPhase, name: str = "hello", *, going: int = 0) -> AgentGroup:
    """The group once it is in the phase, and so many runs of it go."""
    snapshot = await backend.snapshot()
    found = next((group for group in snapshot.groups if group.name == name), None)
    async with aclosing(cast("Any", backend.watch(after=snapshot.cursor))) as batches:
        while True:
            if found is not None and found.status is not None and found.status.phase is phase and found.status.going >= going:
                return found
            batch = await anext(batches)
            for event in batch.events:
                if (event.kind, event.name) == ("AgentGroup", name):
                    found = group_after(found, event)


async def refused(call: Any) -> NodusError:
    with pytest.raises(NodusError) as caught:
        await call
    return caught.value


async def test_it_says_what_it_is(there: Reached) -> None:
    info = await there.backend.info()
    assert (info.name, info.version) == ("local", __version__)
    assert {model.family for model in info.models} >= {"perfect", "steady", "slow"}
    assert "nodus/arithmetic-v2" in {entry.name for entry in info.environments}
    assert (info.scheduling, info.scheduler_elsewhere) == ((True, False) if there.way == "in process" else (False, True))
    assert info.can_stop_groups
    assert info.role == "operator"


async def test_a_campaign_runs_to_its_verdicts_and_is_told_alike_everywhere(there: Reached) -> None:
    outcome = await there.backend.apply(spec(), author="somebody")
    assert [(each.kind, each.name, each.outcome) for each in outcome.documents] == [
        ("Agent", "solver", "created"),
        ("AgentGroup", "hello", "created"),
    ]
    group = await until(there.backend, GroupPhase.COMPLETED)
    results = await there.backend.results("hello")
    assert results.pass_rate == 1.0
    assert (results.coverage.scored, results.coverage.total) == (5, 5)
    assert results.cost.model_usd > 0
    assert results == await there.local.results("hello")
    assert group == await there.local.get("AgentGroup", "hello")
    assert await there.backend.get("Agent", "solver") == await there.local.get("Agent", "solver")
    run = results.results[0].run
    transcript = await there.backend.transcript(run)
    assert transcript == await there.local.transcript(run)
    assert [turn.role for turn in transcript.turns] == ["system", "user", "assistant"]
    later = await there.backend.transcript(run, from_turn=2)
    assert [turn.role for turn in later.turns] == ["assistant"]
    assert later.calls == transcript.calls
    assert later.continuing(transcript) == transcript
    again = await there.backend.apply(spec())
    assert {each.outcome for each in again.documents} == {"unchanged"}


async def test_a_dry_run_changes_nothing(there: Reached) -> None:
    outcome = await there.backend.apply(spec(), dry_run=True)
    assert outcome.dry_run
    assert {each.outcome for each in outcome.documents} == {"created"}
    assert (await there.backend.list("AgentGroup")).items == ()
    assert (await there.backend.snapshot()).cursor == 0


async def test_every_fault_comes_with_its_place_and_nothing_is_changed(there: Reached) -> None:
    broken = bundle_of(spec_text(family="perfekt", environment="nodus/arithmetic-v2@9.9.9"))
    for dry_run in (True, False):
        error = await refused(there.backend.apply(broken, dry_run=dry_run))
        assert error.code is ErrorCode.INVALID_SPEC
        assert [(fault.file, fault.line, fault.column, fault.path, fault.document) for fault in error.faults] == [
            ("evals/hello.yaml", 6, 21, "spec.model.families", 0),
            ("evals/hello.yaml", 18, 18, "spec.evaluation.environment", 1),
        ]
        assert error.faults[0].suggestion == "perfect"
    assert (await there.backend.snapshot()).cursor == 0


async def test_faults_of_the_text_and_of_the_workspace_come_in_one_answer(there: Reached) -> None:
    text = spec_text(family="perfekt").replace("maxActive: 10", "maxActive: 0")
    read = read_specs([SpecSource("evals/hello.yaml", text.encode(), None)])
    error = await refused(check_specs(there.backend, read))
    assert [fault.path for fault in error.faults] == ["spec.model.families", "spec.maxActive"]
    assert (await refused(there.backend.apply(read.bundle))).code is ErrorCode.INVALID_SPEC


async def test_lists_come_in_pages_and_filtered(there: Reached) -> None:
    await there.backend.apply(spec())
    await there.backend.apply(spec("other", tasks=2))
    await until(there.backend, GroupPhase.COMPLETED)
    await until(there.backend, GroupPhase.COMPLETED, "other")
    names: list[str] = []
    query = Query(group="hello", limit=2)
    while True:
        page = await there.backend.list("AgentRun", query)
        assert all(isinstance(item, AgentRun) for item in page.items)
        names += [item.name for item in page.items]
        if not page.next_after:
            break
        query = query.model_copy(update={"after": page.next_after})
    assert names == [f"hello-c{number:03d}" for number in range(1, 6)]
    assert len((await there.backend.list("AgentRun")).items) == 7
    assert [item.name for item in (await there.backend.list("AgentGroup")).items] == ["hello", "other"]
    assert (await there.backend.list("AgentGroup", Query(project="none"))).items == ()
    assert await there.backend.list("AgentGroup") == await there.local.list("AgentGroup")


async def test_pages_of_a_project_lead_to_all_that_is_in_it(there: Reached) -> None:
    for name, project in (("one", "ours"), ("two", "theirs"), ("three", "theirs"), ("four", "ours")):
        text = spec_text(name, tasks=1).replace(f"metadata: {{name: {name}}}", f"metadata: {{name: {name}, project: {project}}}")
        assert project in text
        await there.backend.apply(load_specs([SpecSource("spec.yaml", text.encode(), None)]))
    names: list[str] = []
    query = Query(project="ours", limit=1)
    while True:
        page = await there.backend.list("AgentGroup", query)
        names += [item.name for item in page.items]
        if not page.next_after:
            break
        query = query.model_copy(update={"after": page.next_after})
    assert names == ["one", "four"]


async def test_an_agent_is_there_as_it_was_at_each_of_its_revisions(there: Reached) -> None:
    await there.backend.apply(spec(tasks=1))
    changed = spec_text(tasks=1).partition("---")[0].replace("Calculate.", "Calculate well.")
    await there.backend.apply(bundle_of(changed))
    told = [await there.backend.get("Agent", name) for name in ("solver@1", "solver@2", "solver")]
    assert all(isinstance(agent, Agent) for agent in told)
    first, second, newest = (agent for agent in told if isinstance(agent, Agent))
    assert [agent.spec.system for agent in (first, second, newest)] == ["Calculate.", "Calculate well.", "Calculate well."]
    assert [agent.status.revision for agent in (first, second, newest) if agent.status] == [1, 2, 2]
    for unknown in ("solver@3", "solver@", "solver@one", "other@1"):
        assert (await refused(there.backend.get("Agent", unknown))).code is ErrorCode.NOT_FOUND


@pytest.mark.parametrize("name", ["hellp", "..", ".", "a/b", "a%2Fb", "a b?c=d#e", "ü\u2028", "x" * 300, ""])
async def test_a_name_that_nothing_has_is_not_found_whatever_stands_in_it(there: Reached, name: str) -> None:
    await there.backend.apply(spec(tasks=1))
    for call in (
        there.backend.get("AgentGroup", name),
        there.backend.results(name),
        there.backend.transcript(name),
        there.backend.act(Kill(kind="AgentGroup", name=name)),
    ):
        assert (await refused(call)).code is ErrorCode.NOT_FOUND
    if name == "hellp":
        assert '"hello"' in (await refused(there.backend.get("AgentGroup", name))).detail


async def test_an_action_is_done_once_for_its_id_and_recorded_with_its_author(there: Reached) -> None:
    await there.backend.apply(spec(family="slow", tasks=3))
    await until(there.backend, GroupPhase.RUNNING, going=3)
    kill = Kill(kind="AgentRun", name="hello-c002", author="somebody", why="a test", request_id="kill-once")
    first, second = await there.backend.act(kill), await there.backend.act(kill)
    assert first == second
    assert first.changed
    assert first.author == there.author
    later = await there.backend.act(kill.model_copy(update={"request_id": ""}))
    assert not later.changed
    other = Kill(kind="AgentRun", name="hello-c001", request_id="kill-once")
    assert (await refused(there.backend.act(other))).code is ErrorCode.CONFLICT


async def test_an_action_that_does_not_fit_is_refused_with_the_reason(there: Reached) -> None:
    await there.backend.apply(spec(family="slow", tasks=2))
    await until(there.backend, GroupPhase.RUNNING, going=2)
    error = await refused(there.backend.act(ExtendCap(kind="AgentGroup", name="hello", cap_usd=Decimal("1.00"))))
    assert error.code is ErrorCode.INVALID_ACTION
    assert "never lowered" in error.detail
    raised = await there.backend.act(ExtendCap(kind="AgentGroup", name="hello", cap_usd=Decimal("6.000000001")))
    assert [(change.field, change.old, change.new) for change in raised.changes] == [("maxCostUSD", "5.00", "6.000000001")]
    assert (await refused(there.backend.act(Delete(kind="AgentGroup", name="hello")))).code is ErrorCode.INVALID_ACTION


async def test_an_apply_with_an_id_is_done_once(there: Reached) -> None:
    first = await there.backend.apply(spec(), request_id="apply-once")
    second = await there.backend.apply(spec(), request_id="apply-once")
    assert first == second
    assert {each.outcome for each in second.documents} == {"created"}
    assert (await refused(there.backend.apply(spec("other"), request_id="apply-once"))).code is ErrorCode.CONFLICT


async def test_the_stream_adds_up_to_the_present_and_resumes_from_any_cursor(there: Reached) -> None:
    await there.backend.apply(spec(tasks=8, active=2))
    await until(there.backend, GroupPhase.COMPLETED)
    final = await there.backend.snapshot(runs_of="")

    async def told_after(cursor: int) -> list[Event]:
        told: list[Event] = []
        async with aclosing(cast("Any", there.backend.watch(after=cursor))) as batches:
            while cursor < final.cursor:
                batch = await anext(batches)
                assert batch.cursor > cursor
                assert all(cursor < event.cursor <= batch.cursor for event in batch.events)
                cursor = batch.cursor
                told += batch.events
        return told

    whole = await told_after(0)
    groups: dict[str, AgentGroup | None] = {}
    runs: dict[str, AgentRun | None] = {}
    for event in whole:
        if event.kind == "AgentGroup":
            groups[event.name] = group_after(groups.get(event.name), event)
        elif event.kind == "AgentRun":
            runs[event.name] = run_after(runs.get(event.name), event)
    assert [group.status for group in groups.values() if group] == [group.status for group in final.groups]
    assert {name: run.status.phase for name, run in runs.items() if run and run.status} == {
        run.name: run.status.phase for run in final.runs if run.status
    }
    middle = whole[len(whole) // 2].cursor
    assert {(event.kind, event.name) for event in await told_after(middle)} <= {(event.kind, event.name) for event in whole}


async def test_snapshots_hold_the_runs_that_were_asked_for(there: Reached) -> None:
    await there.backend.apply(spec())
    await there.backend.apply(spec("other", tasks=2))
    await until(there.backend, GroupPhase.COMPLETED)
    await until(there.backend, GroupPhase.COMPLETED, "other")
    assert [len((await there.backend.snapshot(runs_of=which)).runs) for which in (None, "", "hello", "other", "none")] == [0, 7, 5, 2, 0]


async def test_estimates_are_exact(there: Reached) -> None:
    made = await there.backend.estimate(spec(tasks=100, cap="10.00"), minutes_per_case=Decimal(10))
    assert made == await there.local.estimate(spec(tasks=100, cap="10.00"), minutes_per_case=Decimal(10))
    estimate = made[0]
    assert isinstance(estimate, Estimate)
    assert estimate.model_ceiling_usd == Decimal("10.00")
    assert estimate.sandbox_minutes == 1000
    assert estimate.room_for_all


async def test_named_groups_are_stopped_alone_and_go_on_when_asked(there: Reached) -> None:
    await there.backend.apply(spec(family="slow", tasks=2))
    await there.backend.apply(spec("other", family="slow", tasks=2))
    await until(there.backend, GroupPhase.RUNNING, going=2)
    await until(there.backend, GroupPhase.RUNNING, "other", going=2)
    await there.backend.stop_work(grace_seconds=0, groups=("hello",))
    stopped = await until(there.backend, GroupPhase.INTERRUPTED)
    assert stopped.status is not None
    assert stopped.status.money.unconfirmed_usd > 0
    other = await there.backend.get("AgentGroup", "other")
    assert isinstance(other, AgentGroup)
    assert other.status is not None
    assert other.status.phase is GroupPhase.RUNNING
    outcome = await there.backend.act(Resume(group="hello"))
    assert outcome.changed
    await until(there.backend, GroupPhase.RUNNING, going=2)
