"""Copying files of this machine into a Sandbox that runs: for the command line and the Python interface alike.

They go in through a command there, as the agent: whatever stands in the sandbox can mislead that command inside it, and nothing here.
Links and whatever else is no file or folder are left out.
"""

import asyncio
import os
import stat
import tarfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from msgspec import Struct

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandbox_exec import ExecRequest
from nodus_tui.contract.wording import quoted
from nodus_tui.sandbox_commands.command import run_command
from nodus_tui.text import safe_text

_PIECE = 1 << 20
_EXISTS, _IS_FOLDER, _CUT = 41, 42, 43
_MOST_WORDS = 300

_PLACE = f"""
target=$1 name=$2 force=$3
case $target in /*) ;; *) target=./$target ;; esac
case $target in */) target=$target$name ;; *) [ ! -d "$target" ] || target=$target/$name ;; esac
[ -n "$force" ] || {{ [ ! -e "$target" ] && [ ! -L "$target" ]; }} || {{ printf %s "$target"; exit {_EXISTS}; }}
mkdir -p -- "${{target%/*}}/" || exit
"""
"""Like `cp -r`: into a target that is a folder or ends with a slash, else under the target's name."""

_FILE = f"""{_PLACE}
[ ! -d "$target" ] || {{ printf %s "$target"; exit {_IS_FOLDER}; }}
part=${{target%/*}}/.nodus-$$.part
trap 'rm -f -- "$part"' EXIT
cat >"$part" || exit
[ -z "$5" ] || [ "$(wc -c <"$part")" -eq "$5" ] || exit {_CUT}
chmod "$4" "$part" && mv -f -- "$part" "$target" || exit
printf %s "$target"
"""
_FOLDER = f"""{_PLACE}
mkdir -p -- "$target" && tar -x -o -f - -C "$target" || exit
printf %s "$target"
"""


class CopiedIn(Struct, frozen=True):
    """What was copied."""

    target: str
    """Where it is, in the sandbox."""
    files: int
    size: int
    """Bytes."""
    left_out: tuple[str, ...]
    """Sentences about what was not copied."""


Progress = Callable[[int], None]
"""Told how many bytes are there."""


def _silent(_: int) -> None:
    """Tell nobody."""


async def copy_in(
    backend: Backend, sandbox: str, source: Path, target: str, *, force: bool = False, progress: Progress = _silent
) -> CopiedIn:
    """Copy a file or a folder to a path in a Sandbox: from the work folder on, or absolute.

    One file is there whole or not at all; of a folder stays what was copied before something failed.
    Raises NodusError: Conflict, with nothing written, where something stands in its place and `force` is not given.
    """
    try:
        found, name = await asyncio.to_thread(_look_at, source)
    except OSError as error:
        raise NodusError(ErrorCode.INVALID_REQUEST, f"{source} cannot be read: {error.strerror or error}") from error
    contents = _Contents(source, progress)
    words = (target, name, "force" if force else "")
    command: tuple[str, ...]
    if stat.S_ISDIR(found.st_mode):
        command, stdin = (_FOLDER, *words), contents.archive()
    else:
        size = found.st_size if stat.S_ISREG(found.st_mode) else None
        mode = "755" if found.st_mode & stat.S_IXUSR else "644"
        command, stdin = (_FILE, *words, mode, "" if size is None else str(size)), contents.file(source, size)
    script, *rest = command
    done = await run_command(backend, sandbox, ExecRequest(command=("/bin/sh", "-c", script, "sh", *rest)), stdin=stdin)
    place = str(PurePosixPath(done.stdout.decode(errors="replace")))
    if contents.failure is not None:
        raise contents.failure
    if done.end.exit_code == _EXISTS:
        raise NodusError(ErrorCode.CONFLICT, f"{quoted(place)} exists in {sandbox}, and nothing was copied; --force replaces what is there")
    if done.end.exit_code == _IS_FOLDER:
        raise NodusError(ErrorCode.CONFLICT, f"{quoted(place)} is a folder in {sandbox} and is not replaced by a file")
    if done.end.exit_code != 0:
        said = safe_text(" ".join(done.stderr.decode(errors="replace").split()), width=_MOST_WORDS)
        why = done.end.message or said or f"the copying there ended with {done.end.exit_code}"
        raise NodusError(ErrorCode.UNAVAILABLE, f"{source} could not be copied into {sandbox}: {why}")
    return CopiedIn(place, contents.files, contents.size, tuple(contents.left_out))


