"""How the grid of a sweep is laid out: how wide its cells are, how many of them fit beside each other, and what stands in each."""

from datetime import datetime

from msgspec import Struct

from nodus_tui.contract.resources.sweep import scalar_text
from nodus_tui.contract.sweep_results import SweepAxis
from nodus_tui.text import width_of
from nodus_tui.view_state.cells import Line, Span, cut_line, line, line_width, muted, safe_line, strong
from nodus_tui.view_state.columns import GAP
from nodus_tui.view_state.money import usd_cell_forms
from nodus_tui.view_state.sweep import Grid
from nodus_tui.view_state.sweep_cells import CellNow, outcome_forms
from nodus_tui.view_state.telling_apart import told_apart

MARGIN = 2
"""Cells of the screen before a cell's text: for the mark of the cursor and that of the comparison."""
INDENT = 1
"""Cells before a row's value."""
HEAD_LINES = 2
CELL_LINES = 2
_LEAST_TEXT, _MOST_TEXT = 18, 40
_LEAST_LABEL, _MOST_LABEL = 6, 16


class Layout(Struct, frozen=True):
    """Widths in cells of the screen."""

    label: int
    """Of a row's value, with the gaps around it."""
    text: int
    """Of a cell, its margin left out."""
    shown: int
    """Columns beside each other."""

    def first_for(self, column: int, first: int, columns: int) -> int:
        """The first column that is shown, so that one is in view: as little moved as can be."""
        return max(0, min(max(min(first, column), column - self.shown + 1), columns - self.shown))

    def column_at(self, x: int) -> int | None:
        """Which of the shown columns is at a place of the line."""
        place = (x - self.label) // (MARGIN + self.text + GAP)
        return place if x >= self.label and place < self.shown else None


def layout_of(grid: Grid, width: int) -> Layout:
    """The layout for a width: as many columns as have room, and cells as wide as that leaves them."""
    label = INDENT + min(_MOST_LABEL, max(_LEAST_LABEL, *(width_of(text) for text in (grid.rows.name, *_texts(grid.rows))))) + GAP
    columns = len(grid.columns.values)
    shown = max(1, min(columns, (width - label) // (MARGIN + _LEAST_TEXT + GAP)))
    text = max(1, min(_MOST_TEXT, (width - label) // shown - MARGIN - GAP))
    return Layout(label, text, shown)


def _texts(axis: SweepAxis) -> tuple[str, ...]:
    return tuple(map(scalar_text, axis.values))


def head_lines(grid: Grid, layout: Layout, first: int) -> tuple[Line, Line]:
    """What lies across and which part of it is shown; then the name of what lies down, and the values across."""
    count = len(grid.columns.values)
    part = "" if layout.shown >= count else f" {first + 1}–{first + layout.shown} of {count}  ← →"
    across = line(Span(" " * (layout.label + MARGIN)), muted(grid.columns.name.upper() + part))
    spans: list[Span] = [Span(" " * INDENT), *_padded(line(muted(grid.rows.name.upper())), layout.label - INDENT)]
    texts = told_apart(_texts(grid.columns), layout.text)
    for text in _texts(grid.columns)[first : first + layout.shown]:
        spans += [Span(" " * MARGIN), *_padded(line(strong(texts[text])), layout.text), Span(" " * GAP)]
    return across, tuple(spans)


def row_label(grid: Grid, row: int, layout: Layout) -> Line:
    """The value of a row."""
    texts = _texts(grid.rows)
    return (Span(" " * INDENT), *line(strong(told_apart(texts, layout.label - INDENT - GAP)[texts[row]])))


def cell_lines(item: CellNow, now: datetime, width: int) -> tuple[Line, Line]:
    """A cell: how it stands and what it cost; what came of it."""
    state = safe_line(item.sign.spans())
    room = width - line_width(state) - 1
    cost = next((form for form in usd_cell_forms(item.cost(now)) if line_width(form) <= room), ())
    first = (*state, Span(" " * (width - line_width(state) - line_width(cost))), *cost) if cost else cut_line(state, width)
    forms = [safe_line(form) for form in outcome_forms(item, now)]
    second = next((form for form in forms if line_width(form) <= width), None)
    return first, second if second is not None else cut_line(forms[-1], width)


def _padded(spans: Line, width: int) -> Line:
    shown = cut_line(spans, width)
    return (*shown, Span(" " * (width - line_width(shown))))
