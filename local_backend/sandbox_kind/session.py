"""One command in a box as its clients see it: output by offsets, bounded and held back; input by offsets; and who is still there for it.

It knows a Process and clients that may lose their connection, not what the command or the box is for. One event loop.
"""

import asyncio
import contextlib
import logging
import secrets
import signal
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable
from operator import itemgetter
from typing import Literal

from local_backend.sandboxes.interface import Process, SandboxError, SandboxGoneError, TerminalSize
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.sandbox import SandboxReason
from nodus_tui.contract.sandbox_exec import INPUT_BYTES, WINDOW_BYTES, ExecEnd, ExecPiece, ExecSignal, ExecTaken

_log = logging.getLogger(__name__)

_PIECE = 65_536
_MOST_PIECES = 4096
"""Of the two streams in turns: each takes room beside its bytes."""
_FEED = 65_536
_ROOM_SECONDS = 3.0
"""So long input waits for room, before the answer is that none was taken."""
_DRAIN_SECONDS = 0.5
"""After a command's end its output may be held open by what it left running; what comes without such a pause still counts."""
_DRAIN_BYTES = 8 << 20
"""And of that, so much at most: pipes and engines hold less of what the command itself wrote."""
_HANG_UP_SECONDS = 2.0
"""Between the hang-up of a session that is ended and its kill."""

_SIGNALS: dict[ExecSignal, signal.Signals] = {
    "HUP": signal.SIGHUP,
    "INT": signal.SIGINT,
    "QUIT": signal.SIGQUIT,
    "TERM": signal.SIGTERM,
    "KILL": signal.SIGKILL,
}


