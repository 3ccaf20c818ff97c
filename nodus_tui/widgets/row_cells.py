"""What the rows of a table say, made once and kept while it cannot read otherwise. It knows columns, and no widget."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic

from nodus_tui.text import ELLIPSIS
from nodus_tui.view_state.cells import Line, line_width
from nodus_tui.view_state.columns import Column, Item, Placed

_MOST_KEPT = 500
"""Rows whose cells are kept: more than any terminal shows."""


@dataclass(frozen=True, slots=True)
class _Made(Generic[Item]):
    """The cells of a row, and what they were made of."""

    item: Item
    second: int
    placed: tuple[Placed[Item], ...]
    cells: tuple[Line, ...]


class RowCells(Generic[Item]):
    """The cells of the rows that were asked for last."""

    def __init__(self) -> None:
        self._made: dict[str, _Made[Item]] = {}
        self.widest: dict[str, int] = {}
        """The widest cell of each column so far: columns grow with what they hold, and do not shrink again under somebody's eyes."""
        self.outgrown = False
        """Whether a cell was made that is wider than all before it."""
        self.rows_made = 0
        """Rows whose cells were made: what tests count."""

    def clear(self) -> None:
        """Forget all: they look otherwise. What the columns need stays."""
        self._made.clear()

    def forget_widths(self) -> None:
        """The columns begin anew with what is shown from now on."""
        self._made.clear()
        self.widest.clear()

    def of(
        self, key: str, item: Item, now: datetime, placed: tuple[Placed[Item], ...], columns: Sequence[Column[Item]]
    ) -> tuple[Line, ...]:
        """The cells of a row, each made to fit its column. They are made again only where the item or the columns are others; in the next
        second those alone that go by the time, for no cell tells less than a second. `columns` are those that are to be shown, also where
        they have no place.
        """
        second = int(now.timestamp())
        made = self._made.get(key)
        same = made is not None and made.item is item and made.placed is placed
        if made is not None and same and made.second == second:
            return made.cells
        if len(self._made) > _MOST_KEPT:
            self._made.clear()
        self.rows_made += 1
        kept: Sequence[Line | None] = made.cells if made is not None and same else (None,) * len(placed)
        cells = tuple(
            cell if cell is not None and each.column.still else each.column.fitted(item, now, each.width)
            for each, cell in zip(placed, kept, strict=True)
        )
        self._measure(item, now, placed, cells, columns if made is None or made.item is not item else None)
        self._made[key] = _Made(item, second, placed, cells)
        return cells

    def _measure(
        self,
        item: Item,
        now: datetime,
        placed: Sequence[Placed[Item]],
        cells: Sequence[Line],
        others: Sequence[Column[Item]] | None,
    ) -> None:
        """Note what the columns need to show an item whole; of `others`, that are not shown, only where the item is another."""
        shown: set[str] = set()
        for each, cell in zip(placed, cells, strict=True):
            column = each.column
            shown.add(column.key)
            if not column.fills and (others is not None or not column.still):
                # A figure that does not fit is a lone …, and a wide letter may leave the last place of a cell free.
                whole = column.shorter is None and line_width(cell) < each.width and not any(ELLIPSIS in span.text for span in cell)
                self._note(column.key, line_width(cell) if whole else column.natural(item, now))
        for column in others or ():
            if not column.fills and column.key not in shown:
                self._note(column.key, column.natural(item, now))

    def _note(self, key: str, width: int) -> None:
        if width > self.widest.get(key, -1):
            self.widest[key] = width
            self.outgrown = True
