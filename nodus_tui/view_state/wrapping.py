"""Lines of spans broken to a width, tones and indents kept; and lines cut to a number, with … where there was more."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from nodus_tui.text import ELLIPSIS, width_of, wrap
from nodus_tui.view_state.cells import Line, Span, Tone, cut_line, joined, line_width, muted, plain, safe_line

_SEPARATOR = muted(" · ")


def indent_of(spans: Line) -> int:
    """Cells by which what goes on below a line is indented: those of a padded label, or of leading spaces and a mark such as `! `."""
    if not spans:
        return 0
    first = spans[0].text
    if first.strip() and first.endswith("  "):
        return width_of(first)
    text = plain(spans)
    bare = text.lstrip(" ")
    marked = len(bare) > 2 and bare[1] == " " and not bare[0].isalnum()
    return len(text) - len(bare) + 2 * marked


def wrapped(lines: Iterable[Line], width: int, *, hang: int | None = None) -> tuple[Line, ...]:
    """The lines with none wider than `width`, broken between facts, else at spaces; what goes on is indented by `hang` cells, or as
    `indent_of` says.
    """
    made: list[Line] = []
    for each in lines:
        shown = safe_line(each)
        if line_width(shown) <= width:
            made.append(shown)
        else:
            made.extend(_hanging(shown, width, min(indent_of(shown) if hang is None else hang, width // 2)))
    return tuple(made)


def clipped(lines: Iterable[Line], width: int, most: int) -> tuple[Line, ...]:
    """The lines wrapped, and at most so many of them: where more would come, the last one ends with … behind a whole word."""
    made = wrapped(lines, width)
    if len(made) <= most:
        return made
    return (*made[: most - 1], _broken_off(made[most - 1], width)) if most > 0 else ()


def between(facts: Iterable[Line], width: int) -> Iterator[Line]:
    """Facts in a row, and what does not fit into that in the next one: no figure is parted from its unit, no name from its value."""
    taken: list[Line] = []
    for fact in facts:
        if taken and line_width(joined((*taken, fact))) > width:
            yield joined(taken)
            taken = []
        taken.append(fact)
    yield joined(taken)


def flowed(label: Span, items: Iterable[Span], width: int, gap: str = "  ") -> Iterator[Line]:
    """The items behind a label, as many in a line as `width` has room for, further lines below the first item. No item is broken."""
    indent = width_of(label.text)
    start, taken = label, indent
    made: list[Span] = []
    for item in items:
        cells = width_of(item.text)
        if made and taken + len(gap) + cells > width:
            yield (start, *made)
            start, taken, made = Span(" " * indent), indent, []
        made += [Span(gap), item] if made else [item]
        taken += cells + (len(gap) if len(made) > 1 else 0)
    yield (start, *made)


def _broken_off(spans: Line, width: int) -> Line:
    kept = plain(spans)
    tone = spans[-1].tone if spans else Tone.MUTED
    while width_of(kept) + 2 > width and " " in kept.strip():
        kept = kept[: kept.rstrip().rindex(" ")].rstrip()
    if width_of(kept) + 2 > width:
        return cut_line((*spans, Span(ELLIPSIS, tone)), width)
    return (*_start(spans, len(kept)), Span(f" {ELLIPSIS}", tone))


def _start(spans: Line, count: int) -> Line:
    """The first characters of a line."""
    kept: list[Span] = []
    for span in spans:
        if count > 0:
            kept.append(span.saying(span.text[:count]))
        count -= len(span.text)
    return tuple(kept)


@lru_cache(maxsize=64)
def _hanging(shown: Line, width: int, hang: int) -> tuple[Line, ...]:
    """What stands above a table is asked for with every frame, and mostly reads as it did."""
    if not hang:
        return tuple(broken(shown, width))
    first, *_ = broken(shown, width)
    rest = safe_line(_after(shown, plain(first)))
    return (first, *((Span(" " * hang), *each) for each in broken(rest, width - hang)))


def _after(shown: Line, start: str) -> Line:
    """What of a line follows its start and the spaces behind that."""
    spans: list[Span] = []
    skipped = len(start)
    for span in shown:
        text = span.text[min(skipped, len(span.text)) :]
        skipped = max(0, skipped - len(span.text))
        spans.append(span.saying(text if spans and any(each.text for each in spans) else text.lstrip(" ")))
    rest = tuple(span for span in spans if span.text)
    return rest[1:] if rest and rest[0] == _SEPARATOR.saying(_SEPARATOR.text.lstrip()) else rest


def broken(shown: Line, width: int) -> list[Line]:
    """A line of safe text broken between its facts, else at spaces. A fact of up to two thirds of the width is not broken."""
    facts = _facts(shown)
    if len(facts) == 1:
        return _broken_at_spaces(shown, width)
    done: list[Line] = []
    last: Line = ()
    for fact in facts:
        behind = (*last, _SEPARATOR, *fact) if last else fact
        if line_width(behind) <= width:
            last = behind
        elif last and line_width(fact) <= width * 2 // 3:
            done.append(last)
            last = fact
        else:
            # A sentence among facts goes on behind them: a line of its own would leave theirs half empty.
            first, *rest = _broken_at_spaces(behind, width)
            done += [last if last and plain(first) == plain(last) + _SEPARATOR.text.rstrip() else first, *rest[:-1]]
            last = rest[-1] if rest else ()
    return [*done, last] if last else done


def _facts(shown: Line) -> list[Line]:
    """What stands between the separators that `joined` puts."""
    facts: list[list[Span]] = [[]]
    for span in shown:
        if span == _SEPARATOR:
            facts.append([])
        else:
            facts[-1].append(span)
    return [tuple(fact) for fact in facts]


def _broken_at_spaces(shown: Line, width: int) -> list[Line]:
    """The words are broken, then each character gets its span again: that only leaves out spaces."""
    owners = [(char, span) for span in shown for char in span.text]
    place = 0
    lines: list[Line] = []
    for text in wrap(plain(shown), width):
        spans: list[Span] = []
        for char in text:
            while owners[place][0] != char:
                place += 1
            owner = owners[place][1]
            place += 1
            if spans and (spans[-1].tone, spans[-1].does) == (owner.tone, owner.does):
                spans[-1] = owner.saying(spans[-1].text + char)
            else:
                spans.append(owner.saying(char))
        lines.append(tuple(spans))
    return lines
