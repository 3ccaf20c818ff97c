"""Sweeps over real groups and jobs: they start under the cap and in the places, stall, are extended, retried, killed, and end."""

import asyncio
from decimal import Decimal

import pytest
from aiohttp import web
from engine_place import Place, agent, environment, run_status, runs, status, until
from model_server import ModelServer, Seen, reply, solve
from sweep_work import cell, cell_until, group_sweep, job_sweep, launch, sweep_in, sweep_status, sweep_until

from local_backend.backend import LocalBackend
from local_backend.sweeps.engine import SweepEngine
from local_backend.working import Working
from nodus_tui.contract.actions import Action, Delete, ExtendCap, Kill, PauseSweep, ResumeSweep, Retry, RetryCells, RetryJob
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.outcomes import ActionOutcome
from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.contract.resources.job import Job

pytestmark = pytest.mark.timeout(60)


async def extend(backend: LocalBackend, kind: str, name: str, cap: str) -> ActionOutcome:
    return await backend.act(ExtendCap.model_validate({"kind": kind, "name": name, "cap_usd": Decimal(cap)}))


async def refusal(call: object) -> NodusError:
    with pytest.raises(NodusError) as refused:
        await call  # type: ignore[misc]
    return refused.value


async def test_a_sweep_over_agents_and_shards_runs_every_cell_once_and_pools_its_shards(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), agent(name="other", cap="0.10"))
        outcome = await launch(place, backend, group_sweep(agents=["worker", "other"], shards=3))
        assert outcome.documents[0].message == "6 cells of AgentGroup, at most 2 at once, cap $10.00"
        done = await sweep_in(backend, "Completed")
        results = await backend.sweep_results("grid")
        groups = [await backend.results(each.name) for each in results.cells]
        labels = [(await backend.get("AgentGroup", each.name)).metadata.labels for each in results.cells]
    assert (done.cells, done.ended, done.going, done.failed) == (6, 6, 0, 0)
    assert done.cost_usd == done.spent_usd == sum(each.cost.model_usd for each in groups) > 0
    assert done.spent_usd + done.reserved_usd + done.left_usd == done.cap_usd == Decimal("10.00")
    assert server.served == 12
    assert labels == [{"team": "a", "nodus.dev/sweep": "grid"}] * 6
    for agent_name in ("worker", "other"):
        mine = [each for each in groups if each.agent.name == agent_name]
        assert [each.environment.shard.index for each in mine if each.environment and each.environment.shard] == [1, 2, 3]
        assert len({case.task_id for each in mine for case in each.results}) == 6
    assert [(dict(pool.axes), pool.rate.coverage.scored, len(pool.tasks)) for pool in results.pooled] == [
        ({"agent": "worker"}, 6, 6),
        ({"agent": "other"}, 6, 6),
    ]


async def test_no_more_cells_go_at_once_than_places_and_each_other_says_what_it_waits_for(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=4, parallel=2))
        await server.until_seen(4)
        going = await sweep_until(backend, lambda each: each.reserved_usd > 0)
        assert (going.going, going.reserved_usd, going.left_usd) == (2, Decimal("2.00"), Decimal("8.00"))
        assert (await cell(backend, 3)).message == "waits for one of 2 places (maxParallel)"
        assert not (await cell(backend, 3)).launched
        server.hold.set()
        assert (await sweep_in(backend, "Completed")).ended == 4


async def test_a_sweep_stalls_at_its_cap_says_by_how_much_and_a_raise_lets_it_go_on(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=3, cap="1.00", parallel=3))
        stalled = await sweep_in(backend, "Stalled")
        assert (stalled.ended, stalled.going, stalled.reason) == (1, 0, "MaxCostReached")
        spent = stalled.spent_usd
        assert stalled.message.startswith("2 cells cannot start: raise the sweep's cap by $")
        assert stalled.needed_cap_usd == 2 * Decimal("1.00") + spent
        waiting = await cell(backend, 2)
        assert "of the sweep's cap: it needs $1.00" in waiting.message
        assert waiting.reason == "MaxCostReached"
        lower = await refusal(extend(backend, "Sweep", "grid", "0.50"))
        assert lower.detail == "a cap is raised, never lowered: grid has $1.00 now"
        raised = await extend(backend, "Sweep", "grid", "2.50")
        assert raised.message == "raised the cap of grid from $1.00 to $2.50"
        done = await sweep_in(backend, "Completed")
    assert (done.ended, done.cap_usd) == (3, Decimal("2.50"))
    assert done.cost_usd <= Decimal("2.50")


