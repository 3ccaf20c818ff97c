"""Requests over a unix socket of this machine, each on a connection of its own.

Nearly every verb speaks to its workspace's scheduler, and a client for all of HTTP takes longer to load than that verb has in all. Here is
what a server of ours says on its own socket: HTTP/1.1 with a length, with chunks, or up to the end of the connection.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlencode

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.remote.wire import CONNECT_SECONDS, LostError, Request

_HEAD_BYTES = 65_536
_PIECE_BYTES = 65_536
_NO_BODY = frozenset({204, 304})

Given = TypeVar("Given")


class SocketWire:
    """The way to the API behind one socket, with headers that go with each request."""

    def __init__(self, path: Path, headers: Mapping[str, str]) -> None:
        self._path = path
        self._headers = headers

    async def send(self, request: Request) -> "SocketReply":
        """Ask. Raises LostError, and NodusError for a header that cannot be written."""
        told = self._told(request)
        try:
            reader, writer = await _in_time(asyncio.open_unix_connection(str(self._path), limit=_HEAD_BYTES), CONNECT_SECONDS)
        except LostError as loss:
            # Nothing was asked yet: it is tried again as where nobody listens, not as an answer that may be at work.
            raise (LostError("it takes no connection in time") if loss.timed_out else loss) from loss.__cause__
        try:
            writer.write(told)
            await _in_time(writer.drain(), request.read_seconds)
            status, reason, headers = _head(await _in_time(reader.readuntil(b"\r\n\r\n"), request.read_seconds))
        except BaseException:
            await _close(writer)
            raise
        return SocketReply(reader, writer, status, reason, headers, request.read_seconds)

    def _told(self, request: Request) -> bytes:
        target = request.path + ("?" + urlencode(request.params, quote_via=quote) if request.params else "")
        fixed = {"Host": "localhost", "Connection": "close", "Accept": "*/*"}
        if request.body or request.method != "GET":
            fixed["Content-Length"] = str(len(request.body))
        lines = [f"{name}: {value}" for name, value in {**fixed, **self._headers, **request.headers}.items()]
        if not all(line.isascii() and line.isprintable() for line in lines):
            raise NodusError(ErrorCode.INVALID_REQUEST, "a header of the request holds characters that no header has: use printable ASCII")
        return "\r\n".join([f"{request.method} {target} HTTP/1.1", *lines, "", ""]).encode("ascii") + request.body

    async def aclose(self) -> None:
        """Nothing stays open between two requests."""


class SocketReply:
    """An answer of which the head has come."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        status: int,
        reason: str,
        headers: Mapping[str, str],
        read_seconds: float,
    ) -> None:
        self.status = status
        self.reason = reason
        self._reader = reader
        self._writer = writer
        self._headers = headers
        self._read_seconds = read_seconds

    def header(self, name: str) -> str:
        """A header, whatever the case of its letters; empty where there is none."""
        return self._headers.get(name.lower(), "")

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Its body as it comes. Raises LostError."""
        if self.status in _NO_BODY:
            return
        if self.header("Transfer-Encoding").lower() == "chunked":
            async for piece in self._chunks():
                yield piece
        elif self.header("Content-Length"):
            async for piece in self._exactly(_number(self.header("Content-Length"), 10)):
                yield piece
        else:
            while piece := await self._soon(self._reader.read(_PIECE_BYTES)):
                yield piece

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        while True:
            line = await self._soon(self._reader.readuntil(b"\r\n"))
            size = _number(line.partition(b";")[0].decode("latin-1"), 16)
            if size == 0:
                return
            async for piece in self._exactly(size):
                yield piece
            if await self._soon(self._reader.readexactly(2)) != b"\r\n":
                raise LostError("what comes is no answer of an API")

    async def _exactly(self, count: int) -> AsyncGenerator[bytes, None]:
        while count:
            piece = await self._soon(self._reader.read(min(count, _PIECE_BYTES)))
            if not piece:
                raise LostError("the connection ended before the answer was whole")
            count -= len(piece)
            yield piece

    async def _soon(self, coming: Awaitable[Given]) -> Given:
        return await _in_time(coming, self._read_seconds)

    async def aclose(self) -> None:
        """Let go of it."""
        await _close(self._writer)


async def _in_time(coming: Awaitable[Given], seconds: float) -> Given:
    """What comes within so many seconds. Raises LostError for whatever is wrong with the way."""
    try:
        async with asyncio.timeout(seconds):
            return await coming
    except TimeoutError as error:
        raise LostError("no answer in time", timed_out=True) from error
    except asyncio.IncompleteReadError as error:
        raise LostError("the connection ended before the answer was whole") from error
    except asyncio.LimitOverrunError as error:
        raise LostError("what comes is no answer of an API") from error
    except OSError as error:
        raise LostError(error.strerror or str(error)) from error


async def _close(writer: asyncio.StreamWriter) -> None:
    # What a stopped server has not taken yet is not waited for.
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


def _head(text: bytes) -> tuple[int, str, dict[str, str]]:
    first, *lines = text.decode("latin-1").rstrip("\r\n").split("\r\n")
    version, _, rest = first.partition(" ")
    status, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1."):
        raise LostError("what comes is no answer of an API")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return _number(status, 10), reason, headers


def _number(text: str, base: int) -> int:
    try:
        number = int(text, base)
    except ValueError as error:
        raise LostError("what comes is no answer of an API") from error
    if number < 0:
        raise LostError("what comes is no answer of an API")
    return number
