"""From a file's bytes to text whose places are known: size, encoding, unprintable characters, and where its documents begin."""

import re
from bisect import bisect_right

from nodus_tui.contract.spec_loading.bundle import Position

MAX_BYTES = 1024 * 1024
"""The largest spec file."""

_BYTE_ORDER_MARK = "\ufeff"
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
# All but what YAML calls printable; the byte order mark is allowed at the start only and is gone by then. Not written as a complement, for
# Python takes milliseconds to make a class of nearly all characters.
_UNPRINTABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_LINE_END = re.compile(r"\r\n|\n|\r")
_DOCUMENT_START = re.compile(r"(?:^|(?<=\r))---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_ONLY_VERSION = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)|%YAML[^\r\n]*(?:\r\n|\r|\n|\Z))*\Z")


class UnreadableTextError(Exception):
    """Why bytes are no text that can be read, and where."""

    def __init__(self, message: str, position: Position) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class PlacedText:
    """A text that knows the line and column of each of its characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def position(self, index: int) -> Position:
        """The place of the character at an index, or of the end of the text."""
        line = bisect_right(self._line_starts, index)
        return Position(line, index - self._line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """A line by its number from 1, without its end."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def chunks(self) -> list[tuple[int, str]]:
        """The parts of the text that begin with `---`, and what stands before the first, each with the index where it begins.

        A `---` at the start of a line always begins a document, whatever stands around it; so a fault in one part spoils no other.
        A first part that holds only comments and a %YAML line is left out.
        """
        starts = [0, *(match.start() for match in _DOCUMENT_START.finditer(self.text) if match.start())]
        ends = [*starts[1:], len(self.text)]
        parts = [(start, self.text[start:end]) for start, end in zip(starts, ends, strict=True)]
        return parts[1:] if _ONLY_VERSION.match(parts[0][1]) else parts


def decode(data: bytes) -> PlacedText:
    """The text of UTF-8 bytes, without its byte order mark; raises UnreadableTextError."""
    if len(data) > MAX_BYTES:
        raise UnreadableTextError(f"the file is larger than {MAX_BYTES // 1024:,} KiB, the most that a spec may have", Position(1, 1))
    for mark, encoding in _OTHER_ENCODINGS.items():
        if data.startswith(mark):
            raise UnreadableTextError(f"the file is {encoding}, not UTF-8; save it as UTF-8", Position(1, 1))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = PlacedText(data[: error.start].decode("utf-8").removeprefix(_BYTE_ORDER_MARK))
        message = f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8; save the file as UTF-8"
        raise UnreadableTextError(message, before.position(len(before.text))) from None
    placed = PlacedText(text.removeprefix(_BYTE_ORDER_MARK))
    unprintable = _UNPRINTABLE.search(placed.text)
    if unprintable:
        name = "NUL" if unprintable[0] == "\0" else f"U+{ord(unprintable[0]):04X}"
        message = f'the character {name} cannot stand in a spec; in double quotes it is written as an escape, such as "\\x1b"'
        if name == "NUL":
            message = "the file holds a NUL character: it is no text, or not UTF-8"
        raise UnreadableTextError(message, placed.position(unprintable.start()))
    return placed
