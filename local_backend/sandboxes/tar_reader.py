"""A strict reader of tar archives that nobody vouches for. Knows the format (ustar, GNU, pax) and nothing of sandboxes.

It holds one header in memory at a time, follows nothing, and gives up at the first thing that is not as the format says. Of pax records it
reads path, linkpath and size; sparse files are told as such, never expanded.
"""

from collections.abc import Iterator
from typing import IO, Literal

from msgspec import Struct

BLOCK = 512
_MAX_EXTENSION = 64 << 10
"""Bytes of a long name, or of the pax records of one member."""

Kind = Literal["file", "folder", "link", "other"]


class TarFormatError(Exception):
    """What was read is no archive, or its end is missing. The text is the end of a sentence."""


class Member(Struct):
    """One member. Its bytes can be read until the next one is asked for."""

    path: str
    kind: Kind
    size: int
    mode: int
    target: str = ""
    what: str = ""
    """Of kind `other`: what it is, for people."""
    _file: IO[bytes] | None = None
    _left: int = 0

    def __post_init__(self) -> None:
        self._left = self.size if self.kind == "file" else 0

    def chunks(self, most: int) -> Iterator[bytes]:
        """The bytes of a regular file. Raises TarFormatError when they end early."""
        while data := self.read(most):
            yield data

    def read(self, most: int) -> bytes:
        """The next bytes, at most so many; none at the end. Raises TarFormatError."""
        wanted = min(most, self._left)
        if self._file is None or wanted <= 0:
            return b""
        data = self._file.read(wanted)
        if not data:
            raise TarFormatError("it ends in the middle of a file")
        self._left -= len(data)
        return data

    def open(self) -> "_MemberFile":
        """The same as a file that can be read from."""
        return _MemberFile(self)


class _MemberFile:
    def __init__(self, member: Member) -> None:
        self._member = member

    def read(self, most: int = -1, /) -> bytes:
        wanted = most if most >= 0 else self._member.size
        pieces = []
        while wanted > 0 and (data := self._member.read(wanted)):
            pieces.append(data)
            wanted -= len(data)
        return b"".join(pieces)


_OTHERS = {
    b"1": "a hard link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a named pipe",
    b"S": "a sparse file",
    b"V": "a volume label",
    b"M": "a part of a file on another volume",
    b"D": "a folder's listing",
}


def read_members(file: IO[bytes]) -> Iterator[Member]:
    """Each member in order. Raises TarFormatError, OSError."""
    name: str | None = None
    link: str | None = None
    records: dict[str, str] = {}
    while True:
        header = _exactly(file, BLOCK)
        if not any(header):
            return
        _check(header)
        size = _number(header[124:136])
        kind = header[156:157]
        if kind in {b"L", b"K"}:
            text = _text(_extension(file, size).split(b"\0", 1)[0])
            name, link = (text, link) if kind == b"L" else (name, text)
            continue
        if kind == b"x":
            records.update(_pax(_extension(file, size)))
            continue
        if kind == b"g":
            _skip(file, _padded(size))  # What holds for all members is nothing that is read here.
            continue
        member = _member(header, kind, size, name, link, records, file)
        data = _padded(_data_size(kind, size, records))
        name, link, records = None, None, {}
        yield member
        _skip(file, data - (member.size - member._left if member.kind == "file" else 0))  # noqa: SLF001 - its own member.


def _member(header: bytes, kind: bytes, size: int, name: str | None, link: str | None, records: dict[str, str], file: IO[bytes]) -> Member:
    path = records.get("path", name if name is not None else _name(header))
    target = records.get("linkpath", link if link is not None else _text(header[157:257].split(b"\0", 1)[0]))
    mode = _number(header[100:108]) & 0o7777
    if any(key.startswith("GNU.sparse") for key in records):
        return Member(path, "other", 0, mode, what=_OTHERS[b"S"])
    if kind in {b"0", b"\0", b"7"}:
        if path.endswith("/"):
            return Member(path, "folder", 0, mode)
        return Member(path, "file", _data_size(kind, size, records), mode, _file=file)
    if kind == b"5":
        return Member(path, "folder", 0, mode)
    if kind == b"2":
        return Member(path, "link", 0, mode, target=target)
    return Member(path, "other", 0, mode, what=_OTHERS.get(kind, "of an unknown kind"))


def _data_size(kind: bytes, size: int, records: dict[str, str]) -> int:
    if kind in {b"1", b"2", b"3", b"4", b"5", b"6"}:
        return 0
    given = records.get("size")
    if given is None:
        return size
    if not given.isascii() or not given.isdecimal() or len(given) > 18:
        raise TarFormatError("a size in it is no number")
    return int(given)


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0", 1)[0]
    prefix = header[345:500].split(b"\0", 1)[0]
    # GNU's own format keeps times where ustar keeps the prefix.
    return _text(prefix + b"/" + name) if prefix and header[257:265] == b"ustar\x0000" else _text(name)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _check(header: bytes) -> None:
    given = _number(header[148:156])
    blanked = header[:148] + b" " * 8 + header[156:]
    if given != sum(blanked):
        raise TarFormatError("a header's checksum is wrong")


def _number(raw: bytes) -> int:
    if raw[:1] == b"\x80":
        return int.from_bytes(raw[1:], "big")
    text = raw.split(b"\0", 1)[0].strip()
    if not text:
        return 0
    if any(digit not in b"01234567" for digit in text):
        raise TarFormatError("a number in a header is none")
    return int(text, 8)


def _pax(data: bytes) -> dict[str, str]:
    records: dict[str, str] = {}
    while data:
        length, blank, _ = data.partition(b" ")
        if not blank or len(length) > 6 or not length.isdigit() or not len(length) + 1 < int(length) <= len(data):
            raise TarFormatError("a pax record is broken")
        record, data = data[len(length) + 1 : int(length)], data[int(length) :]
        key, equals, value = record.rstrip(b"\n").partition(b"=")
        if not equals:
            raise TarFormatError("a pax record is broken")
        records[_text(key)] = _text(value)
    return records


def _extension(file: IO[bytes], size: int) -> bytes:
    if size > _MAX_EXTENSION:
        raise TarFormatError("a name in it is longer than any name")
    return _exactly(file, _padded(size))[:size]


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = file.read(size - len(data))
        if not more:
            raise TarFormatError("it ends too early" if data else "its end is missing")
        data += more
    return data


def _skip(file: IO[bytes], size: int) -> None:
    while size > 0:
        more = file.read(min(size, 1 << 20))
        if not more:
            raise TarFormatError("it ends in the middle of a file")
        size -= len(more)
