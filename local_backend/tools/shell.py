"""A shell that stays between commands: bash, or sh where the image has none, as the agent.

`live_shell.py` speaks with one process; here is what stays when that process is lost: the folder, the last exit code, and what to tell
the model. Limits are kept from outside by killing everything that is the agent's.
"""

import asyncio
from collections.abc import Coroutine
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct

from local_backend.sandboxes.interface import ENGINE_SECONDS, Sandbox, SandboxError, SandboxGoneError
from local_backend.tools.live_shell import Ended, Finished, Flooded, LiveShell, TimedOut
from local_backend.tools.output import BoundedOutput
from nodus_tui.contract.wording import escaped

SHOWN_BYTES = 16 * 1024
"""Output of one command that is shown, at most."""

FLOOD_BYTES = 8 * 1024 * 1024
"""A command that writes more than this is killed."""

ENVIRON = MappingProxyType(
    {"TERM": "dumb", "PAGER": "cat", "MANPAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "LANG": "C.UTF-8"}
)
"""Nothing pages and nothing asks: nobody sits at a terminal."""

_START = ("/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash --noprofile --norc; else exec sh; fi")

_T = TypeVar("_T")


class CommandEnd(StrEnum):
    """How a command ended."""

    FINISHED = "finished"
    TIMED_OUT = "timed out"
    FLOODED = "flooded"
    SHELL_ENDED = "shell ended"


class CommandResult(Struct, frozen=True):
    """What a command gave."""

    output: str
    """Data from the sandbox: any character but lone surrogates."""
    exit_code: int | None
    """None when it was killed, or its shell hid it."""
    end: CommandEnd
    seconds: float
    news: tuple[str, ...] = ()
    """Sentences for the model about its shell, to be told before the output."""


class Shell:
    """The agent's shell in one sandbox. One command at a time."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        folder: str | None = None,
        shown_bytes: int = SHOWN_BYTES,
        flood_bytes: int = FLOOD_BYTES,
        grace_seconds: float = ENGINE_SECONDS,
    ) -> None:
        """`folder` is where it starts, the sandbox's own by default; `grace_seconds` is what each request to the engine may take."""
        self._sandbox = sandbox
        self._folder = folder or sandbox.workdir
        self._shown_bytes = shown_bytes
        self._flood_bytes = flood_bytes
        self._grace = grace_seconds
        self._live: LiveShell | None = None
        self._last_code = 0
        self._spoiled = False
        """Whether a command may still run that nobody waits for."""
        self._news: list[str] = []

    @property
    def folder(self) -> str:
        """Where the next command runs, as far as known."""
        return self._folder

    def go_to(self, folder: str) -> None:
        """Have the next shell start there."""
        self._folder = folder

    async def make_room(self) -> None:
        """Kill all processes of the agent for somebody else's sake, and have the model told. Raises SandboxError."""
        if self._live is not None:
            self._tell("This is a new shell, for every process that you had started was killed: variables and functions are gone.")
        await self.kill_everything()

    def _tell(self, news: str) -> None:
        """Have the model told this with the next command's result."""
        self._news.append(news)

    async def run(self, command: str, seconds: float) -> CommandResult:
        """Run a command, which has no NUL and no lone surrogate, for at most so many seconds.

        Raises SandboxError when the sandbox or its engine fails, by `seconds` and a few times `grace_seconds` at the latest.
        """
        now = asyncio.get_running_loop().time
        live = await self._ready()
        output = BoundedOutput(self._shown_bytes)
        started = now()
        self._spoiled = True
        ending = await live.exchange(command, seconds=seconds, last_code=self._last_code, output=output, flood_bytes=self._flood_bytes)
        self._spoiled = not isinstance(ending, Finished | Ended)
        took = now() - started
        code, end = await self._after(ending)
        news, self._news = tuple(self._news), []
        return CommandResult(output.text(), code, end, took, news)

    async def kill_everything(self) -> None:
        """Kill all processes of the agent; the next command gets a new shell. Raises SandboxError."""
        self._last_code = 0
        # First, for an engine may hold back what it knows of ended processes as long as somebody should read their output, and does not.
        await self.aclose()
        await self._within_grace(self._sandbox.kill_agent(), "kill the agent's processes")
        self._spoiled = False

    async def aclose(self) -> None:
        """Let go of the shell; its processes may go on."""
        live, self._live = self._live, None
        if live is not None:
            await live.close()

    async def _after(self, ending: Finished | Ended | TimedOut | Flooded) -> tuple[int | None, CommandEnd]:
        match ending:
            case Finished(code, folder):
                self._last_code = code or 0
                self._folder = _folder_of(folder) or self._folder
                return code, CommandEnd.FINISHED
            case Ended(code):
                await self._drop_ended()
                return code, CommandEnd.SHELL_ENDED
            case TimedOut():
                await self.kill_everything()
                return None, CommandEnd.TIMED_OUT
            case Flooded():
                await self.kill_everything()
                return None, CommandEnd.FLOODED

    async def _drop_ended(self) -> None:
        """Put away a shell that has ended. Raises SandboxGoneError when its sandbox ended as well."""
        await self.aclose()
        self._last_code = 0
        if not await self._within_grace(self._sandbox.alive(), "say whether the sandbox lives"):
            raise SandboxGoneError(f"The sandbox {self._sandbox.id} ended while the agent worked in it.")

    async def _ready(self) -> LiveShell:
        if self._spoiled:
            await self.kill_everything()
        if self._live is not None and self._live.has_ended():
            code = await self._within_grace(self._live.exit_code(), "say how the shell ended")
            await self._drop_ended()
            self._tell(f"The shell had ended in the meantime (exit code {code}). This is a new one: variables and functions are gone.")
        if self._live is None:
            self._live = await self._started()
        return self._live

    async def _started(self) -> LiveShell:
        try:
            return await self._start()
        except SandboxGoneError:
            raise
        except SandboxError:
            # What the agent left running may take every process or all memory that it is allowed: that is its doing, not the engine's.
            await self.kill_everything()
            live = await self._start()
            self._tell("No new process could be started, so every process that you had started was killed.")
            return live

    async def _start(self) -> LiveShell:
        spawning = self._sandbox.spawn(_START, environ=ENVIRON)
        live = LiveShell(await self._within_grace(spawning, "start a shell"))
        try:
            await self._enter(live)
        except BaseException:
            await live.close()
            raise
        return live

    async def _enter(self, live: LiveShell) -> None:
        """See that a new shell answers, and send it to the folder."""
        quoted = self._folder.replace("'", "'\\''")
        ending = await live.exchange(
            f"cd -- '{quoted}'", seconds=self._grace, last_code=0, output=BoundedOutput(1024), flood_bytes=self._flood_bytes
        )
        if not isinstance(ending, Finished):
            said = escaped(live.complaints())[-300:]
            raise SandboxError(f"No shell starts in the sandbox {self._sandbox.id}{f': {said}' if said else ''}.")
        folder = _folder_of(ending.folder) or self._sandbox.workdir
        if ending.exit_code != 0:
            self._tell(f"The folder {escaped(self._folder)} is gone; the shell is in {escaped(folder)}.")
        self._folder = folder

    async def _within_grace(self, request: Coroutine[object, object, _T], what: str) -> _T:
        try:
            async with asyncio.timeout(self._grace):
                return await request
        except TimeoutError as error:
            message = f"The sandbox engine did not {what} within {self._grace:g} seconds (sandbox {self._sandbox.id})."
            raise SandboxError(message) from error


def _folder_of(reported: bytes) -> str | None:
    """The folder that a shell reported, if a later shell can be sent there."""
    try:
        folder = reported.decode()
    except UnicodeDecodeError:
        return None
    return folder if folder.startswith("/") and "\0" not in folder and len(reported) <= 4096 else None
