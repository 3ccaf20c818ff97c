"""Columns: what a table can show of its items, and which of them fit a width."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Generic, TypeVar

from msgspec import Struct

from nodus_tui.text import ELLIPSIS
from nodus_tui.values import replace
from nodus_tui.view_state.cells import Line, cut_line, cut_line_middle, line, line_width, safe_line

Item = TypeVar("Item")
SortValue = str | int | float | Decimal | None
"""Within one column all values that are not None are comparable; None sorts last in rising order."""


class Measure(StrEnum):
    """What a column's sort values are, and so what a filter can ask of them."""

    TEXT = "text"
    MONEY = "money"
    """US dollars."""
    COUNT = "count"
    SECONDS = "seconds"
    SHARE = "share"
    """0 to 1."""


class Column(Struct, Generic[Item], frozen=True):
    """One thing that a table shows of each item."""

    key: str
    title: str
    width: int
    """Cells it needs at least."""
    cell: Callable[[Item, datetime], Line]
    sort: Callable[[Item], SortValue]
    priority: int = 0
    """0 always stays; of the others the highest drop out first where the width is short."""
    prefer: int = 0
    """Cells for which columns of priority `UNIMPORTANT` and above make room."""
    grow: int = 0
    """Cells it may take beyond `width`, where there is room."""
    right: bool = False
    """Aligned at the right: figures."""
    figures: bool = False
    """It holds figures, wherever it is aligned. A figure is shown whole, in fewer digits, or not at all: cut off it would be another."""
    shorter: Callable[[Item, datetime], tuple[Line, ...]] | None = None
    """What it shows instead where `cell` does not fit, longest first."""
    middle: bool = False
    """Where it does not fit, it is cut in its middle: it holds names, and many differ at their ends only."""
    least: int = 0
    """Cells to which it gives way where even the columns that always stay do not fit; 0 means that it does not."""
    measure: Measure | None = None
    """What its sort values are: a filter can ask for them by the column's key. None for values that mean an order only."""
    about: str = ""
    """What it shows, for the list of columns; needed where there is no title."""
    still: bool = False
    """Its cell reads the same at any time, as long as the item is the same."""
    still_for: Callable[[Item], bool] | None = None
    """Of which items that holds, where it does not hold of all."""
    extra: bool = False
    """It is shown only where a person chose it."""
    since: bool = False
    """It is sorted by the moment from which it shows the time since: the later that is, the less it shows."""
    fills: bool = False
    """It shows as much as it is wide: what its cells hold says nothing of its width."""

    @property
    def name(self) -> str:
        """What the list of columns calls it."""
        return self.about or self.title or self.key

    def stays(self, item: Item) -> bool:
        """Whether the item's cell reads the same at any time."""
        return self.still or (self.still_for is not None and self.still_for(item))

    def natural(self, item: Item, now: datetime) -> int:
        """Cells that the item's whole cell would take."""
        return line_width(safe_line(self.cell(item, now)))

    def fitted(self, item: Item, now: datetime, width: int) -> Line:
        """The cell in at most `width` cells of the screen."""
        return self.measured(item, now, width)[0]

    def measured(self, item: Item, now: datetime, width: int) -> tuple[Line, int]:
        """The same, and how many cells the whole would take."""
        shown = safe_line(self.cell(item, now))
        whole = line_width(shown)
        return (shown if whole <= width else self._less(shown, item, now, width)), whole

    def _less(self, shown: Line, item: Item, now: datetime, width: int) -> Line:
        """What of a cell that does not fit is shown."""
        for form in self.shorter(item, now) if self.shorter is not None else ():
            shown = safe_line(form)
            if line_width(shown) <= width:
                return shown
        if self.right or self.figures:
            return cut_line(line(ELLIPSIS), width)
        return cut_line_middle(shown, width) if self.middle else cut_line(shown, width)


class Placed(Struct, Generic[Item], frozen=True):
    """A column with the width that it got."""

    column: Column[Item]
    width: int


def usual(columns: Sequence[Column[Item]]) -> tuple[Column[Item], ...]:
    """The columns that are shown where nobody chose any."""
    return tuple(column for column in columns if not column.extra)


def chosen(columns: Sequence[Column[Item]], keys: Sequence[str]) -> tuple[Column[Item], ...]:
    """The columns that a person chose, in their order; the usual ones where none of the keys is a column's. Where the width is short, the
    last ones drop out first: the order says what matters.
    """
    by_key = {column.key: column for column in columns}
    found = [by_key[key] for key in dict.fromkeys(keys) if key in by_key]
    return tuple(replace(column, priority=min(place, _LEAST_CHOSEN)) for place, column in enumerate(found)) or usual(columns)


GAP = 1
"""Cells between two columns."""
_LEAST_CHOSEN = 3
"""The priority of the fourth chosen column and all behind it: the last of them drops out first."""
UNIMPORTANT = 4
"""From this priority on a column drops out even to give a preferred width to another."""


def place(columns: Sequence[Column[Item]], width: int, seen: Mapping[str, int] = MappingProxyType({})) -> tuple[Placed[Item], ...]:
    """The columns that fit, in order: unimportant ones drop out first, and the growing ones share what is left.

    `seen` has the widest cell of each column whose contents are known, by its key: such a column takes no more than that, and what it
    leaves is room for the others.
    """
    kept = [_as_seen(column, seen.get(column.key)) for column in columns]

    def needed(*, preferred: bool = False) -> int:
        return sum(max(column.width, column.prefer * preferred) for column in kept) + GAP * max(0, len(kept) - 1)

    def drop_from(priority: int) -> bool:
        droppable = [column for column in kept if column.priority >= priority]
        if droppable:
            kept.remove(max(droppable, key=lambda column: (column.priority, kept.index(column))))
        return bool(droppable)

    while needed(preferred=True) > width and drop_from(UNIMPORTANT):
        pass
    while needed() > width and drop_from(1):
        pass
    widths = _given_way({column.key: column.width for column in kept}, kept, needed() - width)
    spare = max(0, width - needed())
    for column in kept:
        taken = min(spare, max(0, column.prefer - column.width))
        widths[column.key] += taken
        spare -= taken
    growing = [column for column in kept if column.grow > 0]
    while spare > 0 and growing:
        each = max(1, spare // len(growing))
        for column in tuple(growing):
            room = column.width + column.grow - widths[column.key]
            taken = min(each, room, spare)
            widths[column.key] += taken
            spare -= taken
            if taken >= room:
                growing.remove(column)
    return tuple(Placed(column, widths[column.key]) for column in kept)


def _as_seen(column: Column[Item], widest: int | None) -> Column[Item]:
    """The column with the widths that its contents need; the sign of the order has its place behind the title."""
    if widest is None or column.fills:
        return column
    needed = max(widest, len(column.title) + 1)
    width = min(column.width, needed)
    return replace(
        column,
        width=width,
        prefer=min(column.prefer, needed),
        grow=max(0, min(column.width + column.grow, needed) - width),
        least=min(column.least, width),
    )


def _given_way(widths: dict[str, int], kept: Sequence[Column[Item]], excess: int) -> dict[str, int]:
    """Widths with the excess taken from the columns that can give way, always from the one that can give most."""
    least = {column.key: column.least for column in kept if column.least}
    for _ in range(max(0, excess)):
        most = max(least, key=lambda key: widths[key] - least[key], default=None)
        if most is None or widths[most] <= least[most]:
            break
        widths[most] -= 1
    return widths
