"""A command in a Sandbox as one who runs it holds it: for the command line, the console and the Python interface alike.

It asks on for output until the end, feeds input at the command's pace, and knows nothing of terminals or files of this machine.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, cast
from uuid import uuid4

from msgspec import Struct

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandbox_exec import INPUT_BYTES, ExecEnd, ExecPiece, ExecRequest, ExecSignal, TerminalShape

_PAUSE_SECONDS = 0.03
"""Between two requests with input: a person who types notices nothing, and a server counts requests."""
_LAST_SECONDS = 1.0
"""For a request that is broken off its connection is lost, and a new one has to be made."""


class Command:
    """One command that was started. Used on one event loop."""

    def __init__(self, backend: Backend, sandbox: str, session: str) -> None:
        self._backend = backend
        self._sandbox = sandbox
        self._session = session
        self._fed = 0
        self._feeding = asyncio.Lock()
        self._fed_at = float("-inf")
        self.closed = False
        """Whether it reads no more input."""

    @classmethod
    async def start(cls, backend: Backend, sandbox: str, request: ExecRequest) -> "Command":
        """Start it. Raises NodusError."""
        # With an id of its own, so that a lost answer starts nothing twice.
        session = await backend.exec_start(sandbox, request, request_id=uuid4().hex)
        return cls(backend, sandbox, session.id)

    async def output(self) -> AsyncGenerator[ExecPiece | ExecEnd, None]:
        """All that it writes, and last its end. Raises NodusError."""
        at, ended = 0, False
        while not ended:
            # An answer may be a generator; then it is closed here and now, not when memory is tidied.
            async with aclosing(cast("Any", self._backend.exec_output(self._sandbox, self._session, after=at))) as pieces:
                async for piece in pieces:
                    if isinstance(piece, ExecPiece):
                        at = piece.offset + len(piece.data)
                    ended = isinstance(piece, ExecEnd)
                    yield piece

    async def feed(self, data: bytes, *, end: bool = False) -> None:
        """Give it input; returns when all of it was taken, or it reads no more. Raises NodusError."""
        async with self._feeding:
            rest = data
            while (rest or end) and not self.closed:
                await self._wait_a_little()
                piece = rest[:INPUT_BYTES]
                last = len(piece) == len(rest)
                taken = await self._backend.exec_input(self._sandbox, self._session, piece, offset=self._fed, end=end and last)
                rest = rest[taken.next_offset - self._fed :]
                self._fed, self.closed = taken.next_offset, taken.closed
                if last and not rest:
                    return

    async def stop_feeding(self, feeding: "asyncio.Task[None]") -> None:
        """End a task that feeds it; a request that is under way is let come to its end, where that is soon."""
        self.closed = True
        if self._feeding.locked():
            await asyncio.wait({feeding}, timeout=_LAST_SECONDS)
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)

    async def _wait_a_little(self) -> None:
        clock = asyncio.get_running_loop().time
        if (left := self._fed_at + _PAUSE_SECONDS - clock()) > 0:
            await asyncio.sleep(left)
        self._fed_at = clock()

    async def resize(self, shape: TerminalShape) -> None:
        """Its terminal has another size. Raises NodusError."""
        await self._backend.exec_resize(self._sandbox, self._session, shape)

    async def signal(self, which: ExecSignal) -> None:
        """Send a signal to it and all that it started in its session; nothing where it is not there any more. Raises NodusError."""
        try:
            await self._backend.exec_signal(self._sandbox, self._session, which)
        except NodusError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise


class Finished(Struct, frozen=True):
    """How a command ended that was run to its end."""

    end: ExecEnd
    stdout: bytes
    stderr: bytes
    dropped: int
    """Bytes of both streams together that came after what is kept."""


async def run_command(
    backend: Backend,
    sandbox: str,
    request: ExecRequest,
    *,
    stdin: AsyncGenerator[bytes, None] | None = None,
    timeout: float | None = None,
    keep_bytes: int = 64 << 20,
) -> Finished:
    """Run a command to its end, and keep so much of each of its streams. After `timeout` seconds, or cancelled, it is killed.

    Raises NodusError, and TimeoutError.
    """
    command = await Command.start(backend, sandbox, request)
    kept: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
    dropped = 0
    end: ExecEnd | None = None
    feeding = asyncio.create_task(_feed(command, stdin))
    try:
        async with asyncio.timeout(timeout), aclosing(command.output()) as pieces:
            async for piece in pieces:
                if isinstance(piece, ExecEnd):
                    end = piece
                    continue
                stream = kept[piece.stream]
                room = max(0, keep_bytes - len(stream))
                stream += piece.data[:room]
                dropped += max(0, len(piece.data) - room)
        if end is None:
            raise NodusError(ErrorCode.UNAVAILABLE, "the command's output ended without its end")
        return Finished(end, bytes(kept["stdout"]), bytes(kept["stderr"]), dropped)
    except (TimeoutError, asyncio.CancelledError):
        with suppress(NodusError):  # It is on its way out; its own end would end it too.
            await asyncio.shield(asyncio.ensure_future(command.signal("KILL")))
        raise
    finally:
        await command.stop_feeding(feeding)


async def _feed(command: Command, stdin: AsyncGenerator[bytes, None] | None) -> None:
    with suppress(NodusError):  # Its end says what went wrong.
        if stdin is not None:
            await feed_all(command, stdin)
        await command.feed(b"", end=True)


async def feed_all(command: Command, pieces: AsyncGenerator[bytes, None]) -> None:
    """Feed it all pieces; what comes while some are on their way goes with the next. Raises NodusError."""
    waiting = bytearray()
    come, room = asyncio.Event(), asyncio.Event()

    async def take() -> None:
        async with aclosing(pieces):
            async for piece in pieces:
                waiting.extend(piece)
                come.set()
                while len(waiting) >= INPUT_BYTES:
                    room.clear()
                    await room.wait()

    taking = asyncio.create_task(take())
    taking.add_done_callback(lambda _: come.set())
    try:
        while not command.closed:
            come.clear()
            if waiting:
                data = bytes(waiting)
                waiting.clear()
                room.set()
                await command.feed(data)
            elif taking.done():
                return taking.result()
            else:
                await come.wait()
    finally:
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
