"""Room on the disk: new work stops while there is still enough of it to write down what is under way."""

import os
from collections.abc import Callable
from pathlib import Path

MIB = 1 << 20

SPACE_LOOK_SECONDS = 1.0
"""While the disk is almost full, room is looked for this often."""


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


class SpaceGuard:
    """Watches the disk of one folder. `floor` is in bytes; 0 turns it off."""

    def __init__(self, folder: Path, floor: int, free_bytes: Callable[[Path], int] = _free_bytes) -> None:
        self._folder = folder
        self.floor = floor
        self._free_bytes = free_bytes

    def room(self) -> int | None:
        """Bytes that may be written before the floor is reached; None where nobody looks."""
        if self.floor == 0:
            return None
        try:
            return max(0, self._free_bytes(self._folder) - self.floor)
        except OSError:
            return None  # As below.

    def shortage(self) -> str:
        """Why no new work may start, as a sentence that stays the same while it lasts; empty when there is room."""
        if self.floor == 0:
            return ""
        try:
            free = self._free_bytes(self._folder)
        except OSError:
            return ""  # The folder is gone: the next commit says so, with the right words.
        if free >= self.floor:
            return ""
        return (
            f"less than {self.floor // MIB:,} MiB are free on the disk that holds {self._folder}: "
            "no run starts and no call leaves until there is room again; then it goes on by itself"
        )
