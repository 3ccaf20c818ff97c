"""Reading a file to edit it and writing it back: only what was edited changes, line ends and a byte order mark stay as they were.

A file is replaced as a whole or not at all, and never one that is another by now than the one that was read.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp

from msgspec import Struct

from nodus_tui.contract.regular_files import NotRegularError, open_regular
from nodus_tui.contract.spec_loading.yaml_text import MAX_BYTES

_END = re.compile(r"\r\n|\n|\r")
_MARK = "\ufeff"


class TextFileError(Exception):
    """Why a file cannot be edited or written, as a sentence."""


class NoFileError(TextFileError):
    """There is no such file."""


class ChangedOnDiskError(TextFileError):
    """The file is another than the one that was read."""


class Stamp(Struct, frozen=True):
    """What tells a file as it is now from what it becomes."""

    digest: str
    """Of its bytes; empty where there is no file."""

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return bool(self.digest)


NO_FILE = Stamp("")


class ReadText(Struct, frozen=True):
    """The text of a file as it was read."""

    text: str
    """With `\\n` at the end of every line, whatever the file has."""
    ends: tuple[str, ...] = ()
    """The end of each line as the file has it; the last line has none."""
    marked: bool = False
    """Whether it begins with a byte order mark."""
    stamp: Stamp = NO_FILE

    def data(self, text: str) -> bytes:
        """The bytes that the file gets for an edited text: a line that is as it was ends as it did, a new one as most do."""
        lines = text.split("\n")
        ends = self._ends_of(lines)
        body = "".join(line + end for line, end in zip(lines, (*ends, ""), strict=True))
        return ((_MARK if self.marked else "") + body).encode("utf-8")

    def _ends_of(self, lines: Sequence[str]) -> list[str]:
        kinds = set(self.ends)
        if len(kinds) <= 1:
            return [next(iter(kinds), "\n")] * (len(lines) - 1)
        usual = max(sorted(kinds), key=self.ends.count)
        made = [usual] * (len(lines) - 1)
        for was, now in _kept(self.text.split("\n"), lines):
            if was < len(self.ends) and now < len(made):
                made[now] = self.ends[was]
        return made


def _kept(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines that are as they were: where they were, and where they are."""
    least = min(len(old), len(new))
    # What is the same at both ends is most of a text, and comparing all with all would take minutes for a long one.
    before = next((place for place in range(least) if old[place] != new[place]), least)
    behind = next((count for count in range(least - before) if old[-1 - count] != new[-1 - count]), least - before)
    yield from ((place, place) for place in range(before))
    yield from ((len(old) - count, len(new) - count) for count in range(1, behind + 1))
    middle = SequenceMatcher(None, old[before : len(old) - behind], new[before : len(new) - behind], autojunk=False)
    for was, now, count in middle.get_matching_blocks():
        yield from ((before + was + step, before + now + step) for step in range(count))


def read_text(path: Path) -> ReadText:
    """The text of a file that can be edited; raises TextFileError for one that cannot, and where there is none."""
    data = _bytes(path)
    if data is None:
        raise NoFileError(f"there is no file {path}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TextFileError(
            f"{path} is not UTF-8 (byte 0x{data[error.start]:02x} in line {line}): it is not edited here, so that nothing of it is lost"
        ) from None
    marked = text.startswith(_MARK)
    text = text.removeprefix(_MARK)
    return ReadText(_END.sub("\n", text), tuple(_END.findall(text)), marked, _stamp(data))


def stamp_of(path: Path) -> Stamp:
    """What a file is now; raises TextFileError where that cannot be told."""
    data = _bytes(path)
    return _stamp(data) if data is not None else NO_FILE


def write_text(path: Path, data: bytes, *, expected: Stamp | None) -> Stamp:
    """Replace a file's bytes, or make it. With `expected` only where it still is what that says; raises ChangedOnDiskError else.

    Raises TextFileError where it cannot be written; then it is as it was.
    """
    if expected is not None and stamp_of(path) != expected:
        what = "has changed on disk" if expected.exists else "exists already"
        raise ChangedOnDiskError(f"{path} {what}")
    # What a link points to is written, not the link.
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _new_mode()
        if target.exists() and not os.access(target, os.W_OK):
            raise TextFileError(f"{path} cannot be written: you have no right to")
        handle, beside = mkstemp(prefix=f".{target.name[:40]}.", suffix=".new", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(beside).chmod(mode)
            Path(beside).replace(target)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise TextFileError(f"{path} cannot be written: {error.strerror or error}") from error
    return _stamp(data)


def _new_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _stamp(data: bytes) -> Stamp:
    return Stamp(sha256(data).hexdigest())


def _bytes(path: Path) -> bytes | None:
    """A file's bytes; None where there is none. Raises TextFileError for what is no file, too large, or cannot be read."""
    try:
        with open_regular(path) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise TextFileError(f"{path} is no regular file")
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise TextFileError(f"{path} is a folder") from None
    except NotRegularError:
        raise TextFileError(f"{path} is no regular file") from None
    except (OSError, ValueError) as error:
        raise TextFileError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_BYTES:
        raise TextFileError(f"{path} is larger than {MAX_BYTES // 1024:,} KiB, the most that a spec may have: it is not edited here")
    return data