async def test_a_cell_that_stalls_gives_its_place_back_and_its_extension_is_asked_of_the_sweep(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        # No run of a cell can start under the cell's cap: each cell stalls with nothing spent, and the next one has its place.
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=3, cap="0.30", cell_cap="0.05", parallel=1))
        stalled = await sweep_in(backend, "Stalled")
        assert (stalled.stalled, stalled.going, stalled.reserved_usd) == (3, 0, Decimal("0.00"))
        assert "grid-1 stalls at its caps (2 cases cannot start" in stalled.message
        refused = await refusal(extend(backend, "AgentGroup", "grid-2", "0.31"))
        assert refused.code is ErrorCode.BUDGET_EXCEEDED
        assert refused.detail == (
            "grid-2 is a cell of sweep grid, and a cap of $0.31 for it does not fit under what the sweep has left: $0.30 of $0.30 is left "
            "($0.00 spent); raise the sweep's cap to at least $0.31"
        )
        assert (await status(backend, "grid-2")).money.cap_usd == Decimal("0.05")
        await extend(backend, "AgentGroup", "grid-2", "0.30")
        ended = await sweep_until(backend, lambda each: each.ended == 1)
        assert (await cell(backend, 2)).phase is GroupPhase.COMPLETED
        assert ended.left_usd == Decimal("0.30") - ended.spent_usd
        # Now that something is spent, the same cap does not fit any more.
        assert (await refusal(extend(backend, "AgentGroup", "grid-1", "0.30"))).code is ErrorCode.BUDGET_EXCEEDED
        await extend(backend, "AgentGroup", "grid-1", "0.20")
        await sweep_until(backend, lambda each: each.ended == 2)
        await backend.act(Kill(kind="Sweep", name="grid"))
        assert (await sweep_status(backend)).cost_usd <= Decimal("0.30")


async def test_what_a_cell_that_has_just_ended_held_is_there_for_an_extension(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_look(_: SweepEngine) -> None:
        return

    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=2, cap="0.30", cell_cap="0.05", parallel=1))
        await sweep_in(backend, "Stalled")
        monkeypatch.setattr(SweepEngine, "look", no_look)
        await extend(backend, "AgentGroup", "grid-2", "0.30")
        await until(backend, lambda: _ended(backend, "grid-2"))
        await extend(backend, "AgentGroup", "grid-1", "0.20")
        assert (await sweep_status(backend)).reserved_usd == Decimal("0.20")
        await until(backend, lambda: _ended(backend, "grid-1"))


async def _ended(backend: LocalBackend, group: str) -> bool:
    return (await status(backend, group)).phase is GroupPhase.COMPLETED


