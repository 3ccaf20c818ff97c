"""Commands in a Sandbox over links that break: their output adds up, and what was asked is done once."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest
from cutting_proxy import CuttingProxy, cutting_proxy
from ways import bundle_of, workspace

from local_backend.backend import LocalBackend
from local_backend.daemon.server import serving
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece, ExecRequest
from nodus_tui.remote import commands
from nodus_tui.remote.address import socket_address
from nodus_tui.remote.backend import RemoteBackend
from nodus_tui.sandbox_commands.command import Command, run_command

pytestmark = pytest.mark.timeout(60)

BOX = {"memoryGiB": 0.5, "diskGiB": 0.1, "processes": 64, "maxCostUSD": "5"}


@pytest.fixture
async def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LocalBackend]:
    """With a Sandbox that runs."""
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "bubblewrap")
    document = {"apiVersion": "nodus.dev/v1", "kind": "Sandbox", "metadata": {"name": "box"}, "spec": BOX}
    async with workspace(tmp_path) as backend:
        await backend.apply(bundle_of(json.dumps(document)))
        async with aclosing(cast("Any", backend.watch(after=0))) as batches:
            async for batch in batches:
                if any(event.kind == "Sandbox" and event.status.get("phase") == "Running" for event in batch.events):
                    break
        yield backend


@pytest.fixture
async def proxy(local: LocalBackend, tmp_path: Path) -> AsyncIterator[CuttingProxy]:
    socket = tmp_path / "s.sock"
    async with serving(local, socket_path=socket), cutting_proxy(socket) as found:
        yield found


@pytest.fixture
async def remote(proxy: CuttingProxy) -> AsyncIterator[RemoteBackend]:
    async with RemoteBackend(proxy.address) as backend:
        yield backend


async def test_output_that_is_cut_again_and_again_adds_up(proxy: CuttingProxy, remote: RemoteBackend) -> None:
    sizes = random.Random(7)
    proxy.cut_after = lambda: sizes.randrange(2_000, 400_000)
    done = await run_command(remote, "box", ExecRequest(command=("seq", "1", "100000")))
    assert done.end.exit_code == 0
    assert done.stdout == b"".join(b"%d\n" % number for number in range(1, 100_001))
    assert proxy.cuts > 3


@pytest.mark.parametrize("losses", [1, 2])
async def test_what_was_asked_is_done_once_though_its_answers_are_lost(proxy: CuttingProxy, remote: RemoteBackend, losses: int) -> None:
    proxy.answers_to_lose = losses
    command = await Command.start(remote, "box", ExecRequest(command=("sh", "-c", "echo begun >>log; cat >>log")))
    proxy.answers_to_lose = losses
    await command.feed(b"typed\n")
    proxy.answers_to_lose = losses
    await command.feed(b"typed on\n", end=True)
    proxy.answers_to_lose = losses
    assert [piece async for piece in command.output()] == [ExecEnd(offset=0, exit_code=0)]
    assert b"".join([piece async for piece in remote.read_sandbox_file("box", "log")]) == b"begun\ntyped\ntyped on\n"
    assert proxy.cuts == 4 * losses


async def test_a_command_goes_on_while_its_server_is_restarted(local: LocalBackend, tmp_path: Path) -> None:
    socket = tmp_path / "s.sock"
    async with RemoteBackend(socket_address(socket)) as remote:
        async with serving(local, socket_path=socket):
            command = await Command.start(remote, "box", ExecRequest(command=("sh", "-c", "echo one; cat; echo two")))
            output = command.output()
            first = await anext(output)
            assert isinstance(first, ExecPiece)
            assert first.data == b"one\n"
        reading = asyncio.create_task(rest_of(output))
        async with serving(local, socket_path=socket):
            await command.feed(b"between\n", end=True)
            assert await reading == (b"between\ntwo\n", 0)


async def rest_of(output: AsyncGenerator[ExecPiece | ExecEnd, None]) -> tuple[bytes, int | None]:
    text = b""
    async with aclosing(output):
        async for piece in output:
            if isinstance(piece, ExecEnd):
                return text, piece.exit_code
            text += piece.data
    raise AssertionError("the output ended without its end")


async def test_a_server_that_stays_away_is_told_in_a_sentence(local: LocalBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "GIVE_UP_SECONDS", 0.2)
    socket = tmp_path / "s.sock"
    async with RemoteBackend(socket_address(socket)) as remote:
        async with serving(local, socket_path=socket):
            command = await Command.start(remote, "box", ExecRequest(command=("cat",)))
        with pytest.raises(NodusError, match="does not answer") as lost:
            await rest_of(command.output())
        assert lost.value.code is ErrorCode.UNAVAILABLE
