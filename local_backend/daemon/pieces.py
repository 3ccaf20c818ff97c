"""Answers that come piece by piece: a file's bytes, and as lines of JSON the cases of a gold check and what a command writes."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from starlette.types import Send

from local_backend.daemon.presence import Presence
from local_backend.daemon.streaming import Item, StreamedAnswer, with_pauses
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.http import BYTES_TYPE, HEARTBEAT_SECONDS, LINES_TYPE
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece

_log = logging.getLogger(__name__)


async def begun(items: AsyncIterator[Item]) -> AsyncGenerator[Item, None]:
    """The same items, once the first is there: what cannot begin is refused properly, rather than in the midst of an answer."""
    try:
        first = await anext(items)
    except StopAsyncIteration:
        return _chain((), items)
    return _chain((first,), items)


async def _chain(first: tuple[Item, ...], items: AsyncIterator[Item]) -> AsyncGenerator[Item, None]:
    try:
        for item in first:
            yield item
        async for item in items:
            yield item
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


class FileBytes(StreamedAnswer):
    """A file from a sandbox."""

    media_type = BYTES_TYPE

    def __init__(self, pieces: AsyncGenerator[bytes, None], *, presence: Presence, caller: str, stall_seconds: float) -> None:
        super().__init__(presence=presence, caller=caller, stall_seconds=stall_seconds)
        self.headers["Content-Disposition"] = "attachment"
        self._pieces = pieces

    async def _pump(self, send: Send) -> bool:
        try:
            async with aclosing(self._pieces):
                async for piece in self._pieces:
                    await self._write(send, piece)
        except NodusError as error:
            _log.warning("a file could not be sent whole to %s: %s", self._caller, error.detail)
            return False
        return True


def with_heartbeats(cases: AsyncIterator[GoldCase]) -> AsyncGenerator[GoldCase | None, None]:
    """The cases, and None whenever none has come for a while."""
    return with_pauses(cases, HEARTBEAT_SECONDS)


class CaseLines(StreamedAnswer):
    """The cases of a gold check; for None an empty line. When it cannot go on, its last line is a problem."""

    media_type = LINES_TYPE

    def __init__(self, cases: AsyncGenerator[GoldCase | None, None], *, presence: Presence, caller: str, stall_seconds: float) -> None:
        super().__init__(presence=presence, caller=caller, stall_seconds=stall_seconds)
        self._cases = cases

    async def _pump(self, send: Send) -> bool:
        try:
            async with aclosing(self._cases):
                async for case in self._cases:
                    await self._write(send, b"\n" if case is None else f"{case.model_dump_json(by_alias=True)}\n".encode())
        except NodusError as error:
            await self._write(send, f"{error.problem().model_dump_json(by_alias=True)}\n".encode())
        return True


class ExecLines(StreamedAnswer):
    """What a command writes; for None an empty line. It may end at any time: a client goes on from the place after the last piece."""

    media_type = LINES_TYPE
    resumable = True

    def __init__(
        self, pieces: AsyncGenerator[ExecPiece | ExecEnd | None, None], *, presence: Presence, caller: str, stall_seconds: float
    ) -> None:
        super().__init__(presence=presence, caller=caller, stall_seconds=stall_seconds)
        self._pieces = pieces

    async def _pump(self, send: Send) -> bool:
        try:
            async with aclosing(self._pieces):
                async for piece in self._pieces:
                    await self._write(send, b"\n" if piece is None else f"{piece.model_dump_json(by_alias=True)}\n".encode())
        except NodusError as error:
            await self._write(send, f"{error.problem().model_dump_json(by_alias=True)}\n".encode())
        return True
