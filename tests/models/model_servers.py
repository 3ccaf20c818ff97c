"""Model servers for the tests: real ones that others wrote, and one hostile one of our own, which is no model server but raw bytes.

A missing server skips a test on a user's machine, with the command that installs it; where the variable CI is set it fails instead.
"""

import asyncio
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from local_backend.models.calls import ModelClient
from local_backend.models.catalogue import ResolvedModel
from local_backend.models.local_server import local_model_problem
from local_backend.models.retries import RetryPolicy
from local_backend.models.wire import ModelCallError, ModelReply, ModelRequest

AIMOCK_COMMAND = "npm install --no-save --prefix build/aimock @copilotkit/aimock@1.43.0"
KEY = "sk-test-4f9a2c7be1d84460"
"""The key that every test's endpoint gets; no message may hold it."""

PROTOCOLS = ["openai", "anthropic"]

Connect = Callable[..., tuple[ModelClient, ResolvedModel]]
"""Makes a client and a model for a base URL."""

ROOT = Path(__file__).resolve().parents[2]


def need(problem: str) -> None:
    """Skip, or fail in CI, when there is a problem."""
    if problem and os.environ.get("CI"):
        pytest.fail(f"CI must have every server that the tests need: {problem}")
    if problem:
        pytest.skip(problem)


@contextmanager
def llama_cpp() -> Iterator[str]:
    """llama.cpp's own server with real weights; gives its base URL, which ends with /v1."""
    need(local_model_problem())
    command = [sys.executable, "-m", "local_backend.models.local_server", "--port", "0", "--until-eof"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        yield json.loads(child.stdout.readline())["listening"]
        child.stdin.close()
        child.wait(timeout=60)


def _aimock() -> str | None:
    installed = ROOT / "build" / "aimock" / "node_modules" / ".bin" / "llmock"
    named = os.environ.get("NODUS_AIMOCK")
    return named or (str(installed) if installed.exists() and shutil.which("node") else None)


@contextmanager
def aimock(fixtures: Path, *options: str) -> Iterator[str]:
    """aimock (npm), which speaks both protocols from a file of fixtures; gives its root URL."""
    program = _aimock()
    need(
        "" if program else f"aimock is not installed: run `{AIMOCK_COMMAND}` in the project's folder, or name its `llmock` in NODUS_AIMOCK"
    )
    command = [str(program), "-p", "0", "-f", str(fixtures), "--strict", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        assert child.stdout is not None
        said = ""
        for line in child.stdout:
            said += line
            if found := re.search(r"listening on (http://\S+)", line):
                break
        else:
            pytest.fail(f"aimock did not start: {said}")
        yield found.group(1)
        child.terminate()
        child.stdout.read()
        child.wait(timeout=60)


def llmock_problem() -> str:
    """Why llmock cannot be used here; empty when it can."""
    return "" if importlib.util.find_spec("llmock") else "llmock is not installed: run `pip install llmock==0.2.2`"


async def until_it_ends(client: ModelClient, model: ResolvedModel, request: ModelRequest) -> ModelReply | ModelCallError:
    """The loop of `calls`, with real pauses."""
    policy = RetryPolicy(model.max_tries, request.case_key)
    for attempt in itertools.count(1):
        async with client.slot(model):
            try:
                reply = await client.attempt(model, request)
            except ModelCallError as caught:
                error = caught
            else:
                client.note(model, None)
                return reply
        client.note(model, error)
        pause = policy.delay(attempt, error)
        if pause is None:
            return error
        await asyncio.sleep(pause)
    raise AssertionError


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def hostile(script: Script) -> AsyncIterator[str]:
    """A server of our own that reads one whole request and then does what the script says; gives its root URL."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await read_request(reader)
            await script(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # The client went away, as some tests want it to.
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        host, port = server.sockets[0].getsockname()[:2]
        yield f"http://{host}:{port}"
    finally:
        server.close()


async def read_request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """One request's head and body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
    return head, await reader.readexactly(int(length.group(1)) if length else 0)


def says(raw: bytes) -> Script:
    """Send these bytes, then close."""

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()

    return script


def answer(body: bytes | object, *, status: str = "200 OK", headers: str = "") -> bytes:
    """A whole HTTP answer; a body that is no bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(raw)}\r\n"
    kind = "" if "content-type" in headers else "content-type: application/json\r\n"
    return (head + kind + headers + "\r\n").encode() + raw
