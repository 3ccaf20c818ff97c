"""What the rows of a table say, made once and kept while it cannot read otherwise. It knows columns, and no widget."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Generic

from msgspec import Struct

from nodus_tui.decimal_point import behind_the_point
from nodus_tui.view_state.cells import Line, Span, line_width, plain
from nodus_tui.view_state.columns import Column, Item, Placed

_MOST_KEPT = 500
"""Rows whose cells are kept: more than any terminal shows."""


class _Made(Struct, Generic[Item]):
    """The cells of a row, and what they were made of."""

    item: Item
    second: int
    placed: tuple[Placed[Item], ...]
    cells: tuple[Line, ...]
    moving: tuple[int, ...]
    """The places of those that go by the time."""


class RowCells(Generic[Item]):
    """The cells of the rows that were asked for last."""

    def __init__(self) -> None:
        self._made: dict[str, _Made[Item]] = {}
        self.widest: dict[str, int] = {}
        """The widest cell of each column so far: columns grow with what they hold, and do not shrink again under somebody's eyes."""
        self.outgrown = False
        """Whether a cell was made that is wider than all before it, or has more behind its decimal point."""
        self.shifted = False
        """Whether figures of a column stand elsewhere than they did."""
        self._behind: dict[str, int] = {}
        """The most cells that a figure of each column has behind its point so far: all figures of the column leave room for them."""
        self.rows_made = 0
        """Rows whose cells were made: what tests count."""
        self._now = datetime.min.replace(tzinfo=UTC), 0
        """The time that was asked for last, and its second."""

    def clear(self) -> None:
        """Forget all: they look otherwise. What the columns need stays."""
        self._made.clear()

    def forget_widths(self) -> None:
        """The columns begin anew with what is shown from now on."""
        self._made.clear()
        self.widest.clear()
        self._behind.clear()

    def of(
        self, key: str, item: Item, now: datetime, placed: tuple[Placed[Item], ...], columns: Sequence[Column[Item]]
    ) -> tuple[Line, ...]:
        """The cells of a row, each made to fit its column. They are made again only where the item or the columns are others; in the next
        second those alone that go by the time, for no cell tells less than a second. `columns` are those that are to be shown, also where
        they have no place.
        """
        second = self._second(now)
        made = self._made.get(key)
        if made is None or made.item is not item or made.placed is not placed:
            return self._afresh(key, item, now, placed, columns if made is None or made.item is not item else ())
        if made.second != second:
            made.second = second
            if made.moving:
                self._move_on(made, now)
        return made.cells

    def _second(self, now: datetime) -> int:
        if now is not self._now[0]:
            self._now = now, int(now.timestamp())
        return self._now[1]

    def _afresh(
        self, key: str, item: Item, now: datetime, placed: tuple[Placed[Item], ...], columns: Sequence[Column[Item]]
    ) -> tuple[Line, ...]:
        """All cells of a row; of `columns`, that have no place, what they would need is noted."""
        if len(self._made) > _MOST_KEPT:
            self._made.clear()
        self.rows_made += 1
        cells = tuple([self._cell(item, now, each) for each in placed])
        shown = {each.column.key for each in placed}
        for column in columns:
            if not column.fills and column.key not in shown:
                self._note(column.key, column.natural(item, now))
        moving = tuple([at for at, each in enumerate(placed) if not each.column.stays(item)])
        self._made[key] = _Made(item, self._second(now), placed, cells, moving)
        return cells

    def _move_on(self, made: _Made[Item], now: datetime) -> None:
        """Another second: the cells that go by the time."""
        self.rows_made += 1
        cells = list(made.cells)
        for at in made.moving:
            cells[at] = self._cell(made.item, now, made.placed[at])
        if (made_now := tuple(cells)) != made.cells:
            made.cells = made_now

    def _cell(self, item: Item, now: datetime, placed: Placed[Item]) -> Line:
        """A cell that fits; what its column needs to show it whole is noted."""
        column = placed.column
        cell, whole = column.measured(item, now, placed.width)
        if column.right:
            cell, whole = self._at_point(column.key, cell, whole, placed.width)
        if not column.fills:
            self._note(column.key, whole)
        return cell

    def _at_point(self, key: str, cell: Line, whole: int, width: int) -> tuple[Line, int]:
        """A figure at the decimal point of its column, as far as there is room behind it; and what its column needs for all of that."""
        behind = behind_the_point(plain(cell))
        if behind is None:
            return cell, whole
        if behind > self._behind.get(key, 0):
            self._behind[key] = behind
            # Those that were made already stand elsewhere from now on.
            self._made.clear()
            self.outgrown = self.shifted = True
        space, used = self._behind.get(key, 0) - behind, line_width(cell)
        room = min(space, width - used)
        # Fewer digits than the whole has need no more room than the whole.
        return ((*cell, Span(" " * room)) if room > 0 else cell), whole + (space if used == whole else 0)

    def _note(self, key: str, width: int) -> None:
        if width > self.widest.get(key, -1):
            self.widest[key] = width
            self.outgrown = True
