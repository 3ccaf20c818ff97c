"""A sandbox without any isolation: plain processes of this machine, for what an engine must be broken for (it hangs, it dies).

It keeps the contract of `local_backend.sandboxes.interface` but for users, limits and file systems.
"""

import asyncio
import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import psutil

from local_backend.sandboxes.interface import SandboxError, SandboxGoneError, User

_MARK = "NODUS_TEST_SANDBOX"


class PlainProcess:
    def __init__(self, process: asyncio.subprocess.Process, sandbox: "PlainSandbox") -> None:
        self._process = process
        self._sandbox = sandbox
        self._pieces: asyncio.Queue[tuple[Literal["stdout", "stderr"], bytes] | None] = asyncio.Queue(4)
        assert process.stdout is not None
        assert process.stderr is not None
        self._pumps = [
            asyncio.create_task(self._pump("stdout", process.stdout)),
            asyncio.create_task(self._pump("stderr", process.stderr)),
        ]

    async def _pump(self, name: Literal["stdout", "stderr"], stream: asyncio.StreamReader) -> None:
        while data := await stream.read(65_536):
            await self._pieces.put((name, data))
        await self._pieces.put(None)

    async def write(self, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(data)
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise SandboxError("nobody reads any more") from error

    async def close_stdin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def read(self, most: int = 65_536) -> tuple[Literal["stdout", "stderr"], bytes] | None:
        while not (all(pump.done() for pump in self._pumps) and self._pieces.empty()):
            piece = await self._pieces.get()
            if self._sandbox.hangs:
                await asyncio.Event().wait()
            if piece is not None:
                return piece
        return None

    async def wait(self) -> int:
        # asyncio's own wait would also wait for the pipes, which other processes may hold.
        while self._process.returncode is None:
            await asyncio.sleep(0.005)
        if self._sandbox.gone:
            raise SandboxGoneError("the sandbox is gone")
        code = self._process.returncode
        return 128 - code if code < 0 else code

    async def aclose(self) -> None:
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        transport = self._process._transport  # type: ignore[attr-defined]  # asyncio has no public way to let go of a process's pipes
        for number in range(3):
            if (pipe := transport.get_pipe_transport(number)) is not None:
                pipe.close()


class PlainSandbox:
    """`hangs` and `gone` break it."""

    def __init__(self, folder: Path) -> None:
        self.id = secrets.token_hex(8)
        self.engine = "plain"
        self.image = "none"
        self.workdir = str(folder)
        self.started_at = datetime.now(UTC)
        self.path = os.environ["PATH"]
        self.hangs = False
        self.gone = False
        self.kills = 0
        self.refuse_spawns = 0
        self.instead: Sequence[str] | None = None
        """What runs in the place of the next program."""
        self._processes: list[PlainProcess] = []

    async def spawn(
        self, command: Sequence[str], *, user: User = User.AGENT, cwd: str | None = None, environ: Mapping[str, str] | None = None
    ) -> PlainProcess:
        assert user is User.AGENT
        if self.hangs:
            await asyncio.Event().wait()
        if self.gone:
            raise SandboxGoneError("the sandbox is gone")
        if self.refuse_spawns:
            self.refuse_spawns -= 1
            raise SandboxError("no process can be started")
        command, self.instead = self.instead or command, None
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd or self.workdir,
            env={"PATH": self.path, "HOME": self.workdir, _MARK: self.id, **(environ or {})},
            start_new_session=True,
        )
        started = PlainProcess(process, self)
        self._processes.append(started)
        return started

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(_MARK) == self.id and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    async def kill_agent(self) -> None:
        self.kills += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.gone:
            raise SandboxGoneError("the sandbox is gone")
        await self._kill()

    async def _kill(self) -> None:
        while left := self.processes():
            for process in left:
                with suppress(psutil.Error):
                    process.send_signal(signal.SIGKILL)
            await asyncio.sleep(0.005)

    async def die(self) -> None:
        self.gone = True
        await self._kill()

    async def alive(self) -> bool:
        if self.hangs:
            await asyncio.Event().wait()
        return not self.gone

    async def aclose(self) -> None:
        self.gone = True
        await self._kill()
        for process in self._processes:
            await process.aclose()
            await process._process.wait()
