"""Files of a folder that one editor at a time has for itself: what two consoles keep under one name stands in files of their own.

A file is held by a lock on a file beside it, which ends with the process that holds it, however it ends.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from threading import Lock

_ONE_BY_ONE = Lock()
"""Within one console nobody looks whether a file is held while somebody takes it."""


class OwnPlace:
    """A file that is held from its making until `leave`."""

    def __init__(self, file: Path, handle: int | None, *, shared: bool) -> None:
        self.file = file
        self._handle = handle
        self.shared = shared
        """Whether another editor holds a file of the same name."""

    def leave(self) -> None:
        """Hold it no longer; what stands in it stays. It may be left several times."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(OSError):
                _beside(self.file).unlink()
            os.close(handle)


def take(folder: Path, stem: str, suffix: str, *, anew: bool = False) -> OwnPlace:
    """Hold the first file of that name that nobody holds: one with something in it before an empty place, `anew` only an empty one.

    Raises OSError where the folder can have no file.
    """
    with _ONE_BY_ONE:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = () if anew else places(folder, stem, suffix)
        shared = False
        for file in chain(kept, _names(folder, stem, suffix)):
            handle, held = _locked(file)
            shared = shared or held
            if not held and (file in kept or not file.exists()):
                return OwnPlace(file, handle, shared=shared)
            if handle is not None:
                OwnPlace(file, handle, shared=False).leave()
    raise AssertionError("there is always one more name")


def places(folder: Path, stem: str, suffix: str) -> tuple[Path, ...]:
    """The files of that name with something in them, whoever holds them."""
    first = folder / f"{stem}{suffix}"
    return (*((first,) if first.exists() else ()), *sorted(folder.glob(f"{stem}-*{suffix}")))


def is_held(file: Path) -> bool:
    """Whether an editor has it now, in this process or another one."""
    with _ONE_BY_ONE:
        try:
            if not _beside(file).exists():
                return False
            handle, held = _locked(file)
        except OSError:
            # Who may not write there cannot know, and can take nothing from anybody.
            return False
        if handle is not None:
            OwnPlace(file, handle, shared=False).leave()
        return held


def _names(folder: Path, stem: str, suffix: str) -> Iterator[Path]:
    yield folder / f"{stem}{suffix}"
    number = 2
    while True:
        yield folder / f"{stem}-{number}{suffix}"
        number += 1


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.name}.held")


def _locked(file: Path) -> tuple[int | None, bool]:
    """The lock, and whether somebody else has it. Where files cannot be locked at all, nobody has."""
    lock = _beside(file)
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None, True
        except OSError:
            return handle, False
        # Who held it has removed the file meanwhile: then the lock is on nothing that anybody else would find.
        with suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == lock.stat().st_ino:
                return handle, False
        os.close(handle)
