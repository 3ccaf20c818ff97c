"""Copying files out of a run's sandbox onto this machine: for the command line, the console and the Python interface alike.

Names and bytes came from an agent. Nothing is written outside the folder that a person named, through a link that stands in it, or over
what is there already; links are left out, and names that a terminal would obey are saved under harmless ones.
"""

import asyncio
import errno
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.contract.wording import quoted
from nodus_tui.text import safe_text

MAY_GROW_BYTES = 64 << 20
"""By how much a file may be larger than its listing said: an agent at work may write on, but not fill this machine's disk."""

_LONGEST_NAME = 255
"""Bytes of one name, on the usual file systems."""
_NO_LINKS_HERE = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES})
"""What file systems say that have no hard links."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PlannedFile(Struct, frozen=True):
    """One file that is to be copied."""

    entry: FileEntry
    parts: tuple[str, ...]
    """Where it goes under the plan's root, in harmless names."""


class CopyPlan(Struct, frozen=True):
    """What will be written where."""

    root: Path
    """An existing folder that a person named, or that the new folder or file will be in."""
    files: tuple[PlannedFile, ...]
    folders: tuple[tuple[str, ...], ...] = ()
    """Folders to make, those without a file in them included."""
    left_out: tuple[str, ...] = ()
    """Sentences about what is not copied, and about names that are saved otherwise."""

    @property
    def size(self) -> int:
        """Bytes, as the listing has them."""
        return sum(each.entry.size for each in self.files)


class Copied(Struct, frozen=True):
    """What was written."""

    paths: tuple[Path, ...]
    size: int
    """Bytes."""


Progress = Callable[[PlannedFile, int], None]
"""Told of each file how many bytes of it are there, at least once when it is whole."""


def _silent(_: PlannedFile, __: int) -> None:
    """Tell nobody."""


def clean_path(path: str) -> str:
    """A path within the agent's folder as listings have it: without `./`, doubled or closing slashes; empty for the folder itself.

    Raises NodusError for one that leads out of the folder.
    """
    if path.startswith("/"):
        raise NodusError(ErrorCode.INVALID_REQUEST, f"{quoted(path)} begins with a slash: paths start in the agent's folder")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise NodusError(ErrorCode.INVALID_REQUEST, f"{quoted(path)} leads out of the agent's folder")
    return "/".join(parts)


def below(entries: Iterable[FileEntry], path: str) -> tuple[FileEntry, ...]:
    """The entries at a clean path and below it; all for the empty one."""
    return tuple(each for each in entries if not path or each.path == path or each.path.startswith(f"{path}/"))


def clean_name(name: str) -> str:
    """A name that no terminal and no shell listing obeys: control and direction characters as visible ones, invisible ones left out."""
    shown = safe_text(name).replace("\N{REPLACEMENT CHARACTER}", "_").strip()
    return "_" if shown in {"", ".", ".."} else shown


class FileSource(Protocol):
    """Where files are listed and read by the name of what made them: a backend for its runs, `JobFiles` for jobs."""

    async def files(self, run: str, /) -> tuple[FileEntry, ...]:
        """The files."""
        ...

    def read_file(self, run: str, path: str, /) -> AsyncIterator[bytes]:
        """The bytes of one of them."""
        ...


class JobFiles:
    """The kept outputs of a backend's jobs."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def files(self, job: str, /) -> tuple[FileEntry, ...]:
        """The outputs of a job that has ended."""
        return await self._backend.job_files(job)

    def read_file(self, job: str, path: str, /) -> AsyncIterator[bytes]:
        """The bytes of one of them."""
        return self._backend.read_job_file(job, path)


_OUTPUTS = "outputs"


async def kept_path(files: FileSource, job: str, path: str) -> str:
    """The path of a TrainingJob's output: everything that it keeps lies below `outputs`, which need not be said."""
    wanted = clean_path(path)
    entries = await files.files(job)
    inside = f"{_OUTPUTS}/{wanted}"
    return inside if wanted and not below(entries, wanted) and below(entries, inside) else path


