"""A text that may be edited on a terminal and is saved as it was: characters that a terminal obeys or miscounts are edited as stand-ins.

Each such character is one visible character while it is edited, so that lines and columns stay what they are; `true` turns it back. Pure.
"""

import unicodedata

from nodus_tui.text import safe_text, width_of

_MAX_MARKS = 2
"""Combining marks on one base character that are drawn; more would climb over other lines."""
_SPARE = (*range(0x2400, 0x2421), *range(0x25A0, 0x2600), *range(0x2190, 0x2200), *range(0x2800, 0x2900))
"""Characters of one cell that can stand for another: pictures, blocks, arrows, patterns of dots."""


class Veil:
    """The stand-ins of one text while it is edited."""

    def __init__(self, text: str = "") -> None:
        self._standing: dict[str, str] = {}
        self._true: dict[int, str] = {}
        self._taken = set(text)

    def shown(self, text: str) -> str:
        """The text as it is edited. It has as many characters as the true one. Raises ValueError for what no file could hold."""
        if text.isascii() and (text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable()):
            return text
        kinds = set(text)
        self._taken |= kinds
        if all(ord(char) not in self._true and unicodedata.category(char)[0] != "M" and _harmless(char, mark=False) for char in kinds):
            return text
        made: list[str] = []
        marks = 0
        for char in text:
            mark = unicodedata.category(char) in {"Mn", "Me", "Mc"}
            marks = marks + 1 if mark else 0
            # What stands for something already cannot stand for itself too.
            free = ord(char) not in self._true and marks <= _MAX_MARKS
            made.append(char if free and _harmless(char, mark=mark) else self._stand_in(char))
        return "".join(made)

    def true(self, text: str) -> str:
        """The text as it is saved."""
        return text.translate(self._true) if self._true else text

    def _stand_in(self, char: str) -> str:
        if unicodedata.category(char) == "Cs":
            raise ValueError("half of a pair of characters is in it, which no file can hold")
        if char not in self._standing:
            own = chr(0x2400 + ord(char)) if ord(char) < 0x20 else chr(0x2421) if char == "\x7f" else ""
            spare = (own, *map(chr, _SPARE)) if own else tuple(map(chr, _SPARE))
            free = next((each for each in spare if each not in self._taken), None)
            if free is None:
                raise ValueError("the text has more kinds of unprintable characters than can be shown")
            self._taken.add(free)
            self._standing[char] = free
            self._true[ord(free)] = char
        return self._standing[char]


def _harmless(char: str, *, mark: bool) -> bool:
    if char in "\n\t":
        return True
    if mark:
        return safe_text("a" + char) == "a" + char
    return safe_text(char) == char and width_of(char) > 0