async def test_an_extension_waits_for_a_place_where_none_is_free(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.0001"), group_sweep(shards=1, repetitions=2, parallel=1, tasks=1))
        await sweep_in(backend, "Stalled")
        first, second = (await runs(backend, name="grid-1"))[0].name, (await runs(backend, name="grid-2"))[0].name
        server.hold = asyncio.Event()
        await extend(backend, "AgentRun", first, "0.10")
        await server.until_seen(1)
        queued = await extend(backend, "AgentRun", second, "0.10")
        assert queued.message == "grid-2 goes on as soon as the place of sweep grid is free (maxParallel)"
        assert (await run_status(backend, second)).phase is RunPhase.WAITING
        waits = await cell_until(backend, 2, lambda each: "is to go on" in each.message)
        assert waits.message == "is to go on, and waits for one of 1 place (maxParallel)"
        server.hold.set()
        assert (await sweep_in(backend, "Completed")).ended == 2
        assert server.served == 2


async def test_cells_that_broke_are_retried_within_their_caps_and_only_those(place: Place) -> None:
    flag = place.folder / "fixed"
    script = f"import os, sys; sys.exit(0 if os.environ['WHICH'] == 'good' or os.path.exists({str(flag)!r}) else 3)"
    async with place.backend() as backend:
        await launch(place, backend, job_sweep(script, parameters={"WHICH": ["good", "bad", "worse"]}, parallel=3))
        ended = await sweep_in(backend, "Completed")
        assert (ended.failed, ended.message) == (2, "2 of 3 cells ended broken or with cases unscored: a retry runs that again")
        assert [each.exit_code for each in (await backend.sweep_results("grid")).cells] == [0, 3, 3]
        flag.touch()
        assert not (await backend.act(RetryCells(name="grid", cells=("grid-1",)))).changed
        one = await backend.act(RetryCells(name="grid", cells=("grid-3",)))
        assert one.message == "grid: 1 cell tried again under the cap and in the places of the sweep"
        assert (await sweep_until(backend, lambda each: each.failed == 1 and each.phase == "Completed")).ended == 3
        # A cell's own job may be retried as any other; the sweep is asked, and reopened.
        await backend.act(RetryJob(kind="Job", name="grid-2"))
        done = await sweep_until(backend, lambda each: each.failed == 0 and each.phase == "Completed")
        jobs = [found for each in ("grid-1", "grid-2", "grid-3") if isinstance(found := await backend.get("Job", each), Job)]
    assert [each.status.phase for each in jobs if each.status] == ["Succeeded"] * 3
    assert done.cost_usd == sum((each.status.cost_usd for each in jobs if each.status), Decimal(0))
    assert done.message == ""


async def test_a_kill_ends_cells_gracefully_starts_no_other_and_a_retry_goes_on_with_all(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=3, parallel=1, tasks=6))
        await server.until_seen(4)
        killing = asyncio.ensure_future(backend.act(Kill(kind="Sweep", name="grid")))
        assert (await cell_until(backend, 3, lambda each: each.phase is GroupPhase.CANCELLED)).reason == "Killed"
        server.hold.set()
        outcome = await killing
        assert outcome.message.startswith("killed grid: 3 unfinished cells ended; all its cells have spent $")
        killed = await sweep_status(backend)
        assert (killed.phase, killed.reason, killed.ended, killed.failed) == (GroupPhase.CANCELLED, "Killed", 3, 3)
        assert killed.message == "killed: 3 of 3 cells were unfinished"
        # Calls in flight had the time to end, so that nothing is charged its worst case.
        assert (await status(backend, "grid-1")).money.unconfirmed_usd == 0
        assert killed.cost_usd == (await status(backend, "grid-1")).money.model_usd > 0
        assert not (await backend.act(Kill(kind="Sweep", name="grid"))).changed
        assert not (await backend.list("AgentGroup")).items[1:]
        again = await backend.act(RetryCells(name="grid"))
        assert again.message.startswith("grid: 3 cells tried again")
        done = await sweep_in(backend, "Completed")
    assert (done.ended, done.failed) == (3, 0)


async def test_a_sweep_that_is_being_killed_never_stands_as_interrupted(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.hold, resting, gate = asyncio.Event(), asyncio.Event(), asyncio.Event()
    perform = Working._perform

    async def held(working: Working, action: Action) -> ActionOutcome:
        if isinstance(action, Kill):
            resting.set()
            await gate.wait()
        return await perform(working, action)

    monkeypatch.setattr(Working, "_perform", held)
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(repetitions=2, parallel=1, tasks=6))
        await server.until_seen(4)
        killing = asyncio.ensure_future(backend.act(Kill(kind="Sweep", name="grid")))
        await cell_until(backend, 2, lambda each: each.reason == "Killed")
        server.hold.set()
        await resting.wait()
        assert (await status(backend, "grid-1")).phase is GroupPhase.INTERRUPTED
        working = backend._owner.working
        assert working is not None
        await working.sweeps.look()
        between = await sweep_status(backend)
        assert (between.phase, between.message) == (GroupPhase.RUNNING, "1 cell is being ended")
        gate.set()
        await killing
        assert (await sweep_in(backend, "Cancelled")).reserved_usd == 0


async def test_a_kill_asks_jobs_to_end_and_a_cell_that_was_not_launched_never_is(place: Place) -> None:
    script = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); print('up', flush=True); time.sleep(600)"
    async with place.backend() as backend:
        await launch(place, backend, job_sweep(script, repetitions=3, parallel=1))
        assert (await cell_until(backend, 1, lambda each: each.phase is GroupPhase.RUNNING)).launched
        assert (await backend.job_log("grid-1", wait_seconds=10)).text == "up\n"
        one = await backend.act(Kill(kind="Job", name="grid-3"))
        assert one.message == "killed grid-3; it was not launched"
        assert not (await backend.act(Kill(kind="Job", name="grid-3"))).changed
        await backend.act(Kill(kind="Sweep", name="grid"))
        results = await backend.sweep_results("grid")
    assert [(each.phase, each.reason, each.launched, each.exit_code) for each in results.cells] == [
        (GroupPhase.CANCELLED, "Killed", True, 7),
        (GroupPhase.CANCELLED, "Killed", False, None),
        (GroupPhase.CANCELLED, "Killed", False, None),
    ]


