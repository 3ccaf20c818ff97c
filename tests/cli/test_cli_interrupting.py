"""Ctrl-C on a real run of the installed command: an instant answer, a graceful stop, everything kept."""

import asyncio
import contextlib
import json
import re
import signal
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import pytest
from cli_workspace import COMMAND, Workspace

from nodus_tui.connect import open_backend
from nodus_tui.contract.backend import Backend, BackendOptions
from nodus_tui.contract.resources.agent_group import AgentGroup


class Started:
    """The command at work, with what it has said on stderr so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    async def says(self, part: str) -> str:
        """The next line on stderr with this part."""
        assert self.process.stderr is not None
        while line := (await self.process.stderr.readline()).decode():
            self.said.append(line)
            if part in line:
                return line
        raise AssertionError(f"{part!r} was never said: {self.said}")

    async def result(self) -> tuple[int, Any]:
        """Exit code and the JSON on stdout."""
        out, err = await self.process.communicate()
        self.said += err.decode().splitlines(keepends=True)
        assert self.process.returncode is not None
        return self.process.returncode, json.loads(out)


@contextlib.asynccontextmanager
async def started(workspace: Workspace, *arguments: str) -> AsyncIterator[Started]:
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=workspace.environment,
    )
    try:
        yield Started(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def group_when(workspace: Workspace, name: str, condition: Callable[[AgentGroup], bool]) -> None:
    """Wait, by the event stream of a second process's view, until the group fulfils the condition."""
    backend: Backend = await open_backend(BackendOptions(home=workspace.home, config=workspace.config, role="look"))
    async with backend:
        snapshot = await backend.snapshot()
        if any(group.name == name and condition(group) for group in snapshot.groups):
            return
        async for batch in backend.watch(after=snapshot.cursor):
            if any(event.group == name or event.name == name for event in batch.events):
                group = await backend.get("AgentGroup", name)
                assert isinstance(group, AgentGroup)
                if condition(group):
                    return


def calls_in_flight(count: int) -> Callable[[AgentGroup], bool]:
    return lambda group: group.status is not None and group.status.going >= count


@pytest.mark.parametrize(("stop", "again"), [(signal.SIGINT, ("resume", "hello")), (signal.SIGTERM, ("run", "-f", "hello.yaml"))])
async def test_one_signal_stops_gracefully_and_the_work_goes_on_later(
    workspace: Workspace, stop: signal.Signals, again: tuple[str, ...]
) -> None:
    spec = workspace.spec(family="steady", tasks=12, active=2)
    async with started(workspace, "run", "-f", spec, "--json") as command:
        await command.says("Running")
        await group_when(workspace, "hello", calls_in_flight(2))
        command.process.send_signal(stop)
        assert re.search(r"stopping: \d calls? in flight (is|are) finishing; again to abort", await command.says("stopping"))
        code, results = await command.result()
    assert code == 130
    assert results["phase"] == "Interrupted"
    assert 0 < results["pending"] < 12
    assert results["coverage"]["scored"] == 12 - results["pending"]
    assert results["cost"]["unconfirmedUSD"] == "0.00"
    assert any("nodus-tui resume hello" in line for line in command.said)
    assert not any("Traceback" in line for line in command.said)

    resumed = workspace.installed(*again, "--json", "--quiet")
    after = json.loads(resumed.stdout)
    assert resumed.returncode == 0, resumed.stderr
    assert after["coverage"] == {"scored": 12, "total": 12}
    scored_before = {case["run"]: case["costUSD"] for case in results["results"] if case["verdict"]}
    scored_after = {case["run"]: case["costUSD"] for case in after["results"]}
    assert scored_before.items() <= scored_after.items()


async def test_a_second_signal_aborts_and_charges_the_worst_case(workspace: Workspace) -> None:
    async with started(workspace, "run", "-f", workspace.spec(family="slow", tasks=3, active=2), "--json") as command:
        await command.says("Running")
        await group_when(workspace, "hello", calls_in_flight(2))
        command.process.send_signal(signal.SIGINT)
        await command.says("stopping")
        command.process.send_signal(signal.SIGINT)
        await command.says("aborting")
        code, results = await command.result()
    assert code == 130
    assert results["phase"] == "Interrupted"
    assert Decimal(results["cost"]["unconfirmedUSD"]) > 0
    assert not any("Traceback" in line for line in command.said)


async def test_a_watcher_that_is_interrupted_leaves_the_work_alone(workspace: Workspace) -> None:
    async with started(workspace, "run", "-f", workspace.spec(family="slow", tasks=1), "--json") as worker:
        await worker.says("Running")
        await group_when(workspace, "hello", calls_in_flight(1))
        async with started(workspace, "wait", "hello", "--json") as watcher:
            await watcher.says("Running")
            watcher.process.send_signal(signal.SIGINT)
            await watcher.says("another process goes on")
            code, results = await watcher.result()
        assert code == 130
        assert results["phase"] == "Running"
        assert worker.process.returncode is None


async def test_time_that_runs_out_stops_gracefully_with_its_own_code(workspace: Workspace) -> None:
    async with started(workspace, "run", "-f", workspace.spec(family="steady", tasks=12, active=1), "--timeout", "1s", "--json") as command:
        code, results = await command.result()
    assert code == 4
    assert results["phase"] == "Interrupted"
    assert any("the time to wait is up" in line for line in command.said)


async def test_a_stalled_run_that_keeps_waiting_goes_on_when_another_process_raises_the_cap(workspace: Workspace) -> None:
    async with started(workspace, "run", "-f", workspace.spec(cap="0.10"), "--keep-waiting", "--json") as command:
        advice = await command.says("nodus-tui extend-cap group/hello")
        amount = advice.partition("extend-cap group/hello ")[2].partition("`")[0]
        raised = await asyncio.to_thread(workspace.installed, "extend-cap", "hello", amount, "--why", "a test")
        assert raised.returncode == 0, raised.stderr
        assert "raised the cap of hello" in raised.stdout
        code, results = await command.result()
    assert code == 0, command.said
    assert results["coverage"] == {"scored": 3, "total": 3}
    assert results["cost"]["capUSD"] == amount


async def test_other_groups_that_were_worked_on_stop_gracefully_with_the_command(workspace: Workspace) -> None:
    applied = workspace.installed("apply", "-f", workspace.spec("other", family="steady", tasks=8, active=1, agent="solver-2"))
    assert applied.returncode == 0, applied.stderr
    done = workspace.installed("run", "-f", workspace.spec(tasks=2, active=1, family="steady"), "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "calls in flight of other groups are finishing (other)" in done.stderr
    other = json.loads(workspace.installed("results", "other", "--json").stdout)
    assert other["phase"] == "Interrupted"
    assert other["cost"]["unconfirmedUSD"] == "0.00"
