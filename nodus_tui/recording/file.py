"""Writing a recording: whole lines at the end of a private file, up to a size, whatever happens to the process."""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.recording.lines import END, Header, text_of

MOST_BYTES = 256 * 1024 * 1024
"""A recording ends at this size, unless told otherwise."""
_ROOM_FOR_END = 400
"""Bytes that are kept free for the last line."""


class RecordingFile:
    """One recording on its way. Nothing here raises once it is open: a recording that cannot go on says so in `problem`."""

    def __init__(
        self, path: Path, header: Header, *, clock: Callable[[], float], secrets: tuple[str, ...] = (), most_bytes: int = MOST_BYTES
    ) -> None:
        """Make the file; `clock` is a steady one, in seconds. Raises NodusError where that cannot be, or where there is one already."""
        self.path = path
        self.started_at: datetime = header.started_at
        self.size = 0
        """Bytes so far."""
        self.problem = ""
        """Why nothing is recorded any more, as a sentence; empty while it goes on."""
        self._clock = clock
        self._began = clock()
        self._secrets = secrets
        self._most = most_bytes
        try:
            # Exclusive: nothing that is there is written over, through a link or otherwise.
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise NodusError(ErrorCode.CONFLICT, f"{path} is there already: a recording is a new file; choose another name") from None
        except OSError as error:
            raise NodusError(ErrorCode.INVALID_REQUEST, f"the recording {path} cannot be made: {error.strerror or error}") from error
        self._write(text_of(header.to_document()))
        if self.problem:
            path.unlink(missing_ok=True)
            raise NodusError(ErrorCode.UNAVAILABLE, self.problem)

    @property
    def open(self) -> bool:
        """Whether it goes on."""
        return self._file >= 0

    def seconds(self) -> float:
        """Since the beginning."""
        return self._clock() - self._began

    def add(self, what: str, **parts: JsonValue) -> None:
        """One line more, if the recording goes on and has room for it."""
        if not self.open:
            return
        text = text_of({"t": round(self.seconds(), 3), "what": what, **parts}, self._secrets)
        if self.size + len(text) > self._most - _ROOM_FOR_END:
            self.problem = f"the recording {self.path} is full at {self._most / 1_048_576:g} MiB and has ended"
            self.close("full")
            return
        self._write(text)

    def _write(self, text: str) -> None:
        data = text.encode("ascii")
        try:
            # One call a line: what is killed in between leaves whole lines. The system may still take a part only when the disk is full.
            if os.write(self._file, data) == len(data):
                self.size += len(data)
                return
            why = "its disk is full"
        except OSError as error:
            why = error.strerror or str(error)
        with suppress(OSError):
            os.ftruncate(self._file, self.size)
        self.problem = f"the recording {self.path} has ended: {why}"
        self._let_go()

    def close(self, why: str = "closed") -> None:
        """End it, once."""
        if not self.open:
            return
        self._write(text_of({"t": round(self.seconds(), 3), "what": END, "why": why}))
        self._let_go()

    def _let_go(self) -> None:
        if self.open:
            with suppress(OSError):
                os.fsync(self._file)
            os.close(self._file)
            self._file = -1
