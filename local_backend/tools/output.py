"""Output of unknown length kept within bounds: its beginning and its end, and how much was left out between them. Pure.

Bytes become text as UTF-8; what is not valid becomes U+FFFD, so no lone surrogate can arise. Control characters, escape sequences and
NUL stay: they are data, which screens show escaped and models may need to see.
"""

_UTF8_LONGEST = 4
_FIRST_OF_CONTINUATION = 0x80
_FIRST_OF_START = 0xC0


class BoundedOutput:
    """Takes pieces; keeps at most `limit` bytes of them."""

    def __init__(self, limit: int) -> None:
        self._head_size = limit // 2
        self._tail_size = limit - self._head_size
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    @property
    def total(self) -> int:
        """All bytes that came, left out or not."""
        return self._total

    def add(self, piece: bytes) -> None:
        """Take the next piece."""
        self._total += len(piece)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        # Cut now and then only: cutting costs a copy.
        if len(self._tail) > 2 * self._tail_size + 65_536:
            del self._tail[: -self._tail_size]

    def text(self) -> str:
        """What is kept, with a line in square brackets where bytes were left out."""
        if len(self._head) + len(self._tail) == self._total and len(self._tail) <= self._tail_size:
            return _decoded(self._head + self._tail)
        head = _without_cut_end(bytes(self._head))
        tail = _without_cut_start(bytes(self._tail[-self._tail_size :]))
        left_out = self._total - len(head) - len(tail)
        return f"{on_own_line(_decoded(head))}[{left_out:,} byte{'s' if left_out > 1 else ''} left out here]\n{_decoded(tail)}"


def on_own_line(text: str) -> str:
    """The text, ended by a line break unless it is empty."""
    return text if not text or text.endswith("\n") else f"{text}\n"


def _decoded(data: bytes | bytearray) -> str:
    return data.decode("utf-8", errors="replace")


def _without_cut_end(data: bytes) -> bytes:
    """Without the beginning of a character whose rest is missing."""
    for back in range(1, min(_UTF8_LONGEST, len(data) + 1)):
        byte = data[-back]
        if byte >= _FIRST_OF_START:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
        if byte < _FIRST_OF_CONTINUATION:
            break
    return data


def _without_cut_start(data: bytes) -> bytes:
    """Without the rest of a character whose beginning is missing."""
    for skip in range(min(_UTF8_LONGEST, len(data))):
        if not _FIRST_OF_CONTINUATION <= data[skip] < _FIRST_OF_START:
            return data[skip:]
    return b"" if len(data) < _UTF8_LONGEST else data
