"""Text that a server sent, made fit for a one-line message: bounded, without control characters, without the key. Pure."""

import re
import unicodedata

_SHORTEST_SECRET = 4
"""Shorter keys are placeholders such as `x`, and blanking them would blank half the message."""

SURROGATES = re.compile(r"[\ud800-\udfff]")


def one_line(text: str, *, key: str | None, limit: int = 300) -> str:
    """The text on one line of at most `limit` characters, control and invisible characters spelled out, the key blanked."""
    plain = "".join(_shown(character) for character in " ".join(text.split()))
    if key is not None and len(key) >= _SHORTEST_SECRET:
        plain = plain.replace(key, "[key]")
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def short(text: str) -> str:
    """A word of the server, such as a stop reason or a model's name, on one short line."""
    return one_line(text, key=None, limit=100)


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which no encoder takes."""
    return SURROGATES.sub("\ufffd", text)


def _shown(character: str) -> str:
    if character == " " or unicodedata.category(character)[0] != "C":
        return character
    return character.encode("unicode_escape").decode("ascii")
