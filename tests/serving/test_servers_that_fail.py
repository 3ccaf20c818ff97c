"""Model servers that crash, hang or are stopped in the midst of a campaign: no verdict comes of it, and what frees it is told."""

import asyncio
import os
import shutil
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from engine_place import at_rest, group, in_phase, runs
from job_place import until, workspace
from serving_place import agent, campaign, group_now, lines, server, specs

from nodus_tui.contract.actions import ExtendCap, RetryJob

pytestmark = pytest.mark.timeout(60)

_SCHEDULER = """
import asyncio, sys
from pathlib import Path
from local_backend.backend import open_local
from nodus_tui.contract.backend import BackendOptions

async def main():
    folder = Path(sys.argv[1])
    async with await open_local(BackendOptions(home=folder / "home", config=folder / "config.yaml", role="work")):
        await asyncio.Event().wait()

asyncio.run(main())
"""


def folder(path: Path, *files: str) -> Path:
    """The server's folder with these files."""
    (path / "server").mkdir(exist_ok=True)
    for name in files:
        (path / "server" / name).touch()
    return path / "server"


async def until_called(path: Path, count: int = 1) -> None:
    """Return once so many calls have arrived at the server."""
    async with asyncio.timeout(30):
        while len(lines(path, "calls")) < count:
            await asyncio.sleep(0.02)


async def test_a_server_that_crashes_is_started_again_and_its_runs_go_on(tmp_path: Path) -> None:
    folder(tmp_path, "die")
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path, restarts=1))
        status = await at_rest(backend)
        assert (status.phase, status.verdicts) == ("Completed", {"Correct": 3})
        assert status.money.model_usd == status.money.unconfirmed_usd == 0
        assert len(lines(tmp_path, "starts")) == 2
        job = await until(backend, name="server")
        assert (job.phase, job.reason, job.attempt) == ("Succeeded", "NoLongerUsed", 2)
        assert job.serving is not None
        assert job.serving.restarts == 1
        calls = [call for run in await runs(backend) for call in (await backend.transcript(run.name)).calls]
        lost = [call for call in calls if call.state == "Unconfirmed"]
        assert lost
        assert {call.cost_usd for call in lost} == {Decimal(0)}
        assert "before a complete answer came" in lost[0].error


async def test_a_server_that_crashes_for_good_stalls_its_groups_until_it_is_tried_again(tmp_path: Path) -> None:
    folder(tmp_path, "die")
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path))
        job = await until(backend, name="server")
        assert (job.phase, job.reason, job.exit_code) == ("Failed", "NonZeroExit", 137)
        stalled = await in_phase(backend, "Stalled")
        assert (stalled.reason, stalled.verdicts, stalled.pending, stalled.going) == ("WaitingForModel", {}, 3, 0)
        assert "job server (Failed, it was ended by SIGKILL); `nodus-tui retry job/server` starts it again" in stalled.message
        for run in await runs(backend):
            assert run.status is not None
            assert (run.status.phase, run.status.reason) == ("Pending", "WaitingForModel")
        await backend.act(RetryJob(kind="Job", name="server"))
        assert (await at_rest(backend)).verdicts == {"Correct": 3}


