"""A set of files that belong together takes the place of an older one: whoever ends this midway leaves enough to finish it. Blocking."""

import shutil
from collections.abc import Mapping
from pathlib import Path


def replace_together(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a folder, over older ones of their names. Raises OSError."""
    whole, part = _whole(folder), folder.parent / f"{folder.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for name, data in files.items():
        (part / name).write_bytes(data)
    shutil.rmtree(whole, ignore_errors=True)
    part.rename(whole)  # From here on all of them are there, and `finish_replacing` could do the rest.
    finish_replacing(folder)


def finish_replacing(folder: Path) -> None:
    """Do what was left of a replacement that was cut short, if any was. Raises OSError."""
    whole = _whole(folder)
    if whole.is_dir() and not whole.is_symlink() and not folder.is_symlink():
        for path in sorted(whole.iterdir()):
            path.replace(folder / path.name)
        whole.rmdir()


def _whole(folder: Path) -> Path:
    return folder.parent / f"{folder.name}.new"
