"""How a person reads a conversation: what is folded, whether Markdown is rendered, which part keys act on, what is searched for. Pure."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from nodus_tui.contract.resources.agent_run import Transcript
from nodus_tui.view_state.cells import Line, Span, Tone, plain, safe_line
from nodus_tui.view_state.lazy_text import Piece
from nodus_tui.view_state.tool_turns import shown_words
from nodus_tui.view_state.transcript_parts import Known, Part, parts_of

_MARK = " ←"
"""Behind the first line of the part that keys act on."""
_MOST_HITS = 10_000
_HERE = "▌ "
"""Before the line of the place that was found, as before a selected row."""


HEAD = -1
"""Stands for a part's first line among its pieces."""


class Hit(Struct, frozen=True):
    """A place where what is searched for stands."""

    part: int
    piece: int
    """Of the part's body; `HEAD` for its first line."""
    nth: int
    """How often it stands in that piece before."""


class Reading:
    """One conversation as one person reads it."""

    def __init__(self) -> None:
        self.parts: tuple[Part, ...] = ()
        self.raw = False
        """Whether messages are shown as they were written."""
        self.whole = False
        """Whether tool calls are unfolded, but for those that were turned by themselves."""
        self.marked = ""
        """The key of the part that keys act on; empty while there is none."""
        self.needle = ""
        """What is searched for."""
        self.hits: tuple[Hit, ...] = ()
        self.hit = -1
        """Which of them is the one that the person is at."""
        self._turned: set[str] = set()
        self._known: Known = {}
        self._transcript: Transcript | None = None
        self._pattern: re.Pattern[str] | None = None

    def take(self, transcript: Transcript) -> None:
        """Show this one."""
        self._transcript = transcript
        self._make()

    def _make(self) -> None:
        if self._transcript is not None:
            self.parts = tuple(parts_of(self._transcript, self._known, raw=self.raw))
        self._find()

    # Folding and form.

    @property
    def uses_tools(self) -> bool:
        """Whether there is a tool call."""
        return any(part.use is not None for part in self.parts)

    def turn_form(self) -> None:
        """Show messages as they were written, or rendered again."""
        self.raw = not self.raw
        self._make()

    def turn_all(self) -> None:
        """Unfold all tool calls, or fold all."""
        self.whole = not self.whole
        self._turned.clear()

    def turn(self, part: Part) -> None:
        """Fold or unfold one."""
        self._turned ^= {part.key}

    def unfolded(self, part: Part) -> bool:
        """Whether its body is shown."""
        return part.use is None or self.whole != (part.key in self._turned)

    def part(self, key: str) -> Part | None:
        """The part of a key."""
        return next((each for each in self.parts if each.key == key), None)

    def neighbour(self, key: str, by: int) -> Part | None:
        """The part so many places after another; the first or the last where it ends there."""
        if not self.parts:
            return None
        here = next((place for place, each in enumerate(self.parts) if each.key == key), 0)
        return self.parts[min(len(self.parts) - 1, max(0, here + by))]

    # What is shown.

    def form(self) -> tuple[object, ...]:
        """What decides on the pieces: where it is equal, they are."""
        return (self.parts, self.whole, frozenset(self._turned), self.marked)

    def pieces(self) -> list[Piece]:
        """All that is shown, in order."""
        return [piece for place, part in enumerate(self.parts) for piece in self._of_part(place, part)]

    def _of_part(self, place: int, part: Part) -> Iterator[Piece]:
        unfolded = self.unfolded(part)
        marked = part.key == self.marked

        def first_line(width: int) -> Sequence[Line]:
            first, *rest = part.first_line(width - len(_MARK) if marked else width, unfolded=unfolded)
            if part.use is not None:
                # Only the sign is a button: what follows was written by others.
                first = Span(first.text, first.tone, f"turn_part('{part.key}')")
            return [(first, *rest, *((Span(_MARK, Tone.KEY),) if marked else ()))]

        yield Piece(_words_of_head(part), first_line, owner=part.key, exact=1)
        if unfolded:
            yield from part.body
        following = self.parts[place + 1] if place + 1 < len(self.parts) else None
        if following is None or following.turn != part.turn or (unfolded and part.use is not None):
            yield Piece("", lambda _width: [()], owner=part.key, exact=1)

    # Searching.

    def search(self, needle: str) -> None:
        """Look for words, in capitals or not; empty ones end it."""
        self.needle = needle
        self._pattern = re.compile(re.escape(needle), re.IGNORECASE) if needle else None
        self.hit = -1
        self._find()

    def _find(self) -> None:
        self.hits = tuple(self._hits())
        self.hit = min(self.hit, len(self.hits) - 1)

    def _hits(self) -> Iterator[Hit]:
        if self._pattern is None:
            return
        count = 0
        for place, part in enumerate(self.parts):
            for number, words in ((HEAD, _words_of_head(part)), *enumerate(piece.source for piece in part.body)):
                for nth, _found in enumerate(self._pattern.finditer(words)):
                    count += 1
                    if count > _MOST_HITS:
                        return
                    yield Hit(place, number, nth)

    def go_to_hit(self, place: int) -> tuple[Part, Piece | None, int] | None:
        """Be at a hit, round the ends, its part unfolded where it must be. Gives the part, the piece, None for its first line, and which of
        the hits in that piece it is.
        """
        if not self.hits:
            return None
        self.hit = place % len(self.hits)
        hit = self.hits[self.hit]
        part = self.parts[hit.part]
        if hit.piece == HEAD:
            return part, None, hit.nth
        if not self.unfolded(part):
            self.turn(part)
        return part, part.body[hit.piece], hit.nth

    def hit_from(self, keys: Sequence[str]) -> int:
        """The first hit in one of the parts, which are those from the screen on; the first of all where there is none."""
        wanted = set(keys)
        return next((place for place, hit in enumerate(self.hits) if self.parts[hit.part].key in wanted), 0)

    def line_of_hit(self, lines: Sequence[Line], nth: int) -> int:
        """Which of a piece's lines the nth hit stands in. One that is broken over two lines, or was written otherwise, is near."""
        if self._pattern is None:
            return 0
        seen = -1
        found = 0
        for place, each in enumerate(lines):
            count = sum(1 for _each in self._pattern.finditer(plain(each)))
            if count:
                found = place
                seen += count
            if seen >= nth:
                break
        return found

    def painted(self, spans: Line, *, here: bool) -> Line:
        """A line with what is searched for told from the rest; `here` is the line of the hit that the person is at."""
        if self._pattern is None:
            return spans
        safe = safe_line(spans)
        text = plain(safe)
        places = [found.span() for found in self._pattern.finditer(text)]
        if here and text.startswith("  "):
            safe = _with_tone(safe, [(0, 2)], Tone.KEY, _HERE)
        return _with_tone(safe, places, Tone.MARK) if places else safe


def _words_of_head(part: Part) -> str:
    return shown_words(part.use) if part.use is not None else ""


def _with_tone(spans: Line, places: Sequence[tuple[int, int]], tone: Tone, instead: str = "") -> Line:
    """A line with another tone, or other words as long, at some places of its text."""
    made: list[Span] = []
    start = 0
    for span in spans:
        end = start + len(span.text)
        at = start
        for first, last in places:
            begin, stop = max(first, at), min(last, end)
            if begin < stop:
                made.append(span.saying(span.text[at - start : begin - start]))
                words = instead[begin - first : stop - first] if instead else span.text[begin - start : stop - start]
                made.append(Span(words, tone, span.does))
                at = stop
        made.append(span.saying(span.text[at - start :]))
        start = end
    return tuple(each for each in made if each.text)
