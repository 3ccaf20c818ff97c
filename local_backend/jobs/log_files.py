"""A job's log on the disk: segments named by the place of their first byte, so that it is bounded and every byte keeps its place.

The first segment and the newest ones are kept; what lies between is dropped once there is too much. One process writes, any may read.
"""

import contextlib
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from msgspec import Struct

KEPT_SEGMENTS = 8
"""Segments on the disk at most; each is an eighth of the whole."""

_SEGMENT = re.compile(r"[0-9]{20}")
"""A segment's name. What else is there is the command's."""
_LONGEST_CHARACTER = 4
"""Bytes of one character in UTF-8, at most."""
_READ_TRIES = 5


class LogWriter:
    """Appends, also to the log that the folder holds already; each piece is in the file when `write` returns.

    What the disk does not take, or what would leave too little of it free, is counted, never waited for.
    """

    def __init__(self, folder: Path, most_bytes: int, *, min_free_bytes: int = 0) -> None:
        self._folder = folder
        self._min_free_bytes = min_free_bytes
        self._segment_bytes = max(1, most_bytes // KEPT_SEGMENTS)
        self._file: IO[bytes] | None = None
        self._room = 0
        self.size = 0
        """Bytes of the log so far, those dropped later included."""
        self.lost = 0
        """Bytes that the disk refused."""
        folder.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(OSError):
            for start in _segments(folder)[-1:]:  # Of an earlier attempt.
                self.size = start + (folder / f"{start:020d}").stat().st_size

    def begin_attempt(self, attempt: int, at: datetime) -> None:
        """Tell in a line of its own that what follows is of another attempt than what is there; the first one needs none."""
        if attempt == 1:
            return
        with contextlib.suppress(OSError):
            if self.size and read_log(self._folder, -1, 1).data != b"\n":
                self.write(b"\n")
        self.write(f"=== attempt {attempt}, {at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC ===\n".encode())

    def write(self, data: bytes) -> None:
        """Append."""
        if not self._has_room():
            self.lost += len(data)
            return
        while data:
            if self._room == 0:
                self._begin_segment()
            piece = data[: self._room]
            try:
                taken = self._file.write(piece) if self._file is not None else None
            except OSError:
                taken = None
            if taken is None:
                self.lost += len(data)
                return
            data = data[taken:]
            self.size += taken
            self._room -= taken

    def _has_room(self) -> bool:
        """Whether the disk has room for more than what the workspace itself needs to write down."""
        if self._min_free_bytes == 0:
            return True
        try:
            found = os.statvfs(self._folder)
        except OSError:
            return True  # The write says it.
        return found.f_bavail * found.f_frsize >= self._min_free_bytes

    def _begin_segment(self) -> None:
        self.close()
        self._room = self._segment_bytes
        try:
            segment = self._folder / f"{self.size:020d}"
            segment.unlink(missing_ok=True)  # A pipe that the command put there would hold up who watches over it.
            self._file = segment.open("xb", buffering=0)
            for old in _segments(self._folder)[1 : 1 - KEPT_SEGMENTS]:
                (self._folder / f"{old:020d}").unlink(missing_ok=True)
        except OSError:
            self._file, self._room = None, 0

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # Some file systems tell of a full disk only now; there is nothing left to do.
                self._file.close()
            self._file = None


class LogPiece(Struct, frozen=True):
    """A part of a log."""

    offset: int
    """The place of its first byte."""
    data: bytes
    size: int
    """Bytes of the whole log so far."""
    skipped: int
    """Bytes between what was asked for and `offset`, which are not kept."""


def _segments(folder: Path) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(folder) if _SEGMENT.fullmatch(name))  # noqa: PTH208 - names alone are wanted
    except FileNotFoundError:
        return []


def read_log(folder: Path, after: int, limit: int) -> LogPiece:
    """The log from a place on, at most `limit` bytes; a negative place counts from the end. Blocking. Raises OSError."""
    for _ in range(_READ_TRIES):
        try:
            return _read(folder, after, limit)
        except FileNotFoundError:
            continue  # A segment was dropped between the look and the reading.
    return _read(folder, after, limit)


def _read(folder: Path, after: int, limit: int) -> LogPiece:
    starts = _segments(folder)
    if not starts:
        return LogPiece(0, b"", 0, 0)
    lengths = {start: (folder / f"{start:020d}").stat().st_size for start in starts}
    size = starts[-1] + lengths[starts[-1]]
    wanted = max(0, size + after) if after < 0 else min(after, size)
    for start in starts:
        end = start + lengths[start]
        if end <= wanted:
            continue
        offset = max(wanted, start)
        with (folder / f"{start:020d}").open("rb") as file:
            file.seek(offset - start)
            return LogPiece(offset, file.read(min(limit, end - offset)), size, offset - wanted)
    return LogPiece(wanted, b"", size, 0)


def whole_characters(data: bytes) -> bytes:
    """The data without the beginning of a character that its end cuts off, where more may come."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if back < length else data
    return data
