"""Scalars as spec files mean them: which plain text is a number, and numbers that remember how they were written."""

import re
from typing import Self


class SourceFloat(float):
    """A YAML float that keeps its text, so that a decimal number never passes through a binary float."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """The float of a plain decimal text."""
        made = super().__new__(cls, text)
        made.text = text
        return made


LONGEST_NUMBER = 100
"""Characters of a number, at most: more is a mistake, and reading it would cost."""

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}


def resolve_plain(text: str) -> str | int | float | bool | None:
    """What a scalar without quotes means: true, false, null, a decimal integer, a decimal float, or else the text itself.

    So YAML 1.1's surprises stay text: `on`, `yes`, `1:30`, `010`, `0x1F`, `1_000`, `2024-01-01`, `.inf`.
    Raises ValueError with a sentence for a number that is too long or too large.
    """
    if text in _WORDS:
        return _WORDS[text]
    if not _FLOAT.fullmatch(text):
        return text
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"the number has {len(text)} characters; a number has at most {LONGEST_NUMBER}")
    if _INTEGER.fullmatch(text):
        return int(text)
    number = SourceFloat(text)
    if number in {float("inf"), float("-inf")}:
        raise ValueError(f"{text} is too large a number")
    return number
