"""Engines that hang, die and come back: each a SandboxError within its deadline, never a frozen loop, and nothing stays afterwards."""

import asyncio
import contextlib
import errno
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from docker_engines import (
    Line,
    OwnEngine,
    connected,
    line_to_user_engine,
    output,
    own_engine,
    request,
    runs_at,
    sandbox_of,
    shell,
    until,
    user_engine,
)

from local_backend.sandboxes.docker.client import EngineClient, EngineError
from local_backend.sandboxes.docker.endpoint import Endpoint
from local_backend.sandboxes.docker.engine import DockerEngine
from local_backend.sandboxes.interface import Sandbox, SandboxError, SandboxGoneError, SandboxRefusedError

DEADLINE = 1.0
_GUARD = 30.0
"""No test asserts how long something took; what takes so long was not held to its deadline."""

SLEEPER = ["sleep", f"1234.{os.getpid()}"]
"""A command that no other test has."""

Act = Callable[[DockerEngine, Sandbox], Awaitable[object]]


ACTS: dict[str, Act] = {
    "create": lambda engine, _: engine.create(request("hung")),
    "spawn": lambda _, sandbox: sandbox.spawn(["true"]),
    "kill_agent": lambda _, sandbox: sandbox.kill_agent(),
    "alive": lambda _, sandbox: sandbox.alive(),
    "aclose": lambda _, sandbox: sandbox.aclose(),
    "list": lambda engine, _: engine.list(),
    "prepare": lambda engine, _: engine.prepare("nodus-test/absent:1"),
}


@asynccontextmanager
async def behind_a_line(folder: Path, run: str) -> AsyncIterator[tuple[Line, DockerEngine, Sandbox]]:
    """A sandbox of the user's engine, driven through a line; and the same engine sees to it that nothing of the run is left.

    The engine's deadline is a patient one, until `hangs` says otherwise: what is answered may be answered slowly.
    """
    async with user_engine() as direct, line_to_user_engine(folder) as line, connected(line.host, deadline=_GUARD) as patient:
        sandbox = await patient.create(request(run))
        found = next(each for each in await direct.list() if each.id == sandbox.id)
        try:
            yield line, patient, sandbox
        finally:
            line.let_go()
            await direct.remove(found)


def hangs(line: Line, engine: DockerEngine) -> None:
    """From now on nothing is answered, and that is known after the deadline."""
    line.hold_up()
    engine.client.deadline = DEADLINE


@pytest.mark.parametrize("act", ACTS)
async def test_an_engine_that_hangs_fails_within_the_deadline(tmp_path: Path, act: str) -> None:
    async with behind_a_line(tmp_path, "hangs") as (line, engine, sandbox):
        hangs(line, engine)
        async with asyncio.timeout(_GUARD):
            with pytest.raises(SandboxError, match=f"within {DEADLINE:g} s") as caught:
                await ACTS[act](engine, sandbox)
        assert not isinstance(caught.value, SandboxRefusedError)


async def test_a_start_that_hung_leaves_nothing_when_the_engine_is_back(tmp_path: Path) -> None:
    async with user_engine() as direct, behind_a_line(tmp_path, "hung-start") as (line, engine, _):
        hangs(line, engine)
        with pytest.raises(SandboxError):
            await engine.create(request("hung-start-late"))
        engine.client.deadline = _GUARD
        line.let_go()
        await until(lambda: _came_and_went(direct, engine))
        assert await runs_at(direct, "hung-start-late") == []


async def test_one_that_is_listed_before_it_can_be_asked_for_is_removed_once_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an engine does for a moment while it makes one; here for the first four questions."""
    async with user_engine() as engine:
        sandbox = await engine.create(request("not-yet-known"))
        (found,) = [each for each in await engine.list() if each.id == sandbox.id]
        ask, unknown = EngineClient.ask, [sandbox.id] * 4

        async def not_yet(client: EngineClient, method: str, path: str, **asked: Any) -> Any:
            if unknown and sandbox.id in path:
                raise EngineError("no such container", status=404, message=f"No such container: {unknown.pop()}")
            return await ask(client, method, path, **asked)

        monkeypatch.setattr(EngineClient, "ask", not_yet)
        await engine.remove(found)
        assert unknown == []
        assert await runs_at(engine, "not-yet-known") == []


async def test_what_an_engine_lists_as_dead_and_nameless_for_good_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that was killed, and found its containers again while they were removed."""
    async with user_engine() as engine:
        sandbox = await engine.create(request("removed-while-found"))
        (found,) = [each for each in await engine.list() if each.id == sandbox.id]
        ask = EngineClient.ask

        async def with_what_was(client: EngineClient, method: str, path: str, **asked: Any) -> Any:
            told = await ask(client, method, path, **asked)
            return [*told, {"Id": found.id, "Names": [], "State": "dead"}] if path == "/containers/json" else told

        await sandbox.aclose()
        monkeypatch.setattr(EngineClient, "ask", with_what_was)
        assert found.id not in [each.id for each in await engine.list()]
        await engine.remove(found)


async def _came_and_went(direct: DockerEngine, engine: DockerEngine) -> bool:
    return engine.clean and not await runs_at(direct, "hung-start-late")


