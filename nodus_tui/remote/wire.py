"""What a channel has under it: something that carries one request and gives its answer, in pieces where they come so.

`socket_wire` does it over a unix socket, `url_wire` over a URL; each is loaded when its kind of address is spoken to.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from msgspec import Struct, field

CONNECT_SECONDS = 5.0
_MOST_DIGITS = 20
MOST_BYTES = 256 << 20
"""Of an answer that is taken as a whole: many times what the largest page has. What may be larger is read in pieces."""

Params = Sequence[tuple[str, str]]


class LostError(Exception):
    """The way to the server is broken: what was asked may or may not have arrived."""

    def __init__(self, detail: str, *, timed_out: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.timed_out = timed_out


class TooLargeError(Exception):
    """An answer is larger than any that is asked for: another try would be the same again."""


class Request(Struct, frozen=True):
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


async def body_of(reply: Reply, most_bytes: int = MOST_BYTES) -> bytes:
    """The whole body. Raises as `Reply.pieces`, and TooLargeError as soon as it is known to be larger than that."""
    told = reply.header("Content-Length")
    # A length of more digits than Python reads is no number to it.
    if told.isascii() and told.isdigit() and (len(told) > _MOST_DIGITS or int(told) > most_bytes):
        raise TooLargeError
    pieces, count = [], 0
    async with aclosing(reply.pieces()) as coming:
        async for piece in coming:
            count += len(piece)
            if count > most_bytes:
                raise TooLargeError
            pieces.append(piece)
    return b"".join(pieces)
