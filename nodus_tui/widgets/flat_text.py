"""A document of a text area whose lines are never broken: line 7 of the text is line 7 on the screen, so that nothing is kept or counted
for each line. The library's own keeps lists of every line, counts them all for each line that it draws, and measures them all for each key.
"""

from collections.abc import Sequence
from typing import Any

from textual.document._document import Document, EditResult, Location
from textual.document._wrapped_document import WrappedDocument
from textual.expand_tabs import expand_tabs_inline, get_tab_widths
from textual.geometry import Offset, Size, clamp

from nodus_tui.text import width_of


class FlatDocument(Document):
    """A document that remembers how wide each of its lines is."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._tab_width = 0
        self._widths: list[int] = []

    def get_size(self, tab_width: int) -> Size:
        """How wide its widest line is, and how many there are."""
        if tab_width != self._tab_width:
            self._tab_width = tab_width
            self._widths = self._measured(self.lines)
        return Size(max(self._widths, default=0), len(self._widths))

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace a range, and measure again only what stands there now."""
        (top, _), (bottom, _) = sorted((start, end))
        count = len(self.lines)
        result = super().replace_range(start, end, text)
        if self._tab_width:
            put_in = bottom - top + 1 + len(self.lines) - count
            self._widths[top : bottom + 1] = self._measured(self.lines[top : top + put_in])
        return result

    def _measured(self, lines: Sequence[str]) -> list[int]:
        tab_width = self._tab_width
        return [len(each) if each.isascii() and "\t" not in each else width_of(each.expandtabs(tab_width)) for each in lines]


class _EachByItself(Sequence[Any]):
    """Where each line of the screen comes from: the line of that number, from its beginning."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def __len__(self) -> int:
        return self._document.line_count

    def __getitem__(self, y: Any) -> Any:
        if not 0 <= y < self._document.line_count:
            raise IndexError(y)
        return y, 0


class FlatLines(WrappedDocument):
    """A view of a document that breaks no line."""

    def __init__(self, document: Document, tab_width: int) -> None:
        super().__init__(document, 0, tab_width)
        self._offset_to_line_info = _EachByItself(document)  # type: ignore[assignment]

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Nothing is broken, and nothing kept."""
        del width
        if tab_width:
            self._tab_width = tab_width

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """See `wrap`."""
        del start, old_end, new_end

    @property
    def wrapped(self) -> bool:
        """Whether some line is broken."""
        return False

    @property
    def height(self) -> int:
        """How many lines there are on a screen that is high enough."""
        return self.document.line_count

    def offset_to_location(self, offset: Offset) -> Location:
        """The place in the text of a place on the screen."""
        x, y = offset
        row = clamp(y, 0, self.document.line_count - 1)
        return row, self.get_target_document_column(row, max(0, x), 0)

    def location_to_offset(self, location: Location) -> Offset:
        """The place on the screen of a place in the text."""
        row, column = location
        row = clamp(row, 0, self.document.line_count - 1)
        return Offset(width_of(expand_tabs_inline(self.document.get_line(row)[:column], self._tab_width)), row)

    def get_sections(self, line_index: int) -> list[str]:
        """The one piece of a line."""
        return [self.document.get_line(line_index)]

    def get_offsets(self, line_index: int) -> list[int]:
        """Where a line is broken: nowhere. Raises ValueError where there is no such line."""
        if not 0 <= line_index < self.document.line_count:
            raise ValueError(f"there is no line {line_index}")
        return []

    def get_tab_widths(self, line_index: int) -> list[int]:
        """How wide each tab of a line is."""
        return [width for _, width in get_tab_widths(self.document.get_line(line_index), self._tab_width)]
