"""What everybody does with a sandbox, on top of `spawn`: run a program to its end, put files in, take files out.

Nothing here waits without an end: each call has a deadline of its own, outside of the engine's, and output is bounded. Files travel as
archives over a program's pipes, as the user that they are for; no path of the host is ever opened in a sandbox or the other way round.
"""

import asyncio
import contextlib
import errno
import os
import secrets
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct

from local_backend.sandboxes.archives import MAX_ENTRIES, Sanitised, pack, sanitise
from local_backend.sandboxes.failures import told_as_sandbox_error
from local_backend.sandboxes.interface import Process, Sandbox, SandboxError, SandboxGoneError, User

KEEP_BYTES = 64 << 10
"""Of each output stream, half of it from its start and half from its end."""

FLOOD_BYTES = 16 << 20
"""Who writes more than this is ended."""

FILES_SECONDS = 60.0
"""The deadline of one transfer of files, in seconds."""

_DRAIN_SECONDS = 0.5
"""After a program's end its output may be held open by what it left running; what came by then counts."""

_SMALL_BYTES = 1 << 20
"""An archive up to this size is written on a disk that is almost full, too: it is what there is still room for."""

_KILL_SECONDS = 10.0
_CHUNK = 1 << 18
_NOT_A_FILE = 41
_KILLED = 128 + signal.SIGKILL
_TAR_ATTEMPTS = 2


class SandboxFileError(SandboxError):
    """A file is not there, is no regular file, or is larger than asked: the sandbox is well."""


class Finished(Struct, frozen=True):
    """How a program ended."""

    exit_code: int | None
    """128 + N when signal N ended it; None when it was ended by us, for its time or its flood."""
    stdout: bytes
    stderr: bytes
    dropped: int
    """Bytes that were written and not kept, in both streams together; they are missing in the middle."""
    timed_out: bool
    flooded: bool
    seconds: float


class _Kept:
    """The head and the tail of a stream."""

    def __init__(self, most: int) -> None:
        self._most_head = most // 2 + most % 2
        self._most_tail = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        # Cut seldom, so that a flood of small pieces does not move the tail for each.
        if len(self._tail) > 2 * self._most_tail + _CHUNK:
            self._cut()

    def _cut(self) -> None:
        if (excess := len(self._tail) - self._most_tail) > 0:
            del self._tail[:excess]
            self.dropped += excess

    def whole(self) -> bytes:
        self._cut()
        if not self.dropped:
            return bytes(self._head + self._tail)
        return bytes(self._head) + f"\n[… {self.dropped:,} bytes left out …]\n".encode() + bytes(self._tail)


async def run(
    sandbox: Sandbox,
    command: Sequence[str],
    *,
    timeout: float,
    user: User = User.AGENT,
    stdin: bytes = b"",
    cwd: str | None = None,
    environ: Mapping[str, str] | None = None,
    keep: int = KEEP_BYTES,
    flood: int = FLOOD_BYTES,
) -> Finished:
    """Run a program to its end, or to the end of its time (seconds) or of its output (bytes).

    When it is ended early, so is every process of the agent's, if it ran as the agent; what ran as root may go on, and the sandbox is
    better ended. Cancelled, it ends the agent's processes likewise. Raises SandboxError, SandboxGoneError.
    """
    clock = asyncio.get_running_loop().time
    began = clock()
    kept = {"stdout": _Kept(keep), "stderr": _Kept(keep)}
    timed_out = flooded = False
    code: int | None = None
    process = await sandbox.spawn(command, user=user, cwd=cwd, environ=environ)
    try:
        async with _feeding(process, stdin):
            try:
                async with asyncio.timeout_at(began + timeout):
                    code, flooded = await _follow(process, kept, flood)
            except TimeoutError:
                timed_out = True
        # First let go of its pipes: an engine may be waiting for somebody to read what it holds.
        await process.aclose()
        if (timed_out or flooded) and user is User.AGENT:
            await _kill(sandbox)
    except asyncio.CancelledError:
        if user is User.AGENT:
            with contextlib.suppress(SandboxError):  # The caller is on its way out; the sandbox's own end ends them too.
                await _kill(sandbox)
        raise
    finally:
        await process.aclose()
    out, err = kept["stdout"].whole(), kept["stderr"].whole()
    dropped = kept["stdout"].dropped + kept["stderr"].dropped
    return Finished(code, out, err, dropped, timed_out, flooded, clock() - began)


