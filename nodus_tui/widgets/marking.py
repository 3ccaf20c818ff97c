"""Text that the mouse marks: how a line of it looks, and what of some lines was marked. The terminal library finds out where."""

from collections.abc import Iterable

from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from nodus_tui.widgets.paint import paint_of


def marked_strip(widget: Widget, strip: Strip, y: int) -> Strip:
    """A line of a widget, the y-th of its content, with what is marked of it; the mouse learns from it where its characters are."""
    selection = widget.text_selection
    span = selection.get_span(y) if selection is not None else None
    if span is not None:
        start, end = span[0], strip.cell_length if span[1] == -1 else span[1]
        chosen = strip.crop(start, end).apply_style(_style(widget))
        strip = Strip.join([strip.crop(0, start), chosen, strip.crop(end)])
    return strip.apply_offsets(0, y)


def _style(widget: Widget) -> Style:
    """The theme's own colours; where those are the terminal's, turned round, for nobody knows which others can be read."""
    return Style(reverse=True) if paint_of(widget).cursor_plain else widget.screen.get_component_rich_style("screen--selection")


def marked_text(selection: Selection, lines: Iterable[str], first: int = 0) -> tuple[str, str]:
    """What is marked of lines, of which the first is the `first`-th of the content; and what parts it from the next widget's text."""
    return selection.extract("\n".join((*[""] * first, *(each.rstrip() for each in lines)))), "\n"
