"""Archives that go in and out of sandboxes. What comes out is untrusted: it is read by a strict reader, and never unpacked on the host.

`pack` makes an archive of ours; `sanitise` copies the harmless part of a foreign one; `entries` and `member` look into a sanitised one.
"""

import io
import posixpath
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Literal

from msgspec import Struct

from local_backend.sandboxes.interface import SandboxError
from local_backend.sandboxes.tar_reader import Member, TarFormatError, read_members

MAX_ENTRIES = 20_000
MAX_PATH = 1_000
"""Bytes of one path."""
MAX_DEPTH = 64
_CHUNK = 1 << 20
_NOTES_KEPT = 20


class ArchiveError(SandboxError):
    """An archive cannot be used. The text says why; it quotes nothing of what is in it but paths, as Python writes them."""


class ArchiveLimitError(ArchiveError):
    """An archive is sound, but holds too much: the doing of whoever filled the folder."""


class ArchiveEntry(Struct, frozen=True):
    """One path of a sanitised archive."""

    path: str
    """Relative, normalised; it came from a sandbox and is data."""
    kind: Literal["file", "folder", "link"]
    size: int = 0
    executable: bool = False
    target: str = ""
    """Of a link."""


class Sanitised(Struct, frozen=True):
    """What `sanitise` kept and left out."""

    entries: tuple[ArchiveEntry, ...]
    size_bytes: int
    """Of all files together."""
    left_out: int
    notes: tuple[str, ...]
    """Sentences about the first of what was left out."""


def pack(files: Mapping[str, bytes], *, uid: int = 1000, gid: int = 1000, mode: int = 0o644, folder_mode: int = 0o755) -> bytes:
    """An archive of these files by relative path, their folders before them. Raises ArchiveError for a path that leaves the folder."""
    buffer = io.BytesIO()
    made: set[str] = set()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in files.items():
            path = _clean(name)
            if not path:
                raise ArchiveError(f"{name!r} is no path of a file inside a folder.")
            for folder in _parents(path):
                if folder not in made:
                    made.add(folder)
                    archive.addfile(_info(folder, tarfile.DIRTYPE, folder_mode, uid, gid))
            info = _info(path, tarfile.REGTYPE, mode, uid, gid)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def sanitise(source: Path | IO[bytes], target: IO[bytes], *, limit_bytes: int, limit_entries: int = MAX_ENTRIES) -> Sanitised:
    """Copy the harmless part of an untrusted archive: regular files, folders, and relative links that point inside. Blocks.

    What comes after a path that was had already, what lies below a link, and every other kind of thing is left out. Owners, times and all
    mode bits but the executable one are dropped. Raises ArchiveError when it is no archive, or larger than the limits.
    """
    kept: dict[str, ArchiveEntry] = {}
    size = 0
    left_out: list[str] = []
    with _readable(source) as file, tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for count, member in enumerate(read_members(file), start=1):
            if count > limit_entries:
                raise ArchiveLimitError(f"The archive holds more than {limit_entries} entries.")
            entry, why = _judge(member, kept)
            if entry is None:
                if why:
                    left_out.append(f"{member.path!r}: {why}")
                continue
            size += entry.size
            if size > limit_bytes:
                raise ArchiveLimitError(f"The archive's files are larger than {limit_bytes} bytes together.")
            kept[entry.path] = entry
            _copy(archive, entry, member)
    return Sanitised(tuple(kept.values()), size, len(left_out), tuple(left_out[:_NOTES_KEPT]))


def entries(source: Path | IO[bytes], *, limit_entries: int = MAX_ENTRIES) -> tuple[ArchiveEntry, ...]:
    """What an archive would hold after `sanitise`, in order of paths. Blocks. Raises ArchiveError."""
    kept: dict[str, ArchiveEntry] = {}
    with _readable(source) as file:
        for count, member in enumerate(read_members(file), start=1):
            if count > limit_entries:
                raise ArchiveLimitError(f"The archive holds more than {limit_entries} entries.")
            entry, _ = _judge(member, kept)
            if entry is not None:
                kept[entry.path] = entry
    return tuple(kept[path] for path in sorted(kept))


def member(source: Path | IO[bytes], path: str, *, chunk: int = _CHUNK) -> Iterator[bytes]:
    """The bytes of one regular file of an archive, as `entries` names it. Blocks. Raises KeyError when there is none, ArchiveError."""
    kept: dict[str, ArchiveEntry] = {}
    with _readable(source) as file:
        for each in read_members(file):
            entry, _ = _judge(each, kept)
            if entry is None:
                continue
            kept[entry.path] = entry
            if entry.path == path:
                if entry.kind != "file":
                    break
                yield from each.chunks(chunk)
                return
    raise KeyError(path)


