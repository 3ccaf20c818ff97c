"""Connections to the server of consoles: those on which no key has been shown are few, and none of them lasts."""

import asyncio
from collections.abc import Callable

MOST_UNKNOWN = 64
"""Connections without a key at once. When one more comes, the oldest of them goes: so nobody can keep others out by holding many."""
UNKNOWN_SECONDS = 30.0
"""How long one may stay: enough for the page and its files. A browser that wants more of them connects again."""


class Guests:
    """The connections of one server on which no key has been shown yet."""

    def __init__(self, *, most: int = MOST_UNKNOWN, seconds: float = UNKNOWN_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._timers: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}
        """By connection, the oldest first: what ends it."""

    def comes(self, transport: asyncio.Transport) -> None:
        """Somebody has connected."""
        while len(self._timers) >= self._most:
            self._cut(next(iter(self._timers)))
        self._timers[transport] = asyncio.get_running_loop().call_later(self._seconds, self._cut, transport)

    def is_known(self, transport: asyncio.BaseTransport | None) -> None:
        """A key that is somebody's was shown on this connection; or it has ended."""
        timer = self._timers.pop(transport, None) if transport is not None else None
        if timer is not None:
            timer.cancel()

    def _cut(self, transport: asyncio.BaseTransport) -> None:
        self.is_known(transport)
        if isinstance(transport, asyncio.Transport):
            transport.abort()

    def watched(self, protocols: Callable[[], asyncio.Protocol]) -> Callable[[], asyncio.Protocol]:
        """The same protocols, each of whose connections is a guest's until a key is shown on it."""
        return lambda: _Watched(protocols(), self)


class _Watched(asyncio.Protocol):
    """A protocol that tells of its connection's beginning and end."""

    def __init__(self, inner: asyncio.Protocol, guests: Guests) -> None:
        self._inner = inner
        self._guests = guests
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if isinstance(transport, asyncio.Transport):
            self._guests.comes(transport)
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._guests.is_known(self._transport)
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
