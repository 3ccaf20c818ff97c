"""Runs with tools, from spec to verdict, in real sandboxes: files, money, and what stops, kills and dead engines leave behind."""

import asyncio
import signal
from datetime import timedelta
from decimal import Decimal

import pytest
from agents_at_work import at_hand, content, launch, nothing_left, plays, results_of, worker
from aiohttp import web
from engine_place import Place, at_rest, environment, group, in_phase, run_status, runs
from model_server import ModelServer, Seen, asks
from other_process import child

from local_backend.backend import LocalBackend
from local_backend.episodes.workplace import Workplace
from nodus_tui.contract.actions import ExtendCap, Kill, Resume, Retry
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import usd_text
from nodus_tui.contract.phases import CallState, GroupPhase, Reason, RunPhase, Verdict

pytestmark = pytest.mark.timeout(60)


async def test_an_agent_works_in_its_sandbox_submits_and_is_graded(place: Place, server: ModelServer) -> None:
    program = {"path": "sum.py", "content": "print(0 + 1)\n"}
    plays(
        server,
        [
            asks(("write", program), ("bash", {"command": "python3 sum.py > out.txt; cat out.txt"})),
            asks(("submit", {"answer": "1"})),
        ],
    )
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=8, max_active=4))
        found = await at_rest(backend)
        results = await backend.results("campaign")
        some = (await runs(backend))[0].name
        transcript = await backend.transcript(some)
        told = await run_status(backend, some)
        files = await backend.files(some)
        out = await content(backend, some, "out.txt")
        left = await nothing_left(backend)
    assert found.phase is GroupPhase.COMPLETED
    assert sum(found.verdicts.values()) == 8
    assert found.verdicts.get("Correct", 0) <= 1
    assert [turn.role for turn in transcript.turns] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert results_of(transcript)[1].splitlines()[0] == "1"
    assert [call.name for turn in transcript.turns for call in turn.tool_calls] == ["write", "bash", "submit"]
    assert (out, [file.path for file in files]) == (b"1\n", ["out.txt", "sum.py"])
    assert told.sandbox is not None
    assert (told.sandbox.running, told.sandbox.files_kept, told.sandbox.hardware) == (False, True, "CPU")
    assert told.sandbox.seconds > 0
    assert results.cost.sandbox_usd == found.money.sandbox_usd > 0
    assert results.cost.model_usd == found.money.model_usd  # Apart from the sandboxes' money.
    assert left


async def test_no_key_of_the_scheduler_is_in_the_sandbox(place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN_API_KEY", "sk-do-not-tell")
    look = "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'"
    plays(server, [asks(("bash", {"command": look})), asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=1))
        await at_rest(backend)
        transcript = await backend.transcript("campaign-c001")
    assert "PATH=" in results_of(transcript)[0]
    assert "do-not-tell" not in str(transcript)


async def test_a_run_at_its_cap_gives_its_sandbox_back_and_its_successor_finds_the_files(place: Place, server: ModelServer) -> None:
    plays(
        server,
        [
            asks(("bash", {"command": "echo paid > work.txt; cd /tmp"})),
            asks(("bash", {"command": "cat /task/work.txt"})),
            asks(("submit", {"answer": "1"})),
        ],
    )
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=1, name="measure"))
        await at_rest(backend, "measure")
        first_call = (await backend.transcript("measure-c001")).calls[0].reserved_usd
        await launch(place, backend, worker(cap=usd_text(first_call)), group(tasks=1, cap="1.00"))
        await in_phase(backend, "Stalled")
        told = await run_status(backend, "campaign-c001")
        assert (told.phase, told.reason) == (RunPhase.WAITING, Reason.MAX_COST_REACHED)
        assert told.sandbox is not None
        assert (told.sandbox.running, await nothing_left(backend)) == (False, True)
        await backend.act(ExtendCap(kind="AgentRun", name="campaign-c001", cap_usd=Decimal("0.50")))
        await at_rest(backend)
        transcript = await backend.transcript("campaign-c001-2")
        successor = await run_status(backend, "campaign-c001-2")
    assert successor.verdict in {Verdict.CORRECT, Verdict.INCORRECT}
    assert successor.carried_usd == told.cost_usd > 0
    restarted = results_of(transcript)[1]
    assert "restarted" in restarted
    assert "paid" in restarted.splitlines()