async def test_a_paused_sweep_starts_nothing_until_it_is_resumed(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=3, parallel=1))
        await server.until_seen(2)
        paused = await backend.act(PauseSweep(name="grid"))
        assert paused.message == "paused grid: no further cell starts; the 1 that goes now goes on to the end"
        assert not (await backend.act(PauseSweep(name="grid"))).changed
        server.hold.set()
        rests = await sweep_in(backend, "Interrupted")
        assert (rests.ended, rests.reason) == (1, "Paused")
        assert rests.message == "paused: 2 cells wait, and none starts until it is resumed"
        resumed = await backend.act(ResumeSweep(name="grid"))
        assert resumed.message == "grid goes on: 2 cells to start or to go on with"
        assert (await sweep_in(backend, "Completed")).ended == 3
        assert not (await backend.act(ResumeSweep(name="grid"))).changed


async def test_work_that_is_stopped_leaves_the_sweep_interrupted_and_a_resumption_goes_on_with_its_cells(
    place: Place, server: ModelServer
) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=3, parallel=2))
        await server.until_seen(4)
        await backend.stop_work(grace_seconds=0)
        rests = await sweep_in(backend, "Interrupted")
        assert (rests.going, rests.reserved_usd, rests.reason) == (0, Decimal("0.00"), "Interrupted")
        server.hold.set()
    async with place.backend() as backend:
        assert (await sweep_status(backend)).phase is GroupPhase.INTERRUPTED
        await backend.act(ResumeSweep(name="grid"))
        done = await sweep_in(backend, "Completed")
        spent = sum([(await status(backend, f"grid-{number}")).money.model_usd for number in (1, 2, 3)])
    assert (done.ended, done.failed, done.cost_usd) == (3, 0, spent)


async def test_what_a_sweep_needs_is_not_deleted_and_a_sweep_goes_with_its_cells(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=2, parallel=1))
        await server.until_seen(1)
        for kind, name in (("Agent", "worker"), ("Environment", "numbers"), ("AgentGroup", "grid-1"), ("Sweep", "grid")):
            assert (await refusal(backend.act(Delete(kind=kind, name=name)))).code is ErrorCode.INVALID_ACTION
        # Whoever comes later has the agent as the sweep was made with.
        await launch(place, backend, agent(cap="0.20"))
        server.hold.set()
        await sweep_in(backend, "Completed")
        assert [(await status(backend, f"grid-{number}")).agent_revision for number in (1, 2)] == [1, 1]
        deleted = await backend.act(Delete(kind="Sweep", name="grid"))
        assert deleted.message == "deleted Sweep grid with its 2 cells"
        assert not (await backend.list("AgentGroup")).items
        assert not (await backend.list("Sweep")).items
        assert (await refusal(backend.sweep_results("grid"))).code is ErrorCode.NOT_FOUND
        await launch(place, backend, group_sweep(shards=2))
        assert (await sweep_in(backend, "Completed")).ended == 2


async def test_cases_of_a_cell_are_retried_by_its_group_and_the_sweep_reserves_again(place: Place, server: ModelServer) -> None:
    broken = True

    async def answer(seen: Seen) -> web.Response:
        return web.Response(status=400, text="no") if broken else reply(solve(seen.last_user_text))

    server.answer = answer
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(shards=2))
        ended = await sweep_in(backend, "Completed")
        assert (ended.failed, ended.cost_usd) == (2, Decimal("0.00"))
        broken = False
        server.hold = asyncio.Event()
        await backend.act(Retry(group="grid-2"))
        going = await sweep_until(backend, lambda each: each.going == 1)
        assert (going.phase, going.reserved_usd, going.ended_at) == (GroupPhase.RUNNING, Decimal("1.00"), None)
        server.hold.set()
        done = await sweep_until(backend, lambda each: each.phase == "Completed" and each.failed == 1)
    assert done.reserved_usd == 0
    assert done.cost_usd > 0


async def test_an_extension_that_is_refused_leaves_the_cells_cap_as_it_was(place: Place) -> None:
    async with place.backend() as backend:
        await launch(place, backend, job_sweep(parameters={"N": [1]}, parallel=1))
        await sweep_in(backend, "Completed")
        refused = await refusal(backend.act(ExtendCap(kind="Job", name="grid-1", cap_usd=Decimal(5))))
        assert "there is nothing left to pay for" in refused.detail
        assert (await cell(backend, 1)).cap_usd == Decimal("0.10")
