"""Where the detached scheduler listens, and what it writes down about itself."""

import hashlib
import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import psutil

from nodus_tui import __version__
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.regular_files import read_regular
from nodus_tui.contract.scheduler import RECORD_NAME, SchedulerRecord, surroundings_digest

LONGEST_SOCKET = 100
"""Bytes of a unix socket's path that every system takes."""


def socket_path(home: Path, environ: Mapping[str, str]) -> Path:
    """In the state folder, or where that path is too long for a socket in a short folder of this user alone.

    Raises NodusError when that one can be used by others.
    """
    path = home / "scheduler.sock"
    if _short(path):
        return path
    name = hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:16] + ".sock"
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    folders = ([Path(runtime) / "nodus-tui"] if runtime else []) + [Path(f"/tmp/nodus-{os.getuid()}")]  # noqa: S108 - see _private
    folder = next(folder for folder in folders if _short(folder / name))
    _make_private(folder)
    return folder / name


def _short(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST_SOCKET


def _make_private(folder: Path) -> None:
    """Make the folder; in a place where everybody may make folders, it must be found to be ours."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise NodusError(ErrorCode.CONFIGURATION, f"{folder} cannot be used for a socket: {error.strerror}") from error
    if folder.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise NodusError(
            ErrorCode.CONFIGURATION,
            f"{folder} must be a folder of yours that nobody else can use (chmod 700); or name a shorter state folder with NODUS_HOME",
        )


def new_record(socket: Path, config: Path | None, environ: Mapping[str, str]) -> SchedulerRecord:
    """What this process is, as a scheduler."""
    salt = secrets.token_hex(16)
    return SchedulerRecord(
        pid=os.getpid(),
        process_start_time=psutil.Process().create_time(),
        socket=str(socket),
        version=__version__,
        started_at=datetime.now(UTC),
        surroundings=surroundings_digest(read_regular(config) if config is not None else b"", environ, salt),
        salt=salt,
    )


def write_record(home: Path, record: SchedulerRecord) -> None:
    """As a whole, so that nobody reads half of it."""
    new = home / f"{RECORD_NAME}.{os.getpid()}.new"
    new.write_text(record.model_dump_json(by_alias=True, indent=2) + "\n", encoding="utf-8")
    new.replace(home / RECORD_NAME)


def remove_record(home: Path) -> None:
    """It has ended in order."""
    (home / RECORD_NAME).unlink(missing_ok=True)
