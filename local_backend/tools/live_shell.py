"""One running shell: sends it a command, and takes its output until the marker, its end, or a limit.

How a command travels: `command eval ' …' </dev/null 2>&1 >&2`, and a line that prints a marker, the exit code and the folder. So
- a syntax error, `exec >file` or a read of stdin ends with the command: eval contains it, and its redirections are undone;
- both outputs are one stream, in order; the shell's own stderr (traces of these lines, notices) is apart and not shown;
- the end is found by 128 random bits, fresh for each command, which the shell has not read yet while the command runs.
Nothing here trusts the shell: it is the agent's, and what it says of itself only deceives the agent. Limits on time and output are
kept from outside, by whoever gets `TimedOut` or `Flooded`.
"""

import asyncio
import re
import secrets
from contextlib import suppress
from typing import Any, Literal

from msgspec import Struct

from local_backend.sandboxes.interface import Process
from local_backend.tools.output import BoundedOutput

_DRAIN_SECONDS = 0.5
"""For output on its way when the shell has ended; another process may hold the stream open for ever."""

_UNWRITABLE_SECONDS = 5.0
"""By then a shell that reads no more has ended, or the engine has failed."""

_PATIENCE_SECONDS = 0.25
"""A command that takes longer has the engine asked whether its shell still runs; the end of most shows in their output alone."""

_CLOSE_SECONDS = 5.0

_LONGEST_REPORT = 64 * 1024
"""Bytes of the closing line, at most: the folder in it is the agent's to set."""

_REPORT = re.compile(rb":([0-9]{1,3}):(.*):", re.DOTALL)

_Piece = tuple[Literal["stdout", "stderr"], bytes] | None


class Finished(Struct, frozen=True):
    """The command is done, and the shell ready for the next one."""

    exit_code: int | None
    """None when the shell's report cannot be read, as when the command redefined what makes it."""
    folder: bytes
    """Where the shell is now, as it says."""


class Ended(Struct, frozen=True):
    """The shell ended before it said that the command is done."""

    exit_code: int
    """128 + N when signal N killed it."""


class TimedOut(Struct, frozen=True):
    """No end within the time. The command still runs."""


class Flooded(Struct, frozen=True):
    """More output than allowed. The command still runs."""


Ending = Finished | Ended | TimedOut | Flooded


def script(command: str, marker: bytes, last_code: int) -> bytes:
    """What the shell is sent. The command has no NUL and no lone surrogate; `last_code` is what `$?` is at its start."""
    # An and-list sets $? without tripping `set -e`. `command` passes by functions of the agent's with these names. The space keeps eval
    # from taking the agent's command for an option.
    before = b"(exit %d) && :\n" % last_code if last_code else b""
    quoted = command.encode().replace(b"'", b"'\\''")
    run = b"command eval ' " + quoted + b"\n' </dev/null 2>&1 >&2\n"
    # One write of printf, so that a background process cannot write into its middle.
    report = b"command printf '%s:%s:%s:%s\\n' " + marker + b' "$?" "${PWD-}" ' + marker + b"\n"
    return before + run + report


