"""A small disk of its own for a test: a tmpfs, where this user may mount one."""

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from engine_place import Place


@dataclass
class DiskPlace(Place):
    """A place whose state folder lies on a disk of its own."""

    disk: Path = field(default_factory=Path)

    @property
    def home(self) -> Path:
        """On that disk."""
        return self.disk / "home"


class SmallDisk:
    """A mounted folder that can be filled, emptied and made read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave not one byte free."""
        with contextlib.suppress(OSError), self._ballast.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(1 << 12))

    def empty(self) -> None:
        """Give the room back."""
        self._ballast.unlink()

    def grow(self, mebibytes: int) -> None:
        """Make it larger."""
        subprocess.run(["mount", "-o", f"remount,size={mebibytes}m", str(self.folder)], check=True)

    def read_only(self) -> None:
        """Let nobody write any more. Nothing on it may be open for writing."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)


@contextlib.contextmanager
def small_disk(folder: Path, *, mebibytes: int) -> Iterator[SmallDisk]:
    """Mount it; the test is skipped where that is not allowed."""
    folder.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a disk that fills up needs the right to mount one (run as root): {mounted.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
