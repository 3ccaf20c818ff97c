"""What goes to the terminal, in fewer bytes: colours and weights are sent where they change, not before each piece of text. Pure.

Textual writes each piece with all of its colours and takes them back behind it. Over a thin link that is most of a frame.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_ENDS = {"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "7": "27", "8": "28", "9": "29"}
"""What ends a weight; 22 ends two of them."""
_MOVES = re.compile(r"(?:\x1b\[[0-9]+;[0-9]+H)+")
"""To another place: drawn by no colour."""
_RENDITION = re.compile(r"\x1b\[([0-9;]*)m")
_FOREGROUNDS = frozenset([*range(30, 38), *range(90, 98)])
_BACKGROUNDS = frozenset([*range(40, 48), *range(100, 108)])
_EXTENDED = {"2": 5, "5": 3}
"""Parts of a colour that is given by its components, or by its number."""


class Rendition(NamedTuple):
    """How a terminal draws letters."""

    weights: frozenset[str] = frozenset()
    foreground: str = ""
    """The parameters that set it; empty for the terminal's own."""
    background: str = ""


PLAIN = Rendition()
"""What every frame begins and ends with."""


class UnknownCodeError(ValueError):
    """A code that is none of those that are understood here."""


def compact(data: str) -> str:
    """The same drawing in fewer bytes. It begins and ends plain, as what is given does.

    What has a code that is not understood stays as it is.
    """
    if data.count("\x1b[") < 2:
        return data
    text, *rest = _RENDITION.split(data)
    if not rest:
        return data
    pieces = [text]
    drawn = wanted = PLAIN
    try:
        for codes, piece in zip(rest[::2], rest[1::2], strict=True):
            wanted = after(wanted, codes)
            if piece:
                shown = _as_seen(piece, drawn, wanted)
                pieces += (change(drawn, shown), piece)
                drawn = shown
    except UnknownCodeError:
        return data
    pieces.append(change(drawn, wanted))
    return "".join(pieces)


def _as_seen(piece: str, drawn: Rendition, wanted: Rendition) -> Rendition:
    """What a piece needs: a move needs nothing, and spaces without a weight show no foreground but take the one that is there."""
    if _MOVES.fullmatch(piece):
        return drawn
    if not wanted.weights and not drawn.weights and not piece.strip(" "):
        return wanted._replace(foreground=drawn.foreground)
    return wanted


@lru_cache(maxsize=4096)
def after(before: Rendition, codes: str) -> Rendition:
    """How letters are drawn behind these codes; raises UnknownCodeError."""
    weights, foreground, background = before
    for code in _codes(codes):
        number = int(code.partition(";")[0])
        if number == 0:
            weights, foreground, background = PLAIN
        elif code in _ENDS:
            weights |= {code}
        elif number == 38 or number in _FOREGROUNDS:
            foreground = code
        elif number == 48 or number in _BACKGROUNDS:
            background = code
        elif number == 39:
            foreground = ""
        elif number == 49:
            background = ""
        else:
            raise UnknownCodeError(code)
    return Rendition(weights, foreground, background)


def _codes(codes: str) -> Iterator[str]:
    parts = [part or "0" for part in codes.split(";")]
    while parts:
        length = _EXTENDED.get(parts[1] if len(parts) > 1 else "", 0) if parts[0] in {"38", "48"} else 1
        if not 0 < length <= len(parts):
            raise UnknownCodeError(codes)
        yield ";".join(parts[:length])
        del parts[:length]


@lru_cache(maxsize=4096)
def change(before: Rendition, wanted: Rendition) -> str:
    """The codes that lead from one to the other."""
    if before == wanted:
        return ""
    if wanted == PLAIN:
        return "\x1b[0m"
    ended = {_ENDS[weight] for weight in before.weights - wanted.weights}
    begun = [weight for weight in wanted.weights if weight not in before.weights or _ENDS[weight] in ended]
    changed = [*sorted(ended), *sorted(begun)]
    if before.foreground != wanted.foreground:
        changed.append(wanted.foreground or "39")
    if before.background != wanted.background:
        changed.append(wanted.background or "49")
    anew = ["0", *sorted(wanted.weights), *(colour for colour in wanted[1:] if colour)]
    return f"\x1b[{min(';'.join(changed), ';'.join(anew), key=len)}m"