class LiveShell:
    """A shell's process. One exchange at a time; after any other ending than `Finished` it is to be closed."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._wait: asyncio.Task[int] | None = None
        """Only while a command runs: an engine may have to ask again and again for this."""
        self._reading: asyncio.Task[_Piece] | None = None
        self._output_ended = False
        self._unseen = b""
        """Output that came and is not yet told apart from a marker."""
        self._complaints = BoundedOutput(2048)

    def has_ended(self) -> bool:
        """Whether it is known to have ended since its last command. Raises SandboxError when the engine failed since then."""
        self._take_what_is_read()
        return self._output_ended

    async def exit_code(self) -> int:
        """Its exit code, once it has one. Raises SandboxGoneError when the sandbox ended with it."""
        return await self._process.wait()

    def complaints(self) -> str:
        """What it wrote on its own stderr: why it did not start, for example."""
        return self._complaints.text().strip()

    async def exchange(self, command: str, *, seconds: float, last_code: int, output: BoundedOutput, flood_bytes: int) -> Ending:
        """Run a command for at most so many seconds; its output goes to `output`. Raises SandboxError when the engine fails."""
        marker = secrets.token_hex(16).encode()
        # Written beside the reading: a long command and a long trace of it would else wait for each other.
        writing = asyncio.create_task(self._process.write(script(command, marker, last_code)))
        try:
            return await self._until_end(marker, writing, seconds, output, flood_bytes)
        finally:
            await _cancelled(writing, self._wait)
            self._wait = None

    async def _until_end(
        self, marker: bytes, writing: asyncio.Task[None], seconds: float, output: BoundedOutput, flood_bytes: int
    ) -> Ending:
        now = asyncio.get_running_loop().time
        began = now()
        deadline = began + seconds
        shell_ended = unwritable = False
        while True:
            finished = self._look_for(marker, output)
            if finished is not None:
                self._read_on()
                return finished
            if output.total > flood_bytes or len(self._unseen) > _LONGEST_REPORT:
                return Flooded()
            left = deadline - now()
            if self._wait is not None and shell_ended and (self._output_ended or left <= 0):
                output.add(self._unseen)
                return Ended(self._wait.result())
            if left <= 0:
                output.add(self._unseen)
                if unwritable:
                    writing.result()
                return TimedOut()
            patience = began + _PATIENCE_SECONDS - now()
            if self._wait is None and (patience <= 0 or self._output_ended):
                self._wait = asyncio.create_task(self._process.wait())
            await self._something(writing, left if self._wait is not None else min(left, patience))
            if self._wait is not None and self._wait.done() and not shell_ended:
                shell_ended, deadline = True, min(deadline, now() + _DRAIN_SECONDS)
            elif writing.done() and writing.exception() is not None and not unwritable:
                unwritable, deadline = True, min(deadline, now() + _UNWRITABLE_SECONDS)

    async def _something(self, writing: asyncio.Task[None], seconds: float) -> None:
        """Wait until output, the shell's end or a failure to write has come, and take the output."""
        self._read_on()
        watched: set[asyncio.Task[Any]] = {task for task in (self._wait, writing) if task is not None and not task.done()}
        if self._reading is not None:
            watched.add(self._reading)
        if watched:
            await asyncio.wait(watched, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        self._take_what_is_read()

    def _read_on(self) -> None:
        """Have the next piece of output read, whether or not a command runs."""
        if self._reading is None and not self._output_ended:
            self._reading = asyncio.create_task(self._process.read())
            # Whoever ends the sandbox may do so without closing this first.
            self._reading.add_done_callback(_look_at)

    def _take_what_is_read(self) -> None:
        if self._reading is not None and self._reading.done():
            reading, self._reading = self._reading, None
            self._take(reading.result())

    def _take(self, piece: _Piece) -> None:
        match piece:
            case None:
                self._output_ended = True
            case ("stdout", data):
                self._unseen += data
            case ("stderr", data):
                self._complaints.add(data)

    def _look_for(self, marker: bytes, output: BoundedOutput) -> Finished | None:
        """Move output that is certainly the command's own; the report, once it is there in full."""
        start = self._unseen.find(marker)
        if start < 0:
            sure = max(0, len(self._unseen) - len(marker) + 1)
            output.add(self._unseen[:sure])
            self._unseen = self._unseen[sure:]
            return None
        output.add(self._unseen[:start])
        self._unseen = self._unseen[start:]
        end = self._unseen.find(marker + b"\n", len(marker))
        if end < 0:
            return None
        report = _REPORT.fullmatch(self._unseen[len(marker) : end])
        # What follows was written by processes in the background: the next command shows it.
        self._unseen = self._unseen[end + len(marker) + 1 :]
        return Finished(None, b"") if report is None else Finished(int(report[1]), report[2])

    async def close(self) -> None:
        """Let go of it; whoever wants its processes gone kills them first."""
        await _cancelled(self._reading, self._wait)
        # A hung engine is whoever asks it next's to report; nothing is lost here.
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._process.aclose()


async def _cancelled(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel them and see them end."""
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=_CLOSE_SECONDS)
    for task in running:
        _look_at(task)


def _look_at(task: asyncio.Task[Any]) -> None:
    """Take note of how it failed, so that nobody is told that it was never asked."""
    if task.done() and not task.cancelled():
        task.exception()
