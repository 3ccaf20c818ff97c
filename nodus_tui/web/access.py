"""Who may come in from a browser, and what a request may ask: keys, origins, sizes. Pure."""

import re
from collections.abc import Callable, Iterable
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

Role = Literal["viewer", "operator"]


class Visitor(Struct, frozen=True):
    """Whoever has a key."""

    name: str
    """Stands as the author of what they do."""
    role: Role


Identify = Callable[[str], Visitor | None]
"""Gives whose key it is; None for one that is nobody's, or no more."""

PROTOCOL = "nodus.console"
"""What the page asks for, and is answered with, when it opens a console."""

_KEY_PROTOCOL = "nodus.key."
_KEY = re.compile(r"[A-Za-z0-9_-]{1,200}")
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)


def key_of_protocols(protocols: Iterable[str]) -> str:
    """The key among the protocols that a page asks for: no page can send another header with its socket. Empty where there is none."""
    for protocol in protocols:
        if protocol.startswith(_KEY_PROTOCOL):
            return _sound(protocol.removeprefix(_KEY_PROTOCOL))
    return ""


def key_of_header(authorization: str) -> str:
    """The key of an Authorization header; empty where it holds none."""
    found = _BEARER.fullmatch(authorization.strip())
    return _sound(found[1]) if found else ""


def _sound(key: str) -> str:
    return key if _KEY.fullmatch(key) else ""


def origin_allowed(origin: str | None, host: str | None, names: Iterable[str]) -> bool:
    """Whether a socket is asked for by a page of this server: the origin is where the request goes, or a name that was given for it."""
    if not origin or not host:
        return False
    place = urlsplit(origin).netloc.lower()
    return bool(place) and (place == host.lower() or place.rpartition(":")[0] in names or place in names)


_WIDTHS, _HEIGHTS = (20, 500), (5, 200)


def terminal_size(width: object, height: object) -> tuple[int, int]:
    """The size that a page asks for, within what a console can draw at a fair price; anything else is 80×24."""
    return _within(width, _WIDTHS, 80), _within(height, _HEIGHTS, 24)


def _within(value: object, bounds: tuple[int, int], otherwise: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return otherwise
    return max(bounds[0], min(bounds[1], value))
