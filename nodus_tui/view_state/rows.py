"""Rows: items in the order and through the filter that a person chose. One change costs one comparison walk, never a sort of all."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic

from nodus_tui.view_state.columns import Column, Item, SortValue
from nodus_tui.view_state.filter_fields import BUILT_IN, Fields, Searchable, fields_of
from nodus_tui.view_state.filtering import Filter

_Entry = tuple[Any, int, str]
"""Sort value of each key of the order (None last), place of arrival, key."""
SortKey = tuple[str, bool]
"""A column's key, and whether its order falls."""


def _comparable(value: SortValue) -> tuple[bool, SortValue]:
    return (value is None, 0 if value is None else value)


class _TurnedRound:
    """A sort value that compares the other way round: of a key whose order falls where that of the first key rises, or the reverse."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TurnedRound) and bool(self.value == other.value)

    def __lt__(self, other: "_TurnedRound") -> bool:
        return bool(other.value < self.value)

    __hash__ = None  # type: ignore[assignment]


class Rows(Generic[Item]):
    """Items by key, sorted and filtered; without a column to sort by in the order of their arrival."""

    def __init__(
        self,
        columns: Sequence[Column[Item]],
        *,
        sort: str = "",
        descending: bool = False,
        searchable: Callable[[Item], Searchable] | None = None,
        asks: Collection[str] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.order: tuple[SortKey, ...] = ((sort, descending),) if sort else ()
        """By which columns the rows are sorted: rows that are alike in the first are sorted by the second, and so on."""
        self.searchable = searchable
        """What a filter looks at in an item; None for rows that are not filtered by what a person types."""
        self.asks = frozenset(asks)
        """What of `state`, `verdict` and `cost` an item has: a filter can ask for no other."""
        self._sort_value = self._sorter()
        self._keep: Callable[[Item], bool] | None = None
        self._items: dict[str, Item] = {}
        self._arrival: dict[str, int] = {}
        self._entries: dict[str, _Entry] = {}
        self._order: list[_Entry] = []
        self.sorted_wholly = 0
        """How often all items were sorted: only a person's own choice of order or filter, and many items at once, do that."""

    @property
    def sort_key(self) -> str:
        """The column that the order looks at first; empty for the order of arrival."""
        return self.order[0][0] if self.order else ""

    @property
    def descending(self) -> bool:
        """Whether that order falls."""
        return bool(self.order) and self.order[0][1]

    def _sorter(self) -> Callable[[Item], Any]:
        by_key = {column.key: column.sort for column in self.columns}
        # The whole order is turned round where the first key's falls, so only the keys that go the other way are turned here.
        keys = [(by_key[key], falls is not self.descending) for key, falls in self.order]
        if len(keys) == 1:
            first = keys[0][0]
            return lambda item: _comparable(first(item))
        return lambda item: tuple(_TurnedRound(_comparable(sort(item))) if turned else _comparable(sort(item)) for sort, turned in keys)

    def __len__(self) -> int:
        return len(self._order)

    @property
    def total(self) -> int:
        """How many items there are, those that the filter hides included."""
        return len(self._items)

    def key_at(self, index: int) -> str:
        """The key of the row at a place; IndexError where there is none."""
        if not 0 <= index < len(self._order):
            raise IndexError(index)
        return self._order[-1 - index if self.descending else index][2]

    def item(self, key: str) -> Item:
        """The item of a key; KeyError where there is none."""
        return self._items[key]

    def find(self, key: str) -> Item | None:
        """The item of a key, if there is one."""
        return self._items.get(key)

    def items(self) -> Iterable[Item]:
        """All items, in order of arrival."""
        return self._items.values()

    def keys(self) -> Iterable[str]:
        """All keys, in order of arrival."""
        return self._items.keys()

    def index_of(self, key: str) -> int | None:
        """The place of a row; None where it is hidden or unknown."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        index = bisect_left(self._order, entry)
        return len(self._order) - 1 - index if self.descending else index

    def put(self, key: str, item: Item) -> None:
        """Add or replace an item."""
        self._items[key] = item
        self._arrival.setdefault(key, len(self._arrival))
        entry = self._entry(key, item)
        old = self._entries.get(key)
        if entry == old:
            return
        if old is not None:
            del self._order[bisect_left(self._order, old)]
            del self._entries[key]
        if entry is not None:
            insort(self._order, entry)
            self._entries[key] = entry

    def _entry(self, key: str, item: Item) -> _Entry | None:
        if self._keep is not None and not self._keep(item):
            return None
        return (self._sort_value(item), self._arrival[key], key)

    def fill(self, items: Mapping[str, Item]) -> None:
        """Add or replace many items at once: one sort, where each by itself would be a walk."""
        self._items.update(items)
        for key in items:
            self._arrival.setdefault(key, len(self._arrival))
        self._rebuild()

    def remove(self, key: str) -> None:
        """Forget an item; an unknown key is no fault."""
        self._items.pop(key, None)
        entry = self._entries.pop(key, None)
        if entry is not None:
            del self._order[bisect_left(self._order, entry)]

    def clear(self) -> None:
        """Forget all items; order and filter stay."""
        for held in (self._items, self._arrival, self._entries, self._order):
            held.clear()

    def shows(self, key: str) -> bool:
        """Whether a row is there: known, and kept by the filter."""
        return key in self._entries

    def shown_keys(self) -> Iterable[str]:
        """The keys of all rows that the filter keeps, in no order."""
        return self._entries.keys()

    def sort_by(self, key: str, *, descending: bool) -> None:
        """Sort by one column."""
        self.sort_by_all(((key, descending),) if key else ())

    def sort_by_all(self, order: Sequence[SortKey]) -> None:
        """Sort by several columns, the most important first."""
        self.order = tuple(order)
        self._sort_value = self._sorter()
        self._rebuild()

    @cached_property
    def fields(self) -> Fields:
        """What a filter can ask of these rows."""
        return BUILT_IN if self.searchable is None else fields_of(self.columns, self.asks)

    def filter(self, chosen: Filter | None) -> None:
        """Show the rows that a person's filter keeps, or all."""
        searchable = self.searchable
        if chosen is None or not chosen.conditions or searchable is None:
            self.keep_only(None)
        else:
            self.keep_only(lambda item: chosen.keeps(searchable(item), item))

    def keep_only(self, keep: Callable[[Item], bool] | None) -> None:
        """Choose which rows are there; None keeps all."""
        self._keep = keep
        self._rebuild()

    def _rebuild(self) -> None:
        self.sorted_wholly += 1
        self._entries = {key: entry for key, item in self._items.items() if (entry := self._entry(key, item)) is not None}
        self._order = sorted(self._entries.values())
