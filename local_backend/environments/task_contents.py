"""The files that a task file's row holds, and those of a grader's folder: checked, and never quoted. The grader's process only."""

import base64
import binascii
import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from local_backend.environments.secret_tasks import SourceError
from local_backend.environments.trials import RESERVED_NAMES, TaskFile
from nodus_tui.contract.regular_files import read_regular

LARGEST_TASK = 2**20
"""Bytes of all files, tests and solutions of one task together, at most."""
MOST_FILES = 1000
"""Files of one task, or of a grader, at most."""
LARGEST_GRADER = 16 * 2**20
"""Bytes of a grader's folder, at most."""
_LONGEST_PATH = 255
_BINARY = "base64:"


class ContentError(ValueError):
    """Files that cannot be used. The text says what is wrong, and quotes nothing."""


def file_content(text: str) -> TaskFile:
    """The file that a text stands for: itself, or the bytes after `base64:`. Raises ContentError."""
    if not text.startswith(_BINARY):
        return TaskFile.of(text.encode())
    try:
        return TaskFile.of(base64.b64decode(text.removeprefix(_BINARY).strip(), validate=True))
    except (ValueError, binascii.Error):
        raise ContentError("a file starts with `base64:` and goes on with something that is no base64") from None


def checked_files(value: object, what: str) -> dict[str, str]:
    """The texts by path of a row's column, its paths checked. `what` names the column. Raises ContentError."""
    if not isinstance(value, dict):
        raise ContentError(f"{what} is no mapping of paths to texts")
    if len(value) > MOST_FILES:
        raise ContentError(f"{what} has more than {MOST_FILES} entries")
    made: dict[str, str] = {}
    for path, text in value.items():
        if not _is_path(path):
            raise ContentError(
                f"{what} has a path that is absolute, empty, longer than {_LONGEST_PATH} letters, or leads out of the folder"
            )
        if not isinstance(text, str):
            raise ContentError(f"{what} has a value that is not a text")
        made[path] = text
    if any(str(parent) in made for path in made for parent in PurePosixPath(path).parents):
        raise ContentError(f"{what} has a file and a folder of the same name")
    return made


def _is_path(path: object) -> bool:
    if not isinstance(path, str) or not path.isprintable() or not 0 < len(path) <= _LONGEST_PATH or path.startswith("/"):
        return False
    return path == "/".join(PurePosixPath(path).parts) and ".." not in PurePosixPath(path).parts


def check_size(*parts: Mapping[str, TaskFile] | str) -> None:
    """Raises ContentError when a task's files are too large together."""
    total = sum(len(part.encode()) if isinstance(part, str) else sum(len(file.content) for file in part.values()) for part in parts)
    if total > LARGEST_TASK:
        raise ContentError(f"the files, tests and solution of this task have more than {LARGEST_TASK // 2**20} MiB together")


def grader_folder(path: str) -> dict[str, TaskFile]:
    """All files of a grader's folder, by path below it. Raises SourceError."""
    root = Path(path)
    if not root.is_dir():
        raise SourceError("the grader's folder (spec.grader.files) does not exist, or is no folder")
    found: dict[str, TaskFile] = {}
    total = 0
    for folder, folders, names in os.walk(root, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            file = Path(folder, name)
            mode = file.lstat().st_mode
            if not stat.S_ISREG(mode):
                raise SourceError("the grader's folder (spec.grader.files) holds a link or something else that is no regular file")
            content = _read(file)
            total += len(content)
            found[file.relative_to(root).as_posix()] = TaskFile(content, bool(mode & stat.S_IXUSR))
            if total > LARGEST_GRADER or len(found) > MOST_FILES:
                limits = f"{LARGEST_GRADER // 2**20} MiB or {MOST_FILES} files"
                raise SourceError(f"the grader's folder (spec.grader.files) has more than {limits}")
    if not found:
        raise SourceError("the grader's folder (spec.grader.files) holds no files")
    taken = sorted({each.partition("/")[0] for each in found} & RESERVED_NAMES)
    if taken:
        raise SourceError(f"the grader's folder (spec.grader.files) has {', '.join(taken)}, which is put there for every answer: rename it")
    return found


def _unreadable(error: OSError) -> None:
    raise SourceError(f"the grader's folder (spec.grader.files) cannot be read: {error.strerror}")


def _read(file: Path) -> bytes:
    try:
        return read_regular(file, LARGEST_GRADER + 1)
    except OSError as error:
        raise SourceError(f"the grader's folder (spec.grader.files) cannot be read: {error.strerror}") from None