def _judge(member: Member, kept: Mapping[str, ArchiveEntry]) -> tuple[ArchiveEntry | None, str]:
    """The entry that a member becomes, or None and why not (empty for what needs no word: the folder itself)."""
    path = _clean(member.path)
    if path == "":
        return None, ""
    why = "its path leads out of the folder, or is none" if path is None else _misplaced(path, member, kept)
    if path is None or why is not None:
        return None, why or ""
    if member.kind == "file":
        return ArchiveEntry(path, "file", member.size, executable=bool(member.mode & 0o100)), ""
    if member.kind == "folder":
        return ArchiveEntry(path, "folder"), ""
    if member.kind == "link" and _points_inside(path, member.target):
        return ArchiveEntry(path, "link", target=member.target), ""
    return None, member.what or "a link that points out of the folder"


def _misplaced(path: str, member: Member, kept: Mapping[str, ArchiveEntry]) -> str | None:
    """Why nothing may be at that path after what was kept; None when it may."""
    parents = _parents(path)
    try:
        size = len(path.encode()) + len(member.target.encode())
    except UnicodeEncodeError:
        return "its name is no UTF-8"
    if size > MAX_PATH or len(parents) >= MAX_DEPTH:
        return "it lies too deep"
    if path in kept:
        return "" if member.kind == "folder" and kept[path].kind == "folder" else "another entry has the same path"
    if any(parent in kept and kept[parent].kind != "folder" for parent in parents):
        return "it lies below something that is no folder"
    return None


def _points_inside(path: str, target: str) -> bool:
    """Whether a link at `path` stays inside, whatever the other links are that pass this same test.

    `..` counts only at the start: the link's own folder is a real one, so leading `..` climb real folders. After a name, `..` could climb
    out of wherever another link leads.
    """
    if not target or target.startswith("/") or "\0" in target:
        return False
    parts = [part for part in target.split("/") if part not in {"", "."}]
    ups = 0
    while ups < len(parts) and parts[ups] == "..":
        ups += 1
    return ".." not in parts[ups:] and ups <= path.count("/")


def _copy(archive: tarfile.TarFile, entry: ArchiveEntry, member: Member) -> None:
    if entry.kind == "folder":
        archive.addfile(_info(entry.path, tarfile.DIRTYPE, 0o755, 1000, 1000))
    elif entry.kind == "link":
        info = _info(entry.path, tarfile.SYMTYPE, 0o777, 1000, 1000)
        info.linkname = entry.target
        archive.addfile(info)
    else:
        info = _info(entry.path, tarfile.REGTYPE, 0o755 if entry.executable else 0o644, 1000, 1000)
        info.size = entry.size
        archive.addfile(info, member.open())


def _info(path: str, kind: bytes, mode: int, uid: int, gid: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.type, info.mode, info.uid, info.gid, info.mtime = kind, mode, uid, gid, int(time.time())
    return info


def _clean(path: str) -> str | None:
    """The path without `.` and doubled slashes; empty for the folder itself, None for one that is absolute or climbs."""
    if path.startswith("/") or "\0" in path:
        return None
    parts = [part for part in path.split("/") if part not in {"", "."}]
    return None if ".." in parts else "/".join(parts)


def _parents(path: str) -> list[str]:
    parents = []
    while path := posixpath.dirname(path):
        parents.append(path)
    return parents[::-1]


@contextmanager
def _readable(source: Path | IO[bytes]) -> Iterator[IO[bytes]]:
    """The archive's file; one that was opened before is its opener's to close. Raises ArchiveError, also for what goes wrong inside."""
    if isinstance(source, Path):
        try:
            opened = source.open("rb")
        except OSError as error:
            raise ArchiveError(f"The archive {source} cannot be opened: {error.strerror or error}.") from error
    try:
        with opened if isinstance(source, Path) else nullcontext(source) as file:
            yield file
    except TarFormatError as error:
        raise ArchiveError(f"The archive cannot be read: {error}.") from error
    except OSError as error:  # The disk with it fails; or the one to which what is kept of it is copied, and which may be full.
        raise ArchiveError(f"The archive cannot be read or copied: {error.strerror or error}.") from error
