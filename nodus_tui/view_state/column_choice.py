"""The columns that a person chooses for a table, as they choose: which are shown, in which order, how the rows are sorted. Pure."""

from collections.abc import Sequence
from typing import Any

from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.columns import Column, usual
from nodus_tui.view_state.filter_fields import fields_of
from nodus_tui.view_state.rows import Rows, SortKey


class ColumnChoice:
    """All columns of a table: the shown ones in their order, then the others. At least one stays shown."""

    def __init__(self, columns: Sequence[Column[Any]], keys: Sequence[str], order: Sequence[SortKey]) -> None:
        self.columns = {column.key: column for column in columns}
        self.order = tuple(order)
        self._fields = fields_of(tuple(columns))
        self._usual = tuple(column.key for column in usual(columns))
        self._all: list[str] = []
        self.shown: set[str] = set()
        self._take(keys or self._usual)

    def _take(self, keys: Sequence[str]) -> None:
        known = [key for key in dict.fromkeys(keys) if key in self.columns]
        self.shown = set(known)
        self._all = [*known, *(key for key in self.columns if key not in self.shown)]

    @property
    def keys(self) -> tuple[str, ...]:
        """The shown columns in their order."""
        return tuple(key for key in self._all if key in self.shown)

    @property
    def kept(self) -> tuple[str, ...]:
        """The same as it is remembered: nothing where it is as if nobody had chosen."""
        return () if self.keys == self._usual else self.keys

    def all_keys(self) -> tuple[str, ...]:
        """All columns, in the order in which they are listed."""
        return tuple(self._all)

    def toggle(self, key: str) -> bool:
        """Show a column or hide it; says whether that was done: the last one stays."""
        if self.shown == {key}:
            return False
        self.shown ^= {key}
        return True

    def move(self, key: str, by: int) -> None:
        """Move a column towards the left (-1) or the right (1)."""
        at = self._all.index(key)
        to = max(0, min(len(self._all) - 1, at + by))
        self._all.insert(to, self._all.pop(at))

    def reset(self) -> None:
        """The usual columns in their usual order."""
        self._take(self._usual)

    def sort(self, key: str, *, further: bool = False) -> None:
        """Sort by a column: alone, or behind those by which it is sorted already. A second time turns it round, a third takes it away where
        another key is left.
        """
        falls = dict(self.order).get(key)
        if falls is None:
            self.order = (*self.order, (key, False)) if further else ((key, False),)
        elif not further and len(self.order) > 1:
            self.order = ((key, falls),)
        elif not falls:
            self.order = tuple((each, True if each == key else down) for each, down in self.order)
        elif len(self.order) > 1:
            self.order = tuple((each, down) for each, down in self.order if each != key)
        else:
            self.order = ((key, False),)

    def rows(self) -> Rows[str]:
        """The list to choose from: its items are the columns' keys."""
        rows: Rows[str] = Rows(
            (
                Column("shown", "", 1, lambda key, _now: self._mark(key), lambda _key: None),
                Column("name", "COLUMN", 16, lambda key, _now: line(self.columns[key].name), lambda key: key, grow=20),
                Column(
                    "order",
                    "SORT",
                    4,
                    lambda key, _now: line(Span(order_sign(self.order, key, since=self.columns[key].since), Tone.KEY)),
                    lambda _key: None,
                ),
                Column("field", "FILTER", 9, lambda key, _now: line(muted(self._field(key))), lambda _key: None),
            )
        )
        for key in self._all:
            rows.put(key, key)
        return rows

    def _mark(self, key: str) -> Line:
        return line(Span("✓", Tone.GOOD)) if key in self.shown else line(muted("·"))

    def _field(self, key: str) -> str:
        field = self._fields.get(key)
        return "" if field is None else f"{key}:" if field.measure is None else f"{key}>"


def order_sign(order: Sequence[SortKey], key: str, *, since: bool = False) -> str:
    """How a column's title says that the rows are sorted by it: `▲`, and where there are several such columns, in which place: `▼2`.

    The sign is of what the column shows: one that shows the time `since` a moment falls where the moments rise.
    """
    keys = [each for each, _ in order]
    if key not in keys:
        return ""
    at = keys.index(key)
    return ("▼" if order[at][1] is not since else "▲") + (str(at + 1) if len(keys) > 1 else "")