@contextlib.asynccontextmanager
async def _feeding(process: Process, stdin: bytes) -> AsyncIterator[None]:
    """Feed its stdin while it is followed."""

    async def feed() -> None:
        with contextlib.suppress(SandboxError):  # It need not read all of it, and its end is told by `wait`.
            if stdin:
                await process.write(stdin)
            await process.close_stdin()

    task = asyncio.create_task(feed())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _follow(process: Process, kept: Mapping[str, _Kept], flood: int) -> tuple[int | None, bool]:
    """Its exit code and whether it flooded. Raises what `read` and `wait` raise."""

    async def drain() -> bool:
        total = 0
        while (piece := await process.read()) is not None:
            stream, data = piece
            kept[stream].add(data)
            total += len(data)
            if total > flood:
                return True
        return False

    draining = asyncio.create_task(drain())
    ending = asyncio.create_task(process.wait())
    try:
        await asyncio.wait({draining, ending}, return_when=asyncio.FIRST_COMPLETED)
        if draining.done() and draining.result():
            return None, True
        code = await ending
        await asyncio.wait({draining}, timeout=_DRAIN_SECONDS)
        return (None, True) if draining.done() and draining.result() else (code, False)
    finally:
        for task in (draining, ending):
            task.cancel()
        await asyncio.gather(draining, ending, return_exceptions=True)


async def _kill(sandbox: Sandbox) -> None:
    try:
        async with asyncio.timeout(_KILL_SECONDS):
            await sandbox.kill_agent()
    except TimeoutError:
        raise SandboxError(f"The sandbox's processes could not be ended within {_KILL_SECONDS:.0f} s.") from None


def said(stderr: bytes, most: int = 300) -> str:
    """The first line of what a program wrote to stderr, safe to put into a sentence: tar ends with a line that says nothing."""
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    text = "".join(letter if letter.isprintable() else "�" for letter in lines[0]) if lines else ""
    return text[:most]


# Files in.


async def put_files(
    sandbox: Sandbox,
    files: Mapping[str, bytes] | bytes,
    *,
    user: User,
    folder: str,
    mode: int = 0o644,
    timeout: float = FILES_SECONDS,
) -> None:
    """Put files below a folder, made if it is not there; they belong to the user. `files` by relative path, or a whole archive of ours.

    Raises SandboxError: a full disk, a folder that is not the user's.
    """
    owner = int(user.value)
    archive = files if isinstance(files, bytes) else pack(files, uid=owner, gid=owner, mode=mode)
    # -o: what root unpacks is root's, whatever the archive says.
    done = await run(sandbox, _unpack(folder), user=user, cwd="/", stdin=archive, timeout=timeout)
    _check_put(done, folder)


async def put_archive(
    sandbox: Sandbox,
    source: Path,
    *,
    user: User,
    folder: str,
    limit_bytes: int | None = None,
    as_it_is: bool = False,
    timeout: float = FILES_SECONDS,
) -> Sanitised | None:
    """Unpack an archive file of the host below a folder of the sandbox, as the user; what was left out of it, if it was sanitised.

    Untrusted archives are sanitised first (see `archives.sanitise`). `as_it_is` sends one unread: right for an agent's own files that go
    back to the agent, with all its links; refused for root. Raises SandboxError, ArchiveError.
    """
    if as_it_is:
        if user is not User.AGENT:
            raise SandboxError("An archive that was not looked into is unpacked as the agent only.")
        with _open(source) as file:
            await _send(sandbox, file, user, folder, timeout)
        return None
    limit = limit_bytes if limit_bytes is not None else 1 << 40
    refused = f"Files could not be put into {folder}, for they cannot be kept on this machine meanwhile"
    with told_as_sandbox_error(refused), tempfile.TemporaryFile(prefix="nodus-files-") as clean:
        found = await asyncio.to_thread(sanitise, source, clean, limit_bytes=limit, limit_entries=MAX_ENTRIES)
        clean.seek(0)
        await _send(sandbox, clean, user, folder, timeout)
    return found


