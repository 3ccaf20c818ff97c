"""Where the log of a job goes: a file or a pipe gets it as it is, a terminal gets what can be read there and nothing that it would obey."""

import shutil
from collections.abc import Callable
from typing import Any

from nodus_tui.text import cut, safe_text, width_of

Write = Callable[[str], None]


def writer_to(stream: Any, *, prefix: str = "") -> Write:
    """What writes a log's pieces to a stream, each line behind `prefix` where several logs come together."""
    if stream.isatty() and not prefix:
        return _Terminal(stream).write
    terminal = stream.isatty()
    fresh = True

    def write(text: str) -> None:
        nonlocal fresh
        shown = safe_text(text, newlines=True, limit=len(text) + 1) if terminal else text
        if prefix:
            for line in shown.splitlines(keepends=True):
                stream.write((prefix if fresh else "") + line)
                fresh = line.endswith("\n")
        else:
            stream.write(shown)
        stream.flush()

    return write


class _Terminal:
    """A log on a terminal: a line that its program wrote over (a progress bar) is written over here, too."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._drawn = 0
        """Cells of the line that is not at its end yet."""
        self._over = False
        """It was written over before, so it is kept within the terminal: of a line that is wrapped only the last row could be."""
        self._held = ""
        """A carriage return at the end of a piece: a line's end may follow it."""

    def write(self, text: str) -> None:
        """The next piece."""
        text, self._held = self._held + text, ""
        if text.endswith("\r"):
            text, self._held = text.rstrip("\r"), "\r"
        *whole, rest = text.split("\n")
        for line in whole:
            self._show(line.rstrip("\r"))
            self._stream.write("\n")
            self._drawn, self._over = 0, False
        self._show(rest)
        self._stream.flush()

    def _show(self, text: str) -> None:
        _, written_over, last = text.rpartition("\r")
        if written_over:
            # Blanks in place of a control sequence: every terminal knows them.
            self._stream.write("\r" + " " * self._drawn + "\r" if self._drawn else "")
            self._drawn, self._over = 0, True
        shown = safe_text(last, newlines=True, limit=len(last) + 1)
        if self._over:
            shown = cut(shown, max(0, shutil.get_terminal_size().columns - 1 - self._drawn))
        self._stream.write(shown)
        self._drawn += width_of(shown)
