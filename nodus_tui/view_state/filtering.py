"""The filter of a table: words that must be in a row, and conditions such as `state:waiting`, `verdict:incorrect`, `cost>0.05`."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from nodus_tui.contract.money import parse_usd

_COST = re.compile(r"cost(>=|<=|>|<|=)(.*)", re.IGNORECASE)
_COMPARE: dict[str, Callable[[Decimal, Decimal], bool]] = {
    ">": lambda left, right: left > right,
    "<": lambda left, right: left < right,
    ">=": lambda left, right: left >= right,
    "<=": lambda left, right: left <= right,
    "=": lambda left, right: left == right,
}
FILTER_HELP = "words, state:waiting, verdict:incorrect, cost>0.05; ! before one turns it round"


@dataclass(frozen=True)
class Searchable:
    """What of an item the filter looks at."""

    texts: tuple[str, ...]
    """Names and messages, for plain words."""
    states: tuple[str, ...]
    """Phase and reason."""
    verdict: str
    """Empty while there is none."""
    cost: Decimal


@dataclass(frozen=True)
class _Condition:
    kind: Literal["text", "state", "verdict", "cost"]
    word: str
    negated: bool
    compare: str = ""
    amount: Decimal = field(default_factory=Decimal)

    def holds(self, row: Searchable) -> bool:
        if self.kind == "state":
            found = any(state.casefold().startswith(self.word) for state in row.states)
        elif self.kind == "verdict":
            found = row.verdict.casefold().startswith(self.word) if row.verdict else self.word == "none"
        elif self.kind == "cost":
            found = _COMPARE[self.compare](row.cost, self.amount)
        else:
            found = any(self.word in text.casefold() for text in row.texts)
        return found is not self.negated


@dataclass(frozen=True)
class Filter:
    """Conditions that must all hold."""

    text: str
    conditions: tuple[_Condition, ...]

    def keeps(self, row: Searchable) -> bool:
        """Whether the row stays."""
        return all(condition.holds(row) for condition in self.conditions)


def parse_filter(text: str) -> Filter:
    """The filter that a person typed; raises ValueError with a sentence for them."""
    return Filter(text, tuple(_condition(word) for word in text.split()))


def _condition(word: str) -> _Condition:
    negated = word.startswith("!") and len(word) > 1
    bare = word[1:] if negated else word
    name, colon, value = bare.partition(":")
    if colon and name.casefold() in {"state", "verdict"}:
        if not value:
            raise ValueError(
                f"{bare} needs a word behind it, such as {'state:waiting' if name.casefold() == 'state' else 'verdict:incorrect'}"
            )
        return _Condition("state" if name.casefold() == "state" else "verdict", value.casefold(), negated)
    cost = _COST.fullmatch(bare)
    if cost:
        return _Condition("cost", "", negated, cost[1], parse_usd(cost[2].removeprefix("$")))
    return _Condition("text", bare.casefold(), negated)
