"""One program in a bubblewrap sandbox as the scheduler holds it: three pipes or a terminal, and an exit code that init tells."""

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from local_backend.sandboxes.interface import SandboxError, TerminalSize

Stream = Literal["stdout", "stderr"]

Signal = Callable[[int], Awaitable[None]]
"""Sends a signal to all of a program's session."""

_END_OF_INPUT = b"\x04"


class Pipes:
    """Both ends of the three pipes of a program that is about to start. Ours never block; the program's are its own."""

    def __init__(self) -> None:
        self.theirs: list[int] = []
        self.ours: list[int] = []
        try:
            for name in ("stdin", "stdout", "stderr"):
                reading, writing = os.pipe()
                theirs, ours = (reading, writing) if name == "stdin" else (writing, reading)
                self.theirs.append(theirs)
                self.ours.append(ours)
                os.set_blocking(ours, False)
                # Its user is another than ours, and programs open /dev/stdout by name.
                os.fchmod(theirs, 0o666)
        except OSError as error:
            self.close()
            raise SandboxError(f"No pipe could be made for a program in the sandbox: {error.strerror or error}.") from error

    def close_theirs(self) -> None:
        """They are the sandbox's now."""
        while self.theirs:
            os.close(self.theirs.pop())

    def close(self) -> None:
        """Close what is open."""
        self.close_theirs()
        while self.ours:
            os.close(self.ours.pop())


class BubblewrapProcess:
    """See `interface.Process`."""

    def __init__(self, stdin: int, outputs: Mapping[Stream, int], exit_code: "asyncio.Future[int]", signal: Signal) -> None:
        self._loop = asyncio.get_running_loop()
        self._stdin: int | None = stdin
        self._outputs = dict(outputs)
        self._exit = exit_code
        self._signal = signal

    @classmethod
    def on_pipes(cls, pipes: Pipes, exit_code: "asyncio.Future[int]", signal: Signal) -> "BubblewrapProcess":
        """A program whose ends of the pipes are its own already; ours are this one's from here on."""
        stdin, stdout, stderr = pipes.ours
        pipes.ours = []
        return cls(stdin, {"stdout": stdout, "stderr": stderr}, exit_code, signal)

    async def write(self, data: bytes) -> None:
        """See `interface.Process`."""
        view = memoryview(data)
        while view:
            if self._stdin is None:
                raise SandboxError("The program's stdin is closed.")
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                await self._until_writable(self._stdin)
            except OSError as error:
                raise SandboxError("The program in the sandbox reads its stdin no more.") from error

    async def _until_writable(self, fd: int) -> None:
        ready = self._loop.create_future()
        self._loop.add_writer(fd, _wake, ready)
        try:
            await ready
        finally:
            if self._stdin is not None:
                self._loop.remove_writer(fd)

    async def close_stdin(self) -> None:
        """See `interface.Process`."""
        self._close_stdin()

    async def resize(self, size: TerminalSize) -> None:
        """See `interface.Process`."""

    async def signal(self, number: int) -> None:
        """See `interface.Process`."""
        if not self._exit.done():
            await self._signal(number)

    def _close_stdin(self) -> None:
        fd, self._stdin = self._stdin, None
        if fd is not None:
            self._loop.remove_writer(fd)
            os.close(fd)

    async def read(self, most: int = 65_536) -> tuple[Stream, bytes] | None:
        """See `interface.Process`."""
        while self._outputs:
            for stream in list(self._outputs):
                if data := self._read_now(stream, most):
                    # The other one has its turn next, however much this one writes.
                    self._outputs[stream] = self._outputs.pop(stream)
                    return stream, data
            if self._outputs:
                await self._until_readable()
        return None

    def _read_now(self, stream: Stream, most: int) -> bytes:
        try:
            data = os.read(self._outputs[stream], most)
        except BlockingIOError:
            return b""
        except OSError:  # So a terminal ends.
            data = b""
        if not data:
            os.close(self._outputs.pop(stream))
        return data

    async def _until_readable(self) -> None:
        ready = self._loop.create_future()
        fds = list(self._outputs.values())
        for fd in fds:
            self._loop.add_reader(fd, _wake, ready)
        try:
            await ready
        finally:
            for fd in fds:
                if fd in self._outputs.values():
                    self._loop.remove_reader(fd)

    async def wait(self) -> int:
        """See `interface.Process`."""
        return await asyncio.shield(self._exit)

    async def aclose(self) -> None:
        """See `interface.Process`."""
        self._close_stdin()
        while self._outputs:
            _, fd = self._outputs.popitem()
            self._loop.remove_reader(fd)
            os.close(fd)

    def __del__(self) -> None:
        for fd in [*self._outputs.values(), *([] if self._stdin is None else [self._stdin])]:
            with contextlib.suppress(OSError):
                os.close(fd)


class BubblewrapTerminal(BubblewrapProcess):
    """A program on a terminal, whose one descriptor goes both ways."""

    def __init__(self, screen: int, exit_code: "asyncio.Future[int]", signal: Signal) -> None:
        """Takes the descriptor. Raises SandboxError, having closed it, where it is no terminal."""
        try:
            os.set_blocking(screen, False)
            # Each way has one of its own, as with pipes.
            typed = os.dup(screen) if os.isatty(screen) else -1
        except OSError:
            typed = -1
        if typed < 0:
            os.close(screen)
            raise SandboxError("The sandbox gave no terminal.")
        super().__init__(typed, {"stdout": screen}, exit_code, signal)

    async def close_stdin(self) -> None:
        """See `interface.Process`."""
        await self.write(_END_OF_INPUT)

    async def resize(self, size: TerminalSize) -> None:
        """See `interface.Process`."""
        if self._stdin is not None:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._stdin, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))


def _wake(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)
