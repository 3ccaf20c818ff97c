"""A workspace: the state folder with its database and its scheduler lock. One process at a time runs the scheduler."""

import errno
import fcntl
import os
from pathlib import Path
from typing import IO

from nodus_tui.contract.errors import ErrorCode, NodusError


class Workspace:
    """The paths below NODUS_HOME, made on first use, readable by their owner only."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.database = home / "nodus.db"
        self._lock_path = home / "scheduler.lock"
        self._lock_file: IO[str] | None = None

    def prepare(self) -> None:
        """Make the folder. Raises NodusError when that cannot be done."""
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = self.home / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise NodusError(
                ErrorCode.CONFIGURATION,
                f"the state folder {self.home} cannot be used: {error.strerror}; name another one with NODUS_HOME",
            ) from error

    @property
    def owned(self) -> bool:
        """Whether this process holds the scheduler lock."""
        return self._lock_file is not None

    def try_own(self) -> bool:
        """Take the scheduler lock if no other process holds it; the system gives it back when this process dies."""
        if self._lock_file is not None:
            return True
        file = self._lock_path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            if error.errno in {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}:
                return False
            raise NodusError(ErrorCode.CONFIGURATION, f"{self._lock_path} cannot be locked: {error.strerror}") from error
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._lock_file = file
        return True

    def disown(self) -> None:
        """Give the scheduler lock back."""
        if self._lock_file is not None:
            self._lock_file.close()
            self._lock_file = None

    def free(self) -> bool:
        """Whether no process holds the scheduler lock at this moment."""
        if self.owned:
            return False
        if not self.try_own():
            return False
        self.disown()
        return True