def _open(source: Path) -> IO[bytes]:
    try:
        return source.open("rb")
    except OSError as error:
        raise SandboxError(f"The archive {source} cannot be opened: {error.strerror or error}.") from error


async def _send(sandbox: Sandbox, file: IO[bytes], user: User, folder: str, timeout: float) -> None:
    process = await sandbox.spawn(_unpack(folder), user=user, cwd="/")
    kept = {"stdout": _Kept(KEEP_BYTES), "stderr": _Kept(KEEP_BYTES)}

    async def feed() -> None:
        try:
            while data := await asyncio.to_thread(_next_of, file):
                await process.write(data)
            await process.close_stdin()
        except (SandboxGoneError, _UnreadableError):
            raise
        except SandboxError:
            return  # tar stopped reading, and says why.

    clock = asyncio.get_running_loop().time
    began = clock()
    both = (asyncio.ensure_future(_follow(process, kept, FLOOD_BYTES)), asyncio.ensure_future(feed()))
    try:
        async with asyncio.timeout(timeout):
            (code, flooded), _ = await asyncio.gather(*both)
    except TimeoutError:
        raise SandboxError(f"Files could not be put into {folder} within {timeout:.0f} s.") from None
    finally:
        # Where one has failed the other would go on, and wait for it.
        for each in both:
            each.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        await process.aclose()
    _check_put(Finished(code, b"", kept["stderr"].whole(), 0, timed_out=False, flooded=flooded, seconds=clock() - began), folder)


class _UnreadableError(SandboxError):
    """The archive that is to be sent cannot be read any more."""


def _next_of(file: IO[bytes]) -> bytes:
    try:
        return file.read(_CHUNK)
    except OSError as error:
        raise _UnreadableError(f"The archive that is to be unpacked cannot be read: {error.strerror or error}.") from error


def _unpack(folder: str) -> tuple[str, ...]:
    # -o: what root unpacks is root's, whatever the archive says.
    return ("sh", "-c", 'mkdir -p -- "$1" && cd -- "$1" && exec tar -x -o -f -', "sh", folder)


def _check_put(done: Finished, folder: str) -> None:
    if done.timed_out:
        raise SandboxError(f"Files could not be put into {folder} within {done.seconds:.0f} s.")
    if done.exit_code != 0:
        raise SandboxError(f"Files could not be put into {folder}: {said(done.stderr) or f'tar ended with {done.exit_code}'}.")


# Files out.


async def read_file(sandbox: Sandbox, path: str, *, user: User = User.AGENT, limit: int, timeout: float = FILES_SECONDS) -> bytes:
    """The first `limit` bytes of a regular file, as the user sees it. Raises SandboxFileError when there is none, SandboxError."""
    script = f'test -f "$1" && test -r "$1" || exit {_NOT_A_FILE}; exec head -c "$2" -- "$1"'
    command = ("sh", "-c", script, "sh", path, str(limit))
    done = await run(sandbox, command, user=user, timeout=timeout, keep=2 * limit + 2, flood=2 * limit + FLOOD_BYTES)
    if done.timed_out:
        raise SandboxError(f"{path} could not be read within {timeout:.0f} s.")
    if done.exit_code == _NOT_A_FILE:
        raise SandboxFileError(f"{path} is no regular file that can be read.")
    if done.exit_code != 0:
        raise SandboxFileError(f"{path} could not be read: {said(done.stderr)}.")
    return done.stdout


