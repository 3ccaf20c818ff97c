"""A scrolling text of any length, told in pieces: it wraps what is on the screen, and paints the lines that changed."""

from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from nodus_tui.view_state.cells import Line, plain, safe_line
from nodus_tui.view_state.lazy_text import LazyText, Piece
from nodus_tui.widgets.marking import marked_strip, marked_text
from nodus_tui.widgets.paint import ground_of, paint_of
from nodus_tui.widgets.span_block import clicked
from nodus_tui.widgets.text_pane import TextPane

_ROUNDS = 8
"""How often the end is looked for while guesses turn out wrong: each time nearer."""


class LazyPane(TextPane):
    """Pieces of text, one below the other."""

    class Scrolled(Message):
        """Other lines are on the screen."""

    def __init__(self, *, widget_id: str | None = None) -> None:
        super().__init__(widget_id=widget_id)
        self.text = LazyText()
        self.decorate: Callable[[Line, Piece, int], Line] = lambda spans, _piece, _offset: spans
        """A line as it is painted: with what was found told from the rest, say."""
        self._painted: list[Line] = []
        """The lines on the screen."""
        self._settling = False
        self._shown_width = 0

    # What is shown.

    def show_pieces(self, pieces: Sequence[Piece]) -> None:
        """Show these; the reader stays where they were, or at the end."""
        resized = self.text_width != self._shown_width
        at_end = self._at_end and bool(self.text.pieces) and (self.follow or (resized and self.scroll_offset.y > 0))
        anchor = self._place()
        self.text.put(pieces, self.text_width)
        self._shown_width = self.text_width
        self._size_to_text()
        if at_end:
            self._go_to_end()
        elif anchor is not None:
            self._go(self._place_now(*anchor))
        else:
            self._settle()
        self._resized_at = None
        self.paint_changes()

    def show_fixed(self, lines: Sequence[Line]) -> None:
        """Show a few lines that are wrapped already."""
        self.show_pieces([Piece("", lambda _width: lines, exact=len(lines))] if lines else [])

    def _place(self) -> tuple[Piece, float] | None:
        """The piece at the top, and how far down in it the top is."""
        if not self.text.pieces or not self.scroll_offset.y:
            return None
        at, offset = self.text.place_of(self.scroll_offset.y)
        piece = self.text.pieces[at]
        return piece, offset / max(1, len(self.text.lines_of(at)))

    def _place_now(self, piece: Piece, within: float) -> int:
        """Where that is now: by the piece, or by the beginning of the part where that has other pieces."""
        pieces = self.text.pieces
        place = next((at for at, each in enumerate(pieces) if each is piece), None)
        if place is not None:
            return self.text.start_of(place) + round(within * len(self.text.lines_of(place)))
        place = next((at for at, each in enumerate(pieces) if each.owner == piece.owner), None)
        return self.text.start_of(place) if place is not None else self.scroll_offset.y

    def _size_to_text(self) -> None:
        if self.virtual_size.height != self.text.total:
            self.virtual_size = Size(0, self.text.total)

    def _go(self, top: int) -> None:
        """Have this line at the top, as far as the text goes, and know what is on the screen then."""
        self._settling = True
        try:
            for _round in range(_ROUNDS):
                top = max(0, min(top, self.text.total - self.size.height))
                settled = self.text.settle(top, self.size.height)
                self._size_to_text()
                if settled == top <= max(0, self.text.total - self.size.height):
                    break
                top = settled
            # Set without asking how far it scrolls: that is known after the next layout only.
            self.set_reactive(LazyPane.scroll_y, float(top))
            self.set_reactive(LazyPane.scroll_target_y, float(top))
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.position = top
        finally:
            self._settling = False
        self._at_end = top >= self.text.total - self.size.height
        self.paint_changes()

    def _go_to_end(self) -> None:
        for _round in range(_ROUNDS):
            self._go(self.text.total)
            if self._at_end:
                return

    def go_to(self, piece: Piece, offset: int = 0, *, above: int = 0) -> None:
        """Have a line of a piece on the screen: where it is, if it is there, else so many lines below the top."""
        place = next((at for at, each in enumerate(self.text.pieces) if each is piece), None)
        if place is None:
            return
        self.text.lines_of(place)
        wanted = self.text.start_of(place) + offset
        top = self.scroll_offset.y
        if not top <= wanted < top + self.size.height - 1:
            self._go(wanted - above)
        self.paint_changes()

    def on_screen(self) -> list[Piece]:
        """The pieces that have a line on the screen, from the top."""
        top = self.scroll_offset.y
        if not self.text.pieces:
            return []
        first, last = self.text.place_of(top)[0], self.text.place_of(max(top, min(self.text.total, top + self.size.height) - 1))[0]
        return list(self.text.pieces[first : last + 1])

    def _settle(self) -> None:
        if not self._settling and self.text.pieces and self.size.height:
            top = self.scroll_offset.y
            known = self.text.total
            if self.text.settle(top, self.size.height) != top or self.text.total != known:
                self._go(top)

    # Scrolling and painting.

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Wrap what comes into sight."""
        self._settle()
        super().watch_scroll_y(old_value, new_value)
        self._painted = self._visible()
        if round(old_value) != round(new_value):
            self.post_message(self.Scrolled())

    def on_resize(self, _event: events.Resize) -> None:
        """Ask for another width, or know what has come into sight."""
        if self.text_width != self._shown_width:
            self.post_message(self.Resized())
        elif self._at_end and (self.follow or self.scroll_offset.y):
            self._go_to_end()
        else:
            self._go(self.scroll_offset.y)

    def _line(self, index: int) -> Line:
        if index >= self.text.total or not self.text.pieces:
            return ()
        at, offset = self.text.place_of(index)
        return self.decorate(self.text.line(index), self.text.pieces[at], offset)

    def _visible(self) -> list[Line]:
        top = self.scroll_offset.y
        return [self._line(top + y) for y in range(self.size.height)]

    def paint_changes(self) -> None:
        """Paint again what is to look otherwise than it was painted."""
        now = self._visible()
        for y, each in enumerate(now):
            if y >= len(self._painted) or self._painted[y] != each:
                self.lines_refreshed += 1
                self.refresh(Region(0, y, self.size.width, 1))
        self._painted = now

    @property
    def lines(self) -> tuple[Line, ...]:
        """Everything, wrapped: for a text that is known to be short."""
        return tuple(each for at in range(len(self.text.pieces)) for each in self.text.lines_of(at))

    async def on_click(self, event: events.Click) -> None:
        """A click on words that do something does it."""
        offset = event.get_content_offset(self)
        if offset is not None and await clicked(self, self._painted, offset):
            event.stop()

    def render_line(self, y: int) -> Strip:
        """One line of the viewport."""
        index = y + self.scroll_offset.y
        ground = ground_of(self)
        return marked_strip(self, paint_of(self).strip(self._line(index), self.size.width, base=ground), index)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that the mouse marked."""
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else self.text.total - 1
        return marked_text(selection, (plain(safe_line(self._line(index))) for index in range(first, last + 1)), first)

    def action_scroll_by(self, by: int) -> None:
        """Scroll by lines."""
        self._go(self.scroll_offset.y + by)

    def action_scroll_page(self, by: int) -> None:
        """Scroll by pages."""
        self._go(self.scroll_offset.y + by * max(1, self.size.height - 1))

    def action_to_start(self) -> None:
        """Scroll to the first line."""
        self._go(0)

    def action_to_end(self) -> None:
        """Scroll to the last line."""
        self._go_to_end()
