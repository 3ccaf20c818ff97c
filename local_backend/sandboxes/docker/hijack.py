"""The connection of a program in a container: an HTTP request that the engine takes over for the program's three streams.

It is written on sockets because stdin must be able to end while output goes on, which no client library that was looked at offers
(aiodocker closes both ways at once), and which TLS needs an own hand for: asyncio cannot send TLS's end of one direction. It knows HTTP's
first lines and Docker's framing of the streams, nothing of containers.
"""

import asyncio
import contextlib
import json
import ssl
import struct
from http import HTTPStatus
from typing import Any, Literal

from local_backend.sandboxes.docker.endpoint import Endpoint

_HEADER = struct.Struct(">BxxxL")
_PIECE = 65_536
_MOST_HEAD_BYTES = 65_536


class RefusedError(Exception):
    """The engine answered the request with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class BrokenStreamError(Exception):
    """The connection ended in the middle of a message, or holds what is no message."""


class _Plain:
    """Bytes as they are."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        # What was drained is with the system: nothing waits here when one direction ends.
        writer.transport.set_write_buffer_limits(high=0)

    async def receive(self) -> bytes:
        """The next bytes, at least one; nothing at the end. May be cancelled without losing any."""
        return await self._reader.read(_PIECE)

    def put(self, data: bytes) -> None:
        """Take bytes for sending."""
        self._writer.write(data)

    def put_end(self) -> None:
        """Nothing more is sent; what was put is, first."""
        self._writer.write_eof()

    async def drain(self) -> None:
        """Wait until the system has all that was put."""
        await self._writer.drain()

    def close(self) -> None:
        self._writer.transport.abort()


class _Secured:
    """The same through TLS, with an end of each direction of its own."""

    def __init__(self, plain: _Plain, context: ssl.SSLContext, host: str) -> None:
        self._plain = plain
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._ended = False

    async def shake_hands(self) -> None:
        """Agree on keys. Raises ssl.SSLError, BrokenStreamError."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._pass_on()
                if not await self._take():
                    raise BrokenStreamError("the engine closed the connection while TLS began") from None
            else:
                self._pass_on()
                return

    async def receive(self) -> bytes:
        while True:
            try:
                return self._tls.read(_PIECE)
            except ssl.SSLWantReadError:
                self._pass_on()
                if not await self._take():
                    return b""
            except ssl.SSLZeroReturnError:
                return b""

    def put(self, data: bytes) -> None:
        self._tls.write(data)
        self._pass_on()

    def put_end(self) -> None:
        with contextlib.suppress(ssl.SSLWantReadError):  # The engine's own end comes when it has said everything.
            self._tls.unwrap()
        self._pass_on()

    async def drain(self) -> None:
        await self._plain.drain()

    def close(self) -> None:
        self._plain.close()

    def _pass_on(self) -> None:
        if data := self._outgoing.read():
            self._plain.put(data)

    async def _take(self) -> bool:
        if self._ended:
            return False
        data = await self._plain.receive()
        if data:
            self._incoming.write(data)
        else:
            self._ended = True
            self._incoming.write_eof()
        return bool(data)


class Hijacked:
    """The three streams, or a terminal's one both ways, which has no framing. One reader and one writer at a time."""

    def __init__(self, line: _Plain | _Secured, begun: bytes, *, terminal: bool = False) -> None:
        self._line = line
        self._held = bytearray(begun)
        self._terminal = terminal
        self._source: Literal["stdout", "stderr"] = "stdout"
        self._left = 0
        """Bytes of the current message that were not given out yet."""

    async def read(self, most: int) -> tuple[Literal["stdout", "stderr"], bytes] | None:
        """The next piece of output, None at the end. May be cancelled without losing any. Raises OSError, BrokenStreamError."""
        if self._terminal:
            if not self._held and not await self._fill(1):
                return None
            self._left = len(self._held)
        while not self._left:
            if not await self._fill(_HEADER.size):
                if self._held:
                    raise BrokenStreamError("the stream ended within a header")
                return None
            kind, self._left = _HEADER.unpack_from(self._held)
            if kind > 2:
                raise BrokenStreamError(f"the stream holds a message of kind {kind}")
            self._source = "stderr" if kind == 2 else "stdout"
            del self._held[: _HEADER.size]
        if not self._held and not await self._fill(1):
            raise BrokenStreamError("the stream ended within a message")
        size = min(self._left, most, len(self._held))
        piece = bytes(memoryview(self._held)[:size])
        del self._held[:size]
        self._left -= size
        return self._source, piece

    def put(self, data: bytes) -> None:
        """Take bytes for stdin. Raises OSError."""
        self._line.put(data)

    def put_end(self) -> None:
        """Stdin ends after what was put; output goes on. Raises OSError."""
        self._line.put_end()

    async def drain(self) -> None:
        """Wait until the system has what was put. May be cancelled and begun again. Raises OSError when the connection is closed."""
        await self._line.drain()

    def close(self) -> None:
        """Drop the connection."""
        self._line.close()

    async def _fill(self, size: int) -> bool:
        while len(self._held) < size:
            data = await self._line.receive()
            if not data:
                return False
            self._held += data
        return True


async def open_hijacked(endpoint: Endpoint, path: str, body: dict[str, Any], *, terminal: bool = False) -> Hijacked:
    """POST to a path and take over the connection. Raises RefusedError, BrokenStreamError, OSError; the caller sets the deadline."""
    if endpoint.unix is not None:
        reader, writer = await asyncio.open_unix_connection(endpoint.unix)
    else:
        reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    plain = _Plain(reader, writer)
    try:
        line: _Plain | _Secured = plain
        if endpoint.tls is not None:
            line = _Secured(plain, endpoint.tls, endpoint.host)
            await line.shake_hands()
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {endpoint.host or 'docker'}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
        )
        line.put(head.encode() + content)
        return Hijacked(line, await _read_answer(line), terminal=terminal)
    except BaseException:
        plain.close()
        raise


async def _read_answer(line: _Plain | _Secured) -> bytes:
    """Read the answer's head, and give what came after it."""
    held = b""
    while b"\r\n\r\n" not in held:
        data = await line.receive()
        if not data or len(held) > _MOST_HEAD_BYTES:
            raise BrokenStreamError("the engine closed the connection before it answered")
        held += data
    head, _, rest = held.partition(b"\r\n\r\n")
    words = head.split(b"\r\n", 1)[0].split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise BrokenStreamError("the engine did not answer in HTTP")
    status = int(words[1])
    # Some engines say 200 where others say 101.
    if status in {HTTPStatus.SWITCHING_PROTOCOLS, HTTPStatus.OK}:
        return rest
    raise RefusedError(status, await _read_refusal(line, head, rest))


async def _read_refusal(line: _Plain | _Secured, head: bytes, rest: bytes) -> str:
    length = next(
        (int(value) for name, _, value in (h.partition(b":") for h in head.split(b"\r\n")) if name.lower() == b"content-length"), 0
    )
    while len(rest) < min(length, _MOST_HEAD_BYTES):
        data = await line.receive()
        if not data:
            break
        rest += data
    try:
        return str(json.loads(rest)["message"])
    except (ValueError, KeyError, TypeError):
        return rest.decode(errors="replace").strip()