class Fetched(Struct, frozen=True):
    """What was taken out of a sandbox."""

    size_bytes: int
    """Of the archive."""
    incomplete: str = ""
    """Why some files are missing, as tar says; empty when none are. It is data from the sandbox."""


async def fetch_folder(
    sandbox: Sandbox,
    folder: str,
    *,
    user: User,
    target: Path,
    limit_bytes: int,
    timeout: float = FILES_SECONDS,
    room: Callable[[], int | None] | None = None,
) -> Fetched:
    """Take a folder out as an archive file of the host, which appears whole or not at all. What is in it is untrusted.

    `room` says how many bytes may be written before others have too little; what is small is written all the same.
    Raises SandboxFileError when it is larger than the limit, is no folder, or needs more memory than the sandbox has; SandboxError, OSError
    when the host's disk refuses it; ENOSPC also where there is no such room.
    """
    for _ in range(_TAR_ATTEMPTS):
        try:
            return await _fetch_once(sandbox, folder, user, target, limit_bytes, timeout, room)
        except _KilledError:
            # A container's end looks the same from here. Else the kernel did it, for want of memory, and mostly of the sandbox's own.
            if not await sandbox.alive():
                raise SandboxGoneError(f"{folder} could not be taken out: the sandbox has ended.") from None
    raise SandboxFileError(f"To take {folder} out needs more memory than is left in the sandbox (tar was killed).")


class _KilledError(Exception):
    """tar was killed, and by nobody here."""


async def _fetch_once(
    sandbox: Sandbox, folder: str, user: User, target: Path, limit_bytes: int, timeout: float, room: Callable[[], int | None] | None
) -> Fetched:
    # Hard links are told as files, for the archive's readers know of none; a tar that cannot do so is asked plainly.
    script = (
        f'cd -- "$1" || exit {_NOT_A_FILE}; '
        "if tar --hard-dereference --help >/dev/null 2>&1; then exec tar --hard-dereference -c -f - .; else exec tar -c -f - .; fi"
    )
    process = await sandbox.spawn(("sh", "-c", script, "sh", folder), user=user, cwd="/")
    kept = {"stderr": _Kept(KEEP_BYTES)}
    new = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        with new.open("xb") as file:
            try:
                async with asyncio.timeout(timeout):
                    await process.close_stdin()
                    size = await _save(process, file, kept["stderr"], limit_bytes, room)
                    code = await process.wait()
            except TimeoutError:
                raise SandboxError(f"{folder} could not be taken out within {timeout:.0f} s.") from None
            stderr = kept["stderr"].whole()
            if code == _NOT_A_FILE:
                raise SandboxFileError(f"{folder} is no folder that can be read.")
            if code == _KILLED:
                raise _KilledError
            # 1: a file changed meanwhile; 2: some could not be read. The archive is whole either way.
            if code not in {0, 1, 2}:
                raise SandboxError(f"{folder} could not be taken out: {said(stderr) or f'tar ended with {code}'}.")
            await asyncio.to_thread(_flush, file)
        new.replace(target)
    finally:
        with contextlib.suppress(OSError):  # What stays is swept later.
            new.unlink(missing_ok=True)
        await process.aclose()
    return Fetched(size, said(stderr) if code == 2 else "")


async def _save(process: Process, file: IO[bytes], stderr: _Kept, limit: int, room: Callable[[], int | None] | None) -> int:
    size = noise = 0
    while (piece := await process.read(_CHUNK)) is not None:
        stream, data = piece
        if stream == "stderr":
            stderr.add(data)
            noise += len(data)
        else:
            size += len(data)
            await asyncio.to_thread(file.write, data)
        if size > limit or noise > FLOOD_BYTES:
            raise SandboxFileError(f"The folder is larger than {limit:,} bytes.")
        if room is not None and size > _SMALL_BYTES and room() == 0:
            raise OSError(errno.ENOSPC, "the disk is almost full")
    return size


def _flush(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