async def test_a_kill_ends_a_command_at_once_and_leaves_nothing(place: Place, server: ModelServer) -> None:
    plays(server, [asks(("bash", {"command": "echo begun > new; mv new begun.txt; sleep 1000"}))])
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=1))

        async def begun() -> bool:
            return any(file.path == "begun.txt" for file in await backend.files("campaign-c001"))

        while not await at_hand(begun):
            await asyncio.sleep(0)
        await backend.act(Kill(kind="AgentGroup", name="campaign"))
        found = await at_rest(backend)
        told = await run_status(backend, "campaign-c001")
        kept = await content(backend, "campaign-c001", "begun.txt")
        assert await nothing_left(backend)
    assert (found.phase, told.phase) == (GroupPhase.CANCELLED, RunPhase.CANCELLED)
    assert kept == b"begun\n"


async def test_an_idle_sandbox_is_stopped_with_its_files_kept_and_started_again_by_the_next_command(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workplace, "idle_seconds", property(lambda workplace: 0.3))  # A spec's shortest is a minute.

    async def second(seen: Seen) -> web.Response:
        while (told := (await run_status(backend, "campaign-c001")).sandbox) is None or told.running:
            await asyncio.sleep(0)
        stopped.append((told.files_kept, await nothing_left(backend)))
        return asks(("bash", {"command": "cat ../work.txt; pwd"}))

    stopped: list[tuple[bool, bool]] = []
    work = "echo kept > work.txt; mkdir deep; cd deep"
    plays(server, [asks(("bash", {"command": work})), second, asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=1))
        await at_rest(backend)
        result = results_of(await backend.transcript("campaign-c001"))[1]
    assert stopped == [(True, True)]
    assert "restarted" in result
    assert result.splitlines()[1:3] == ["kept", "/task/deep"]