@pytest.mark.parametrize("fault", ["hangs", "cut"])
async def test_output_ends_with_an_error_when_the_engine_hangs_or_breaks_the_connection(tmp_path: Path, fault: str) -> None:
    async with behind_a_line(tmp_path, "output") as (line, engine, sandbox):
        process = await sandbox.spawn(["sh", "-c", "echo begun; sleep 1000"])
        assert await process.read() == ("stdout", b"begun\n")
        if fault == "cut":
            line.cut()
        hangs(line, engine)  # Nor does it answer whether the program ended.
        async with asyncio.timeout(_GUARD):
            with pytest.raises(SandboxGoneError):
                await output(process)


async def test_input_that_an_engine_does_not_take_any_more_is_an_error(tmp_path: Path) -> None:
    async with behind_a_line(tmp_path, "input") as (line, engine, sandbox):
        process = await sandbox.spawn(["cat"])
        hangs(line, engine)
        async with asyncio.timeout(_GUARD):
            with pytest.raises(SandboxGoneError):
                while True:
                    await process.write(b"x" * 1_000_000)
        await process.aclose()


async def test_a_connection_that_the_system_gives_up_holds_up_nothing(tmp_path: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        text = b'{"ApiVersion": "1.44"}'
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(text) + text
        )
        await writer.drain()
        writer.close()

    async def lost() -> bytes:
        # What the kernel says of a connection over a network that does not carry any more; no engine of this machine has one.
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    async with await asyncio.start_unix_server(answer, tmp_path / "engine.sock"):
        client = EngineClient(Endpoint("an engine", unix=str(tmp_path / "engine.sock")), deadline=_GUARD)
        await client.connect()
        async with asyncio.timeout(_GUARD):
            with pytest.raises(TimeoutError, match="Connection timed out"):
                await client.watched(lost)
        await client.aclose()


async def test_a_slow_program_on_an_engine_that_answers_is_waited_for(tmp_path: Path) -> None:
    async with behind_a_line(tmp_path, "slow") as (_, engine, sandbox):
        # The engine is asked several times meanwhile, for the program says nothing for longer than the deadline.
        process = await sandbox.spawn(["sh", "-c", "sleep 6; echo late"])
        engine.client.deadline = 4.0
        assert await output(process) == (b"late\n", b"", 0)


# Engines of the tests' own.


@pytest.fixture(scope="module")
def second_engine() -> Iterator[OwnEngine]:
    with own_engine() as engine:
        yield engine


async def test_a_stopped_dockerd_is_an_error_and_continued_it_works_on(second_engine: OwnEngine) -> None:
    async with connected(second_engine.host) as engine, sandbox_of(engine, "stopped") as sandbox:
        process = await sandbox.spawn(["sh", "-c", "echo begun; cat"])
        assert await process.read() == ("stdout", b"begun\n")
        engine.client.deadline = DEADLINE
        second_engine.signal(signal.SIGSTOP)
        try:
            async with asyncio.timeout(_GUARD):
                for act in ("create", "alive", "kill_agent"):
                    with pytest.raises(SandboxError):
                        await ACTS[act](engine, sandbox)
                with pytest.raises(SandboxGoneError):
                    await process.read()
        finally:
            second_engine.signal(signal.SIGCONT)
        engine.client.deadline = 20
        assert await sandbox.alive()
        assert await shell(sandbox, "echo works") == (b"works\n", b"", 0)
        await until(lambda: engine.clean)
        assert await runs_at(engine, "hung") == []


async def test_a_sandbox_that_asks_for_a_network_is_refused_where_the_engine_has_none(second_engine: OwnEngine) -> None:
    async with connected(second_engine.host) as engine:
        with pytest.raises(SandboxRefusedError, match="no network for sandboxes"):
            await engine.create(request("network", network=True))
        assert await runs_at(engine, "network") == []


@pytest.mark.timeout(300)
async def test_after_the_engine_was_killed_and_started_again_nothing_stays(second_engine: OwnEngine) -> None:
    async with connected(second_engine.host) as engine:
        sandboxes = [await engine.create(request("killed")) for _ in range(2)]
        process = await sandboxes[0].spawn(["sh", "-c", f"echo begun; exec {' '.join(SLEEPER)}"])
        assert await process.read() == ("stdout", b"begun\n")
        second_engine.signal(signal.SIGKILL)
        async with asyncio.timeout(_GUARD):
            with pytest.raises(SandboxGoneError):
                await output(process)
            for act in ("create", "spawn", "alive", "kill_agent", "aclose", "list"):
                with pytest.raises(SandboxError):
                    await ACTS[act](engine, sandboxes[1])
        assert _sleepers()  # The containers outlive their engine.
    second_engine.start()
    async with connected(second_engine.host) as engine:
        # An engine that comes back finds its containers one after the other: who looks again removes the rest.
        async with asyncio.timeout(8 * _GUARD):
            while await engine.list() or _sleepers():
                for found in await engine.list():
                    assert found.owner == request("").owner
                    with contextlib.suppress(SandboxError):  # It does not have it whole yet.
                        await engine.remove(found)
        async with sandbox_of(engine, "afterwards") as sandbox:
            assert await shell(sandbox, "echo works") == (b"works\n", b"", 0)


def _sleepers() -> list[psutil.Process]:
    return [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == SLEEPER]
