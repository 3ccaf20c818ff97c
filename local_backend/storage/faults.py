"""What is wrong with a database that does not do what it is asked: a sentence for people, and whether it may get well by itself."""

import sqlite3
from pathlib import Path

from nodus_tui.contract.errors import ErrorCode, NodusError

_FULL = sqlite3.SQLITE_FULL
_READ_ONLY = sqlite3.SQLITE_READONLY
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_DISK = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM})


def _primary_code(error: Exception) -> int:
    """SQLite's primary result code; 0 where the error is not SQLite's own."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def storage_error(path: Path, error: Exception) -> NodusError:
    """The sentence for a database that does not do what it is asked: what is wrong, and what to do."""
    code = _primary_code(error)
    if code == _FULL:
        detail = f"the disk that holds {path} is full: free some space. What was committed is kept"
    elif code == _READ_ONLY:
        detail = (
            f"the database {path} cannot be written: its disk is read-only, or its file's permissions forbid it. "
            "Make it writable, or name another folder with NODUS_HOME. What was committed is kept"
        )
    elif code in _DAMAGED:
        detail = (
            f"the database {path} is damaged ({error}). Nothing was written over it: copy its folder away first, then rescue what can be "
            f"read with `sqlite3 {path.name} .recover`, or begin anew in another folder with NODUS_HOME"
        )
    elif code in _LOCKED:
        detail = f"another program keeps the database {path} locked ({error}): close that program"
    elif code in _DISK:
        detail = f"the disk under {path} does not do what it is asked ({error}): check the disk and its space. What was committed is kept"
    else:
        detail = f"the database {path} cannot be used: {error}; is the disk full, read-only or the file damaged?"
    return NodusError(ErrorCode.UNAVAILABLE, detail)


def gone_error(path: Path) -> NodusError:
    """The sentence for a database that was taken away from under a process that has it open."""
    return NodusError(
        ErrorCode.UNAVAILABLE,
        f"the database {path} was deleted, moved or replaced while it was in use: nothing more is started or written. "
        "Put the folder back if it was moved, and start again",
    )


def takes_everything_down(error: Exception) -> bool:
    """Whether no further statement can be trusted to reach the disk: it is not about the one statement that met it."""
    return _primary_code(error) in {_FULL, _READ_ONLY, *_DAMAGED, *_LOCKED, *_DISK}


def may_get_well(error: Exception) -> bool:
    """Whether the same database may be usable again later, once somebody made room, unlocked it or remounted its disk."""
    return _primary_code(error) not in _DAMAGED
