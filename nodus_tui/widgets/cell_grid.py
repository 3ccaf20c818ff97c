"""The grid of a sweep: cells of two lines in rows and columns, one of them selected; only lines that read otherwise are painted again."""

from datetime import datetime
from typing import ClassVar

from msgspec import Struct
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from nodus_tui.view_state.cells import Line, Span, Tone, line
from nodus_tui.view_state.columns import GAP
from nodus_tui.view_state.key_moves import move_keys
from nodus_tui.view_state.sweep import Grid, SweepState
from nodus_tui.view_state.sweep_cells import MARK
from nodus_tui.view_state.sweep_grid import CELL_LINES, HEAD_LINES, MARGIN, Layout, cell_lines, head_lines, layout_of, row_label
from nodus_tui.widgets.paint import ground_of, paint_of


class _Piece(Struct, frozen=True):
    """A part of a line of the screen."""

    spans: Line
    width: int
    chosen: bool = False


class CellGrid(ScrollView, can_focus=True, inherit_bindings=False):
    """The cells of a `SweepState` that has a grid. Call `show(now)` when they may have changed."""

    DEFAULT_CSS = """
    CellGrid { height: 1fr; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden; overflow-y: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(move_keys("up"), "move(-1, 0)", show=False, id="keys.up"),
        Binding(move_keys("down"), "move(1, 0)", show=False, id="keys.down"),
        Binding(move_keys("left"), "move(0, -1)", show=False, id="keys.left"),
        Binding(move_keys("right"), "move(0, 1)", show=False, id="keys.right"),
        Binding(move_keys("page_up"), "move_page(-1)", show=False, id="keys.page_up"),
        Binding(move_keys("page_down"), "move_page(1)", show=False, id="keys.page_down"),
        Binding(move_keys("first"), "move_to(0, 0)", show=False, id="keys.first"),
        Binding(move_keys("last"), "move_to_last", show=False, id="keys.last"),
    ]

    class CursorMoved(Message):
        """Another cell is selected."""

    class Opened(Message):
        """A cell was clicked while it was selected."""

    def __init__(self, state: SweepState, now: datetime, *, widget_id: str | None = None) -> None:
        super().__init__(id=widget_id)
        self.state = state
        self.now = now
        self._at = (0, 0)
        self._first = 0
        """The first column that is shown."""
        self._drawn: list[tuple[_Piece, ...] | None] = []
        self._sized: tuple[int, int] | None = None
        self.lines_refreshed = 0
        """Lines that were sent to be painted again: what tests count."""

    @property
    def cursor_key(self) -> str | None:
        """The name of the selected cell."""
        return self.state.grid.cells.get(self._at) if self.state.grid is not None else None

    def show(self, now: datetime) -> None:
        """The cells may have changed, or the time: paint again what now reads otherwise."""
        self.now = now
        grid = self.state.grid
        if grid is None:
            return
        sized = (len(grid.rows.values), self._row_lines(grid))
        if sized != self._sized:
            self._sized = sized
            self.virtual_size = Size(0, HEAD_LINES + sized[0] * sized[1])
        self._refresh_changed()

    def repaint(self) -> None:
        """Everything looks otherwise: another theme."""
        self._drawn = []
        self.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        """Other columns may fit."""
        self._drawn = []
        self.show(self.now)
        self._show_cursor()

    def on_focus(self) -> None:
        """The cursor's mark is another in the focused grid."""
        self._refresh_changed()

    def on_blur(self) -> None:
        """See on_focus."""
        self._refresh_changed()

    # Painting

    def _row_lines(self, grid: Grid) -> int:
        """Lines of a row of cells: with an empty one behind it where there is room for all."""
        roomy = len(grid.rows.values) * (CELL_LINES + 1) + HEAD_LINES - 1 <= self.size.height
        return CELL_LINES + roomy

    def _layout(self, grid: Grid) -> Layout:
        return layout_of(grid, max(1, self.scrollable_content_region.width))

    def _pieces(self, y: int) -> tuple[_Piece, ...]:
        """What a line of the viewport shows."""
        grid = self.state.grid
        if grid is None:
            return ()
        layout, width = self._layout(grid), self.size.width
        self._first = layout.first_for(self._at[1], self._first, len(grid.columns.values))
        if y < HEAD_LINES:
            return (_Piece(head_lines(grid, layout, self._first)[y], width),)
        row, part = divmod(y - HEAD_LINES + self.scroll_offset.y, self._row_lines(grid))
        if row >= len(grid.rows.values) or part >= CELL_LINES:
            return ()
        pieces = [_Piece(row_label(grid, row, layout) if part == 0 else (), layout.label)]
        for column in range(self._first, self._first + layout.shown):
            pieces += self._cell(grid, (row, column), part, layout.text)
        return tuple(pieces)

    def _cell(self, grid: Grid, place: tuple[int, int], part: int, width: int) -> tuple[_Piece, ...]:
        item = self.state.rows.find(grid.cells[place])
        chosen = place == self._at
        cursor = Span(" " if not chosen else "▌" if self.has_focus else "│", Tone.KEY)
        mark = MARK if item is not None and item.marked and part == 0 else Span(" ")
        text = cell_lines(item, self.now, width)[part] if item is not None else ()
        return (_Piece(line(cursor, mark), MARGIN, chosen), _Piece(text, width, chosen), _Piece((), GAP))

    def _refresh_changed(self) -> None:
        for y in range(self.size.height):
            old = self._drawn[y] if y < len(self._drawn) else None
            if old != self._pieces(y):
                self.lines_refreshed += 1
                self.refresh(Region(0, y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        """One line of the viewport."""
        pieces, width = self._pieces(y), self.size.width
        if y >= len(self._drawn):
            self._drawn.extend([None] * (y + 1 - len(self._drawn)))
        self._drawn[y] = pieces
        paint, ground = paint_of(self), ground_of(self)
        segments: list[Segment] = []
        for piece in pieces:
            segments.extend(paint.segments(piece.spans, piece.width, base=paint.cursor if piece.chosen else ground))
        return Strip(segments).adjust_cell_length(width, ground).simplify()

    # Moving

    def action_move(self, down: int, right: int) -> None:
        """Move the cursor by cells."""
        self.action_move_to(self._at[0] + down, self._at[1] + right)

    def action_move_page(self, by: int) -> None:
        """Move the cursor by pages of rows."""
        if self.state.grid is not None:
            self.action_move(by * max(1, (self.size.height - HEAD_LINES) // self._row_lines(self.state.grid) - 1), 0)

    def action_move_to_last(self) -> None:
        """Select the last cell."""
        if self.state.grid is not None:
            self.action_move_to(len(self.state.grid.rows.values) - 1, len(self.state.grid.columns.values) - 1)

    def action_move_to(self, row: int, column: int) -> None:
        """Select the cell at a place, or the nearest there is, and bring it into view."""
        grid = self.state.grid
        if grid is None:
            return
        at = (max(0, min(row, len(grid.rows.values) - 1)), max(0, min(column, len(grid.columns.values) - 1)))
        if at != self._at:
            self._at = at
            self.post_message(self.CursorMoved())
        self._show_cursor()
        self._refresh_changed()

    def select(self, name: str) -> None:
        """Select a cell by its name."""
        place = self.state.grid.place_of(name) if self.state.grid is not None else None
        if place is not None:
            self.action_move_to(*place)

    def _show_cursor(self) -> None:
        grid = self.state.grid
        if grid is None:
            return
        lines = self._row_lines(grid)
        top, page = self._at[0] * lines, max(1, self.size.height - HEAD_LINES)
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)
        elif top + CELL_LINES > self.scroll_offset.y + page:
            self.scroll_to(y=top + CELL_LINES - page, animate=False)

    def on_click(self, event: events.Click) -> None:
        """Select, or open what is selected."""
        offset, grid = event.get_content_offset(self), self.state.grid
        if offset is None or grid is None or offset.y < HEAD_LINES:
            return
        event.stop()
        column = self._layout(grid).column_at(offset.x)
        row = (offset.y - HEAD_LINES + self.scroll_offset.y) // self._row_lines(grid)
        if column is None or row >= len(grid.rows.values):
            return
        at = (row, self._first + column)
        if at == self._at and event.chain > 1:
            self.post_message(self.Opened())
        else:
            self.action_move_to(*at)
