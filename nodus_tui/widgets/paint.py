"""From tones to colours, and from lines to strips. Every text passes safe_text here, and becomes plain segments: no markup, no actions."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip
from textual.theme import Theme

from nodus_tui.view_state.cells import Line, Tone, cut_line, line_width

if TYPE_CHECKING:
    from textual.widget import Widget

NO_WEIGHT = "plain"
"""What stands in a theme's variable for a tone that is drawn plainly: a variable is never empty."""


class Paint:
    """The styles of one theme: for each tone a colour and a weight, in the order of `Tone`."""

    def __init__(self, colours: tuple[str, ...], weights: tuple[str, ...], cursor: str, *, ansi: bool) -> None:
        self.styles: dict[Tone, Style] = {}
        for tone, colour, weight in zip(Tone, colours, weights, strict=True):
            drawn = Style.parse(weight) if weight != NO_WEIGHT else Style.null()
            self.styles[tone] = Style(color=Color.parse(colour).rich_color) + drawn
        self.cursor = Style(reverse=True) if ansi else Style(bgcolor=Color.parse(cursor).rich_color)
        self._grounds: dict[tuple[Style, bool], Mapping[Tone, Style]] = {}
        """A theme has a handful of grounds."""
        self.cursor_plain = ansi
        """The cursor's line gives up its tones: sixteen colours cannot promise contrast on another ground."""

    def segments(self, spans: Line, width: int, *, right: bool = False, base: Style | None = None) -> list[Segment]:
        """The line in exactly `width` cells."""
        return self.fitting(cut_line(spans, width), width, right=right, base=base)

    def fitting(self, shown: Line, width: int, *, right: bool = False, base: Style | None = None) -> list[Segment]:
        """The same of a line that `cut_line` gave already, for this width or a smaller one."""
        return self.placed(shown, width, self.on(base), right=right)

    @staticmethod
    def placed(shown: Line, width: int, styles: Mapping[Tone, Style], *, right: bool = False) -> list[Segment]:
        """The same in styles that `on` gave: the cells of a row stand on one ground."""
        made = [Segment(span.text, styles[span.tone]) for span in shown]
        space = width - line_width(shown)
        if space > 0:
            made.insert(0 if right else len(made), Segment(" " * space, styles[Tone.PLAIN]))
        return made

    def on(self, base: Style | None) -> Mapping[Tone, Style]:
        """The styles of all tones on a ground."""
        ground, plainly = base if base is not None else Style.null(), base is self.cursor and self.cursor_plain
        known = self._grounds.get((ground, plainly))
        if known is None:
            plain = self.styles[Tone.PLAIN]
            known = {tone: (plain if plainly else style) + ground for tone, style in self.styles.items()}
            self._grounds[ground, plainly] = known
        return known

    def strip(self, spans: Line, width: int, *, base: Style | None = None) -> Strip:
        """The line as a strip of exactly `width` cells."""
        return Strip(self.segments(spans, width, base=base), width)


class _Last:
    """The theme that was drawn with last: a line that is drawn looks it up."""

    theme: Theme | None = None
    paint: Paint


@lru_cache(maxsize=16)
def _paint(colours: tuple[str, ...], weights: tuple[str, ...], cursor: str, *, ansi: bool) -> Paint:
    return Paint(colours, weights, cursor, ansi=ansi)


def ground_of(widget: "Widget") -> Style:
    """What the widget's text stands on: a line of plain segments has no other way to know."""
    return _ground(widget.background_colors[1])


@lru_cache(maxsize=64)
def _ground(colour: Color) -> Style:
    return Style(bgcolor=colour.rich_color)


def tone_variables(tones: Mapping[Tone, str], cursor: str, weights: Mapping[str, str]) -> dict[str, str]:
    """The theme variables by which the styles are found again."""
    return {
        **{f"tone-{tone.value}": colour for tone, colour in tones.items()},
        **{f"weight-{name}": weight or NO_WEIGHT for name, weight in weights.items()},
        "cursor-ground": cursor,
    }


def paint_of(widget: "Widget") -> Paint:
    """The styles of the theme that the widget's app shows now; the same object while the theme is the same."""
    theme = widget.app.current_theme
    if theme is not _Last.theme:
        _Last.theme, _Last.paint = theme, _read(theme)
    return _Last.paint


def _read(theme: Theme) -> Paint:
    fallback = theme.foreground or "ansi_default"
    colours = tuple(theme.variables.get(f"tone-{tone.value}", fallback) for tone in Tone)
    weights = tuple(theme.variables.get(f"weight-{tone.value}", NO_WEIGHT) for tone in Tone)
    return _paint(colours, weights, theme.variables.get("cursor-ground", theme.primary), ansi=theme.ansi)
