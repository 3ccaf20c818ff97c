"""One console for one browser: its process, which speaks the protocol of textual-serve, and its end, whatever state it is in."""

import asyncio
import json
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

DRIVER = "nodus_tui.browser_driver:BrowserDriver"
FAILED = "failed"
"""The message by which a console says that it could not begin, with a `detail` for people."""
_ENDING_SECONDS = 3.0
"""What a console gets to end by itself, before it is killed."""


class ConsoleProcess(AppService):
    """A console process. `ended` is set when it is over, `left` where the person left it, `failure` says why it could not begin."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        write_bytes: Callable[[bytes], Awaitable[None]],
        write_str: Callable[[str], Awaitable[None]],
    ) -> None:
        async def nothing() -> None:
            """Whoever waits for `ended` closes the socket, with the reason."""

        super().__init__("", write_bytes=write_bytes, write_str=write_str, close=nothing, download_manager=DownloadManager())
        self._command = tuple(command)
        self._more_environment = dict(environment)
        self._running: Process | None = None
        self.ended = asyncio.Event()
        self.left = False
        self.failure = ""

    @property
    def pid(self) -> int:
        """Of its process; 0 before it was started."""
        return self._running.pid if self._running is not None else 0

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        environment = super()._build_environment(width, height)
        # A browser draws all colours and characters, whatever the terminal does in which the server was started.
        environment.pop("NO_COLOR", None)
        environment |= {"TEXTUAL_DRIVER": DRIVER, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
        return {**environment, **self._more_environment}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        # As textual-serve does it, but no shell reads the command, and a signal for the server's terminal does not reach it.
        self._process = self._running = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._build_environment(width, height),
            start_new_session=True,
        )
        self._stdin = self._running.stdin
        return self._running

    async def run(self) -> None:
        """Pass on what it draws, until it has ended."""
        try:
            await super().run()
        finally:
            self.ended.set()

    async def on_meta(self, data: bytes) -> None:
        """Only its end counts: it opens no addresses in the browser and delivers no files."""
        told = json.loads(data)
        if told.get("type") == "exit":
            self.left = True
        elif told.get("type") == FAILED:
            self.failure = str(told.get("detail", ""))

    async def on_packed(self, payload: bytes) -> None:
        """No file is delivered."""

    async def end(self) -> None:
        """See to it that it is over: asked first, then killed with all that it started."""
        if self._running is None:
            return
        # Not under a timeout: textual-serve swallows the cancellation that one is made of.
        asking = asyncio.ensure_future(self.stop())
        waiting = asyncio.ensure_future(self._running.wait())
        await asyncio.wait((asking, waiting), timeout=_ENDING_SECONDS)
        if self._running.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._running.pid, signal.SIGKILL)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        # What it had drawn and nobody took holds its pipe open, and with that the wait for its end.
        while self._running.stdout is not None and await self._running.stdout.read(65_536):
            pass
        await waiting
