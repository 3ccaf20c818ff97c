"""The output of one program, taken in ahead of whoever reads it, up to a limit. It knows the stream, not the program.

It is taken in ahead because an engine tells of ends one after the other: a program that ended, and whose last output nobody takes, keeps
it from telling that any later one ended. Beyond the limit the program is held up, as by a pipe.
"""

import asyncio
from collections import deque
from typing import Literal

from local_backend.sandboxes.docker.hijack import BrokenStreamError, Hijacked

AHEAD_BYTES = 256 << 10
"""What is taken in of a program that nobody reads."""

REST_BYTES = 4 << 20
"""What may still come of a program that has ended: pipes and sockets on the way hold less."""

_PIECE = 65_536

Piece = tuple[Literal["stdout", "stderr"], bytes]


class Output:
    """One reader at a time."""

    def __init__(self, stream: Hijacked) -> None:
        self._stream = stream
        self._pieces: deque[Piece] = deque()
        self._size = 0
        self._room = AHEAD_BYTES
        self._come = asyncio.Event()
        self._gone = asyncio.Event()
        self._error: OSError | BrokenStreamError | None = None
        self.ended = False
        """Whether all of it is here."""
        self._taking = asyncio.create_task(self._take_in())

    async def next(self, most: int) -> Piece | None:
        """The next piece, None at the end. May be cancelled without losing any. Raises OSError, BrokenStreamError."""
        while not self._pieces:
            if self.ended:
                if self._error is not None:
                    raise self._error
                return None
            self._come.clear()
            await self._come.wait()
        source, data = self._pieces.popleft()
        if len(data) > most:
            self._pieces.appendleft((source, data[most:]))
            data = data[:most]
        self._size -= len(data)
        self._gone.set()
        return source, data

    def put_back(self, piece: Piece) -> None:
        """What was read too early comes next again."""
        self._pieces.appendleft(piece)
        self._size += len(piece[1])
        self._come.set()

    def lift(self, room: int) -> None:
        """Take in so much more than what is here, for nobody may be reading and the program may have ended."""
        self._room = max(self._room, self._size + room)
        self._gone.set()

    async def aclose(self) -> None:
        """Take in no more."""
        self._stream.close()
        self._taking.cancel()
        await asyncio.wait({self._taking})

    async def _take_in(self) -> None:
        try:
            while True:
                while self._size >= self._room:
                    self._gone.clear()
                    await self._gone.wait()
                piece = await self._stream.read(_PIECE)
                if piece is None:
                    return
                self._pieces.append(piece)
                self._size += len(piece[1])
                self._come.set()
        except (OSError, BrokenStreamError) as error:
            self._error = error
        finally:
            self.ended = True
            self._come.set()