async def test_an_agents_files_wait_for_the_server_too(tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        assert not os.environ.get("CI"), "CI must have bubblewrap"
        pytest.skip("bubblewrap is not installed")
    place = folder(tmp_path, "die-later")
    async with workspace(tmp_path, "sandboxes: {engine: bubblewrap}\n") as backend:
        documents = [server(place), agent(tools=["bash"]), group(tasks=1)]
        await backend.apply(specs(tmp_path, *documents))
        stalled = await in_phase(backend, "Stalled")
        assert (stalled.reason, stalled.going) == ("WaitingForModel", 0)
        (run,) = await runs(backend)
        assert run.status is not None
        assert run.status.sandbox is not None
        assert (run.status.phase, run.status.turns) == ("Pending", 1)
        assert (run.status.sandbox.running, run.status.sandbox.files_kept) == (False, True)
        await backend.act(RetryJob(kind="Job", name="server"))
        assert (await at_rest(backend)).verdicts == {"Correct": 1}


async def test_a_server_that_does_not_answer_for_a_while_is_told_and_waited_for(tmp_path: Path) -> None:
    place = folder(tmp_path, "hold")
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path, tasks=1, startTimeout="1m"))
        await until_called(tmp_path)
        (place / "unwell").touch()
        status = await until(backend, "Serving", reason="NotAnswering", name="server")
        assert status.serving is not None
        assert not status.serving.answering
        assert status.message.startswith("its health check GET /health stopped answering at ")
        async with asyncio.timeout(30):
            while (await group_now(backend)).reason != "WaitingForModel":
                await asyncio.sleep(0.02)
        assert (await group_now(backend)).phase == "Running"
        (place / "unwell").unlink()
        (place / "hold").unlink()
        assert (await at_rest(backend)).verdicts == {"Correct": 1}


async def test_a_server_that_hangs_is_ended_after_its_start_timeout(tmp_path: Path) -> None:
    place = folder(tmp_path)
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path, startTimeout="12s", keep=True))
        await at_rest(backend)
        (place / "silent").touch()
        status = await until(backend, name="server")
        assert (status.phase, status.reason) == ("Failed", "NotAnswering")
        assert "its health check did not answer any more" in status.message


async def test_a_server_at_its_cap_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    place = folder(tmp_path, "hold")
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path, tasks=1, spec={"maxCostUSD": "0.03"}))
        await until(backend, name="server")
        await in_phase(backend, "Stalled")
        (place / "hold").unlink()
        await backend.act(ExtendCap(kind="Job", name="server", cap_usd=Decimal(1)))
        assert (await at_rest(backend)).verdicts == {"Correct": 1}


async def test_a_budget_that_stops_the_server_lets_its_groups_wait(tmp_path: Path) -> None:
    folder(tmp_path, "hold")
    budget = {
        "apiVersion": "nodus.dev/v1",
        "kind": "Budget",
        "metadata": {"name": "gpus"},
        "spec": {"limitUSD": "1.00", "scope": {"project": "gpus"}},
    }
    async with workspace(tmp_path, 'jobs: {stopGrace: 1s}\nrates: {CPU: "36"}\n') as backend:
        await backend.apply(specs(tmp_path, budget))
        bundle = campaign(tmp_path, tasks=1, project="gpus")
        await backend.apply(bundle)
        await until_called(tmp_path)
        lowered = {**budget, "spec": {"limitUSD": "0.01", "scope": {"project": "gpus"}}}
        await backend.apply(specs(tmp_path, lowered))
        job = await until(backend, name="server")
        assert (job.phase, job.reason) == ("Cancelled", "BudgetExceeded")
        stalled = await in_phase(backend, "Stalled")
        assert "when that budget has room, `nodus-tui retry job/server` starts it again" in stalled.message


async def test_a_scheduler_that_is_killed_finds_the_server_again_and_its_group_goes_on(tmp_path: Path) -> None:
    place = folder(tmp_path, "hold")
    async with workspace(tmp_path, role="look") as backend:
        await backend.apply(campaign(tmp_path))
    scheduler = await asyncio.create_subprocess_exec(sys.executable, "-c", _SCHEDULER, str(tmp_path))
    try:
        await until_called(tmp_path)
    finally:
        scheduler.kill()
        await scheduler.wait()
    (pid,) = lines(tmp_path, "starts")
    os.kill(int(pid), 0)
    (place / "hold").unlink()
    async with workspace(tmp_path) as backend:
        assert (await at_rest(backend)).verdicts == {"Correct": 3}
        assert (await until(backend, name="server")).reason == "NoLongerUsed"
    assert lines(tmp_path, "starts") == [pid]
