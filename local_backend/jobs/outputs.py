"""What is kept of a job when it ends: copies of its outputs beside the database, each with its sha256.

Only regular files and folders below the job's folder are kept. Links are left out, and so is what changes its kind while it is looked at.
Blocking: for threads.
"""

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from nodus_tui.contract.resources.job import OutputFile
from nodus_tui.contract.sandboxes import FileEntry

KEPT_FOLDER = "outputs"
MANIFEST_FILE = "manifest.json"
"""Beside the kept outputs: path, bytes and sha256 of each."""

_MOST_FILES = 100_000
_MOST_DEPTH = 64
"""Of folders in each other; each is held open while what is below it is looked at."""
_PIECE = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _shown(path: str) -> str:
    """A path as text that can be stored: bytes of its name that are no UTF-8 as replacement characters."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


class GivenUpError(Exception):
    """Somebody asked to stop keeping; what is there so far is begun anew the next time."""


class Kept(Struct):
    """What was kept."""

    files: list[OutputFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences about what was not."""


class _Keeper(Struct):
    source: Path
    target: Path
    shortage: Callable[[], str]
    given_up: Callable[[], bool]
    kept: Kept = field(default_factory=Kept)
    links: int = 0

    def keep(self, output: str) -> None:
        parts = [part for part in output.split("/") if part not in {"", "."}]
        try:
            at = os.open(self.source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self._refuse(output, error)
            return
        try:
            for part in parts[:-1]:
                below = os.open(part, _FOLDER, dir_fd=at)
                os.close(at)
                at = below
            if parts:
                self._entry(at, parts[-1], "/".join(parts))
            else:
                self._folder(at, "")
        except OSError as error:
            self._refuse(output, error)
        finally:
            os.close(at)

    def _refuse(self, path: str, error: OSError) -> None:
        shown, missing = _shown(path), isinstance(error, FileNotFoundError)
        self.kept.notes.append(f"The output {shown} is not there." if missing else f"The output {shown} was not kept: {error.strerror}.")

    def _entry(self, folder: int, name: str, path: str) -> None:
        if self.given_up():
            raise GivenUpError
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            if path.count("/") >= _MOST_DEPTH:
                self.kept.notes.append(f"The output {_shown(path)} was not kept: it lies in more than {_MOST_DEPTH} folders.")
                return
            below = os.open(name, _FOLDER, dir_fd=folder)
            try:
                self._folder(below, path)
            finally:
                os.close(below)
        elif stat.S_ISREG(found.st_mode):
            self._file(folder, name, path)
        else:
            self.links += 1

    def _folder(self, folder: int, path: str) -> None:
        (self.target / path).mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in sorted(os.listdir(folder)):
            below = f"{path}/{name}" if path else name
            try:
                self._entry(folder, name, below)
            except OSError as error:
                self._refuse(below, error)

    def _file(self, folder: int, name: str, path: str) -> None:
        if any(each.path == path for each in self.kept.files[-1:]) or (self.target / path).exists():
            return  # Named twice.
        if len(self.kept.files) >= _MOST_FILES:
            note = f"Not all outputs were kept: there are more than {_MOST_FILES:,} files."
            if note not in self.kept.notes:
                self.kept.notes.append(note)
            return
        opened = os.open(name, _READ, dir_fd=folder)
        try:
            found = os.fstat(opened)
            if not stat.S_ISREG(found.st_mode):
                return
            if found.st_size > _free_bytes(self.target):
                self.kept.notes.append(
                    f"The output {_shown(path)} was not kept: it is {found.st_size:,} bytes, and the disk has no such room."
                )
                return
            self._copy(opened, path, executable=bool(found.st_mode & 0o100))
        finally:
            os.close(opened)

    def _copy(self, opened: int, path: str, *, executable: bool) -> None:
        if _shown(path) != path:
            self.kept.notes.append(f"The output {_shown(path)} was not kept: its name is no UTF-8.")
            return
        target = self.target / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        digest, size = hashlib.sha256(), 0
        with target.open("xb") as file:
            while data := os.read(opened, _PIECE):
                if self.given_up():
                    raise GivenUpError
                if shortage := self.shortage():
                    self.kept.notes.append(f"The output {path} was not kept: {shortage.partition(':')[0]}.")
                    target.unlink()
                    return
                digest.update(data)
                size += len(data)
                # What is empty in the original takes no room here either.
                if data.count(0) < len(data):
                    file.write(data)
                else:
                    file.seek(len(data), os.SEEK_CUR)
            file.truncate(size)
        if executable:
            target.chmod(0o700)
        self.kept.files.append(OutputFile(path=path, bytes=size, sha256=digest.hexdigest()))


def _free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def keep_outputs(
    source: Path, outputs: Sequence[str], folder: Path, *, shortage: Callable[[], str], given_up: Callable[[], bool] = lambda: False
) -> Kept:
    """Copy the outputs below `source` into the job's folder, with their manifest; what an earlier try left is removed first.

    `shortage` says when the disk has too little room for more. Raises GivenUpError when asked to stop, OSError when the copies cannot be
    written.
    """
    target = folder / KEPT_FOLDER
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o700)
    keeper = _Keeper(source, target, shortage, given_up)
    for output in outputs:
        keeper.keep(output)
    if keeper.links:
        keeper.kept.notes.append(f"{keeper.links} outputs were not kept: they are links, or no regular files.")
    keeper.kept.files.sort(key=lambda each: each.path)
    manifest = {"files": [each.to_document() for each in keeper.kept.files]}
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return keeper.kept


def entries(folder: Path, outputs: Sequence[dict[str, Any]]) -> tuple[FileEntry, ...]:
    """The kept files as a listing, with the folders that they lie in, in order of their paths."""
    found: dict[str, FileEntry] = {}
    for each in outputs:
        path = str(each["path"])
        parts = path.split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            found.setdefault(above, FileEntry(path=above, kind="folder"))
        executable = os.access(folder / KEPT_FOLDER / path, os.X_OK)
        found[path] = FileEntry(path=path, kind="file", size=int(each["bytes"]), executable=executable)
    return tuple(found[path] for path in sorted(found))


class ChangedError(Exception):
    """A kept file is not what its manifest says."""


def pieces(folder: Path, output: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of a kept file. Raises OSError, and ChangedError at its end when they are not those that were kept."""
    digest = hashlib.sha256()
    with (folder / KEPT_FOLDER / str(output["path"])).open("rb") as file:
        while data := file.read(_PIECE):
            digest.update(data)
            yield data
    if digest.hexdigest() != output["sha256"]:
        raise ChangedError
