"""Texts that a regular expression matches, for the right answers of simulated models. It tries; its caller checks each text.

It walks the tree of the standard library's own parser (`re._parser`), the one place that knows how an expression is read.
"""

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

_MEMBERS = {"DIGIT": "0", "NOT_DIGIT": "x", "SPACE": " ", "NOT_SPACE": "x", "WORD": "x", "NOT_WORD": "-"}
_CLASSES = {"DIGIT": r"\d", "NOT_DIGIT": r"\D", "SPACE": r"\s", "NOT_SPACE": r"\S", "WORD": r"\w", "NOT_WORD": r"\W"}
_TRIED = "x0 -_A,é"
_MOST_REPEATS = 10_000


class _UnsampledError(Exception):
    """An operation for which no text is made."""


class _Sampler:
    """Makes one text from a tree, and remembers its groups for the references to them."""

    def __init__(self) -> None:
        self._groups: dict[int, str] = {}
        self._makers: dict[str, Callable[[Any], str]] = {
            "LITERAL": chr,
            "NOT_LITERAL": lambda code: "x" if code != ord("x") else "y",
            "ANY": lambda _: "x",
            "IN": self._member,
            "MAX_REPEAT": self._repeat,
            "MIN_REPEAT": self._repeat,
            "POSSESSIVE_REPEAT": self._repeat,
            "SUBPATTERN": self._group,
            "BRANCH": lambda value: self.text(value[1][0]),
            "GROUPREF": lambda number: self._groups.get(number, ""),
            "ATOMIC_GROUP": self.text,
            "AT": lambda _: "",
            "ASSERT": lambda _: "",
            "ASSERT_NOT": lambda _: "",
        }

    def text(self, tree: Any) -> str:
        """A text for the tree. Raises _UnsampledError."""
        parts = []
        for op, value in tree:
            maker = self._makers.get(str(op))
            if maker is None:
                raise _UnsampledError
            parts.append(maker(value))
        return "".join(parts)

    def _repeat(self, value: Any) -> str:
        least, _, inner = value
        if least > _MOST_REPEATS:
            raise _UnsampledError
        return "".join(self.text(inner) for _ in range(least))

    def _group(self, value: Any) -> str:
        number, _, _, inner = value
        text = self.text(inner)
        if number is not None:
            self._groups[number] = text
        return text

    @staticmethod
    def _member(items: Any) -> str:
        named = [(str(op), value) for op, value in items]
        if named[0][0] == "NEGATE":
            outside = [letter for letter in _TRIED if not any(_holds(op, value, letter) for op, value in named[1:])]
            if not outside:
                raise _UnsampledError
            return outside[0]
        op, value = named[0]
        if op == "CATEGORY":
            return _MEMBERS[str(value).removeprefix("CATEGORY_")]
        return chr(value[0] if op == "RANGE" else value)


def _holds(op: str, value: Any, letter: str) -> bool:
    if op == "CATEGORY":
        return re.fullmatch(_CLASSES[str(value).removeprefix("CATEGORY_")], letter) is not None
    low, high = value if op == "RANGE" else (value, value)
    return bool(low <= ord(letter) <= high)


def sample(pattern: re.Pattern[str]) -> Iterator[str]:
    """Texts that may match: the expression itself, as where it is a plain text, and one made from its tree."""
    yield pattern.pattern
    parser = importlib.import_module("re._parser")
    try:
        made = _Sampler().text(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    except (_UnsampledError, KeyError, ValueError, RecursionError):
        return  # The caller sees that there is no further text, and says so.
    yield made
