"""Opening a file to read it without ever waiting for somebody at its other end: a pipe or a device by that name is none of our files."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_NAMED_BY_THE_SHELL = ("/dev/fd/", "/proc/self/fd/")
_ALWAYS_THERE = frozenset({"/dev/stdin", os.devnull})


class NotRegularError(OSError):
    """There is something else by that name: a pipe, a device, a socket. Its text is in `strerror`."""

    def __init__(self, path: Path) -> None:
        super().__init__(0, "it is no regular file", str(path))


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read its bytes.

    What a shell gives a command to read under a name (`<(...)`, `/dev/stdin`) is opened as well: its writer is there.
    Raises OSError as any opening, IsADirectoryError for a folder, NotRegularError for everything else; ValueError for what is no path.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        # So the opening of a socket fails.
        raise NotRegularError(path) if error.errno == errno.ENXIO else error from None
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode) or (not stat.S_ISDIR(mode) and _is_given(path)):
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise NotRegularError(path)


def read_regular(path: Path, most: int = -1) -> bytes:
    """Its bytes, at most so many of them. Raises as `open_regular`."""
    with open_regular(path) as file:
        return file.read(most)


def _is_given(path: Path) -> bool:
    name = str(path)
    return name in _ALWAYS_THERE or name.startswith(_NAMED_BY_THE_SHELL)
