"""The graders of task files: each expected answer as something to judge by. The grader's process only; pure.

Messages never hold an expected answer, nor what was read from a completion: for a right answer the two are the same.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import assert_never

from msgspec import Struct

from local_backend.environments.number_reading import NumberExpectation, last_match, tolerance_of, whole_number_text
from local_backend.environments.regex_sample import sample
from local_backend.environments.secret_tasks import CORRECT, Expectation, Judgement, incorrect, invalid
from nodus_tui.contract.resources.environment import ChoiceGrader, ExactGrader, JSONGrader, NumericGrader, RegexGrader, WordGrader


class UnreadableAnswerError(ValueError):
    """An expected answer that its grader cannot use. The text says what it should be, never what it is."""


def extract(pattern: re.Pattern[str] | None, completion: str) -> str | None:
    """The part of a completion that counts: all of it without a pattern, else the last match (its group, where it has one)."""
    if pattern is None:
        return completion
    last = last_match(pattern, completion)
    if last is None:
        return None
    found = last[1] if pattern.groups else last[0]
    return str(found) if found is not None else None


def expectation(grader: WordGrader, answer: object) -> Expectation:
    """The expected answer of a row, ready to judge by. Raises UnreadableAnswerError."""
    match grader:
        case ExactGrader():
            return ExactExpectation(_answer_text(answer), ignore_case=grader.ignore_case)
        case NumericGrader():
            number = whole_number_text(answer)
            if number is None:
                raise UnreadableAnswerError("the answer is not one number")
            return NumberExpectation(number, tolerance_of(grader.tolerance), tolerance_of(grader.relative_tolerance))
        case ChoiceGrader():
            wanted = _answer_text(answer).strip().casefold()
            for choice in grader.choices:
                if choice.strip().casefold() == wanted:
                    return ChoiceExpectation(choice.strip(), tuple(each.strip() for each in grader.choices))
            raise UnreadableAnswerError("the answer is none of the grader's choices")
        case RegexGrader():
            try:
                return RegexExpectation(re.compile(_answer_text(answer), re.IGNORECASE if grader.ignore_case else 0))
            except (re.error, OverflowError, RecursionError):
                raise UnreadableAnswerError("the answer is no regular expression") from None
        case JSONGrader():
            return JSONExpectation(_answer_json(answer), tolerance_of(grader.tolerance))
        case _:
            assert_never(grader)


def _answer_text(answer: object) -> str:
    if isinstance(answer, bool):
        return "true" if answer else "false"
    if isinstance(answer, int | float):
        return str(answer)
    if isinstance(answer, str) and answer.strip():
        return answer
    raise UnreadableAnswerError("the answer is not a text")


class ExactExpectation(Struct, frozen=True):
    """The same text, white space around it aside; letters that Unicode calls canonically equal are equal."""

    expected: str
    ignore_case: bool = False

    def _normal(self, text: str) -> str:
        text = unicodedata.normalize("NFC", text.strip())
        return text.casefold() if self.ignore_case else text

    def judge(self, text: str) -> Judgement:
        """An empty answer is InvalidOutput."""
        answer = self._normal(text)
        if not answer:
            return invalid("the answer is empty")
        return CORRECT if answer == self._normal(self.expected) else incorrect("the text differs from the expected one")

    def stand_in(self, *, right: bool) -> str | None:
        """The expected text, or one that is longer by a word."""
        return self.expected if right else f"{self.expected} not"


_WORDY = 2
"""Choices of this many letters or more are words: found whatever their case."""


_AROUND = "()[]{}<>*_`\"'$.:;,! \t\r\n"
_LEAD = (
    r"(?i:\banswer(?:\s{1,3}is)?\s{0,3}[:=：]?[\s*_\"'(\[{$`]{0,8}"
    r"(?:\\(?:boxed|text|mathrm|mathbf)\{\s{0,3}){0,2}[(*]{0,3})"
)
"""What stands between the word "answer" and the choice, Markdown and LaTeX included."""


_WORD_FOLLOWS = re.compile(r"[ \t]+(?!(?:or|and|is|as|because|since|seems|must|fits)\b)[a-z]")


def _is_word(match: re.Match[str]) -> bool:
    # "A cat" and "I think" name no choice; "A is right" does.
    return match["name"] in {"A", "I"} and _WORD_FOLLOWS.match(match.string, match.end()) is not None


class ChoiceExpectation(Struct, frozen=True):
    """The one choice that the answer names."""

    expected: str
    choices: tuple[str, ...]

    def _pattern(self, *, loose: bool) -> str:
        # The longest first, or "A" would be found in "A+".
        names = sorted(self.choices, key=len, reverse=True)
        return "|".join(re.escape(name) if loose or len(name) < _WORDY else f"(?i:{re.escape(name)})" for name in names)

    def named(self, text: str) -> set[str]:
        """The choices that an answer names: by the whole of it, else after its last "answer is" or `Answer:`, else wherever one stands."""
        whole = {text.strip().casefold(), text.strip(_AROUND).casefold()}
        for choice in self.choices:
            if choice.casefold() in whole:
                return {choice}
        # A single letter after "answer is" counts in either case, unless it is a word: "the answer is a dog" does not name A.
        any_case = rf"{_LEAD}(?P<name>(?i:{self._pattern(loose=True)}))(?![\w+-])(?![ \t]+[a-z])"
        as_written = rf"{_LEAD}(?P<name>{self._pattern(loose=False)})(?![\w+-])"
        last = last_match(re.compile(any_case), text) or last_match(re.compile(as_written), text)
        if last is not None:
            return {self._canonical(last["name"])}
        standing = re.finditer(rf"(?<![\w+-])(?P<name>{self._pattern(loose=False)})(?![\w+-])", text)
        return {self._canonical(match["name"]) for match in standing if not _is_word(match)}

    def _canonical(self, name: str) -> str:
        return next(choice for choice in self.choices if choice.casefold() == name.casefold())

    def judge(self, text: str) -> Judgement:
        """No choice, or several without saying which, is InvalidOutput."""
        named = self.named(text)
        if not named:
            return invalid("the answer names none of the choices")
        if len(named) > 1:
            return invalid("the answer names several choices and does not say which it takes")
        return CORRECT if self.expected in named else incorrect("another choice is expected")

    def stand_in(self, *, right: bool) -> str | None:
        """The expected choice, or another one."""
        return self.expected if right else next(choice for choice in self.choices if choice != self.expected)


class RegexExpectation(Struct, frozen=True):
    """The whole answer, white space around it aside, matches."""

    expected: re.Pattern[str]

    def judge(self, text: str) -> Judgement:
        """An empty answer is InvalidOutput unless it matches."""
        answer = text.strip()
        if self.expected.fullmatch(answer):
            return CORRECT
        return incorrect("the answer does not match") if answer else invalid("the answer is empty")

    def stand_in(self, *, right: bool) -> str | None:
        """A text that matches, or one that does not; either may not exist."""
        candidates = sample(self.expected) if right else iter(("⟨no match⟩", "-", "0", "x", "no match"))
        return next((text for text in candidates if bool(self.expected.fullmatch(text.strip())) is right), None)


_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_MOST_STARTS = 200
"""Places in a completion at which JSON is tried, at most, the last ones first."""


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


_LONGEST_NUMBER = 400


def _exact(text: str) -> Decimal:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("too long")
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError("too large") from None


_DECODER = json.JSONDecoder(parse_float=_exact, parse_constant=_refuse_constant)


def _as_json(text: str) -> tuple[object] | None:
    try:
        return (_DECODER.decode(text),)
    except (ValueError, RecursionError):
        return None


def _embedded(text: str) -> Iterator[tuple[object]]:
    starts = [match.start() for match in re.finditer(r"[\[{]", text)]
    end_of_last = 0
    best: tuple[object] | None = None
    for start in starts[-_MOST_STARTS:]:
        if start < end_of_last:
            continue
        try:
            value, end_of_last = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        best = (value,)
    if best:
        yield best


def read_json(text: str) -> tuple[object] | None:
    """The JSON of a completion, in a tuple: all of it, or its last fenced block that is JSON, or the last object or array in the text."""
    whole = _as_json(text.strip())
    if whole:
        return whole
    for block in reversed(_FENCE.findall(text)):
        found = _as_json(block.strip())
        if found:
            return found
    return next(_embedded(text), None)


def _answer_json(answer: object) -> object:
    if not isinstance(answer, str):
        # Numbers of a parsed file come back as exact decimals.
        return _DECODER.decode(json.dumps(answer, allow_nan=False))
    read = _as_json(answer.strip())
    if read is None:
        raise UnreadableAnswerError('the answer is a text that is no JSON (a JSON string needs its own quotes: "\\"text\\"")')
    return read[0]


_LARGEST_EXPONENT = 1000


def _equal_numbers(first: int | Decimal, second: int | Decimal, tolerance: Fraction) -> bool:
    if first == second:
        return True
    if any(isinstance(each, Decimal) and abs(each.adjusted()) > _LARGEST_EXPONENT for each in (first, second)):
        return False
    return abs(Fraction(first) - Fraction(second)) <= tolerance


def equal_json(first: object, second: object, tolerance: Fraction) -> bool:
    """Whether two JSON values are equal: keys in any order, arrays in theirs, numbers by value; true and 1 differ."""
    match first, second:
        case bool(), _:
            return first is second
        case _, bool():
            return False
        case (int() | Decimal(), int() | Decimal()):
            return _equal_numbers(first, second, tolerance)
        case (dict(), dict()):
            return first.keys() == second.keys() and all(equal_json(value, second[key], tolerance) for key, value in first.items())
        case (list(), list()):
            return len(first) == len(second) and all(equal_json(*pair, tolerance) for pair in zip(first, second, strict=True))
        case _:
            return type(first) is type(second) and first == second


class JSONExpectation(Struct, frozen=True):
    """Equal JSON."""

    expected: object
    tolerance: Fraction

    def judge(self, text: str) -> Judgement:
        """An answer that holds no JSON is InvalidOutput."""
        read = read_json(text)
        if read is None:
            return invalid("the answer is no JSON")
        return CORRECT if equal_json(self.expected, read[0], self.tolerance) else incorrect("the JSON differs from the expected one")

    def stand_in(self, *, right: bool) -> str | None:
        """The expected JSON, or it within an array."""
        return _json_text(self.expected if right else [self.expected])


def _json_text(value: object) -> str:
    match value:
        case Decimal():
            return str(value)
        case list():
            return f"[{', '.join(map(_json_text, value))}]"
        case Mapping():
            return "{" + ", ".join(f"{json.dumps(key)}: {_json_text(each)}" for key, each in value.items()) + "}"
        case _:
            return json.dumps(value)