async def test_files_that_nobody_can_take_out_are_the_agent_s_own_doing_and_scored_as_unreadable(place: Place, server: ModelServer) -> None:
    # An archive has no holes: eight files of nearly the disk's size each are larger than any disk of this sandbox.
    huge = "for place in 1 2 3 4 5 6 7 8; do truncate -s 120M huge$place; done"
    plays(server, [asks(("bash", {"command": huge})), asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(sandbox={"diskGiB": 0.125}), group(tasks=1))
        await at_rest(backend)
        told = await run_status(backend, "campaign-c001")
        message = (await backend.transcript("campaign-c001")).grader_message
        assert await nothing_left(backend)
    assert (told.phase, told.verdict) == (RunPhase.SUCCEEDED, Verdict.INVALID_OUTPUT)
    assert "larger than" in message


async def test_a_stopped_scheduler_keeps_the_files_and_the_next_goes_on_from_them(place: Place, server: ModelServer) -> None:
    waiting = asyncio.Event()

    async def second(seen: Seen) -> web.Response:
        if not waiting.is_set():
            waiting.set()
            await asyncio.Event().wait()
        return asks(("bash", {"command": "cat work.txt"}))

    plays(server, [asks(("bash", {"command": "echo kept > work.txt"})), second, asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=1))
        await waiting.wait()
        await backend.stop_work(grace_seconds=0)
        assert (await run_status(backend, "campaign-c001")).phase is RunPhase.INTERRUPTED
        assert await nothing_left(backend)
    async with place.backend() as backend:
        await backend.act(Resume(group="campaign"))
        found = await at_rest(backend)
        transcript = await backend.transcript("campaign-c001")
    assert found.phase is GroupPhase.COMPLETED
    assert "kept" in results_of(transcript)[1].splitlines()


async def test_a_sandbox_that_dies_is_an_infrastructure_failure_and_a_retry_begins_afresh(place: Place, server: ModelServer) -> None:
    async def second(seen: Seen) -> web.Response:
        if not killed:
            (mine,) = [each for each in await backend.sandboxes() if each.mine]
            killed.append(mine.id)
            await destroy(backend, mine.id)
        return asks(("bash", {"command": "cat work.txt"}))

    killed: list[str] = []
    plays(server, [asks(("bash", {"command": "echo x > work.txt"})), second, asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(), group(tasks=1))
        await at_rest(backend)
        told = await run_status(backend, "campaign-c001")
        assert (told.phase, told.reason) == (RunPhase.FAILED, Reason.INFRASTRUCTURE_FAILURE)
        assert "sandbox" in told.message
        await backend.act(Retry(group="campaign"))
        await at_rest(backend)
        again = await run_status(backend, "campaign-c001-2")
        assert await nothing_left(backend)
    assert again.phase is RunPhase.SUCCEEDED
    assert again.carried_usd == 0


async def destroy(backend: LocalBackend, sandbox: str) -> None:
    """Remove a sandbox behind the scheduler's back."""
    engine = await backend.desk.pool.engine()
    (found,) = [each for each in await engine.list() if each.id == sandbox]
    await engine.remove(found)


async def test_a_run_ends_unscored_when_its_sandbox_money_is_used_up(place: Place, server: ModelServer) -> None:
    plays(server, [asks(("bash", {"command": "sleep 1000"}))])
    # $0.0075 an hour: so much pays for about seven seconds, of which five are set aside for taking the files out.
    sandbox = {"maxCostUSD": "0.000015"}
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(sandbox=sandbox), group(tasks=1))
        await at_rest(backend)
        told = await run_status(backend, "campaign-c001")
        assert await nothing_left(backend)
    assert (told.phase, told.reason, told.verdict) == (RunPhase.FAILED, Reason.SANDBOX_LIMIT_REACHED, None)
    assert told.sandbox is not None
    assert told.sandbox.cost_usd <= Decimal("0.000015")


async def test_what_no_engine_here_can_give_is_refused_at_apply(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        with pytest.raises(NodusError) as refused:
            await launch(place, backend, environment(), worker(sandbox={"hardware": "L4"}), group(tasks=1))
    assert refused.value.code is ErrorCode.NOT_SUPPORTED
    assert "L4" in refused.value.detail


@pytest.mark.parametrize("set_back", [timedelta(), timedelta(days=3)])
async def test_after_kill_9_the_work_in_a_sandbox_is_lost_and_nothing_else(place: Place, server: ModelServer, set_back: timedelta) -> None:
    """Nor is its time unpaid where the clock is set back before the next scheduler comes."""
    held = asyncio.Event()

    async def second(seen: Seen) -> web.Response:
        held.set()
        await asyncio.Event().wait()
        return asks(("submit", {"answer": "1"}))

    plays(server, [asks(("bash", {"command": "echo paid > work.txt"})), second])
    async with child(place, environment(), worker(), group(tasks=1)) as process:
        await held.wait()
        process.send_signal(signal.SIGKILL)
        await process.wait()
    place.clock.ahead -= set_back
    plays(server, [asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        await backend.reap_sandboxes()
        assert [each for each in await backend.sandboxes() if each.workspace == str(place.home)] == []
        found = await at_rest(backend)
        told = await run_status(backend, "campaign-c001")
        transcript = await backend.transcript("campaign-c001")
        assert (found.phase, told.phase) == (GroupPhase.INTERRUPTED, RunPhase.INTERRUPTED)
        assert "lost" in told.message
        assert [call.state for call in transcript.calls] == [CallState.SETTLED, CallState.UNCONFIRMED]
        assert told.sandbox is not None
        assert (told.sandbox.running, told.sandbox.cost_usd > 0) == (False, True)
        assert found.message == ("1 run is interrupted, the rest has ended; its sandbox was lost with the scheduler, so it begins afresh")
        with pytest.raises(NodusError, match="no files of campaign-c001 are kept here: its sandbox ended with the scheduler"):
            await backend.files("campaign-c001")
        outcome = await backend.act(Retry(group="campaign"))
        assert outcome.message == "campaign goes on: 1 case tried again, 1 of them afresh, for the work in their sandboxes is lost"
        assert (await at_rest(backend)).phase is GroupPhase.COMPLETED
        again = await run_status(backend, "campaign-c001-2")
    assert (again.phase, again.carried_usd) == (RunPhase.SUCCEEDED, 0)


async def test_after_kill_9_before_anything_was_done_in_the_sandbox_the_run_goes_on_by_itself(place: Place, server: ModelServer) -> None:
    held = asyncio.Event()

    async def first(seen: Seen) -> web.Response:
        held.set()
        await asyncio.Event().wait()
        return asks(("submit", {"answer": "1"}))

    plays(server, [first])
    async with child(place, environment(), worker(), group(tasks=1)) as process:
        await held.wait()
        process.send_signal(signal.SIGKILL)
        await process.wait()
    plays(server, [asks(("submit", {"answer": "1"}))])
    async with place.backend() as backend:
        found = await at_rest(backend)
        assert await nothing_left(backend)
    assert found.phase is GroupPhase.COMPLETED
    assert found.coverage.scored == 1
