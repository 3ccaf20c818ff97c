"""The filter of a table: what a person types becomes conditions that a row must all meet, or a sentence that says where it is wrong. Pure.

    words "words together" state:waiting verdict:correct,incorrect cost>0.05 time>=2m !task:sum not timeout

A word must be in one of a row's texts, or in what its columns of words show. `field:word` asks one field; several words behind commas mean
any of them, `none` that there is nothing. Figures are compared with `>`, `>=`, `<`, `<=`, `=`, `!=`. `!` or `not` before a condition
turns it round.
"""

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import takewhile
from typing import Any

from msgspec import Struct

from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.wording import quoted
from nodus_tui.view_state.filter_fields import BUILT_IN, Field, Fields, Searchable

__all__ = ["Filter", "FilterError", "Searchable", "completed", "filter_help", "parse_filter"]

_ASKED = re.compile(r"([A-Za-z][A-Za-z_-]*)(:?(?:>=|<=|!=|>|<|=)|:)")
_COMPARE: dict[str, Callable[[Any, Decimal], bool]] = {
    ">": lambda left, right: bool(left > right),
    "<": lambda left, right: bool(left < right),
    ">=": lambda left, right: bool(left >= right),
    "<=": lambda left, right: bool(left <= right),
    "=": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
}
_ALSO = {"phase": "state", "reason": "state"}
"""Other names of fields."""
NOTHING = "none"
"""The value that means that a field has none."""


class FilterError(ValueError):
    """What is wrong with a filter, and at which character, from 1."""

    def __init__(self, at: int, sentence: str) -> None:
        super().__init__(f"at {at}: {sentence}")
        self.at = at


class _Condition(Struct, frozen=True):
    field: Field
    compare: str
    words: tuple[str, ...]
    """Folded to one case; any of them does."""
    amounts: tuple[Decimal | None, ...]
    """Of a measured field, in the words' place; None asks for no value at all."""
    negated: bool

    def holds(self, row: Searchable, item: object) -> bool:
        value = self.field.value(row, item)
        met = self._figure_met(value) if self.field.measure is not None else self._text_met(value)
        return met is not self.negated

    def _figure_met(self, value: object) -> bool:
        return any(
            value is None if amount is None else value is not None and _COMPARE[self.compare](value, amount) for amount in self.amounts
        )

    def _text_met(self, value: object) -> bool:
        found, empty = False, True
        # One after the other: the later ones may have to be made first.
        for text in value if isinstance(value, Iterable) else ():
            folded, empty = str(text).casefold(), False
            found = any(self._matches(folded, word) for word in self.words)
            if found:
                break
        return (found or (empty and NOTHING in self.words)) is not (self.compare == "!=")

    def _matches(self, text: str, word: str) -> bool:
        if self.compare != ":":
            return text == word
        return text.startswith(word) if self.field.from_start else word in text


class Filter(Struct, frozen=True):
    """Conditions that must all hold."""

    text: str
    conditions: tuple[_Condition, ...]

    def keeps(self, row: Searchable, item: object = None) -> bool:
        """Whether the row stays; its item is asked for what its columns say."""
        return all(condition.holds(row, item) for condition in self.conditions)


def parse_filter(text: str, fields: Fields = BUILT_IN) -> Filter:
    """The filter that a person typed, over these fields; raises FilterError with a sentence for them."""
    return Filter(text, tuple(_Reader(text, fields).conditions()))


