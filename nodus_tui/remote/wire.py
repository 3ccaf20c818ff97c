"""What a channel has under it: something that carries one request and gives its answer, in pieces where they come so.

`socket_wire` does it over a unix socket, `url_wire` over a URL; each is loaded when its kind of address is spoken to.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

CONNECT_SECONDS = 5.0

Params = Sequence[tuple[str, str]]


class LostError(Exception):
    """The way to the server is broken: what was asked may or may not have arrived."""

    def __init__(self, detail: str, *, timed_out: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.timed_out = timed_out


@dataclass(frozen=True)
class Request:
    """What is asked."""

    method: str
    path: str
    """With everything quoted that has to be."""
    params: Params = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    read_seconds: float = 60.0
    """How long the server may say nothing before its answer counts as lost."""


class Reply(Protocol):
    """An answer of which the head has come."""

    status: int
    reason: str

    def header(self, name: str) -> str:
        """A header, whatever the case of its letters; empty where there is none."""
        ...

    def pieces(self) -> AsyncGenerator[bytes, None]:
        """Its body as it comes. Raises LostError when it breaks off or stays silent for too long."""
        ...

    async def aclose(self) -> None:
        """Let go of it; what has not come yet never will."""
        ...


class Wire(Protocol):
    """The way to one API."""

    async def send(self, request: Request) -> Reply:
        """Ask. Raises LostError when the way is broken, and NodusError when no new try can mend it."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


async def body_of(reply: Reply) -> bytes:
    """The whole body. Raises as `Reply.pieces`."""
    return b"".join([piece async for piece in reply.pieces()])
