"""The command line with a detached scheduler: what Ctrl-C, a closed terminal and `--detach` do to the work, and what they leave alone."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cli_workspace import COMMAND
from detached import DetachedWorkspace, going, in_folder, scored

pytestmark = pytest.mark.timeout(100)


@pytest.fixture
async def place(tmp_path: Path) -> DetachedWorkspace:
    found = in_folder(tmp_path)
    await found.scheduler.ensure()
    return found


class Started:
    """The command at work."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    async def says(self, part: str) -> str:
        assert self.process.stderr is not None
        while line := (await self.process.stderr.readline()).decode():
            self.said.append(line)
            if part in line:
                return line
        raise AssertionError(f"{part!r} was never said: {self.said}")

    async def result(self) -> tuple[int, Any]:
        out, err = await self.process.communicate()
        self.said += err.decode().splitlines(keepends=True)
        assert self.process.returncode is not None
        return self.process.returncode, json.loads(out) if out else None


@contextlib.asynccontextmanager
async def started(place: DetachedWorkspace, *arguments: str) -> AsyncIterator[Started]:
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=place.environment,
    )
    try:
        yield Started(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
async def test_one_signal_stops_the_command_s_own_groups_gracefully_and_no_other(place: DetachedWorkspace, stop: signal.Signals) -> None:
    assert place.called("apply", "-f", place.spec("other", family="slow", tasks=1, agent="solver-2")).returncode == 0
    async with started(place, "run", "-f", place.spec(family="steady", tasks=12, active=2), "--json") as command:
        await place.group_when("hello", going(2))
        command.process.send_signal(stop)
        await command.says("stopping: ")
        code, results = await command.result()
    assert code == 130
    assert results["phase"] == "Interrupted"
    assert results["cost"]["unconfirmedUSD"] == "0.00"
    assert any("nodus-tui resume hello" in line for line in command.said)
    assert not any("Traceback" in line for line in command.said)
    other = await place.group_when("other", going(1))
    assert other.status is not None
    assert other.status.phase == "Running"
    resumed = place.installed("resume", "hello", "--json", "--quiet")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["coverage"] == {"scored": 12, "total": 12}


async def test_a_second_signal_aborts_and_charges_the_worst_case(place: DetachedWorkspace) -> None:
    async with started(place, "run", "-f", place.spec(family="slow", tasks=3, active=2), "--json") as command:
        await place.group_when("hello", going(2))
        command.process.send_signal(signal.SIGINT)
        await command.says("stopping")
        command.process.send_signal(signal.SIGINT)
        await command.says("aborting")
        code, results = await command.result()
    assert code == 130
    assert results["phase"] == "Interrupted"
    assert Decimal(results["cost"]["unconfirmedUSD"]) > 0


async def test_a_closed_terminal_ends_the_watching_and_not_the_work(place: DetachedWorkspace) -> None:
    async with started(place, "run", "-f", place.spec(family="steady", tasks=12, active=2), "--json") as command:
        await place.group_when("hello", going(2))
        command.process.send_signal(signal.SIGHUP)
        code, results = await command.result()
    assert (code, results) == (130, None)
    assert not any("Traceback" in line for line in command.said)
    waited = place.installed("wait", "hello", "--json", "-q")
    assert waited.returncode == 0
    assert json.loads(waited.stdout)["coverage"] == {"scored": 12, "total": 12}


async def test_ctrl_c_in_wait_ends_the_waiting_only(place: DetachedWorkspace) -> None:
    assert place.installed("run", "-f", place.spec(family="slow", tasks=2), "--detach").returncode == 0
    async with started(place, "wait", "hello", "--json") as command:
        await place.group_when("hello", going(2))
        await command.says("Running")
        command.process.send_signal(signal.SIGINT)
        await command.says("goes on with the work")
        code, results = await command.result()
    assert code == 130
    assert results["phase"] == "Running"
    assert any("nodus-tui wait hello" in line for line in command.said)
    await place.group_when("hello", going(2))


async def test_a_run_that_was_left_is_taken_up_by_the_same_command(place: DetachedWorkspace) -> None:
    spec = place.spec(family="slow", tasks=2)
    left = place.installed("run", "-f", spec, "--detach", "--json")
    assert left.returncode == 0
    assert [each["name"] for each in json.loads(left.stdout)["documents"]] == ["solver", "hello"]
    assert "goes on in the background" in left.stderr
    async with started(place, "run", "-f", spec, "--json", "-q") as command:
        await command.says("already under way")
        assert (await asyncio.to_thread(place.installed, "kill", "hello", "--yes")).returncode == 0
        code, results = await command.result()
    assert code == 1
    assert results["phase"] == "Cancelled"
    ended = place.installed("run", "-f", spec, "--detach")
    assert ended.returncode == 0
    assert "already ended" in ended.stderr


async def test_time_that_runs_out_stops_the_run_and_ends_a_wait(place: DetachedWorkspace) -> None:
    waited = place.called("apply", "-f", place.spec("left", family="slow", tasks=1, agent="solver-2"))
    assert waited.returncode == 0
    await place.group_when("left", going(1))
    gave_up = place.installed("wait", "left", "--timeout", "1s", "--json", "-q")
    assert gave_up.returncode == 4
    assert json.loads(gave_up.stdout)["phase"] == "Running"
    stopped = place.installed("run", "-f", place.spec(family="steady", tasks=20, active=1), "--timeout", "1s", "--json", "-q")
    assert stopped.returncode == 4
    assert json.loads(stopped.stdout)["phase"] == "Interrupted"


async def test_looks_and_kills_start_nothing(tmp_path: Path) -> None:
    place = in_folder(tmp_path / "quiet")
    assert place.called("get", "groups").returncode == 0
    assert place.called("estimate", "-f", place.spec()).returncode == 0
    assert place.called("validate", "-f", place.spec()).returncode == 0
    assert place.called("apply", "-f", place.spec(), "--dry-run").returncode == 0
    assert place.called("--in-process", "apply", "-f", place.spec()).returncode == 0
    assert place.called("kill", "hello", "--yes").returncode == 0
    assert place.called("delete", "group/hello", "--yes").returncode == 0
    assert place.processes() == []
    assert place.installed("--in-process", "run", "-f", place.spec(), "-q").returncode == 0
    assert place.installed("--in-process", "run", "-f", place.spec("x"), "--detach").returncode == 2
    assert place.processes() == []


async def test_many_verbs_at_once_share_one_scheduler(place: DetachedWorkspace) -> None:
    specs = [place.spec(f"group-{number}", tasks=2, agent=f"solver-{number}") for number in range(3)]
    done = await asyncio.gather(*(asyncio.to_thread(place.installed, "run", "-f", spec, "-q", "--json") for spec in specs))
    assert [each.returncode for each in done] == [0, 0, 0], [each.stderr for each in done]
    assert len(await place.none_but(place.record().pid)) == 1


async def test_a_run_survives_the_crash_of_the_scheduler_that_works_for_it(place: DetachedWorkspace) -> None:
    async with started(place, "run", "-f", place.spec(family="steady", tasks=12, active=2), "--json") as command:
        await place.group_when("hello", scored(1))
        await place.kill_scheduler()
        code, results = await command.result()
    assert code == 0, command.said
    assert results["coverage"] == {"scored": 12, "total": 12}
    scored_calls = [Decimal(case["costUSD"]) for case in results["results"]]
    assert Decimal(results["cost"]["modelUSD"]) == sum(scored_calls)
