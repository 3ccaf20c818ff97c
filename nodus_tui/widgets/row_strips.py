"""How a line of a table is drawn: its cells side by side, the marks before them, the titles above. It knows placed columns and paint."""

from collections.abc import Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from nodus_tui.view_state.cells import Line, Span, Tone, cut_line
from nodus_tui.view_state.column_choice import order_sign
from nodus_tui.view_state.columns import GAP, Placed
from nodus_tui.view_state.rows import SortKey
from nodus_tui.widgets.paint import Paint

MARGIN = 2
"""Cells before the first column: the cursor's own mark stands there, and that of a row that is picked, so that neither needs a colour."""

Columns = Sequence[Placed[Any]]


def row_strip(paint: Paint, columns: Columns, cells: Sequence[Line], width: int, *, marks: str, base: Style) -> Strip:
    """A line of exactly `width` cells; `cells` are cut to their columns already."""
    styles = paint.on(base)
    gap = Segment(" " * GAP, styles[Tone.PLAIN])
    segments: list[Segment] = paint.segments((Span(marks.ljust(MARGIN), Tone.KEY),), MARGIN, base=base)
    used = MARGIN
    for placed, cell in zip(columns, cells, strict=True):
        if used > MARGIN:
            segments.append(gap)
            used += GAP
        segments += paint.placed(cell, placed.width, styles, right=placed.column.right)
        used += placed.width
    if used < width:
        segments.append(Segment(" " * (width - used), styles[Tone.PLAIN]))
    # Neighbours of one style go out as one: fewer bytes on a thin line.
    return Strip(segments, max(used, width)).adjust_cell_length(width).simplify()


def title_strip(paint: Paint, columns: Columns, order: tuple[SortKey, ...], width: int, *, base: Style) -> Strip:
    """The titles, with the sign of the order beside those that it goes by."""
    titles = tuple(cut_line(_title(placed, order), placed.width) for placed in columns)
    return row_strip(paint, columns, titles, width, marks="", base=base)


def _title(placed: Placed[Any], order: tuple[SortKey, ...]) -> Line:
    sign = order_sign(order, placed.column.key, since=placed.column.since)
    if not sign:
        return (Span(placed.column.title, Tone.MUTED),)
    return (Span(placed.column.title[: placed.width - len(sign)] + sign, Tone.KEY),)


def extent(columns: Columns, key: str) -> tuple[int, int] | None:
    """Where a column stands: the cells at its left, and its own; None for one that is not shown."""
    left = MARGIN
    for placed in columns:
        if placed.column.key == key:
            return left, placed.width
        left += placed.width + GAP
    return None


def column_at(columns: Columns, x: int) -> str | None:
    """The key of the column that stands there; None between two and beside them."""
    left = MARGIN
    for placed in columns:
        if left <= x < left + placed.width:
            return placed.column.key
        left += placed.width + GAP
    return None


def end_of_difference(columns: Columns, before: Sequence[Line], after: Sequence[Line]) -> int:
    """Up to where two rows must be drawn again for one to become the other; 0 where they read the same."""
    left, end = MARGIN, 0
    for placed, old, new in zip(columns, before, after, strict=True):
        left += placed.width + GAP
        if old != new:
            end = left - GAP
    return end
