"""One connection to a listener: bounded in time until its request's head is whole, counted, and on a unix socket, known by its peer."""

import asyncio
import socket
import struct
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from local_backend.daemon.access import Limits
from local_backend.daemon.gate import PEER_UID
from local_backend.daemon.streaming import ABORT

_PEER_CREDENTIALS = struct.Struct("3i")


def peer_uid(connection: socket.socket) -> int:
    """The user id at the other end of a unix socket, as the kernel noted it when the connection was made."""
    _, uid, _ = _PEER_CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size))
    return int(uid)


def connection_class(limits: Limits, *, unix: bool) -> type[H11Protocol]:
    """The class of a listener's connections."""

    class Connection(_Connection):
        bounds = limits
        on_unix_socket = unix

    return Connection


class _Connection(H11Protocol):
    bounds: Limits
    on_unix_socket: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its parent has it
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort}
        if self.on_unix_socket:
            self.app_state[PEER_UID] = peer_uid(transport.get_extra_info("socket"))
        if len(self.connections) > self.bounds.connections:
            transport.abort()
            return
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        self._expect_head()
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.bounds.header_seconds, self._cut)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _cut(self) -> None:
        self._head_timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
