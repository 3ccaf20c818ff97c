"""The smallest things a screen shows: spans of text with a tone. A tone says what a text means; the theme says how that looks."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from nodus_tui.text import cut, cut_middle, safe_text, width_of


class Tone(StrEnum):
    """What a span means. Never the only carrier of it: a word or a glyph stands beside every tone."""

    PLAIN = "plain"
    MUTED = "muted"
    STRONG = "strong"
    TITLE = "title"
    KEY = "key"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    INFO = "info"
    MARK = "mark"
    """Simulated, notional, unconfirmed, estimated: a number that is not what it seems."""
    TRACK = "track"
    """The empty part of a bar."""


class Span(Struct, frozen=True):
    """A piece of a line."""

    text: str
    tone: Tone = Tone.PLAIN
    does: str = ""
    """The action of its screen that a click on it does. Only our own words have one: what others wrote is never a button."""

    def saying(self, text: str) -> "Span":
        """The same with another text."""
        return Span(text, self.tone, self.does)


Line = tuple[Span, ...]
"""A line, or the content of a table's cell."""


def line(*parts: str | Span) -> Line:
    """A line of spans; plain strings are plain spans, empty ones are left out."""
    # Lists, here and below: of a few spans they are made in half the time of generators, and tables are made of lines.
    spans = [part if isinstance(part, Span) else Span(part) for part in parts]
    return tuple([span for span in spans if span.text])


def muted(text: str) -> Span:
    """Secondary text."""
    return Span(text, Tone.MUTED)


def hint(key: str, words: str, does: str) -> Line:
    """A key and what it does, and a click on either does it too."""
    return (Span(key, Tone.KEY, does), Span(words, Tone.MUTED, does))


def strong(text: str) -> Span:
    """Text that the eye should find first."""
    return Span(text, Tone.STRONG)


def joined(parts: Iterable[Line], separator: str = " · ") -> Line:
    """Lines as one, with a muted separator between those that are not empty."""
    spans: list[Span] = []
    for part in parts:
        if part:
            if spans:
                spans.append(muted(separator))
            spans.extend(part)
    return tuple(spans)


def line_width(spans: Line) -> int:
    """Cells that a line of safe text takes."""
    return sum([width_of(span.text) for span in spans])


def safe_line(spans: Line) -> Line:
    """The line with every span behind the one door for foreign text."""
    texts = [safe_text(span.text) for span in spans]
    return spans if texts == [span.text for span in spans] else tuple(map(Span.saying, spans, texts))


def cut_line(spans: Line, width: int) -> Line:
    """The line, made safe, in at most `width` cells."""
    kept: list[Span] = []
    left = width
    shown = safe_line(spans)
    for index, span in enumerate(shown):
        needed = width_of(span.text)
        more = any(later.text for later in shown[index + 1 :])
        if needed < left or (needed == left and not more):
            kept.append(span)
            left -= needed
            continue
        kept.append(span.saying(cut(span.text + ("…" if needed == left else ""), left)))
        break
    return tuple(span for span in kept if span.text)


def cut_line_middle(spans: Line, width: int) -> Line:
    """The same with the … in the middle of its longest span that is not muted: what is muted behind a name tells it from its likes."""
    shown = safe_line(spans)
    longest = max([span for span in shown if span.tone is not Tone.MUTED] or shown, key=lambda span: width_of(span.text), default=None)
    if longest is None:
        return ()
    room = width - line_width(shown) + width_of(longest.text)
    return cut_line(tuple(span.saying(cut_middle(span.text, room)) if span is longest else span for span in shown), width)


def at_cell(spans: Line, cell: int) -> Span | None:
    """What stands in a cell of a line of safe text."""
    for span in spans:
        width = width_of(span.text)
        if cell < width:
            return span
        cell -= width
    return None


def plain(spans: Line) -> str:
    """The words of a line without their tones."""
    return "".join(span.text for span in spans)