class SandboxFiles:
    """The work folders of a backend's Sandboxes."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def files(self, sandbox: str, /) -> tuple[FileEntry, ...]:
        """The files as they are while it runs, as they were kept afterwards."""
        return await self._backend.sandbox_files(sandbox)

    def read_file(self, sandbox: str, path: str, /) -> AsyncIterator[bytes]:
        """The bytes of one of them."""
        return self._backend.read_sandbox_file(sandbox, path)


async def plan_copy(backend: FileSource, run: str, path: str, target: Path) -> CopyPlan:
    """What copying `path` of a run to `target` will write: like `cp -r`, into a target that is a folder, else under the target's name.

    The empty path means everything, which has the run's name. Raises NodusError when there is nothing at the path, or the target's place
    is no folder.
    """
    return plan_of(await backend.files(run), run, path, target)


def plan_of(entries: tuple[FileEntry, ...], run: str, path: str, target: Path) -> CopyPlan:
    """The same for a listing that is known."""
    wanted = clean_path(path)
    found = below(entries, wanted)
    if not found and (wanted or entries):
        raise NodusError(ErrorCode.NOT_FOUND, f"{run} has no file {quoted(path)}; `nodus-tui cp {run}:` lists what it has")
    single = next((each for each in found if each.path == wanted), None)
    if single is not None and single.kind == "link":
        raise NodusError(ErrorCode.INVALID_REQUEST, f"{quoted(path)} is a link, which is not followed: name the file that it points to")
    last = clean_name(wanted.rpartition("/")[2] or run)
    root, top = (target, last) if target.is_dir() else (target.parent, target.name)
    if not root.is_dir():
        raise NodusError(ErrorCode.INVALID_REQUEST, f"{root} is no folder; make it first, or name another target")
    return _Planner(root, top, wanted).plan(found)


class _Planner:
    """Gives each entry its place, and leaves out what has none."""

    def __init__(self, root: Path, top: str, wanted: str) -> None:
        self._root = root
        self._top = top
        self._wanted = wanted
        self._taken: dict[tuple[str, ...], str] = {}
        self._left_out: list[str] = []

    def plan(self, found: tuple[FileEntry, ...]) -> CopyPlan:
        files: list[PlannedFile] = []
        folders: list[tuple[str, ...]] = (
            [] if len(found) == 1 and found[0].kind == "file" and found[0].path == self._wanted else [(self._top,)]
        )
        for entry in found:
            if entry.kind == "link":
                self._left_out.append(f"{quoted(entry.path)} is a link and was left out")
                continue
            parts = self._place(entry)
            if parts is None:
                continue
            if entry.kind == "folder":
                folders.append(parts)
            else:
                folders += [parts[:depth] for depth in range(1, len(parts))]
                files.append(PlannedFile(entry, parts))
        return CopyPlan(self._root, tuple(files), tuple(dict.fromkeys(folders)), tuple(self._left_out))

    def _place(self, entry: FileEntry) -> tuple[str, ...] | None:
        rest = entry.path[len(self._wanted) :].lstrip("/") if self._wanted else entry.path
        names = rest.split("/") if rest else []
        if any(name in {"", ".", ".."} for name in names):
            self._left_out.append(f"{quoted(entry.path)} is no path within the agent's folder and was left out")
            return None
        parts = (self._top, *(clean_name(name) for name in names))
        if any(len(os.fsencode(part)) > _LONGEST_NAME for part in parts):
            self._left_out.append(f"{quoted(entry.path)} has too long a name and was left out")
            return None
        if parts in self._taken and self._taken[parts] != entry.path:
            self._left_out.append(f"{quoted(entry.path)} would be saved under the name of another file and was left out")
            return None
        self._taken[parts] = entry.path
        if list(parts[1:]) != names:
            self._left_out.append(f"{quoted(entry.path)} is saved as {'/'.join(parts)}")
        return parts


async def copy(backend: FileSource, run: str, plan: CopyPlan, *, force: bool = False, progress: Progress = _silent) -> Copied:
    """Write what was planned. A file is there whole or not at all; what was written before a failure stays.

    Raises NodusError Conflict, before anything is written, when a file of the plan exists and `force` is not given.
    """
    try:
        with _opened(os.fspath(plan.root), None, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as root:
            if not force:
                _refuse_existing(root, plan)
            for parts in plan.folders:
                with _folder(root, parts):
                    pass
            size = 0
            for each in plan.files:
                size += await _copy_file(backend, run, root, each, force=force, progress=progress)
    except OSError as error:
        raise _disk_error(plan, error) from error
    return Copied(tuple(plan.root.joinpath(*each.parts) for each in plan.files), size)


def _disk_error(plan: CopyPlan, error: OSError) -> NodusError:
    name = error.filename2 or error.filename
    place = plan.root / os.fsdecode(name) if name else plan.root
    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
        return NodusError(ErrorCode.CONFLICT, f"{place} is a link or a file where a folder must be: nothing is written through it")
    if error.errno == errno.EEXIST:
        return NodusError(ErrorCode.CONFLICT, f"{place} exists; --force would replace it")
    if error.errno == errno.EISDIR:
        return NodusError(ErrorCode.CONFLICT, f"{place} is a folder and is not replaced by a file")
    return NodusError(ErrorCode.UNAVAILABLE, f"{place} cannot be written: {error.strerror or error}")


def _refuse_existing(root: int, plan: CopyPlan) -> None:
    for each in plan.files:
        if _exists(root, "/".join(each.parts)):
            detail = f"{plan.root.joinpath(*each.parts)} exists, and nothing was copied; --force replaces what is there"
            raise NodusError(ErrorCode.CONFLICT, detail)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


@contextmanager
def _opened(name: str, folder: int | None, flags: int, mode: int = 0o777) -> Iterator[int]:
    opened = os.open(name, flags, mode, dir_fd=folder)
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def _folder(root: int, parts: tuple[str, ...]) -> Iterator[int]:
    """A folder below the root, made where it is missing. No step goes through a link."""
    at = os.dup(root)
    try:
        for part in parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=at)
            below_it = os.open(part, _FOLDER, dir_fd=at)
            os.close(at)
            at = below_it
        yield at
    finally:
        os.close(at)


async def _copy_file(backend: FileSource, run: str, root: int, planned: PlannedFile, *, force: bool, progress: Progress) -> int:
    *folders, name = planned.parts
    with _folder(root, tuple(folders)) as folder:
        partial = f".nodus-{secrets.token_hex(8)}.part"
        mode = 0o777 if planned.entry.executable else 0o666
        try:
            with _opened(partial, folder, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode) as target:
                size = await _fill(backend, run, planned, target, progress)
            _put_in_place(folder, partial, name, force=force)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(partial, dir_fd=folder)
    progress(planned, size)
    return size


def _put_in_place(folder: int, partial: str, name: str, *, force: bool) -> None:
    if force:
        os.replace(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    try:
        # A second name fails where one exists, so that nothing is replaced even when it came into being just now.
        os.link(partial, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS_HERE:
            raise
        if _exists(folder, name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from error
        os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)


async def _fill(backend: FileSource, run: str, planned: PlannedFile, target: int, progress: Progress) -> int:
    entry = planned.entry
    most, size = entry.size + MAY_GROW_BYTES, 0
    async for piece in pieces_of(backend, run, entry.path):
        size += len(piece)
        if size > most:
            detail = f"{quoted(entry.path)} is much larger than its listing said ({entry.size:,} bytes): copying it was given up"
            raise NodusError(ErrorCode.UNAVAILABLE, detail)
        # A disk may be slow, and a screen is painted by the same loop.
        await asyncio.to_thread(_write_all, target, piece)
        progress(planned, size)
    return size


def _write_all(target: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(target, rest) :]


async def pieces_of(backend: FileSource, run: str, path: str) -> AsyncGenerator[bytes, None]:
    """A file's bytes; whatever happens, the backend's own generator is closed."""
    pieces: Any = backend.read_file(run, path)
    if isinstance(pieces, AsyncGenerator):
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece
    else:
        async for piece in pieces:
            yield piece
