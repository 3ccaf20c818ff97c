"""What is done to everything that is drawn, just before it goes out: no colours, or no characters beyond ASCII. It knows no view."""

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from nodus_tui.appearance import Appearance
from nodus_tui.ascii_cells import ascii_cells


class NoColours(LineFilter):
    """Weights of letters stay, colours go: not even the codes for a terminal's own two are sent."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - the signature is Textual's
        """The segments without colours."""
        return [Segment(text, _without_colours(style) if style is not None else None, control) for text, style, control in segments]


@lru_cache(maxsize=1024)
def _without_colours(style: Style) -> Style:
    return Style(
        bold=style.bold,
        dim=style.dim,
        italic=style.italic,
        underline=style.underline,
        reverse=style.reverse,
        strike=style.strike,
        meta=style.meta or None,
    )


class OnlyAscii(LineFilter):
    """Every character beyond ASCII is drawn as one that looks like it, in as many cells."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - the signature is Textual's
        """The segments in ASCII."""
        return [each if each.text.isascii() else Segment(_in_ascii(each), each.style, each.control) for each in segments]


def _in_ascii(segment: Segment) -> str:
    # The ends of a scrollbar are parts of a cell, which no character is like.
    scrollbar = segment.style is not None and "@mouse.down" in segment.style.meta
    return " " * segment.cell_length if scrollbar else ascii_cells(segment.text)


def line_filters(looks: Appearance) -> tuple[LineFilter, ...]:
    """What is done to everything that a console of these looks draws."""
    return (*((NoColours(),) if looks.colourless else ()), *((OnlyAscii(),) if looks.ascii else ()))
