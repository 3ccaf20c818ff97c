"""A block of a few lines, painted again only where a line changed."""

from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import Offset, Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from nodus_tui.view_state.cells import Line, at_cell, plain, safe_line
from nodus_tui.widgets.marking import marked_strip, marked_text
from nodus_tui.widgets.paint import ground_of, paint_of

Build = Callable[[int], Sequence[Line]]
"""The lines for a width in cells."""


class SpanBlock(Widget):
    """Lines as high as they are many."""

    DEFAULT_CSS = """
    SpanBlock { height: 1; width: 1fr; }
    """

    def __init__(self, *, widget_id: str | None = None, keep_height: bool = False) -> None:
        super().__init__(id=widget_id)
        self._build: Build = lambda _width: ()
        self._lines: tuple[Line, ...] = ()
        self._keep_height = keep_height
        self._width = 0
        if not keep_height:
            self.display = False
        self.lines_refreshed = 0
        """Lines that were sent to be painted again: what tests count."""

    def show(self, build: Build) -> None:
        """Show these lines from now on; what did not change is left alone."""
        self._build = build
        self._update()

    def on_resize(self, _event: events.Resize) -> None:
        """The lines may be others for another width."""
        if self.size.width:
            self._update()

    def _update(self) -> None:
        width = self.size.width or self._width
        if width <= 0:
            width = self.app.size.width
        self._width = width
        old, self._lines = self._lines, tuple(self._build(width))
        if len(old) != len(self._lines) and not self._keep_height:
            self.styles.height = len(self._lines)
            self.display = bool(self._lines)
            self.refresh(layout=True)
            return
        for y in range(max(len(old), len(self._lines))):
            if y >= len(old) or y >= len(self._lines) or old[y] != self._lines[y]:
                self.lines_refreshed += 1
                self.refresh(Region(0, y, width, 1))

    async def on_click(self, event: events.Click) -> None:
        """A click on words that do something does it."""
        offset = event.get_content_offset(self)
        if offset is not None and await clicked(self, self._lines, offset):
            event.stop()

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is shown."""
        return self._lines

    def render_line(self, y: int) -> Strip:
        """One line of the block."""
        shown = self._lines[y] if y < len(self._lines) else ()
        return marked_strip(self, paint_of(self).strip(shown, self.size.width, base=ground_of(self)), y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that the mouse marked."""
        return marked_text(selection, (plain(safe_line(each)) for each in self._lines))


async def clicked(widget: Widget, lines: Sequence[Line], offset: Offset) -> bool:
    """Do what a click on a widget's lines does; says whether that is anything."""
    span = at_cell(safe_line(lines[offset.y]), offset.x) if 0 <= offset.y < len(lines) else None
    if span is None or not span.does:
        return False
    await widget.screen.run_action(span.does)
    return True