class _Reader:
    """Reads one filter from left to right."""

    def __init__(self, text: str, fields: Fields) -> None:
        self.text = text
        self.fields = fields
        self.at = 0

    def conditions(self) -> Iterable[_Condition]:
        while self._skip_spaces():
            yield self._condition(negated=self._negation())

    def _skip_spaces(self) -> bool:
        self.at += len(self.text[self.at :]) - len(self.text[self.at :].lstrip())
        return self.at < len(self.text)

    def _negation(self) -> bool:
        turned = False
        while True:
            rest = self.text[self.at :]
            if rest.startswith("!") and len(rest) > 1 and not rest[1].isspace():
                self.at += 1
            elif rest[:4].casefold() == "not " and rest[4:].strip():
                self.at += 4
                self._skip_spaces()
            else:
                return turned
            turned = not turned

    def _condition(self, *, negated: bool) -> _Condition:
        begins = self.at
        asked = _ASKED.match(self.text, self.at)
        name, compare = (asked[1].casefold(), asked[2].removeprefix(":") or ":") if asked is not None else ("", ":")
        name = _ALSO.get(name, name)
        field = self.fields.get(name)
        if asked is not None and field is not None:
            self.at = asked.end()
            return self._asked(name, field, compare, negated=negated)
        near = nearest(name, list(self.fields)) if name else ""
        if near or compare not in {":", "="} or name in BUILT_IN:
            hint = f"did you mean {near}?" if near else f"there are {', '.join(self.fields)}"
            raise FilterError(begins + 1, f"no field {quoted(name)} here, {hint} (in quotes it is text)")
        # A colon or an equals sign stands in images, labels and times too.
        word, _ = self._value()
        return _Condition(self.fields["text"], ":", (word.casefold(),), (), negated)

    def _asked(self, name: str, field: Field, compare: str, *, negated: bool) -> _Condition:
        at = self.at + 1
        value, in_quotes = self._value()
        if field.measure is None and compare in {">", "<", ">=", "<="}:
            raise FilterError(at, f"{name} is text: ask {name}:{field.example}")
        words = (value.casefold(),) if in_quotes else tuple(word.casefold() for word in value.split(",") if word)
        if not words:
            what = "word" if field.measure is None else "amount" if field.measure == "money" else "figure"
            operator = compare if field.measure is None or compare != ":" else ">"
            raise FilterError(at, f"{name}{compare} needs {_a(what)} behind it, such as {name}{operator}{field.example}")
        if field.measure is None:
            return _Condition(field, compare, words, (), negated)
        try:
            amounts = tuple(None if word == NOTHING else field.number(word) for word in words)
        except ValueError as error:
            raise FilterError(at, str(error)) from error
        return _Condition(field, "=" if compare == ":" else compare, words, amounts, negated)

    def _value(self) -> tuple[str, bool]:
        """What comes next up to a space, or between quotes; whether it was in quotes."""
        rest = self.text[self.at :]
        if rest[:1] != '"':
            value = "".join(takewhile(lambda char: not char.isspace(), rest))
            self.at += len(value)
            return value, False
        end = rest.find('"', 1)
        if end < 0:
            raise FilterError(self.at + 1, 'the quote that begins here is not closed: write another " at its end')
        self.at += end + 1
        return rest[1:end], True


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def filter_help(fields: Fields) -> str:
    """What can be typed, in one line: the most general first."""
    texts = " ".join(f"{name}:" for name, field in fields.items() if field.measure is None and name != "text")
    figures = " ".join(name for name, field in fields.items() if field.measure is not None)
    asked = " · ".join((f'Words, "in one"{", " if texts else ""}{texts}', *([f"with > < =: {figures}"] if figures else [])))
    return f"Tab completes. {asked} · ! turns round · a,b either"


def completed(text: str, cursor: int, fields: Fields) -> tuple[str, int, tuple[str, ...]]:
    """The text and the cursor with the field's name that stands before it written as far as it is certain, and all names that it may be."""
    begins = max((place + 1 for place, char in enumerate(text[:cursor]) if char.isspace() or char == "!"), default=0)
    typed = text[begins:cursor].casefold()
    if not typed.isalpha():
        return text, cursor, ()
    names = tuple(sorted(name for name in fields if name.startswith(typed)))
    if not names:
        return text, cursor, ()
    common = names[0]
    for name in names[1:]:
        common = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(common, name, strict=False)))
    if len(names) == 1:
        common += ":" if fields[common].measure is None else ">"
    return text[:begins] + common + text[cursor:], begins + len(common), names
