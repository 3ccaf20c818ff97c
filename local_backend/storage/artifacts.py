"""The files of sandboxes, kept beside the database: one tar a run or Sandbox, whole or not at all. Nothing of it is ever unpacked here."""

import contextlib
import logging
import os
import secrets
import shutil
from collections.abc import Container
from pathlib import Path

_log = logging.getLogger(__name__)


class Artifacts:
    """The folder `artifacts` of a workspace, for its runs; or another one, for what has names of its own."""

    def __init__(self, home: Path, folder: str = "artifacts") -> None:
        self._folder = home / folder

    def path(self, run: str) -> Path:
        """Where the run's tar lies, if it has one. A run's name is a DNS label, so it is a safe file name."""
        return self._folder / f"{run}.tar"

    @property
    def there(self) -> bool:
        """Whether anything of the workspace's ever asked for room here."""
        return self._folder.is_dir()

    def prepare(self) -> None:
        """Make the folder, for its owner alone. Raises OSError."""
        self._folder.mkdir(mode=0o700, exist_ok=True)

    def has(self, run: str) -> bool:
        """Whether the run's files are kept."""
        return self.path(run).is_file()

    def hand_on(self, run: str, successor: str) -> None:
        """Give a successor the same files, in place of whatever has its name. Blocks where files must be copied. Raises OSError.

        Something has its name where a scheduler died between this and its commit, or where the files of a deleted run could not be removed.
        """
        new = self._folder / f".{successor}.{secrets.token_hex(6)}"
        try:
            try:
                os.link(self.path(run), new)
            except FileNotFoundError:
                raise
            except OSError:  # A file system without hard links, or one that has no more for this file.
                _copy(self.path(run), new)
            new.replace(self.path(successor))
        finally:
            new.unlink(missing_ok=True)

    def prune(self, run: str, limit: int) -> bool:
        """Remove the run's tar when it is larger than `limit` bytes; whether it was."""
        path = self.path(run)
        try:
            if path.stat().st_size <= limit:
                return False
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:  # It only takes room: no reason to lose what the run came to.
            _log.warning("the files of %s could not be removed: %s", run, error.strerror or error)
            return False
        return True

    def sweep(self, runs: Container[str]) -> None:
        """Remove what a scheduler that was killed left half done: new archives, and those of runs that are not in the books."""
        with contextlib.suppress(OSError):
            for path in list(self._folder.iterdir()):
                if path.name.startswith(".") or (path.suffix == ".tar" and path.stem not in runs):
                    with contextlib.suppress(OSError):
                        path.unlink()

    def remove(self, run: str) -> None:
        """Remove the run's tar, if there is one and it can be removed."""
        with contextlib.suppress(OSError):  # The run is gone from the books: a file that stays only takes room.
            self.path(run).unlink()


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reading, target.open("xb") as writing:
        shutil.copyfileobj(reading, writing)
        writing.flush()
        os.fsync(writing.fileno())
