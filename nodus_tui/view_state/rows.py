"""Rows: items in the order and through the filter that a person chose. One change costs one comparison walk, never a sort of all."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic

from nodus_tui.view_state.columns import Column, Item, SortValue

_Entry = tuple[Any, int, str]
"""Sort value (None last), place of arrival, key."""


def _comparable(value: SortValue) -> tuple[bool, SortValue]:
    return (value is None, 0 if value is None else value)


class Rows(Generic[Item]):
    """Items by key, sorted and filtered; without a column to sort by in the order of their arrival."""

    def __init__(self, columns: Sequence[Column[Item]], *, sort: str = "", descending: bool = False) -> None:
        self.columns = tuple(columns)
        self.sort_key = sort
        self.descending = descending
        self._sort_value = self._sorter(sort)
        self._keep: Callable[[Item], bool] | None = None
        self._items: dict[str, Item] = {}
        self._arrival: dict[str, int] = {}
        self._entries: dict[str, _Entry] = {}
        self._order: list[_Entry] = []
        self.sorted_wholly = 0
        """How often all items were sorted: only a person's own choice of order or filter does that."""

    def _sorter(self, key: str) -> Callable[[Item], SortValue]:
        if not key:
            return lambda _item: None
        return next(column.sort for column in self.columns if column.key == key)

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
        return (_comparable(self._sort_value(item)), self._arrival[key], key)

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

    def sort_by(self, key: str, *, descending: bool) -> None:
        """Choose the order."""
        self.sort_key, self.descending = key, descending
        self._sort_value = self._sorter(key)
        self._rebuild()

    def keep_only(self, keep: Callable[[Item], bool] | None) -> None:
        """Choose which rows are there; None keeps all."""
        self._keep = keep
        self._rebuild()

    def _rebuild(self) -> None:
        self.sorted_wholly += 1
        self._entries = {key: entry for key, item in self._items.items() if (entry := self._entry(key, item)) is not None}
        self._order = sorted(self._entries.values())
