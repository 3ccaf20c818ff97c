"""The line table: one strip a row, painted again only where a visible row changed. Ten thousand rows cost what the visible ones cost."""

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from typing import ClassVar, Generic, NamedTuple

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from nodus_tui.view_state.cells import Line, Span, plain, safe_line
from nodus_tui.view_state.columns import Column, Item, Placed, chosen, place, usual
from nodus_tui.view_state.key_moves import move_keys
from nodus_tui.view_state.rows import Rows, SortKey
from nodus_tui.view_state.wrapping import wrapped
from nodus_tui.widgets.paint import Paint, ground_of, paint_of
from nodus_tui.widgets.row_cells import RowCells
from nodus_tui.widgets.row_strips import MARGIN, column_at, end_of_difference, extent, row_strip, title_strip
from nodus_tui.widgets.span_block import clicked

PICKED = "■"
"""The mark of a row that is picked, with others, for an action on all of them."""
_EMPTY_AT = Offset(2, 2)
"""Where the words begin that stand in a table without rows."""


class _Drawn(NamedTuple):
    """What a line of the screen shows."""

    key: str
    cells: tuple[Line, ...]
    mark: str
    """The cursor's mark, empty on other rows."""
    picked: bool


_MOST_PLACINGS = 3


class LineTable(ScrollView, Generic[Item], can_focus=True, inherit_bindings=False):
    """A table over `Rows`. Call `show(now)` when the rows may have changed."""

    DEFAULT_CSS = """
    LineTable { height: 1fr; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden; overflow-y: auto; }
    """
    ALLOW_SELECT = False
    """A row is copied by a key; a double click opens one, and marks nothing."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(move_keys("up"), "move(-1)", show=False, id="keys.up"),
        Binding(move_keys("down"), "move(1)", show=False, id="keys.down"),
        Binding(move_keys("page_up"), "move_page(-1)", show=False, id="keys.page_up"),
        Binding(move_keys("page_down"), "move_page(1)", show=False, id="keys.page_down"),
        Binding(move_keys("first"), "move_to_first", show=False, id="keys.first"),
        Binding(move_keys("last"), "move_to_last", show=False, id="keys.last"),
    ]

    class RowOpened(Message):
        """A row was clicked while it was selected."""

        def __init__(self, table: "LineTable[Item]", key: str) -> None:
            super().__init__()
            self.table = table
            self.key = key

    class CursorMoved(Message):
        """Another row is selected."""

        def __init__(self, table: "LineTable[Item]", key: str | None) -> None:
            super().__init__()
            self.table = table
            self.key = key

        def can_replace(self, message: Message) -> bool:
            """Only the last place of the cursor matters."""
            return isinstance(message, LineTable.CursorMoved) and message.table is self.table

    def __init__(self, rows: Rows[Item], now: datetime, *, widget_id: str | None = None) -> None:
        super().__init__(id=widget_id)
        self.rows = rows
        self.now = now
        self.cursor_key: str | None = None
        self._cursor_index = 0
        self._awaited = ""
        """The key of a row that is to be selected as soon as it is there."""
        self._columns: tuple[Column[Item], ...] = ()
        """Those that are to be shown, as they were when they were placed."""
        self._placed: tuple[Placed[Item], ...] = ()
        self._placed_for = -1
        self._laid_out = Size(-1, -1)
        self._drawn: list[_Drawn | None] = []
        self._empty: tuple[Line, ...] = ()
        self._shown_count = -1
        self._header: tuple[tuple[SortKey, ...], int] | None = None
        self._chosen_keys: tuple[str, ...] = ()
        self._left_out: frozenset[str] = frozenset()
        """Columns that say nothing now, by their keys."""
        self.one_click = False
        """Whether one click opens, as in a menu."""
        self.picks = False
        """Whether a person can pick several rows."""
        self._picked: set[str] = set()
        """What was picked, shown or not: what the filter hides for a while is picked again when it is back."""
        self._anchor: str | None = None
        """The row that was picked last: a range goes from there."""
        self.cells: RowCells[Item] = RowCells()
        self._look: tuple[Paint, Style] | None = None
        """How the lines of one frame are drawn."""
        self.lines_refreshed = 0
        """Lines of which something was sent to be painted again: what tests count."""
        self.columns_refreshed = 0
        """Columns of the terminal in those lines: what tests count."""

    # What is shown

    def show(self, now: datetime) -> None:
        """The rows may have changed, or the time: paint again what now reads otherwise."""
        self.now = now
        self._settle_cursor()
        self._settle_size()
        self._refresh_changed()

    def take(self, rows: Rows[Item]) -> None:
        """Show other rows from now on, with other columns."""
        self.rows = rows
        self.cursor_key, self._cursor_index = None, 0
        self._picked, self._anchor = set(), None
        self._placed_for, self._shown_count, self._header = -1, -1, None
        self.cells = RowCells()
        self.show(self.now)
        self.repaint()

    def choose_columns(self, keys: Sequence[str]) -> None:
        """Show these columns in this order, as far as there is room; the usual ones where there are none of these keys."""
        if tuple(keys) != self._chosen_keys:
            self._chosen_keys = tuple(keys)
            self._placed_for = -1
            self._place_columns()
            self.repaint()

    def leave_out(self, *keys: str) -> None:
        """Have these columns make room, unless a person chose them: each row would say in them what stands elsewhere already."""
        if frozenset(keys) != self._left_out:
            self._left_out = frozenset(keys)
            self._placed_for = -1
            self._place_columns()
            self.repaint()

    @property
    def columns(self) -> tuple[Column[Item], ...]:
        """The columns that are to be shown, whether there is room or not."""
        if self._chosen_keys:
            return chosen(self.rows.columns, self._chosen_keys)
        return tuple(column for column in usual(self.rows.columns) if column.key not in self._left_out)

    def show_empty(self, lines: Sequence[Line]) -> None:
        """What stands in the table when it has no rows: what that means and what to do."""
        if tuple(lines) != self._empty:
            self._empty = tuple(lines)
            if not len(self.rows):
                self.refresh()

    def repaint(self) -> None:
        """Everything looks otherwise: another theme, or another window of time."""
        self._drawn = []
        self.cells.clear()
        self.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        """Other columns may fit."""
        if self.outer_size != self._laid_out:
            # The columns begin anew with what is in sight: what was seen at other sizes must not stay for ever.
            self._laid_out, self._placed_for = self.outer_size, -1
            self.cells.forget_widths()
        self.settle_columns()
        self._settle_cursor()
        self._settle_size()
        self._scroll_to_cursor()
        self.repaint()

    def on_focus(self) -> None:
        """The cursor's mark is shown in the focused table only."""
        self._refresh_changed()

    def on_blur(self) -> None:
        """See on_focus."""
        self._refresh_changed()

    def _settle_size(self) -> None:
        if len(self.rows) != self._shown_count:
            was_empty = self._shown_count <= 0
            self._shown_count = len(self.rows)
            self.virtual_size = Size(0, self._shown_count + 1)
            if was_empty or not self._shown_count:
                self.refresh()

    def _settle_cursor(self) -> None:
        """Keep the cursor on its item wherever that went; where it is gone, stay at its place."""
        if self._awaited and (there := self.rows.index_of(self._awaited)) is not None:
            self._awaited = ""
            self._set_cursor(there)
            # How far it scrolls is known after the layout.
            self.call_after_refresh(self._scroll_to_cursor)
        index = self.rows.index_of(self.cursor_key) if self.cursor_key is not None else None
        if index is None:
            index = min(self._cursor_index, len(self.rows) - 1)
            self._set_cursor(index)
        self._cursor_index = max(0, index)

    def _set_cursor(self, index: int) -> None:
        key = self.rows.key_at(index) if 0 <= index < len(self.rows) else None
        self._cursor_index = max(0, index)
        if key != self.cursor_key:
            self.cursor_key = key
            self.post_message(self.CursorMoved(self, key))

    @property
    def cursor_item(self) -> Item | None:
        """The selected item."""
        return self.rows.find(self.cursor_key) if self.cursor_key is not None else None

    @property
    def place_text(self) -> str:
        """Where the cursor is, such as `3 of 100`, and how many the filter hides."""
        hidden = self.rows.total - len(self.rows)
        at = f"{self._cursor_index + 1} of {len(self.rows)}" if len(self.rows) else "0"
        return f"{at} ({hidden} hidden)" if hidden else at

    def row_texts(self) -> tuple[tuple[str, str], ...]:
        """The selected row as title and text of every column: what is copied."""
        item = self.cursor_item
        if item is None:
            return ()
        return tuple((column.title or column.key, plain(safe_line(column.cell(item, self.now)))) for column in self.columns)

    # Painting

    def _place_columns(self) -> None:
        """Columns for the width beside the scrollbar, which comes and goes with the number of rows."""
        width = self.scrollable_content_region.width
        if width != self._placed_for:
            self._placed_for = width
            self._columns = self.columns
            self._placed = place(self._columns, max(1, width - MARGIN), self.cells.widest)
            self.cells.outgrown = False
            # What was drawn stands at other places than what will be.
            self._drawn = []

    def _what(self, y: int) -> _Drawn | None:
        """What the line y of the viewport shows; None below the last row."""
        index = y - 1 + self.scroll_offset.y
        return self._row(index) if y >= 1 and index < len(self.rows) else None

    def _row(self, index: int) -> _Drawn:
        key = self.rows.key_at(index)
        cells = self.cells.of(key, self.rows.item(key), self.now, self._placed, self._columns)
        mark = "" if key != self.cursor_key else "▌" if self.has_focus else "│"
        return _Drawn(key, cells, mark, key in self._picked)

    def _in_sight(self) -> list[_Drawn]:
        """The rows in the viewport, from the topmost."""
        top = self.scroll_offset.y
        return [self._row(index) for index in range(top, min(top + self.size.height - 1, len(self.rows)))]

    def settle_columns(self) -> None:
        """Give the columns the widths that what is in sight needs; everything is painted again where that changes one."""
        self._settled()

    def _settled(self) -> list[_Drawn]:
        """The same, and the rows that are in sight then."""
        self._place_columns()
        # Others may come into sight with other widths, and need more: not for ever, for none is forgotten.
        for _ in range(_MOST_PLACINGS):
            seen = self._in_sight()
            if not self.cells.outgrown:
                return seen
            shifted, self.cells.outgrown, self.cells.shifted = self.cells.shifted, False, False
            needed = place(self._columns, max(1, self._placed_for - MARGIN), self.cells.widest)
            if [(each.column.key, each.width) for each in needed] == [(each.column.key, each.width) for each in self._placed]:
                if not shifted:
                    return seen
                continue
            self._placed, self._drawn = needed, []
            self.refresh()
        return self._in_sight()

    def _refresh_changed(self) -> None:
        seen = self._settled()
        header = (self.rows.order, self._placed_for)
        if header != self._header:
            self._refresh_line(0)
        for y, (old, new) in enumerate(zip_longest(self._drawn[1 : self.size.height], seen), start=1):
            if new != old:
                self._refresh_difference(y, old, new)

    def _refresh_difference(self, y: int, old: _Drawn | None, new: _Drawn | None) -> None:
        """Up to the last cell that reads otherwise. Textual sends a line from its left edge to the end of a region, once for each region of
        it: one region that ends early costs less on the wire than several small ones.
        """
        if old is None or new is None or (old.mark, old.picked) != (new.mark, new.picked):
            self._refresh_line(y)
            return
        self._refresh_line(y, end_of_difference(self._placed, old.cells, new.cells))

    def _refresh_line(self, y: int, end: int | None = None) -> None:
        self.lines_refreshed += 1
        self.columns_refreshed += self.size.width if end is None else end
        self.refresh(Region(0, y, self.size.width if end is None else end, 1))

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a frame: what all of them are drawn with is looked up once."""
        self._look = (paint_of(self), ground_of(self))
        try:
            return super().render_lines(crop)
        finally:
            self._look = None

    def render_line(self, y: int) -> Strip:
        """One line of the viewport: the titles, a row, or nothing."""
        width, (paint, ground) = self.size.width, self._look or (paint_of(self), ground_of(self))
        self._place_columns()
        if y == 0:
            self._header = (self.rows.order, self._placed_for)
            return title_strip(paint, self._placed, self.rows.order, width, base=ground)
        drawn = self._what(y)
        if y >= len(self._drawn):
            self._drawn.extend([None] * (y + 1 - len(self._drawn)))
        self._drawn[y] = drawn
        if drawn is None:
            return self._empty_strip(paint, y, width, ground)
        marks = (drawn.mark or " ") + PICKED if drawn.picked else drawn.mark
        return row_strip(paint, self._placed, drawn.cells, width, marks=marks, base=paint.cursor if drawn.mark else ground)

    def _empty_strip(self, paint: Paint, y: int, width: int, ground: Style) -> Strip:
        lines = () if len(self.rows) else self._empty_lines()
        if not _EMPTY_AT.y <= y < _EMPTY_AT.y + len(lines):
            return Strip.blank(width, ground)
        return paint.strip((Span(" " * _EMPTY_AT.x), *lines[y - _EMPTY_AT.y]), width, base=ground)

    def _empty_lines(self) -> tuple[Line, ...]:
        """What stands there, none of it wider than the table."""
        return wrapped(self._empty, max(1, self.size.width - 2 * _EMPTY_AT.x))

    # Moving

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self.move_to(self._cursor_index + by)

    def action_move_page(self, by: int) -> None:
        """Move the cursor by pages."""
        self.move_to(self._cursor_index + by * max(1, self.size.height - 2))

    def action_move_to_first(self) -> None:
        """Move the cursor to the first row."""
        self.move_to(0)

    def action_move_to_last(self) -> None:
        """Move the cursor to the last row."""
        self.move_to(len(self.rows) - 1)

    def move_to(self, index: int) -> None:
        """Select the row at a place, or the nearest there is, and bring it into view. Its two lines are painted at once."""
        self._awaited = ""
        before, top = self._cursor_index, self.scroll_offset.y
        self._set_cursor(max(0, min(index, len(self.rows) - 1)))
        self._scroll_to_cursor()
        if self.scroll_offset.y != top:
            self._refresh_changed()
            return
        for at in {before, self._cursor_index}:
            if 0 <= at - top < self.size.height - 1:
                self._refresh_line(at - top + 1)

    def select(self, key: str) -> None:
        """Select a row by its key, where it is shown."""
        index = self.rows.index_of(key)
        if index is not None:
            self.move_to(index)

    def await_row(self, key: str) -> None:
        """Select a row now or when it comes, unless the person selects another one before."""
        self._awaited = key
        self.show(self.now)

    def _scroll_to_cursor(self) -> None:
        """Scrolling sends every line anew. A table that scrolled with each key would never catch up over a thin link: a step over the edge
        scrolls half a page, a longer way as far as it must.
        """
        page = max(1, self.size.height - 1)
        top, at = self.scroll_offset.y, self._cursor_index
        if at < top:
            self.scroll_to(y=max(0, top - page // 2) if at == top - 1 and page > 1 else at, animate=False)
        elif at >= top + page:
            self.scroll_to(y=top + page // 2 if at == top + page and page > 1 else at - page + 1, animate=False)

    # Order

    @property
    def picked_keys(self) -> frozenset[str]:
        """The keys of all rows that are picked, shown or not."""
        return frozenset(self._picked)

    def pick_these(self, keys: frozenset[str]) -> None:
        """Have these rows picked and no others."""
        self._picked, self._anchor = set(keys), None
        self._refresh_changed()

    def sort_by(self, key: str, *, further: bool = False) -> None:
        """Sort by a column, alone or behind those by which the rows are sorted already; by the same one again turns its order round."""
        falls = dict(self.rows.order).get(key)
        if further and falls is None:
            self.order_by((*self.rows.order, (key, False)))
        elif further or key == self.rows.sort_key:
            self.order_by(tuple((each, down is not (each == key)) for each, down in self.rows.order))
        else:
            self.order_by(((key, False),))

    def order_by(self, order: Sequence[SortKey]) -> None:
        """Sort by these columns, the most important first."""
        self.rows.sort_by_all(order)
        self._settle_cursor()
        self._scroll_to_cursor()
        self._refresh_changed()

    def sort_next(self) -> None:
        """Sort by the next column that is shown."""
        keys = [placed.column.key for placed in self._placed if placed.column.title]
        at = keys.index(self.rows.sort_key) if self.rows.sort_key in keys else -1
        if keys:
            self.order_by(((keys[(at + 1) % len(keys)], False),))

    def sort_further(self) -> None:
        """Sort also by the next column that is shown and by which the rows are not sorted yet."""
        used = dict(self.rows.order)
        keys = [placed.column.key for placed in self._placed if placed.column.title]
        last = keys.index(self.rows.order[-1][0]) if self.rows.order and self.rows.order[-1][0] in keys else -1
        behind = [*keys[last + 1 :], *keys[: last + 1]]
        key = next((each for each in behind if each not in used), None)
        if key is not None:
            self.sort_by(key, further=True)

    # Picking several rows

    def pick(self) -> None:
        """Pick the selected row, or let go of it, and go on to the next."""
        if self.cursor_key is not None:
            self._toggle(self.cursor_key)
            self.move_to(self._cursor_index + 1)

    def _toggle(self, key: str) -> None:
        self._picked ^= {key}
        self._anchor = key

    def pick_range(self) -> None:
        """Pick all rows from the one that was picked last up to the selected one."""
        begins = self.rows.index_of(self._anchor) if self._anchor is not None else None
        first, last = sorted((self._cursor_index if begins is None else begins, self._cursor_index))
        self._picked |= {self.rows.key_at(index) for index in range(first, min(last + 1, len(self.rows)))}
        self._anchor = self.cursor_key
        self._refresh_changed()

    def pick_all(self) -> None:
        """Pick all rows that the filter keeps."""
        self._picked.update(self.rows.shown_keys())
        self._refresh_changed()

    def pick_none(self) -> None:
        """Let go of all, those that the filter hides included."""
        self._picked, self._anchor = set(), None
        self._refresh_changed()

    @property
    def picked_count(self) -> int:
        """How many of the rows that are shown are picked: what is not seen is never acted on."""
        return sum(self.rows.shows(key) for key in self._picked)

    def picked_items(self) -> tuple[Item, ...]:
        """The items of the picked rows that are shown, in the order of the table."""
        places = sorted((index, key) for key in self._picked if (index := self.rows.index_of(key)) is not None)
        return tuple(self.rows.item(key) for _, key in places)

    async def on_click(self, event: events.Click) -> None:
        """Select, or with a double click open; a title sorts. With Ctrl pick, with Shift pick up to here, and with both sort further."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        if not len(self.rows):
            await clicked(self, self._empty_lines(), offset - _EMPTY_AT)
            return
        if offset.y == 0:
            key = column_at(self._placed, offset.x)
            if key is not None:
                self.sort_by(key, further=event.shift or event.ctrl)
            return
        index = offset.y - 1 + self.scroll_offset.y
        if index >= len(self.rows):
            return
        if self.one_click or (self.rows.key_at(index) == self.cursor_key and event.chain > 1):
            self.move_to(index)
            self.post_message(self.RowOpened(self, self.rows.key_at(index)))
            return
        self.move_to(index)
        if self.picks and (event.ctrl or event.shift):
            if event.shift:
                self.pick_range()
            else:
                self._toggle(self.rows.key_at(index))
                self._refresh_changed()
            self.post_message(self.CursorMoved(self, self.cursor_key))

    def extent(self, key: str) -> tuple[int, int] | None:
        """Where a column stands: the cells at its left, and its own; None for one that is not shown."""
        self._place_columns()
        return extent(self._placed, key)
