"""What stands on a terminal after each piece that came to it, and so when a person saw what a key did. Worked out when the clock stands."""

import re
from collections import Counter
from collections.abc import Iterable

from pty_driving import Window

_PARTS = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|\x1b\[\?[0-9;]*\$?[A-Za-z]|\x1b[^\[]|(\r?\n)|([^\x00-\x1f\x7f]+)")
_TASK = re.compile(r"sum-(\d{5})")
"""What a row of every subject begins with: its task, by its number from 0."""


class Screen:
    """Letters and their grounds, as far as a program moves, colours and writes. What a program says more than that is passed over."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns = columns
        self._letters = [[" "] * columns for _ in range(rows)]
        self._grounds = [[""] * columns for _ in range(rows)]
        self._row, self._column, self._ground = 0, 0, ""
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take what came next; what is cut off at its end waits for the rest."""
        data, self._rest = self._rest + data, b""
        cut = max(data.rfind(b"\x1b"), 0)
        if data[cut:].startswith(b"\x1b") and not re.match(rb"\x1b(\[[0-9;?]*\$?[A-Za-z]|[^\[])", data[cut:]):
            data, self._rest = data[:cut], data[cut:]
        while data and data[-1] & 0x80 and len(self._rest) < 4:
            try:
                data.decode()
                break
            except UnicodeDecodeError:
                data, self._rest = data[:-1], data[-1:] + self._rest
        for match in _PARTS.finditer(data.decode(errors="replace")):
            codes, final, line, text = match.groups()
            if text:
                self._write(text)
            elif line:
                self._row, self._column = self._row + 1, 0
            elif final == "H":
                row, _, column = codes.partition(";")
                self._row, self._column = int(row or 1) - 1, int(column or 1) - 1
            elif final == "m":
                self._colour(codes)

    def _write(self, text: str) -> None:
        for letter in text:
            if self._row < len(self._letters) and self._column < self._columns:
                self._letters[self._row][self._column] = letter
                self._grounds[self._row][self._column] = self._ground
            self._column += 1

    def _colour(self, codes: str) -> None:
        parts = codes.split(";")
        while parts:
            code = parts.pop(0)
            if code in {"38", "48"}:
                length = 4 if parts[:1] == ["2"] else 2
                if code == "48":
                    self._ground = ";".join(parts[:length])
                del parts[:length]
            elif code in {"", "0", "49"}:
                self._ground = ""

    def selected(self) -> int | None:
        """The number of the row that the cursor is on: the only one on a ground of its own."""
        found = []
        for letters, grounds in zip(self._letters, self._grounds, strict=True):
            if match := _TASK.search("".join(letters)):
                found.append((int(match[1]), grounds[match.start()]))
        grounds_of_rows = Counter(ground for _, ground in found)
        alone = [number for number, ground in found if grounds_of_rows[ground] == 1]
        return alone[0] if len(alone) == 1 and len(found) > 2 else None

    def place(self, rows: int) -> int | None:
        """The place that the cursor is said to have, from 1."""
        wanted = re.compile(rf"(\d+) of {rows}\b")
        return next((int(match[1]) for letters in self._letters if (match := wanted.search("".join(letters)))), None)


def latencies_ms(window: Window, screen: Screen, rows: int, first: int) -> tuple[list[float], list[float]]:
    """From each press of the key down to the moment at which its row stood there as the selected one, and to that at which its place did.

    In milliseconds. The first key moves the cursor to the place `first`, from 1. What never came counts as what took until the end of the
    window.
    """
    selected: dict[int, float] = {}
    placed: dict[int, float] = {}
    for chunk in window.chunks:
        screen.feed(chunk.data)
        at, place = screen.selected(), screen.place(rows)
        for reached, seen in ((at + 1 if at is not None else None, selected), (place, placed)):
            for passed in range(reached or 0, first - 1, -1):
                if passed in seen:
                    break
                seen[passed] = chunk.at
    return _after(window, selected, first), _after(window, placed, first)


def _after(window: Window, seen: dict[int, float], first: int) -> list[float]:
    presses: Iterable[tuple[int, float]] = enumerate(window.presses, first)
    return [1000 * (seen.get(place, window.ended) - pressed) for place, pressed in presses]
