"""A scrolling text of prepared lines. It stays at the end while the reader is there, and paints only lines that changed."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from nodus_tui.view_state.cells import Line, plain, safe_line
from nodus_tui.view_state.key_moves import move_keys
from nodus_tui.widgets.marking import marked_strip, marked_text
from nodus_tui.widgets.paint import ground_of, paint_of
from nodus_tui.widgets.span_block import clicked


class TextPane(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines that are already wrapped for `text_width`."""

    DEFAULT_CSS = """
    TextPane { height: 1fr; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden; overflow-y: auto; }
    """
    ALLOW_SELECT = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(move_keys("up"), "scroll_by(-1)", show=False, id="keys.up"),
        Binding(move_keys("down"), "scroll_by(1)", show=False, id="keys.down"),
        Binding(move_keys("page_up"), "scroll_page(-1)", show=False, id="keys.page_up"),
        Binding(move_keys("page_down"), "scroll_page(1)", show=False, id="keys.page_down"),
        Binding(move_keys("page_on"), "scroll_page(1)", show=False, id="keys.page_on"),
        Binding(move_keys("first"), "to_start", show=False, id="keys.first"),
        Binding(move_keys("last"), "to_end", show=False, id="keys.last"),
    ]

    class Resized(Message):
        """Lines for another width are wanted."""

    def __init__(self, *, widget_id: str | None = None) -> None:
        super().__init__(id=widget_id)
        self._lines: tuple[Line, ...] = ()
        self.follow = False
        """Whether a reader at the end stays at the end when more comes."""
        self._at_end = True
        """Whether the reader was at the end when the place last changed; a resize alone moves nobody from there."""
        self._resized_at: float | None = None
        """How far down the reader was, of all lines, when lines of another width were asked for."""
        self.lines_refreshed = 0
        """Lines that were sent to be painted again: what tests count."""

    @property
    def text_width(self) -> int:
        """Cells that a line may take."""
        return max(10, self.size.width - 1)

    @property
    def at_end(self) -> bool:
        """Whether the reader is at the end, also while more lines or another size are still to be laid out."""
        return self._at_end

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is shown."""
        return self._lines

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines."""
        new = tuple(lines)
        if new == self._lines:
            return
        at_end, resized_at = self._at_end, self._resized_at
        self._resized_at = None
        old, self._lines = self._lines, new
        if len(old) != len(new):
            self.virtual_size = Size(0, len(new))
        top = self.scroll_offset.y
        for y in range(self.size.height):
            index = top + y
            before = old[index] if index < len(old) else None
            after = new[index] if index < len(new) else None
            if before != after:
                self.lines_refreshed += 1
                self.refresh(Region(0, y, self.size.width, 1))
        # Only after the next layout does the pane know how far it scrolls. At the end of a text that fitted one is at its beginning too.
        if at_end and (self.follow or resized_at) and len(new) != len(old):
            self.call_after_refresh(self.action_to_end)
        elif resized_at is not None:
            self.scroll_to_line(round(resized_at * len(new)))

    def scroll_to_line(self, y: int) -> None:
        """Have this line at the top, once it is known how far the new lines scroll."""
        self.call_after_refresh(lambda: self.scroll_to(y=y, animate=False))

    def on_resize(self, _event: events.Resize) -> None:
        """Ask for lines of the new width."""
        if self._resized_at is None:
            self._resized_at = self.scroll_offset.y / max(1, len(self._lines))
        if self._at_end and (self.follow or self._resized_at):
            self.call_after_refresh(self.action_to_end)
        self.post_message(self.Resized())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Note whether that is the end."""
        super().watch_scroll_y(old_value, new_value)
        self._at_end = round(new_value) >= self.max_scroll_y

    async def on_click(self, event: events.Click) -> None:
        """A click on words that do something does it."""
        offset = event.get_content_offset(self)
        if offset is not None and await clicked(self, self._lines, offset + self.scroll_offset):
            event.stop()

    def render_line(self, y: int) -> Strip:
        """One line of the viewport."""
        index = y + self.scroll_offset.y
        width = self.size.width
        ground = ground_of(self)
        if index >= len(self._lines):
            return Strip.blank(width, ground)
        return marked_strip(self, paint_of(self).strip(self._lines[index], width, base=ground), index)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that the mouse marked."""
        return marked_text(selection, (plain(safe_line(each)) for each in self._lines))

    def action_scroll_by(self, by: int) -> None:
        """Scroll by lines."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False)

    def action_scroll_page(self, by: int) -> None:
        """Scroll by pages."""
        self.scroll_to(y=self.scroll_offset.y + by * max(1, self.size.height - 1), animate=False)

    def action_to_start(self) -> None:
        """Scroll to the first line."""
        self.scroll_to(y=0, animate=False)

    def action_to_end(self) -> None:
        """Scroll to the last line."""
        self.scroll_to(y=self.max_scroll_y, animate=False)
