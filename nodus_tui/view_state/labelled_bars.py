"""Bars under each other, each with a label before it and its legend behind it. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, line_width, muted
from nodus_tui.view_state.figures import segments
from nodus_tui.view_state.wrapping import flowed

LABEL = 7
"""Cells of the labels."""
_SHORTEST, _LONGEST = 14, 40
"""Cells of a bar beside its legend: a shorter one says too little, a longer one no more."""
_GAP = 2


class BarPart(Struct, frozen=True):
    """One part of a bar, and what its legend says of it."""

    amount: int
    tone: Tone
    glyph: str
    words: str
    """`28 correct`."""
    few: str = ""
    """The same in fewer letters, for where that has no room."""
    said: Tone | None = None
    """The tone of the words, where it is not that of the bar."""


class LabelledBar(Struct, frozen=True):
    """A bar and its legend. Each part has its own glyph in both, not only its own colour."""

    label: str
    parts: tuple[BarPart, ...]
    more: tuple[Line, ...] = ()
    """What the legend says besides, of no part of the bar."""


def bar_lines(bars: Sequence[LabelledBar], width: int, *, fold: bool = True) -> tuple[tuple[Line, ...], ...]:
    """The lines of each bar, all bars of those beside their legends as long as the shortest has room for, so that they can be compared.

    Where no legend leaves room for a bar, it has a line of its own below it, or with `fold=False` stands alone.
    """
    places = [_place(each, width - LABEL) for each in bars]
    # Legends under each other read alike: where one has its parts closer, all have.
    close = any(form for form, _ in places)
    legends = [_forms(each)[max(close, form)] for each, (form, _) in zip(bars, places, strict=True)]
    rooms = [width - LABEL - _GAP - line_width(legend) for legend, (_, beside) in zip(legends, places, strict=True) if beside]
    length = min([_LONGEST, *rooms])
    made: list[tuple[Line, ...]] = []
    for each, legend, (_, beside) in zip(bars, legends, places, strict=True):
        head, shares = muted(each.label.ljust(LABEL)), tuple((part.amount, part.tone, part.glyph) for part in each.parts)
        if beside:
            made.append(((head, *segments(shares, length), Span(" " * _GAP), *legend),))
        elif fold:
            made.append(((head, *segments(shares, max(1, width - LABEL))), *_below(legend, width)))
        else:
            made.append(((head, *legend),))
    return tuple(made)


def _place(each: LabelledBar, room: int) -> tuple[int, bool]:
    """Which of its forms the legend has, and whether it stands beside its bar."""
    forms = [line_width(form) for form in _forms(each)]
    for beside, most in ((True, room - _GAP - _SHORTEST), (False, room)):
        fitting = next((place for place, cells in enumerate(forms) if cells <= most), None)
        if fitting is not None:
            return fitting, beside
    return len(forms) - 1, False


def _below(legend: Line, width: int) -> tuple[Line, ...]:
    """The legend under its bar; in two lines before a part of it is cut off."""
    if line_width(legend) <= width:
        return ((Span(" " * min(LABEL, width - line_width(legend))), *legend),)
    return tuple(flowed(Span(" " * LABEL), (span for span in legend if span.text.strip()), width, " "))


def _forms(each: LabelledBar) -> tuple[Line, ...]:
    """The legend in forms that get shorter: with closer parts, then in fewer letters."""
    whole = joined((*(line(Span(f"{part.glyph} {part.words}", part.said or part.tone)) for part in each.parts), *each.more), "  ")
    closer = joined((*(line(Span(f"{part.glyph}{part.words}", part.said or part.tone)) for part in each.parts), *each.more), " ")
    fewer = joined((*(line(Span(f"{part.glyph}{part.few or part.words}", part.said or part.tone)) for part in each.parts), *each.more), " ")
    return whole, closer, fewer
