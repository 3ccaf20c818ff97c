"""Reading a number out of a completion, and judging it against the expected one. Exact arithmetic; pure; linear in the text.

The rules, which docs/environments.md tells the user: the last number of the last `Answer:` line counts, or else the last number of the
text. A number has ASCII or any other decimal digits, an optional sign that is not the minus of a subtraction, thousands in groups of three
(`,` `_` `'` or a no-break space between them), the point as decimal separator, an optional exponent; `a/b` without spaces is a fraction.
"""

import re
import unicodedata
from collections import deque
from decimal import Decimal
from fractions import Fraction

from msgspec import Struct

from local_backend.environments.secret_tasks import CORRECT, Judgement, incorrect, invalid

_LONGEST = 400
"""Digits of a number, and the size of its exponent, at most: beyond it exact arithmetic would cost too much."""

_MINUS = re.compile("[−－﹣–]")
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_LATEX_THOUSANDS = re.compile(r"(?<=\d)(?:\\,|\{,\})(?=\d{3})")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s{0,3}\{\s{0,3}([+-]?[0-9]{1,400})\s{0,3}\}\s{0,3}\{\s{0,3}([0-9]{1,400})\s{0,3}\}")
_UNSIGNED = r"(?:[0-9]{1,3}(?:[,_'’\u00a0\u202f\u2009][0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![0-9.])\.[0-9]+"
_NUMBER = re.compile(
    # A sign after a digit, a letter or a closing bracket is a subtraction.
    rf"(?P<sign>(?<![\w)\]}}])[-+][$€£]?)?(?<![A-Za-z_0-9])(?<![0-9]\.)(?P<top>{_UNSIGNED})"
    rf"(?:[eE](?P<exponent>[-+]?[0-9]+)(?![A-Za-z0-9]))?(?:/(?P<bottom>{_UNSIGNED})(?![/0-9]))?"
)
_GROUPING = re.compile(r"[,_'’\u00a0\u202f\u2009]")
_ANSWER_LINE = re.compile(r"\banswer\b[^\n:：]{0,40}[:：]", re.IGNORECASE)


def _plain(text: str) -> str:
    if not text.isascii():
        text = _MINUS.sub("-", text)
        text = _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
        text = text.replace("．", ".").replace("，", ",")
    if "\\" in text or "{,}" in text:
        text = _LATEX_THOUSANDS.sub(",", text)
        text = _LATEX_FRACTION.sub(r"\1/\2", text)
    return text


def last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last match in a text."""
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)


def answer_line(text: str) -> str | None:
    """What follows the last `Answer:` on its line, or on the next line that is not blank; None when there is no such line."""
    last = last_match(_ANSWER_LINE, text)
    if last is None:
        return None
    lines = text[last.end() :].split("\n")
    return next((line for line in lines if line.strip(" \t\r*_`")), "")


def _value(match: re.Match[str]) -> Fraction | None:
    exponent = int(match["exponent"]) if match["exponent"] and len(match["exponent"]) <= 5 else (None if match["exponent"] else 0)
    bottom = _GROUPING.sub("", match["bottom"] or "1")
    top = _GROUPING.sub("", match["top"])
    if exponent is None or abs(exponent) > _LONGEST or len(top) > _LONGEST or len(bottom) > _LONGEST or not Fraction(bottom):
        return None
    value = Fraction(top) * Fraction(10) ** exponent / Fraction(bottom)
    return -value if (match["sign"] or "").startswith("-") else value


def last_number(text: str) -> Fraction | None:
    """The last number of a text, exactly; None when there is none, or when the last is too long or divides by zero."""
    last = last_match(_NUMBER, _plain(text))
    return _value(last) if last else None


def whole_number_text(value: object) -> Fraction | None:
    """An expected answer as a number: a number, or a text that is one number and nothing else. None otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = _plain(str(value).strip())
    match = _NUMBER.fullmatch(text)
    return _value(match) if match else None


def number_text(value: Fraction) -> str:
    """The number as this module reads it back: a decimal where that is exact, else a fraction."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{value.numerator}/{value.denominator}"


class NumberExpectation(Struct, frozen=True):
    """The last number lies within max(tolerance, relative tolerance × |expected|) of the expected one."""

    expected: Fraction
    tolerance: Fraction = Fraction(0)
    relative_tolerance: Fraction = Fraction(0)

    @property
    def _margin(self) -> Fraction:
        return max(self.tolerance, self.relative_tolerance * abs(self.expected))

    def judge(self, text: str) -> Judgement:
        """Judge the number of an answer; no number is InvalidOutput."""
        line = answer_line(text)
        number = last_number(text if line is None else line)
        if number is None:
            return invalid("there is no number on the `Answer:` line" if line is not None else "there is no number in the answer")
        return CORRECT if abs(number - self.expected) <= self._margin else incorrect("the number differs from the expected one")

    def stand_in(self, *, right: bool) -> str | None:
        """The expected number, or one beyond the margin."""
        return number_text(self.expected if right else self.expected + 2 * self._margin + 1)


def tolerance_of(value: float) -> Fraction:
    """A tolerance by its digits: 0.1 is one tenth."""
    return Fraction(Decimal(str(value)))
