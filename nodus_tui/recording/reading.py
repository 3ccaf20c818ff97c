"""Reading a recording: every whole line's place in the file, and a sentence for each that cannot be read. The file is somebody else's."""

import json
from array import array
from pathlib import Path
from typing import BinaryIO, Self

from msgspec import Struct
from pydantic import JsonValue, ValidationError

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.regular_files import open_regular
from nodus_tui.recording.lines import BATCH, END, FORMAT, MARK, SNAPSHOT, Header

_LONGEST_LINE = 256 * 1024 * 1024
"""Bytes. A longer one is no line of a recording."""
_LONGEST_HEADER = 65_536
_MOST_TOLD = 3
"""Damaged places that are told one by one."""
_LATEST = 10 * 365 * 86_400.0
"""Seconds. No recording is longer."""


class Answered(Struct, frozen=True):
    """Where the answer to a question stands."""

    at: float
    """Seconds since the beginning."""
    line: int
    """The place of its line among those that were read."""


class RecordingReader:
    """A recording that was read through once. Only places are kept in memory; what a line says is read again when it is needed."""

    def __init__(self, path: Path) -> None:
        """Read it through. Raises NodusError where it is none, is a newer one, or cannot be read."""
        self.path = path
        self.times = array("d")
        """Seconds since the beginning of each line, never falling."""
        self.kinds: list[str] = []
        """What each line is."""
        self.cursors = array("q")
        """Of each line that is a batch, up to where it goes; -1 of others."""
        self.answers: dict[str, list[Answered]] = {}
        """By question (`question_of`), in order."""
        self.ended_by = ""
        """Why it ends, as its last line says; empty where it was cut off."""
        self._numbers = array("Q")
        self._offsets = array("Q")
        self._damage: list[str] = []
        self._known_bad: set[int] = set()
        try:
            self._file: BinaryIO = open_regular(path)
        except OSError as error:
            raise NodusError(ErrorCode.NOT_FOUND, f"the recording {path} cannot be opened: {error.strerror or error}") from error
        try:
            self.header = self._read_header()
            self._read_lines()
        except OSError as error:
            self._file.close()
            raise NodusError(ErrorCode.UNAVAILABLE, f"the recording {path} cannot be read: {error.strerror or error}") from error
        except NodusError:
            self._file.close()
            raise

    @property
    def length(self) -> float:
        """Seconds from the beginning to the last line."""
        return self.times[-1] if self.times else 0.0

    def notes(self) -> tuple[str, ...]:
        """What of it could not be read, in sentences."""
        told = tuple(self._damage[:_MOST_TOLD])
        more = len(self._damage) - _MOST_TOLD
        return (*told, f"{more} more places of {self.path} cannot be read") if more > 0 else told

    def damaged(self, line: int, why: str) -> None:
        """Remember that a line turned out not to be what it should be; told once, however often it is met."""
        if line not in self._known_bad:
            self._known_bad.add(line)
            self._tell(self._numbers[line], why)

    def _tell(self, number: int, why: str) -> None:
        self._damage.append(f"{self.path}:{number}: {why}; what it held is left out")

    def line(self, place: int) -> dict[str, JsonValue]:
        """What a line says; nothing where it is damaged."""
        self._file.seek(self._offsets[place])
        found = _object(self._file.readline(_LONGEST_LINE))
        return found if found is not None else {}

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _read_header(self) -> Header:
        text = self._file.readline(_LONGEST_HEADER)
        found = _object(text)
        if found is None or found.get("recording") != MARK:
            detail = f"{self.path} is no recording of nodus-tui: its first line is not the one that each has"
            raise NodusError(ErrorCode.INVALID_REQUEST, detail)
        form = found.get("format")
        if isinstance(form, int) and form > FORMAT:
            made = f"nodus-tui {found['program']}" if isinstance(found.get("program"), str) else "a newer nodus-tui"
            raise NodusError(
                ErrorCode.NOT_SUPPORTED,
                f"{self.path} was recorded by {made} in format {form}; this version reads formats up to {FORMAT}: install a newer one",
            )
        try:
            return Header.model_validate({name: value for name, value in found.items() if name in _HEADER_FIELDS})
        except ValidationError as error:
            detail = f"{self.path}:1: the first line of the recording is damaged: {_first(error)}"
            raise NodusError(ErrorCode.INVALID_REQUEST, detail) from None

    def _read_lines(self) -> None:
        number, offset = 1, self._file.tell()
        while text := self._file.readline(_LONGEST_LINE):
            number += 1
            if not text.endswith(b"\n") and len(text) < _LONGEST_LINE:
                self._tell(number, "the file is cut off within this line")
                return
            self._take(number, offset, text)
            offset += len(text)
        if not self.ended_by:
            self._damage.append(f"{self.path}:{number}: the recording was cut off after this line")

    def _take(self, number: int, offset: int, text: bytes) -> None:
        found = _object(text)
        if found is None:
            self._tell(number, "this line is damaged")
            return
        at, what = _seconds(found.get("t")), found.get("what")
        if at is None or not isinstance(what, str):
            self._tell(number, "this line has no time or does not say what it is")
            return
        answer = found.get("answer")
        cursor = answer.get("cursor") if isinstance(answer, dict) else None
        if what == SNAPSHOT and not isinstance(cursor, int):
            self._tell(number, "this line holds no snapshot")
            return
        if what == END:
            why = found.get("why")
            self.ended_by = why if isinstance(why, str) and why else "closed"
        self.times.append(max(at, self.length))
        self.kinds.append(what)
        self._numbers.append(number)
        self._offsets.append(offset)
        self.cursors.append(cursor if what == BATCH and isinstance(cursor, int) and 0 <= cursor < 1 << 62 else -1)
        asked = found.get("asked")
        if isinstance(asked, dict) and what not in (BATCH, SNAPSHOT):
            question = question_of(what, asked)
            self.answers.setdefault(question, []).append(Answered(self.times[-1], len(self.kinds) - 1))


_HEADER_FIELDS = frozenset({"recording", "format", "startedAt", "program", "of"})


def question_of(what: str, asked: dict[str, JsonValue]) -> str:
    """One text for a call with its parameters."""
    return json.dumps([what, asked], sort_keys=True)


def _seconds(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LATEST:
        return None
    return float(value)


def _object(text: bytes) -> dict[str, JsonValue] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
