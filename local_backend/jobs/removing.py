"""Folders that commands filled are removed, however deep they made them. Blocking."""

import contextlib
import shutil
import subprocess
from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that can be. Raises nothing."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # Python goes down a frame a folder.
        with contextlib.suppress(OSError):
            subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, check=False, stdin=subprocess.DEVNULL)  # noqa: S603, S607
