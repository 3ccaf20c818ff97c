"""One process of the grader as the scheduler's side holds it: started with a clean environment, fed lines, ended for sure."""

import asyncio
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from local_backend.own_code import own_code

_INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_STDERR_KEPT = 8192


def clean_environment(ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that the grader's process gets: those it needs to run, and no key of ours."""
    ours = os.environ if ours is None else ours
    kept = {name: ours[name] for name in _INHERITED if name in ours}
    return {
        **kept,
        "PYTHONPATH": own_code(ours),
        # Some datasets order their tasks by string hashes.
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONNOUSERSITE": "1",
        # One answer at a time needs no thread pool, and a pool's memory counts against the limit.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


def worker_command() -> list[str]:
    """How the grader's process is started. Without the current folder on its path, and without warnings, which quote source text."""
    return [sys.executable, "-P", "-W", "ignore", "-m", "local_backend.environments.worker"]


class WorkerProcess(asyncio.SubprocessProtocol):
    """The process and its pipes. `on_answer` gets each answer; `on_end` gets, once, a sentence that says how it ended."""

    def __init__(self, on_answer: Callable[[dict[str, Any]], None], on_end: Callable[[str], None]) -> None:
        self._on_answer = on_answer
        self._on_end = on_end
        self._transport: asyncio.SubprocessTransport | None = None
        self._received = bytearray()
        self._searched = 0
        self._stderr: deque[bytes] = deque()
        self._stderr_size = 0
        self._why = ""
        self._writable = True
        self._gone = asyncio.Event()

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        on_answer: Callable[[dict[str, Any]], None],
        on_end: Callable[[str], None],
        *,
        environ: Mapping[str, str] | None = None,
    ) -> "WorkerProcess":
        """Start it in a session of its own, with these variables or those of `clean_environment`. Raises OSError."""
        loop = asyncio.get_running_loop()
        variables = clean_environment() if environ is None else environ
        _, process = await loop.subprocess_exec(lambda: cls(on_answer, on_end), *command, env=variables, cwd="/", start_new_session=True)
        return process

    @property
    def pid(self) -> int:
        """Its process id, which is also its group's."""
        return cast("asyncio.SubprocessTransport", self._transport).get_pid()

    @property
    def stderr_tail(self) -> str:
        """The last few kilobytes that it wrote to stderr."""
        return b"".join(self._stderr).decode("utf-8", "replace")

    def send(self, line: bytes) -> None:
        """Queue a request; what is sent to a process that ended is dropped, for its end is told anyway."""
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if self._writable and pipe is not None:
            cast("asyncio.WriteTransport", pipe).write(line)

    def end_input(self) -> None:
        """Close its stdin once everything queued is written, so that it ends by itself."""
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if pipe is not None:
            pipe.close()

    def kill(self, why: str) -> None:
        """End the process and all that it started, at once; `why` is how its end is told."""
        self._why = self._why or why
        # Not reaped yet, so the number is still this process's own.
        if self._transport is not None and self._transport.get_returncode() is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                return  # It has just ended by itself.

    async def gone(self) -> None:
        """Wait until the process has ended and its pipes are closed."""
        await self._gone.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio: the process runs."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """asyncio: it wrote something."""
        if fd == 2:
            self._stderr.append(data[-_STDERR_KEPT:])
            self._stderr_size += len(self._stderr[-1])
            while self._stderr_size > 2 * _STDERR_KEPT:
                self._stderr_size -= len(self._stderr.popleft())
            return
        self._received += data
        start = 0
        while (end := self._received.find(b"\n", self._searched)) >= 0:
            line = bytes(self._received[start:end])
            start = self._searched = end + 1
            self._take(line)
        del self._received[:start]
        self._searched = len(self._received)

    def _take(self, line: bytes) -> None:
        if self._why:
            return
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict):
            self._on_answer(answer)
        else:
            self.kill("it answered something that is no answer")

    def pipe_connection_lost(self, fd: int, _: Exception | None) -> None:
        """asyncio: it closed a pipe, or ended."""
        if fd == 0:
            self._writable = False

    def connection_lost(self, _: Exception | None) -> None:
        """asyncio: it ended and its pipes are closed."""
        self._writable = False
        if self._transport is not None:
            self._transport.close()  # All is closed by now; this marks it so, or asyncio complains when it is collected.
        self._gone.set()
        self._on_end(self._why or self._ended())

    def _ended(self) -> str:
        code = self._transport.get_returncode() if self._transport else None
        if code is None:
            return "it ended"
        if code < 0:
            names = {each.value: each.name for each in signal.Signals}
            return f"it was killed ({names.get(-code, -code)})"
        return f"it left with status {code}"
