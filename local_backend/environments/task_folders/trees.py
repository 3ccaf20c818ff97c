"""The files of a task folder, bounded, and the digest that an image's tag has. The grader's process only."""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from local_backend.environments.trials import TaskFile

LARGEST_PART = 16 * 2**20
"""Bytes of a task's tests, or of its solution, at most."""
LARGEST_CONTEXT = 2**30
"""Bytes of a folder that an image is built from, at most."""
MOST_FILES = 2000
_PIECE = 2**20


class FolderFaultError(Exception):
    """What is wrong with a task folder, as a sentence that quotes no content."""


def text_of(path: Path, largest: int = 2**20) -> str:
    """A file as UTF-8. Raises FolderFaultError."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FolderFaultError(f"{path.name} is no regular file")
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except FileNotFoundError:
        raise FolderFaultError(f"{path.name} is missing") from None
    except OSError as error:
        raise FolderFaultError(f"{path.name} cannot be read: {error.strerror}") from None
    if len(content) > largest:
        raise FolderFaultError(f"{path.name} is larger than {largest // 2**20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FolderFaultError(f"{path.name} is not UTF-8") from None


def files_below(root: Path) -> dict[str, TaskFile]:
    """All files below a folder, by path; none where there is no such folder. Raises FolderFaultError."""
    found: dict[str, TaskFile] = {}
    total = 0
    for path in _paths(root):
        mode = path.lstat().st_mode
        name = path.relative_to(root).as_posix()
        if not stat.S_ISREG(mode):
            raise FolderFaultError(f"{root.name}/{name} is a link or something else that is no regular file")
        total += path.stat().st_size
        if total > LARGEST_PART or len(found) >= MOST_FILES:
            raise FolderFaultError(f"{root.name} has more than {LARGEST_PART // 2**20} MiB or {MOST_FILES} files")
        found[name] = TaskFile(path.read_bytes(), bool(mode & stat.S_IXUSR))
    return found


def context_digest(root: Path, left_out: Callable[[str], bool] = lambda _: False) -> str:
    """The sha256 over what an image is built from, as hexadecimal digits. `left_out` tells paths that are no part of it.

    Raises FolderFaultError.
    """
    total, size = hashlib.sha256(), 0
    for path in _paths(root):
        name = path.relative_to(root).as_posix()
        if left_out(name):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            total.update(f"link {name}\0{path.readlink()}\0".encode())
        elif stat.S_ISREG(mode):
            size += path.stat().st_size
            if size > LARGEST_CONTEXT:
                raise FolderFaultError(f"{root.name} has more than {LARGEST_CONTEXT // 2**30} GiB, too much to build an image from")
            total.update(f"file {name}\0{bool(mode & stat.S_IXUSR)}\0{_file_digest(path)}\0".encode())
        else:
            raise FolderFaultError(f"{root.name}/{name} is neither a file nor a link")
    return total.hexdigest()


def _file_digest(path: Path) -> str:
    total = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            total.update(piece)
    return total.hexdigest()


def _paths(root: Path) -> list[Path]:
    """Files and links below a folder, in a fixed order."""

    def unreadable(error: OSError) -> None:
        raise FolderFaultError(f"{root.name} cannot be read: {error.strerror}")

    found: list[Path] = []
    if not root.is_dir():
        return found
    for folder, folders, names in os.walk(root, onerror=unreadable):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in {*links, "__pycache__"})
        found += [Path(folder, name) for name in sorted([*names, *links])]
    return found
