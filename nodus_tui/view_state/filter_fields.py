"""What a filter can ask of a row: its texts, what else its view says that it has (states, verdict, cost), and whatever of its columns is
text or a measured figure. Pure."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import Struct

from nodus_tui.contract.durations import parse_duration
from nodus_tui.contract.money import parse_usd
from nodus_tui.contract.wording import quoted
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.columns import Column, Item, Measure

_COUNT = re.compile(r"([0-9][0-9,_]*(?:\.[0-9]+)?)([kKmM]?)")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%?)")


class Searchable(Struct, frozen=True):
    """What of an item the filter looks at."""

    texts: tuple[str, ...]
    """Names and messages, for plain words."""
    states: tuple[str, ...] = ()
    """Phase and reason."""
    verdict: str = ""
    """Empty while there is none."""
    cost: Decimal = Decimal(0)


class Field(Struct, frozen=True):
    """One thing that can be asked by its name."""

    value: Callable[[Searchable, Any], object]
    """Of a row's searchable part and its item: texts of a text field, a number of a measured one; None or nothing where there is none."""
    measure: Measure | None = None
    """How its figures are written; None for a field of text."""
    from_start: bool = False
    """Whether a word must be the beginning of the text: `verdict:correct` does not mean Incorrect."""
    example: str = "word"
    """A value, for sentences."""

    def number(self, text: str) -> Decimal:
        """The figure that a text means here; ValueError says how one is written."""
        if self.measure is Measure.MONEY:
            return parse_usd(text.removeprefix("$"))
        if self.measure is Measure.SECONDS:
            return _seconds(text)
        return _share(text) if self.measure is Measure.SHARE else _count(text)


def _seconds(text: str) -> Decimal:
    if _PART.fullmatch(text) and not text.endswith("%"):
        return Decimal(text)
    try:
        return Decimal(int(parse_duration(text).total_seconds()))
    except ValueError:
        raise ValueError(f"{quoted(text)} is no time: write seconds, or such as 90s, 2m30s, 1h") from None


def _share(text: str) -> Decimal:
    match = _PART.fullmatch(text)
    if match is None:
        raise ValueError(f"{quoted(text)} is no share: write such as 60% or 0.6")
    return Decimal(match[1]) / (100 if match[2] else 1)


def _count(text: str) -> Decimal:
    match = _COUNT.fullmatch(text)
    try:
        return Decimal(match[1].replace(",", "").replace("_", "")) * _UNITS[match[2].lower()] if match else _refused(text)
    except InvalidOperation:
        return _refused(text)


def _refused(text: str) -> Decimal:
    raise ValueError(f"{quoted(text)} is no number: write such as 12, 4k or 1.5M")


Fields = Mapping[str, Field]

BUILT_IN: Fields = {
    "state": Field(lambda row, _item: row.states, from_start=True, example="waiting"),
    "verdict": Field(lambda row, _item: (row.verdict,) if row.verdict else (), from_start=True, example="incorrect"),
    "cost": Field(lambda row, _item: row.cost, Measure.MONEY, example="0.05"),
    "text": Field(lambda row, _item: row.texts),
}
"""What rows can be asked whatever their columns: `text` those of every table, the others where its view says that they have it."""
_ALWAYS = "text"
_EXAMPLES = {Measure.MONEY: "0.05", Measure.SECONDS: "90s", Measure.SHARE: "60%", Measure.COUNT: "3"}


def fields_of(columns: Sequence[Column[Item]], asks: Collection[str] = tuple(BUILT_IN)) -> Fields:
    """What the rows of a table with these columns can be asked: columns that are texts or measured figures, and of `BUILT_IN` these."""
    more: dict[str, Field] = {}
    for column in columns:
        if column.measure is Measure.TEXT:
            more[column.key] = Field(_words_of(column))
        elif column.measure is not None:
            more[column.key] = Field(_figure_of(column), column.measure, example=_EXAMPLES[column.measure])
    shown = tuple(column for column in columns if column.measure in (None, Measure.TEXT) and not column.right and not column.figures)
    built_in = {**BUILT_IN, _ALWAYS: Field(_texts_of(shown))}
    return {**more, **{name: field for name, field in built_in.items() if name in asks or name == _ALWAYS}}


_MOST_MADE = 20_000
"""Items whose words are kept."""
_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Columns of words show the same words at any time; the times that some of them show beside are not filtered by."""


def _texts_of(columns: Sequence[Column[Item]]) -> Callable[[Searchable, Item], Iterator[str]]:
    """All words of a row: what is kept for it first, for that is at hand, then what its cells show."""

    made: dict[int, tuple[Item, str]] = {}

    def shown(item: Item) -> str:
        """Cells cost more than all else here: they are made once for each item, and not with each letter that is typed."""
        known = made.get(id(item))
        if known is not None and known[0] is item:
            return known[1]
        if len(made) >= _MOST_MADE:
            made.clear()
        text = "\n".join(plain(column.cell(item, _SOME_TIME)) for column in columns)
        made[id(item)] = (item, text)
        return text

    def texts(row: Searchable, item: Item) -> Iterator[str]:
        yield from row.texts
        yield from row.states
        yield row.verdict
        yield shown(item)

    return texts


def _figure_of(column: Column[Item]) -> Callable[[Searchable, Item], object]:
    return lambda _row, item: column.sort(item)


def _words_of(column: Column[Item]) -> Callable[[Searchable, Item], object]:
    return lambda _row, item: (str(found),) if (found := column.sort(item)) else ()
