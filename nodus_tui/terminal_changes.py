"""What a terminal shows, and of a frame the part that differs from it. Pure.

Textual sends a line of a widget from its left edge, and all lines of a table that scrolled. Most of their cells stand there already: over a
thin link a person waits for them all the same.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat

from rich.cells import get_character_cell_size

from nodus_tui.terminal_output import PLAIN, Rendition, UnknownCodeError, after, change, compact

_PARTS = re.compile(r"\x1b\[(?:(?P<row>[0-9]+);(?P<column>[0-9]+)H|(?P<codes>[0-9;]*)m)|(?P<line>\r?\n)|(?P<text>[^\x00-\x1f\x7f]+)")
_NEAR = 10
"""Cells that are sent again between two that changed: a move costs as much."""

_Cell = tuple[str, Rendition]
_Placed = tuple[int, int, list[_Cell]]
"""Row and column, from 1, of what stands there."""


class _NotAFrameError(ValueError):
    """It has something else than moves, colours and text."""


class Shown:
    """What the terminal shows, as far as it is known: cells that were sent and that nothing can have changed since."""

    def __init__(self) -> None:
        self._rows: dict[int, list[_Cell | None]] = {}
        self._size = (0, 0)

    def forget(self) -> None:
        """Something may have changed what stands there."""
        self._rows.clear()

    def changes(self, data: str, size: tuple[int, int]) -> str:
        """What must be sent for the terminal, of so many columns and rows, to show what `data` draws; empty where it does.

        What is no frame is sent as it is, and nothing is known any more. A frame of the whole screen is sent whole, and so mends what
        others wrote there.
        """
        try:
            pieces, cursor = _read(data)
        except (_NotAFrameError, UnknownCodeError):
            self.forget()
            return compact(data)
        if size != self._size or {row for row, _, _ in pieces}.issuperset(range(1, size[1] + 1)):
            self._size = size
            self.forget()
        changed = [part for row, column, cells in pieces for part in self._taken(row, column, cells)]
        return f"{_written(changed)}\x1b[{cursor[0]};{cursor[1]}H" if changed else ""

    def _taken(self, row: int, column: int, cells: list[_Cell]) -> Iterator[_Placed]:
        """The parts of a piece that read otherwise than what stands there; from now on that stands there."""
        if not _narrow("".join(char for char, _ in cells)):
            # Terminals do not agree on how far such a character goes, so the rest of its row stands where it was drawn at once.
            self._rows.pop(row, None)
            yield row, column, cells
            return
        known = self._rows.setdefault(row, [])
        known.extend([None] * (column - 1 + len(cells) - len(known)))
        before: Sequence[_Cell | None] = known[column - 1 : column - 1 + len(cells)]
        known[column - 1 : column - 1 + len(cells)] = cells
        if before == cells:
            return
        differ = [at for at, (old, new) in enumerate(zip(before, cells, strict=True)) if old != new]
        first = last = differ[0]
        for at in differ[1:]:
            if at - last > _NEAR:
                yield row, column + first, cells[first : last + 1]
                first = at
            last = at
        yield row, column + first, cells[first : last + 1]


def _read(data: str) -> tuple[list[_Placed], tuple[int, int]]:
    """The pieces of a frame where they go, and where the cursor is behind them; raises what says that it is none."""
    pieces: list[_Placed] = []
    at: tuple[int, int] | None = None
    drawn, end = PLAIN, 0
    for match in _PARTS.finditer(data):
        if match.start() != end:
            raise _NotAFrameError
        end = match.end()
        part = match.lastgroup
        if part == "codes":
            drawn = after(drawn, match["codes"])
        elif part == "column":
            at = int(match["row"]), int(match["column"])
        elif part == "line":
            # A line's end is followed by a move to the next.
            at = None
        elif at is None:
            raise _NotAFrameError
        else:
            text = match["text"]
            cells = _cells(text, drawn)
            if pieces and pieces[-1][0] == at[0] and pieces[-1][1] + len(pieces[-1][2]) == at[1]:
                pieces[-1][2].extend(cells)
            else:
                pieces.append((*at, cells))
            at = at[0], at[1] + len(cells)
    if end != len(data) or at is None or drawn != PLAIN:
        raise _NotAFrameError
    return pieces, at


def _cells(text: str, drawn: Rendition) -> list[_Cell]:
    """A text as cells; a space without a weight shows its ground alone."""
    if drawn.weights or " " not in text:
        return list(zip(text, repeat(drawn), strict=False))
    blank = _blank(drawn)
    return [(char, blank if char == " " else drawn) for char in text]


@lru_cache(maxsize=1024)
def _blank(drawn: Rendition) -> Rendition:
    return drawn._replace(foreground="")


def _narrow(text: str) -> bool:
    """Whether each of its characters takes one cell."""
    return text.isascii() or all(get_character_cell_size(char) == 1 for char in text if not char.isascii())


def _written(parts: Sequence[_Placed]) -> str:
    pieces: list[str] = []
    drawn = PLAIN
    for row, column, cells in parts:
        pieces.append(f"\x1b[{row};{column}H")
        text = ""
        for char, wanted in cells:
            if wanted != drawn and not (char == " " and wanted == _blank(drawn)):
                pieces += (text, change(drawn, wanted))
                text, drawn = "", wanted
            text += char
        pieces.append(text)
    return "".join((*pieces, change(drawn, PLAIN)))
