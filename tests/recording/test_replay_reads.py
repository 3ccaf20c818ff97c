"""A recording read back: the same answers as the backend gave, the same stream, the same state at every place."""

import asyncio
from collections.abc import Awaitable
from math import inf
from pathlib import Path

import pytest
from recording_place import BEGAN, Steady, played_to_end, recorded, replayed, watch_until_rest, watched_campaign
from ways import bundle_of

from nodus_tui.contract.actions import Kill
from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.playback import Replayed
from nodus_tui.contract.resources.job import JobLog
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.recording.logs import part_of, put_together
from nodus_tui.view_state.folding import group_after, run_after


async def refusal(call: Awaitable[object]) -> tuple[ErrorCode, str]:
    with pytest.raises(NodusError) as caught:
        await call
    return caught.value.code, caught.value.detail


async def test_every_answer_that_was_looked_at_is_given_again(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=4)
        run = "hello-c001"
        live = place.backend
        told = [
            await live.results("hello"),
            await live.transcript(run),
            await live.get("Agent", "solver"),
            await live.list("Agent"),
            await live.gpus(),
            await live.sandboxes(),
        ]
        refused = [await refusal(live.results("none")), await refusal(live.files(run))]
        whole, group = await live.snapshot(runs_of="hello"), await live.get("AgentGroup", "hello")
        runs, page = await live.list("AgentRun"), await live.list("AgentRun", Query(group="hello", limit=3))
        info = await place.local.info()
        await live.info()
        backend: Backend
        async with replayed(place.path) as backend:
            assert isinstance(backend, Replayed)
            backend.jump(backend.playback.length)
            assert await backend.snapshot(runs_of="hello") == whole
            assert (await backend.snapshot()).runs == ()
            assert await backend.get("AgentGroup", "hello") == group
            assert await backend.list("AgentRun") == runs
            assert await backend.list("AgentRun", Query(group="hello", limit=3)) == page
            assert [
                await backend.results("hello"),
                await backend.transcript(run),
                await backend.get("Agent", "solver"),
                await backend.list("Agent"),
                await backend.gpus(),
                await backend.sandboxes(),
            ] == told
            assert [await refusal(backend.results("none")), await refusal(backend.files(run))] == refused
            shown = await backend.info()
            assert (shown.models, shown.environments, shown.workspace) == (info.models, info.environments, info.workspace)
            assert (shown.scheduling, shown.scheduler_elsewhere, shown.role) == (False, False, "viewer")


