"""The files that agents made, kept beside the database: one tar a run, whole or not at all. Nothing of it is ever unpacked here."""

import contextlib
import os
from pathlib import Path


class Artifacts:
    """The folder `artifacts` of a workspace."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "artifacts"

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

    def hand_on(self, run: str, successor: str) -> bool:
        """Give a successor the same files; False when the run has none. Raises OSError."""
        try:
            os.link(self.path(run), self.path(successor))
        except FileNotFoundError:
            return False
        except FileExistsError:
            return True
        return True

    def prune(self, run: str, limit: int) -> bool:
        """Remove the run's tar when it is larger than `limit` bytes; whether it was."""
        path = self.path(run)
        try:
            if path.stat().st_size <= limit:
                return False
            path.unlink()
        except FileNotFoundError:
            return False
        return True

    def remove(self, run: str) -> None:
        """Remove the run's tar, if there is one and it can be removed."""
        with contextlib.suppress(OSError):  # The run is gone from the books: a file that stays only takes room.
            self.path(run).unlink()
