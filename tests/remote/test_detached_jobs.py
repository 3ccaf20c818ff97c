"""Jobs under a detached scheduler: they outlive its death, their caps hold without it, and the next one books their time."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from detached import DetachedWorkspace, in_folder

from local_backend.jobs.process_tree import MARK

pytestmark = pytest.mark.timeout(100)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[DetachedWorkspace]:
    found = in_folder(tmp_path)
    found.config.write_text('rates: {CPU: "36"}\njobs: {stopGrace: 2s}\n', encoding="utf-8")
    await found.scheduler.ensure()
    yield found
    await asyncio.to_thread(found.called, "kill", "--yes", "job/work")


def spec(place: DetachedWorkspace, program: str, **more: Any) -> str:
    document = {
        "apiVersion": "nodus.dev/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {"command": [sys.executable, "-u", "-c", program], "maxCostUSD": "100", "network": True, **more},
    }
    return place.write(json.dumps(document), "work.json")


async def nodus(place: DetachedWorkspace, *arguments: str) -> str:
    asks_only = arguments[0] in {"get", "kill", "cp", "describe"}
    done = await asyncio.to_thread(place.called if asks_only else place.installed, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def status(place: DetachedWorkspace) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await nodus(place, "get", "job/work", "-o", "json"))["status"]
    return found


def marked(folder: Path) -> list[psutil.Process]:
    """Everything that runs of jobs below a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            environ, status = process.environ(), process.status()
        except psutil.Error:
            continue
        if MARK in environ and environ.get("TMPDIR", "").startswith(str(folder)) and status != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


async def test_a_job_outlives_a_killed_scheduler_and_the_next_one_books_all_its_time(place: DetachedWorkspace) -> None:
    go = place.folder / "go"
    program = f"import os, time\nprint('up')\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\nprint('done')"
    await nodus(place, "run", "--detach", "-f", spec(place, program))
    while (await status(place))["phase"] != "Running":
        await asyncio.sleep(0.05)
    await place.kill_scheduler()
    assert len(marked(place.folder)) == 1
    go.touch()
    # Nobody schedules, and the end is written down all the same.
    report = place.home / "jobs" / "work" / "report.json"
    while json.loads(report.read_text())["state"] != "Ended":
        await asyncio.sleep(0.05)
    assert "work" in await nodus(place, "wait", "job/work")
    found = await status(place)
    assert (found["phase"], found["exitCode"]) == ("Succeeded", 0)
    seconds = (datetime.fromisoformat(found["endedAt"]) - datetime.fromisoformat(found["startedAt"])).total_seconds()
    assert float(found["costUSD"]) == pytest.approx(seconds * 0.01, abs=1e-6)
    assert await nodus(place, "logs", "work") == "up\ndone\n"


async def test_its_cap_holds_while_no_scheduler_lives(place: DetachedWorkspace) -> None:
    program = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\nwhile True: time.sleep(1)"
    await nodus(place, "run", "--detach", "-f", spec(place, program, maxCostUSD="0.05"))
    while (await status(place))["phase"] != "Running":
        await asyncio.sleep(0.05)
    await place.kill_scheduler()
    report = place.home / "jobs" / "work" / "report.json"
    while json.loads(report.read_text())["state"] != "Ended":
        await asyncio.sleep(0.05)
    assert marked(place.folder) == []
    done = await asyncio.to_thread(place.installed, "wait", "job/work")
    assert done.returncode == 3, done.stderr
    found = await status(place)
    assert found["reason"] == "MaxCostReached"
    assert 0.03 < float(found["costUSD"]) <= 0.05


async def test_a_kill_without_a_scheduler_ends_the_job_and_books_it(place: DetachedWorkspace) -> None:
    await nodus(place, "run", "--detach", "-f", spec(place, "import time\ntime.sleep(300)"))
    while (await status(place))["phase"] != "Running":
        await asyncio.sleep(0.05)
    stopped = await asyncio.to_thread(place.installed, "scheduler", "stop")
    assert "go on: work" in stopped.stderr
    assert len(marked(place.folder)) == 1
    assert "killed work; it cost $0." in await nodus(place, "kill", "--yes", "job/work")
    assert marked(place.folder) == []
    assert (await status(place))["reason"] == "Killed"


async def test_an_interrupted_job_is_resumed_by_that_word_too_and_no_other_is(place: DetachedWorkspace) -> None:
    await nodus(place, "run", "--detach", "-f", spec(place, "import time\ntime.sleep(300)"))
    while not (found := marked(place.folder)):
        await asyncio.sleep(0.05)
    going = await asyncio.to_thread(place.called, "resume", "job/work", "--no-wait")
    assert going.returncode == 2
    assert re.search(r"work is (Pending|Running): only what is interrupted is resumed; `nodus-tui retry job/work`", going.stderr)
    os.kill(found[0].ppid(), signal.SIGTERM)
    while (await status(place))["phase"] != "Interrupted":
        await asyncio.sleep(0.05)
    resumed = await asyncio.to_thread(place.called, "resume", "job/work", "--no-wait", "-o", "json")
    assert resumed.returncode == 0, resumed.stderr
    assert (await status(place))["attempt"] == 2


async def test_following_a_log_goes_on_to_the_end_and_ctrl_c_in_run_leaves_the_job_alone(place: DetachedWorkspace) -> None:
    go = place.folder / "go"
    program = f"import os, time\nprint('up')\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\nprint('done')"
    run = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("nodus-tui"),
        *("run", "-f", spec(place, program)),
        env=place.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert run.stderr is not None
    while (line := await run.stderr.readline()) != b"up\n":
        assert line.startswith(b"nodus-tui: ")
    run.terminate()
    _, said = await run.communicate()
    assert run.returncode == 130
    assert b"work goes on" in said
    follow = asyncio.create_task(nodus(place, "logs", "--follow", "work"))
    go.touch()
    assert await follow == "up\ndone\n"