class Session:
    """One command, on a terminal or not. `ended` is called once, when it has."""

    def __init__(self, process: Process, request_id: str, ended: Callable[["Session"], None], *, terminal: bool) -> None:
        self.id = secrets.token_hex(16)
        self.request_id = request_id
        self._process = process
        self._terminal = terminal
        self._tell_ended = ended
        self._clock = asyncio.get_running_loop().time
        self._pieces: list[tuple[int, Literal["stdout", "stderr"], bytearray]] = []
        self._kept_from = 0
        """What is before this has arrived."""
        self._written = 0
        self._end: ExecEnd | None = None
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._readers = 0
        self._turn = 0
        """Which reader gets the output: the last one that asked."""
        self.heard_at = self._clock()
        """When a client last asked something."""
        self.ending = False
        """Whether it is being ended because its clients are gone."""
        self._why: tuple[SandboxReason | None, str] = (None, "")
        self.gone = False
        """Whether the command ended because its sandbox does not live any more."""
        self._input = bytearray()
        self._input_offset = 0
        self._input_ends = False
        self._input_closed = False
        self._feeding = asyncio.Lock()
        self._fed = asyncio.Event()
        self._wanted = asyncio.Event()
        self._tasks = [asyncio.create_task(work(), name=f"command {self.id[:8]}") for work in (self._take_output, self._feed)]

    @property
    def over(self) -> bool:
        """Whether the command has ended."""
        return self._end is not None

    @property
    def silent_seconds(self) -> float:
        """How long no client has asked for anything."""
        return 0.0 if self._readers else self._clock() - self.heard_at

    # Output.

    async def output(self, after: int, wait_seconds: float) -> AsyncGenerator[ExecPiece | ExecEnd, None]:
        """What comes after a place, for so long or up to the window's size. Raises NodusError for a place that is not there (any more)."""
        if not self._kept_from <= after <= self._written:
            raise NodusError(
                ErrorCode.INVALID_REQUEST,
                f"output of this command is kept from byte {self._kept_from} to {self._written}, and {after} is none of them",
            )
        self._arrived(after)
        self._turn += 1
        self._news.set()
        turn, at, until = self._turn, after, self._clock() + wait_seconds
        self._readers += 1
        try:
            while turn == self._turn and at - after < WINDOW_BYTES:
                self._news.clear()
                if (piece := self._piece_at(at)) is not None:
                    at += len(piece.data)
                    yield piece
                elif self._end is not None:
                    yield self._end
                    return
                else:
                    left = until - self._clock()
                    # Only being asked again makes room.
                    if left <= 0 or self._full:
                        return
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._news.wait(), left)
        finally:
            self._readers -= 1
            self.heard_at = self._clock()

    def _piece_at(self, at: int) -> ExecPiece | None:
        place = bisect_right(self._pieces, at, key=itemgetter(0)) - 1
        if place < 0:
            return None
        offset, stream, data = self._pieces[place]
        return ExecPiece(offset=at, stream=stream, data=bytes(data[at - offset :])) if at < offset + len(data) else None

    def _arrived(self, place: int) -> None:
        whole = bisect_right(self._pieces, place, key=itemgetter(0)) - 1
        del self._pieces[: max(0, whole)]
        self._kept_from = place
        self._room.set()

    def _keep(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        last = self._pieces[-1] if self._pieces else None
        if last is not None and last[1] == stream and len(last[2]) < _PIECE:
            last[2].extend(data)
        else:
            self._pieces.append((self._written, stream, bytearray(data)))
        self._written += len(data)
        self._news.set()

    @property
    def _full(self) -> bool:
        return self._written - self._kept_from >= WINDOW_BYTES or len(self._pieces) >= _MOST_PIECES

    async def _take_output(self) -> None:
        ending = asyncio.create_task(self._process.wait())
        try:
            await self._read(ending)
            self._finish(await ending)
        except SandboxGoneError:
            self.gone = True
            self._finish(None, "the sandbox ended, and the command with it")
        except SandboxError as error:
            self._finish(None, f"the command was lost: {error}")
        except Exception:  # noqa: BLE001 - whatever it is, nobody is to wait for its end for ever
            _log.exception("a command was lost by a fault of the scheduler")
            self._finish(None, "the command was lost by a fault of the scheduler; its log has the details")
        finally:
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)

    async def _read(self, ending: "asyncio.Task[int]") -> None:
        """Take all of the output, as far as there is room for it."""
        drained = 0
        while drained < _DRAIN_BYTES:
            while self._full:
                self._room.clear()
                await self._room.wait()
            most = min(_PIECE, WINDOW_BYTES - (self._written - self._kept_from))
            reading = asyncio.ensure_future(self._process.read(most))
            try:
                await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)
                if not reading.done():
                    return
            finally:
                if not reading.done():
                    reading.cancel()
                    await asyncio.gather(reading, return_exceptions=True)
            piece = reading.result()
            if piece is None:
                return
            self._keep(*piece)
            drained += len(piece[1]) if ending.done() else 0

    def _finish(self, exit_code: int | None, message: str = "") -> None:
        if self._end is None:
            reason, why = self._why
            self._end = ExecEnd(offset=self._written, exit_code=exit_code, reason=reason, message=why or message)
            self._input_closed = True
            self._news.set()
            self._fed.set()
            self._wanted.set()
            self._tell_ended(self)

    # Input.

    async def input(self, data: bytes, *, offset: int, end: bool) -> ExecTaken:
        """Take input that begins at a place. Raises NodusError where bytes are missing before it."""
        self.heard_at = self._clock()
        async with self._feeding:
            if offset > self._input_offset:
                raise NodusError(
                    ErrorCode.INVALID_REQUEST, f"{self._input_offset} bytes of input were taken, so the next ones cannot begin at {offset}"
                )
            fresh = data[self._input_offset - offset :]
            until = self._clock() + _ROOM_SECONDS
            while fresh and len(self._input) >= INPUT_BYTES and not self._input_closed and (left := until - self._clock()) > 0:
                self._fed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._fed.wait(), left)
            if not self._input_closed:
                taken = fresh[: max(0, INPUT_BYTES - len(self._input))]
                self._input += taken
                self._input_offset += len(taken)
                self._input_ends = self._input_ends or (end and len(taken) == len(fresh))
                self._wanted.set()
            self.heard_at = self._clock()
            return ExecTaken(next_offset=self._input_offset, closed=self._input_closed)

    async def _feed(self) -> None:
        while not self._input_closed:
            self._wanted.clear()
            piece = bytes(self._input[:_FEED])
            try:
                if piece:
                    await self._process.write(piece)
                    del self._input[: len(piece)]
                    self._fed.set()
                elif self._input_ends:
                    await self._process.close_stdin()
                    self._input_closed = True
                else:
                    await self._wanted.wait()
            except SandboxError:  # It reads no more, and its end is told by its output.
                self._input_closed = True
        self._fed.set()

    # The rest.

    async def resize(self, size: TerminalSize) -> None:
        """Its terminal has another size. Raises SandboxError, and NodusError where it has none."""
        if not self._terminal:
            raise NodusError(ErrorCode.INVALID_ACTION, "this command has no terminal whose size could change")
        self.heard_at = self._clock()
        if self._end is None:
            await self._process.resize(size)

    async def signal(self, which: ExecSignal) -> None:
        """A signal to it and its session. Raises SandboxError."""
        self.heard_at = self._clock()
        if self._end is None:
            await self._process.signal(_SIGNALS[which])

    def tell_why(self, reason: SandboxReason | None, message: str) -> None:
        """Its sandbox is about to be stopped: this is what its clients are told."""
        self._why = (reason, message)

    async def hang_up(self) -> None:
        """End it, as when a terminal is closed; what does not go is killed. Never raises."""
        for which in (signal.SIGHUP, signal.SIGKILL):
            if self._end is None:
                try:
                    await self._process.signal(which)
                except SandboxError as error:
                    _log.info("a command could not be ended: %s", error)
                await asyncio.wait(self._tasks[:1], timeout=_HANG_UP_SECONDS)

    async def aclose(self) -> None:
        """Let go of it. What it wrote can still be asked for. Never raises."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._finish(None, "the command was let go of")
        await self._process.aclose()
