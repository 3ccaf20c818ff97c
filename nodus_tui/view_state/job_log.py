"""The end of a job's log, as lines for a screen: bounded, whatever a job writes, and with nothing in it that a terminal obeys.

What a progress bar overwrites by a carriage return shows as its last state; colours are left out. Everything else that would be obeyed
is made visible. The whole log, as it is, comes from `nodus-tui logs`.
"""

import re

from nodus_tui.contract.resources.job import JobLog
from nodus_tui.text import safe_text, wrap
from nodus_tui.view_state.cells import Line, Span, line, muted

MOST_LINES = 4000
"""Lines that are kept, each of at most `LONGEST_LINE` characters."""
LONGEST_LINE = 2000
TAIL_BYTES = 262_144
"""How much of the end of a log is read when it is opened."""

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")


class LogTail:
    """What is shown of one job's log."""

    def __init__(self) -> None:
        self.place = -TAIL_BYTES
        """From where on to ask for more; a negative one counts from the end."""
        self.ended = False
        self.read = False
        """Whether the backend has answered at all."""
        self._lines: list[str] = []
        self._open = ""
        """The last line, which has no end yet."""
        self._earlier = False
        self._wrapped: list[Line] = []
        self._wrapped_width = 0
        self._wrapped_count = 0

    def take(self, piece: JobLog) -> bool:
        """Take a piece; says whether anything changed."""
        changed = bool(piece.text) or piece.ended != self.ended or not self.read
        self._earlier = self._earlier or (not self.read and piece.offset > 0) or piece.skipped > 0
        self.place, self.ended, self.read = piece.next_offset, piece.ended, True
        *whole, self._open = (self._open + piece.text).split("\n")
        for each in whole:
            self._add(each)
        while len(self._open) > LONGEST_LINE:
            self._add(self._open[:LONGEST_LINE])
            self._open = self._open[LONGEST_LINE:]
        return changed

    def _add(self, text: str) -> None:
        shown = _shown(text)
        for start in range(0, max(1, len(shown)), LONGEST_LINE):
            self._lines.append(shown[start : start + LONGEST_LINE])
        if len(self._lines) > 2 * MOST_LINES:
            del self._lines[:-MOST_LINES]
            self._earlier = True
            self._wrapped_width = 0

    def lines(self, width: int) -> tuple[Line, ...]:
        """All of it in lines of at most `width` cells; only what is new is wrapped."""
        if width != self._wrapped_width:
            self._wrapped, self._wrapped_width, self._wrapped_count = [], width, 0
        for text in self._lines[self._wrapped_count :]:
            self._wrapped += [(Span(part),) if part else () for part in wrap(safe_text(text, limit=LONGEST_LINE), width)]
        self._wrapped_count = len(self._lines)
        last = [line(part) for part in wrap(safe_text(_shown(self._open), limit=LONGEST_LINE), width)] if self._open else []
        first = [line(muted("… earlier output: nodus-tui logs shows it"))] if self._earlier else []
        return (*first, *self._wrapped, *last)


def _shown(text: str) -> str:
    """A line as its last carriage return left it, without colours."""
    return _COLOURS.sub("", text.rstrip("\r").rpartition("\r")[2])