def _look_at(source: Path) -> tuple[os.stat_result, str]:
    return source.stat(), source.resolve().name


async def _opened(path: Path) -> BinaryIO:
    opening: asyncio.Task[BinaryIO] = asyncio.create_task(asyncio.to_thread(path.open, "rb"))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        # The thread goes on, and nobody else would close what it opens.
        opening.add_done_callback(_close)
        raise


def _close(opening: asyncio.Task[BinaryIO]) -> None:
    if opening.exception() is None:
        opening.result().close()


class _Contents:
    """What goes in, as bytes; and what came of reading it."""

    def __init__(self, source: Path, progress: Progress) -> None:
        self._source = source
        self._progress = progress
        self.files = 0
        self.size = 0
        self.left_out: list[str] = []
        self.failure: NodusError | None = None
        """Why something of it could not be read."""

    async def file(self, path: Path, size: int | None) -> AsyncGenerator[bytes, None]:
        """A file's bytes, so many where that is known; fewer where it cannot be read, which is then noted."""
        left = size
        try:
            with await _opened(path) as file:
                while left is None or left > 0:
                    data = await asyncio.to_thread(file.read, _PIECE if left is None else min(_PIECE, left))
                    if not data:
                        break
                    left = None if left is None else left - len(data)
                    self.size += len(data)
                    yield data
                    self._progress(self.size)
        except OSError as error:
            self._fail(path, error)
        if left:
            self._fail(path, OSError(0, "it became shorter while it was read"))
        self.files += 1

    def _fail(self, path: Path, error: OSError) -> None:
        self.failure = self.failure or NodusError(ErrorCode.INVALID_REQUEST, f"{path} cannot be read: {error.strerror or error}")

    async def archive(self) -> AsyncGenerator[bytes, None]:
        """A folder as an archive; it breaks off at a file that cannot be read whole."""
        for path, inside, found in self._below(self._source, PurePosixPath()):
            entry = tarfile.TarInfo(f"./{inside}")
            entry.mode = 0o755 if found.st_mode & stat.S_IXUSR else 0o644
            entry.mtime = int(found.st_mtime)
            folder = stat.S_ISDIR(found.st_mode)
            entry.type, entry.size = (tarfile.DIRTYPE, 0) if folder else (tarfile.REGTYPE, found.st_size)
            yield entry.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
            if not folder:
                before = self.size
                async with aclosing(self.file(path, found.st_size)) as pieces:
                    async for data in pieces:
                        yield data
                if self.size - before < found.st_size:
                    return
                yield bytes(-found.st_size % tarfile.BLOCKSIZE)
        yield bytes(2 * tarfile.BLOCKSIZE)

    def _below(self, folder: Path, inside: PurePosixPath) -> Iterator[tuple[Path, PurePosixPath, os.stat_result]]:
        try:
            paths = sorted(folder.iterdir())
        except OSError as error:
            self._fail(folder, error)
            return
        for path in paths:
            try:
                found = path.lstat()
            except OSError as error:
                self._fail(path, error)
                continue
            if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
                yield path, inside / path.name, found
            else:
                what = "a link" if stat.S_ISLNK(found.st_mode) else "no file and no folder"
                self.left_out.append(f"{quoted(str(inside / path.name))} is {what} and was left out")
            if stat.S_ISDIR(found.st_mode):
                yield from self._below(path, inside / path.name)
