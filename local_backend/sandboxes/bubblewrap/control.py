"""The scheduler's end of a sandbox's init: requests go out with their pipes, answers come back by number. One event loop.

What init sends is read as three fixed fields, for in a sandbox with one user the agent could speak in its place.
"""

import asyncio
import contextlib
import marshal
import os
import socket
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from local_backend.sandboxes.bubblewrap.init import ANSWER, REQUEST
from local_backend.sandboxes.failures import told_as_sandbox_error
from local_backend.sandboxes.interface import NotBegunError, SandboxGoneError


class Started(Struct, frozen=True):
    """A program that was started."""

    number: int
    """By which init knows it."""
    ending: "asyncio.Future[int]"
    """Its exit code."""
    screen: int = -1
    """The descriptor at which people would sit at its terminal, for whoever started it to close; -1 without one."""


class Control:
    """One connection. After its end every answer that is still awaited raises SandboxGoneError."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._next = 0
        self._answers: dict[int, asyncio.Future[tuple[bytes, int]]] = {}
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._screens: dict[int, asyncio.Future[int]] = {}
        """Of programs that are being started on terminals: the descriptor of its other end."""
        self._ended = False
        self._loop.add_reader(connection.fileno(), self._readable)

    @property
    def ended(self) -> bool:
        """Whether init or this side has closed it."""
        return self._ended

    async def ask(self, kind: bytes, payload: Any = None) -> tuple[bytes, int]:
        """Send a request and wait for its answer's kind and value. The caller sets the deadline. Raises SandboxError, SandboxGoneError."""
        return await self._ask(self._number(), kind, payload, ())

    async def start(self, kind: bytes, payload: Any, fds: Sequence[int]) -> "Started":
        """Have a program started with these as its stdin, stdout and stderr, or without any on a terminal. Raises SandboxError."""
        number = self._number()
        if fds:
            return Started(number, await self._start(number, kind, payload, fds))
        screen = self._screens[number] = self._loop.create_future()
        try:
            ending = await self._start(number, kind, payload, ())
            # Init hands it over before it forks, but the child may be quicker to speak.
            return Started(number, ending, await screen)
        except BaseException:
            if screen.done() and not screen.cancelled() and screen.exception() is None:
                os.close(screen.result())
            raise
        finally:
            self._screens.pop(number, None)

    async def _start(self, number: int, kind: bytes, payload: Any, fds: Sequence[int]) -> "asyncio.Future[int]":
        # Made before the answer comes: a short program's end may come together with it.
        ending = self._exits[number] = self._loop.create_future()
        try:
            got, value = await self._ask(number, kind, payload, fds)
        except BaseException:
            self._exits.pop(number, None)
            raise
        if got != b"S":
            self._exits.pop(number, None)
            if got == b"D":
                raise NotBegunError(f"A program could not be started in {payload['cwd']}: {os.strerror(value)}.")
            raise NotBegunError(f"No program could be started in the sandbox: {os.strerror(value)}. It may be at its limit of processes.")
        return ending

    def _number(self) -> int:
        number, self._next = self._next, (self._next + 1) & 0xFFFFFFFF
        return number

    async def _ask(self, number: int, kind: bytes, payload: Any, fds: Sequence[int]) -> tuple[bytes, int]:
        answer: asyncio.Future[tuple[bytes, int]] = self._loop.create_future()
        self._answers[number] = answer
        try:
            await self._send(REQUEST.pack(kind, number), payload, fds)
            return await answer
        finally:
            self._answers.pop(number, None)

    async def _send(self, header: bytes, payload: Any, fds: Sequence[int]) -> None:
        with contextlib.ExitStack() as stack:
            sent = list(fds)
            if payload is not None:
                with told_as_sandbox_error("No request could be made to the sandbox"):
                    memory = os.memfd_create("request", os.MFD_CLOEXEC)
                    stack.callback(os.close, memory)
                    _write_all(memory, marshal.dumps(payload))
                sent.insert(0, memory)
            while True:
                if self._ended:
                    raise SandboxGoneError("The sandbox has ended.")
                try:
                    socket.send_fds(self._socket, [header], sent)
                except BlockingIOError:
                    await _writable(self._loop, self._socket.fileno())
                except OSError:
                    self.close()
                else:
                    return

    def _readable(self) -> None:
        while not self._ended:
            try:
                data, fds, _, _ = socket.recv_fds(self._socket, 64, 4, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                return
            except OSError:
                data, fds = b"", []
            if len(data) != ANSWER.size:
                _close(fds)
                self.close()
                return
            kind, number, value = ANSWER.unpack(data)
            screen = self._screens.get(number)
            if kind == b"M" and screen is not None and not screen.done() and len(fds) == 1:
                screen.set_result(fds[0])
                continue
            _close(fds)
            if kind == b"X":
                self._set(self._exits.pop(number, None), value)
                # Who was ended before it could say that it started has started and ended.
                kind = b"S"
            self._set(self._answers.get(number), (kind, value))

    @staticmethod
    def _set(future: "asyncio.Future[Any] | None", value: object) -> None:
        if future is not None and not future.done():
            future.set_result(value)

    def close(self) -> None:
        """Close it: init exits, and the sandbox with it."""
        if self._ended:
            return
        self._ended = True
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        waiting: list[asyncio.Future[Any]] = [*self._answers.values(), *self._exits.values(), *self._screens.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(SandboxGoneError("The sandbox has ended."))
                future.exception()  # Somebody may never ask for it.


def _close(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


async def _writable(loop: asyncio.AbstractEventLoop, fd: int) -> None:
    ready = loop.create_future()
    loop.add_writer(fd, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_writer(fd)
