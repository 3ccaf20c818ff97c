"""Keys and clicks in what a terminal sends, whatever it sends. It knows Textual's parser, and nothing of the console.

Textual's own raises where a sequence has a form or a number that it does not know, and with that its input ends, and the console.
"""

import re
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.events import Key, MouseEvent, Resize
from textual.keys import Keys
from textual.message import Message

_TOLD_MORE = re.compile(r"\x1b\[(\d*)(?::[\d:]*)?(?:;(\d*)(?::(\d*)[\d:]*)?)?((?:;[\d:]*)?)([u~A-HPQRS])")
"""A key with parts of its parts: its letter on other layouts behind its own, what became of it behind what is held with it."""
_LET_GO = "3"


def pressed(sequence: str) -> str:
    """The sequence of a key without what Textual does not read in it; empty where the key is let go of.

    A program that ended without a word may have left the terminal telling more of each key than this one asks for.
    """
    told = _TOLD_MORE.fullmatch(sequence)
    if told is None or ":" not in sequence:
        return sequence
    code, held, became, text, end = told.groups()
    if became == _LET_GO:
        return ""
    return f"\x1b[{code}" + (f";{held}" if held is not None else "") + text + end


class AnySequence(XTermParser):
    """Textual's parser, which passes over what it does not understand."""

    @property
    def waits(self) -> bool:
        """Whether what came last may be the beginning of more: only then it must be asked again and again whether that took too long."""
        return self._timeout_time is not None

    def feed(self, data: str) -> Iterable[Message]:
        """What it makes of it; a terminal without any columns or rows tells of no size."""
        return (event for event in super().feed(data) if not isinstance(event, Resize) or (event.size.width > 0 and event.size.height > 0))

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:  # noqa: FBT001, FBT002 - as Textual has it
        """The keys of it; the one that Textual passes over where it has a number that no key has."""
        known = pressed(sequence)
        try:
            return tuple(super()._sequence_to_key_events(known, alt)) if known else (Key(Keys.Ignore, None),)
        except (ValueError, OverflowError):
            return (Key(Keys.Ignore, None),)

    def parse_mouse_code(self, code: str) -> MouseEvent | Message | None:
        """The click; none where a terminal that counts in pixels told that it has none."""
        try:
            return super().parse_mouse_code(code)
        except ZeroDivisionError:
            return None
