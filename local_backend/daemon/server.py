"""Serving a Backend on a unix socket, on TCP, or on both, in the event loop that runs it."""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from uvicorn import Config, Server

from local_backend.daemon.access import AccessPolicy, Limits, listen_hosts
from local_backend.daemon.api import create_app
from local_backend.daemon.connections import connection_class
from local_backend.daemon.gate import own_peers
from local_backend.daemon.presence import Presence
from local_backend.daemon.sockets import TcpListen, tcp_socket, tls_context, unix_socket
from local_backend.daemon.tokens import TokenStore
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError

__all__ = ["Served", "TcpListen", "serving"]

_KEEP_ALIVE_SECONDS = 60
"""How long a connection may rest between two requests."""


class Served:
    """What is being served."""

    def __init__(self, socket_path: Path | None, port: int | None, presence: Presence) -> None:
        self.socket_path = socket_path
        self.port = port
        """The TCP port, also where the system chose it."""
        self._presence = presence

    @property
    def open_streams(self) -> int:
        """Event streams that are open: consoles that look on."""
        return self._presence.open_streams

    def idle_seconds(self) -> float:
        """How long nobody has asked or watched; 0 while somebody does."""
        return self._presence.idle_seconds()


@asynccontextmanager
async def serving(
    backend: Backend,
    *,
    socket_path: Path | None = None,
    listen: TcpListen | None = None,
    tokens: Path | None = None,
    limits: Limits | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Served]:
    """Serve until the block ends; event streams end at once then, and what is being answered within `limits.shutdown_seconds`.

    `tokens` is the token file (`tokens.json` of NODUS_HOME), which TCP needs. Signals are left to the caller. Raises NodusError when an
    address, the certificate or the token file cannot be used.
    """
    limits = limits or Limits()
    presence = Presence(clock)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(presence.settle, limits.shutdown_seconds)
        port = None
        if socket_path is not None:
            policy = AccessPolicy(identify=None, peers=own_peers(), reads_files=True, limits=limits)
            app = create_app(backend, policy=policy, presence=presence, clock=clock)
            listening, remove = unix_socket(socket_path)
            stack.callback(remove)
            await stack.enter_async_context(_running(app, listening, None, limits, presence, unix=True))
        if listen is not None:
            policy = _tcp_policy(listen, tokens, limits)
            context = tls_context(listen)
            app = create_app(backend, policy=policy, presence=presence, clock=clock, metrics=listen.metrics)
            listening = await tcp_socket(listen)
            port = listening.getsockname()[1]
            await stack.enter_async_context(_running(app, listening, context, limits, presence, unix=False))
        try:
            yield Served(socket_path, port, presence)
        finally:
            presence.stopping.set()


def _tcp_policy(listen: TcpListen, tokens: Path | None, limits: Limits) -> AccessPolicy:
    if tokens is None:
        raise NodusError(ErrorCode.CONFIGURATION, "serving on TCP needs a token file")
    store = TokenStore(tokens)
    store.all()
    hosts, any_address = listen_hosts(listen.host, listen.names)
    return AccessPolicy(identify=store.caller, hosts=hosts, any_address=any_address, origins=frozenset(listen.origins), limits=limits)


class _InnerServer(Server):
    """A server inside a program that looks after signals itself, and that cuts off whoever does not end in time."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.accepting = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.accepting.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()


@asynccontextmanager
async def _running(
    app: FastAPI, listening: socket.socket, context: ssl.SSLContext | None, limits: Limits, presence: Presence, *, unix: bool
) -> AsyncIterator[None]:
    config = Config(
        app,
        http=connection_class(limits, unix=unix),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(limits.shutdown_seconds)),
    )
    config.load()
    config.ssl = context
    server = _InnerServer(config)
    task = asyncio.create_task(server.serve(sockets=[listening]), name="HTTP server")
    started = asyncio.create_task(server.accepting.wait(), name="HTTP server's start")
    try:
        await asyncio.wait({task, started}, return_when=asyncio.FIRST_COMPLETED)
        yield
    finally:
        started.cancel()
        presence.stopping.set()
        server.should_exit = True
        await task