async def test_the_stream_adds_up_to_what_was_and_resumes_from_any_cursor(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=5, active=2)
        final = await place.local.snapshot(runs_of="")
        async with replayed(place.path) as backend:
            start = await backend.snapshot(runs_of="")
            assert start.groups == ()
            whole = await played_to_end(backend, start.cursor, final.cursor)
            groups, runs = {}, {}
            for event in whole:
                if event.kind == "AgentGroup":
                    groups[event.name] = group_after(groups.get(event.name), event)
                elif event.kind == "AgentRun":
                    runs[event.name] = run_after(runs.get(event.name), event)
            assert list(groups.values()) == list(final.groups)
            # Which of two runs begins first is the machine's choice.
            assert runs == {run.metadata.name: run for run in final.runs}
            told = await backend.snapshot(runs_of="")
            assert told == final
            middle = whole[len(whole) // 2].cursor
            assert {event.cursor for event in await played_to_end(backend, middle, final.cursor)} == {
                event.cursor for event in whole if event.cursor > middle
            }


async def test_each_place_shows_what_was_there_whichever_way_one_comes(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=3, active=1)
        async with replayed(place.path, speed=1) as backend:
            length = int(backend.playback.length)
            forward = []
            for second in range(length + 1):
                backend.jump(second)
                forward.append(await backend.snapshot(runs_of=""))
            assert len({snapshot.cursor for snapshot in forward}) > 3
            assert forward[0].groups == ()
            assert forward[-1].groups[0].status.phase is GroupPhase.COMPLETED
            for second in reversed(range(length + 1)):
                backend.jump(second)
                assert await backend.snapshot(runs_of="") == forward[second]


async def test_time_moves_at_the_speed_stands_still_and_never_passes_the_end(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=1)
        place.steady.seconds = 100
        await place.backend.info()
    steady = Steady()
    async with replayed(place.path, steady=steady, speed=2) as backend:
        assert backend.playback.length == 100
        steady.seconds = 10
        assert backend.playback.place == 20
        assert (backend.now() - BEGAN).total_seconds() == 20
        backend.pause(paused=True)
        steady.seconds = 1000
        assert backend.playback.place == 20
        backend.pause(paused=False)
        backend.set_speed(0.5)
        steady.seconds = 1010
        assert backend.playback.place == 25
        steady.seconds = 9999
        assert backend.playback.place == 100
        assert backend.playback.ended
        backend.jump(-5)
        assert backend.playback.place == 0


async def test_a_waiting_stream_goes_on_from_where_somebody_jumps(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=2)
        async with replayed(place.path, speed=1) as backend:
            stream = backend.watch(after=(await backend.snapshot()).cursor)
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            assert not waiting.done()
            backend.jump(backend.playback.length - 1.5)
            jumped = await backend.snapshot()
            backend.set_speed(inf)
            assert (await waiting).cursor > jumped.cursor
            await stream.aclose()


async def test_what_nobody_looked_at_is_not_there_and_what_came_later_says_when(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=2)
        place.steady.seconds = 90
        await place.backend.transcript("hello-c002")
        async with replayed(place.path, speed=1) as backend:
            with pytest.raises(NodusError, match="nobody looked at the conversation of hello-c001 while this was recorded") as caught:
                await backend.transcript("hello-c001")
            assert caught.value.code is ErrorCode.NOT_FOUND
            with pytest.raises(NodusError, match="holds the conversation of hello-c002 from 1:30 on, and stands at 0:00"):
                await backend.transcript("hello-c002")
            with pytest.raises(NodusError, match='there is no AgentGroup "none"'):
                await backend.get("AgentGroup", "none")
            with pytest.raises(NodusError, match="the results of none"):
                await backend.results("none")


async def test_nothing_can_be_done_in_a_recording(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        await watched_campaign(place, tasks=1)
        async with replayed(place.path) as backend:
            for call in (
                backend.act(Kill(kind="AgentGroup", name="hello")),
                backend.apply(SpecBundle(())),
                backend.apply(SpecBundle(()), dry_run=True),
                backend.estimate(SpecBundle(()), minutes_per_case=10),
                backend.reap_sandboxes(),
                backend.stop_work(grace_seconds=0),
                anext(backend.check_environment("nodus/arithmetic-v2")),
            ):
                with pytest.raises(NodusError, match="this is a recording of local at /here, 2026-03-01") as caught:
                    await call
                assert caught.value.code is ErrorCode.FORBIDDEN
            for stream in (backend.read_file("hello-c001", "a"), backend.read_job_file("job", "a")):
                with pytest.raises(NodusError, match="the names of files, and not what is in them"):
                    await anext(stream)


async def test_a_log_grows_as_it_was_read_and_whoever_waits_for_more_gets_it(tmp_path: Path) -> None:
    job = """\
apiVersion: nodus.dev/v1
kind: Job
metadata: {name: talk}
spec:
  command: [sh, -c, "printf 'one\\ntwo\\n'"]
  maxCostUSD: "0.10"
"""
    async with recorded(tmp_path) as place:
        await place.backend.snapshot()
        await place.backend.apply(bundle_of(job))
        place.steady.seconds = 10
        log = await place.backend.job_log("talk", wait_seconds=20)
        while not log.ended:
            place.steady.seconds += 10
            log = await place.backend.job_log("talk", after=log.next_offset, wait_seconds=20)
        whole = await place.local.job_log("talk")
    async with replayed(place.path, speed=1) as backend:
        with pytest.raises(NodusError, match="holds the log of talk from 0:10 on"):
            await backend.job_log("talk")
        backend.jump(10)
        first = await backend.job_log("talk", after=-100)
        assert whole.text.startswith(first.text)
        backend.set_speed(inf)
        text = first.text
        while not first.ended:
            first = await backend.job_log("talk", after=first.next_offset, wait_seconds=20)
            text += first.text
        assert text == whole.text == "one\ntwo\n"
        assert (await backend.job_log("talk", after=4)).text == "two\n"
        assert (await backend.job_log("talk", after=99)).text == ""


def piece(offset: int, text: str, **values: bool) -> JobLog:
    end = offset + len(text.encode())
    return JobLog(job="j", offset=offset, next_offset=end, size=end, text=text, **{"ended": False, **values})


def test_pieces_of_a_log_are_put_together_whatever_their_order_and_overlap() -> None:
    whole = put_together([piece(0, "abc"), piece(0, "ab"), piece(2, "cdé"), piece(6, "f", ended=True)])
    assert whole is not None
    assert (whole.offset, whole.next_offset, whole.text, whole.ended) == (0, 7, "abcdéf", True)
    assert part_of(whole, 3).text == "déf"
    assert (part_of(whole, -2).offset, part_of(whole, -2).text) == (5, "\ufffdf")
    assert (part_of(whole, 50).text, part_of(whole, 50).next_offset) == ("", 50)
    later = put_together([piece(0, "abc"), piece(10, "xyz")])
    assert later is not None
    assert (part_of(later, 4).offset, part_of(later, 4).skipped, part_of(later, 4).text) == (10, 6, "xyz")
    assert put_together([]) is None


SWEEP = """\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {name: solver}
spec:
  system: Calculate.
  model: {families: [perfect], maxTokens: 100}
  perRunMaxCostUSD: "0.10"
---
apiVersion: nodus.dev/v1
kind: Sweep
metadata: {name: both}
spec:
  maxCostUSD: "2.00"
  matrix: {shards: 2}
  template:
    kind: AgentGroup
    spec:
      agent: solver
      maxActive: 2
      maxCostUSD: "0.50"
      evaluation: {environment: nodus/arithmetic-v2@2.0.0, tasks: 2, seed: 7}
"""


async def test_cells_of_a_sweep_are_as_the_stream_told_since_somebody_asked(tmp_path: Path) -> None:
    async with recorded(tmp_path) as place:
        snapshot = await place.backend.snapshot()
        place.steady.seconds += 1
        await place.backend.apply(bundle_of(SWEEP))
        early = await place.backend.sweep_results("both")
        place.steady.seconds += 1
        await watch_until_rest(place, snapshot.cursor)
        final = await place.local.sweep_results("both")
        assert {cell.phase for cell in early.cells} != {cell.phase for cell in final.cells}
        async with replayed(place.path) as backend:
            backend.jump(backend.playback.length)
            told = (await backend.sweep_results("both")).cells
            assert [(cell.name, cell.phase) for cell in told] == [(cell.name, cell.phase) for cell in final.cells]
            backend.jump(1)
            assert (await backend.sweep_results("both")).cells == early.cells
            assert (await backend.snapshot()).sweeps == ()
            backend.jump(2)
            assert [sweep.name for sweep in (await backend.snapshot()).sweeps] == ["both"]
