"""A long text in pieces, of which only those are wrapped that somebody looks at. Pure.

How high a piece is, is guessed until it is wrapped; what is on the screen is always known. So a text of ten megabytes opens as fast as a
short one, and scrolling costs as much as what comes into sight.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from nodus_tui.view_state.cells import Line

PIECE = 4_000
"""Characters of a piece, about: wrapping one must not be felt."""
_KEPT = 200
"""Pieces whose lines are kept after they were looked at."""


class Piece:
    """A part of a text that is wrapped as a whole. Two pieces are the same only where they are one object."""

    __slots__ = ("exact", "make", "owner", "source")

    def __init__(self, source: str, make: Callable[[int], Sequence[Line]], *, owner: str = "", exact: int | None = None) -> None:
        self.source = source
        """What a search looks at; empty for our own words."""
        self.make = make
        """The lines for a width."""
        self.owner = owner
        """The key of the part that it belongs to."""
        self.exact = exact
        """Its number of lines where that is known for every width."""

    def guess(self, width: int) -> int:
        """How many lines it will have, about."""
        return self.exact if self.exact is not None else 1 + self.source.count("\n") + len(self.source) // max(1, width)


def cut_text(text: str, size: int = PIECE) -> Iterator[str]:
    """A text in parts of at most `size` characters: cut between lines where it can be, else between words, else anywhere."""
    at = 0
    while len(text) - at > size:
        end = text.rfind("\n", at, at + size)
        if end > at:
            yield text[at:end]
            at = end + 1
            continue
        end = text.rfind(" ", at, at + size) + 1
        end = end if end > at else at + size
        yield text[at:end]
        at = end
    yield text[at:]


class LazyText:
    """The lines of many pieces, one below the other, at one width."""

    def __init__(self) -> None:
        self._pieces: tuple[Piece, ...] = ()
        self._width = 0
        self._heights: list[int] = []
        self._known: list[bool] = []
        self._starts: list[int] = []
        self._lines: OrderedDict[Piece, tuple[Line, ...]] = OrderedDict()
        self.wrapped_pieces = 0
        """How many pieces were wrapped: what tests count."""

    @property
    def total(self) -> int:
        """How many lines there are, guessed where nobody has looked."""
        return self._starts[-1] if self._starts else 0

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces."""
        return self._pieces

    def put(self, pieces: Sequence[Piece], width: int) -> None:
        """These pieces from now on, at this width. What was known of a piece that stays is kept."""
        known = (
            {piece: height for piece, height, sure in zip(self._pieces, self._heights, self._known, strict=True) if sure}
            if width == self._width
            else {}
        )
        if width != self._width:
            self._lines.clear()
        self._pieces, self._width = tuple(pieces), width
        self._known = [piece in known or piece.exact is not None for piece in self._pieces]
        self._heights = [known.get(piece, 0) or max(1, piece.guess(width)) for piece in self._pieces]
        self._count()

    def _count(self) -> None:
        self._starts = [0, *accumulate(self._heights)]

    def place_of(self, top: int) -> tuple[int, int]:
        """Which piece a line belongs to, and which of its lines that is. Only where there is one."""
        at = min(len(self._pieces) - 1, max(0, bisect_right(self._starts, top) - 1))
        return at, max(0, top - self._starts[at])

    def start_of(self, piece: int) -> int:
        """The line with which a piece begins, as far as is known now."""
        return self._starts[piece]

    def lines_of(self, at: int) -> tuple[Line, ...]:
        """The lines of a piece; from now on its height is known."""
        piece = self._pieces[at]
        found = self._lines.get(piece)
        if found is None:
            self.wrapped_pieces += 1
            # A piece without lines would be in nobody's sight.
            found = self._lines[piece] = tuple(piece.make(self._width)) or ((),)
            while len(self._lines) > _KEPT:
                self._lines.popitem(last=False)
        self._lines.move_to_end(piece)
        if not self._known[at] or self._heights[at] != len(found):
            self._known[at], self._heights[at] = True, len(found)
            self._count()
        return found

    def settle(self, top: int, rows: int) -> int:
        """Wrap what `rows` lines from `top` on show; gives where the top is afterwards: what was in sight below it stays in its place."""
        if not self._pieces:
            return 0
        at, offset = self.place_of(top)
        from_end = self._heights[at] - offset
        before = self._heights[at]
        height = len(self.lines_of(at))
        if top and height != before:
            top = self._starts[at] + max(0, height - from_end)
        while at < len(self._pieces) and self._starts[at] < top + rows:
            self.lines_of(at)
            at += 1
        return top

    def line(self, index: int) -> Line:
        """One line; the empty one below the end."""
        if index >= self.total:
            return ()
        at, offset = self.place_of(index)
        found = self.lines_of(at)
        return found[offset] if offset < len(found) else ()
