"""Lines of spans broken to a width, tones kept."""

from collections.abc import Iterable

from nodus_tui.text import wrap
from nodus_tui.view_state.cells import Line, Span, line_width, plain, safe_line


def wrapped(lines: Iterable[Line], width: int, *, hang: int = 0) -> tuple[Line, ...]:
    """The lines with none wider than `width`, broken at spaces; what goes on is indented by `hang` cells."""
    made: list[Line] = []
    for each in lines:
        shown = safe_line(each)
        if line_width(shown) <= width:
            made.append(shown)
        else:
            made.extend(_broken(shown, width) if not hang else _hanging(shown, width, hang))
    return tuple(made)


def _hanging(shown: Line, width: int, hang: int) -> list[Line]:
    first, *_ = _broken(shown, width)
    rest = safe_line(_after(shown, plain(first)))
    return [first, *((Span(" " * hang), *each) for each in _broken(rest, max(8, width - hang)))]


def _after(shown: Line, start: str) -> Line:
    """What of a line follows its start and the spaces behind that."""
    spans: list[Span] = []
    skipped = len(start)
    for span in shown:
        text = span.text[min(skipped, len(span.text)) :]
        skipped = max(0, skipped - len(span.text))
        spans.append(Span(text if spans and any(each.text for each in spans) else text.lstrip(" "), span.tone))
    return tuple(span for span in spans if span.text)


def _broken(shown: Line, width: int) -> list[Line]:
    """Break the words, then give each character its tone again: wrapping only ever leaves out spaces."""
    tones = [(char, span.tone) for span in shown for char in span.text]
    place = 0
    lines: list[Line] = []
    for text in wrap(plain(shown), width):
        spans: list[Span] = []
        for char in text:
            while tones[place][0] != char:
                place += 1
            tone = tones[place][1]
            place += 1
            if spans and spans[-1].tone is tone:
                spans[-1] = Span(spans[-1].text + char, tone)
            else:
                spans.append(Span(char, tone))
        lines.append(tuple(spans))
    return lines
