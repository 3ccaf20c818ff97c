"""Files of the judged user, reached as that user, so that a link leads to nothing which it could not read itself."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
import time

from .processes import WORK, SolutionError, become, end_child, fork, reap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LARGEST = 2**20


def read(path: str, limit: int = _LARGEST) -> bytes:
    """A regular file, read as the judged user; a relative path starts in the work folder. A link anywhere in its path is refused.

    Raises SolutionError when there is none, it cannot be read, or it is longer than `limit` bytes.
    """
    data = _done_as_judged(lambda: _read_file(absolute(path), limit), limit + 2)
    if len(data) > limit:
        raise SolutionError(f"{path} is longer than {limit} bytes")
    return data


def write(path: str, data: bytes | str, *, executable: bool = False) -> None:
    """Put a file into the work folder as the judged user, in place of what is there. Raises SolutionError."""
    content = data.encode() if isinstance(data, str) else data
    _done_as_judged(lambda: _write_file(absolute(path), content, 0o755 if executable else 0o644), 1)


def absolute(path: str) -> str:
    """The path; a relative one starts in the work folder."""
    return os.path.normpath(os.path.join(WORK, path))


def _folder(path: str, *, make: bool) -> int:
    """A descriptor of a file's folder, walked to without following any link."""
    here = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    for part in [each for each in os.path.dirname(path).split("/") if each]:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=here)
        here = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
    return here


def _read_file(path: str, limit: int) -> bytes:
    file = os.open(os.path.basename(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=_folder(path, make=False))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    data = b""
    while len(data) <= limit:
        piece = os.read(file, min(2**20, limit + 1 - len(data)))
        if not piece:
            break
        data += piece
    return data


def _write_file(path: str, content: bytes, mode: int) -> bytes:
    folder = _folder(path, make=True)
    name = os.path.basename(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]
    return b""


def _done_as_judged(action: Callable[[], bytes], most: int, seconds: float = 10.0) -> bytes:
    """Do something with files in a forked child that has become the judged user. No judged code runs in it."""
    told, tell = os.pipe()
    pid = fork()
    if pid == 0:
        end_child(lambda: _tell(action, tell))
    os.close(tell)
    data = bytearray()
    deadline = time.monotonic() + seconds
    try:
        while len(data) <= most + 1000:
            ready, _, _ = select.select([told], [], [], max(deadline - time.monotonic(), 0))
            piece = os.read(told, 65_536) if ready else b""
            if not piece:
                break
            data += piece
    finally:
        os.close(told)
        reap(pid, deadline)
    if data[:1] == b"+":
        return bytes(data[1:])
    raise SolutionError(bytes(data[1:]).decode("utf-8", "replace") or "the file could not be reached")


def _tell(action: Callable[[], bytes], tell: int) -> None:
    for number in [int(name) for name in os.listdir("/proc/self/fd")]:
        if number != tell:
            with contextlib.suppress(OSError):
                os.close(number)
    become()
    try:
        rest = b"+" + action()
    except OSError as error:
        rest = b"-" + str(error.strerror).encode()
    while rest:
        rest = rest[os.write(tell, rest) :]
