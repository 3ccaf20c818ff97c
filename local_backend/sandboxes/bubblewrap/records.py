"""Records of bubblewrap sandboxes: one small file each in the user's runtime folder, so that whoever comes later finds what is left.

A record takes a slot, and the slot's number gives the sandbox its host uids: no two that run at the same time share one. Blocking:
tenths of a millisecond; called in a thread.
"""

import contextlib
import errno
import fcntl
import json
import logging
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from local_backend.handed_over import known
from local_backend.sandboxes.failures import told_as_sandbox_error
from local_backend.sandboxes.interface import Owner, SandboxError
from nodus_tui.values import fields_of, replace

_SLOTS = 10_000
_HALF_WRITTEN_SECONDS = 60.0
"""A file that was to become a record and is older than this is nobody's any more: its writer was killed."""
_ROOT_FOLDER = Path("/run/nodus-tui/sandboxes")

_log = logging.getLogger(__name__)


class Record(Struct, frozen=True):
    """What is known of one sandbox."""

    id: str
    run: str
    purpose: str
    owner: Owner
    image: str
    created_at: str
    """ISO 8601, UTC."""
    network: bool = False
    groups: tuple[str, ...] = ()
    """Its control groups' folders."""
    init: int | None = None
    """Its process 1, as the host counts it."""
    init_started: str = ""
    """That process's start time in the kernel's ticks."""
    slot: int = -1


class Records:
    """The records of one user on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next = 0

    def take(self, record: Record) -> Record:
        """Write a new record in a free slot, and give it with the slot. Raises SandboxError."""
        self._prepare()
        with told_as_sandbox_error(f"The sandbox's record could not be written in {self._folder}"), self._written(record) as new:
            for tried in range(_SLOTS):
                slot = (self._next + tried) % _SLOTS
                try:
                    # A link appears whole or not at all, and never over another.
                    self._path(slot).hardlink_to(new)
                except FileExistsError:
                    continue
                self._next = slot + 1
                return replace(record, slot=slot)
        raise SandboxError(f"{_SLOTS} sandboxes are recorded in {self._folder}: remove leftovers with `nodus-tui sandboxes reap`.")

    def update(self, record: Record) -> None:
        """Write it anew in its slot. Raises OSError: FileNotFoundError where somebody removed it meanwhile."""
        with self._written(record) as new, self._alone():
            if not self._holds(record):
                raise FileNotFoundError(errno.ENOENT, "its record was removed", str(self._path(record.slot)))
            new.replace(self._path(record.slot))

    def remove(self, record: Record) -> None:
        """Its slot is free again. One that somebody removed before is no matter, and neither is who has its slot since.

        Raises SandboxError.
        """
        failed = f"The sandbox's record could not be removed from {self._folder}"
        with told_as_sandbox_error(failed), contextlib.suppress(FileNotFoundError), self._alone():
            if self._holds(record):
                self._path(record.slot).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else of this machine changes or removes a record between the look at it and what is done. Raises OSError."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _holds(self, record: Record) -> bool:
        try:
            return bool(json.loads(self._path(record.slot).read_text(encoding="utf-8"))["id"] == record.id)
        except FileNotFoundError:
            return False
        except (OSError, ValueError, TypeError, KeyError):
            # Damaged, it is nobody else's: records appear whole.
            return True

    def all(self) -> list[Record]:
        """Every record. What a killed writer left beside them is removed. Raises SandboxError."""
        self._sweep()
        return list(self._read())

    def _read(self) -> Iterator[Record]:
        try:
            paths = sorted(self._folder.glob("*.json"))
        except OSError as error:
            raise SandboxError(f"{self._folder} cannot be read: {error.strerror or error}.") from error
        for path in paths:
            try:
                yield _record(json.loads(path.read_text(encoding="utf-8")), int(path.stem))
            except FileNotFoundError:
                continue  # It was removed meanwhile.
            except (OSError, ValueError, TypeError, KeyError) as error:
                # One that is damaged must not hide the others, which belong to every workspace of this machine.
                _log.warning("%s is no record of a sandbox, and is passed over: remove it if nothing runs any more (%s)", path, error)

    def _sweep(self) -> None:
        with contextlib.suppress(OSError):
            for path in list(self._folder.glob(".*")):
                with contextlib.suppress(OSError):
                    if time.time() - path.lstat().st_mtime > _HALF_WRITTEN_SECONDS:
                        path.unlink()

    @contextlib.contextmanager
    def _written(self, record: Record) -> Iterator[Path]:
        """The record in a file beside the others, for as long as it takes to put it into its slot. Raises OSError."""
        values = fields_of(record)
        del values["slot"]
        new = self._folder / f".{secrets.token_hex(8)}"
        try:
            new.write_text(json.dumps(values), encoding="utf-8")
            yield new
        finally:
            with contextlib.suppress(OSError):  # What stays is swept later.
                new.unlink(missing_ok=True)

    def _path(self, slot: int) -> Path:
        return self._folder / f"{slot:05}.json"

    def _prepare(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            found = self._folder.lstat()
        except OSError as error:
            raise SandboxError(f"The folder {self._folder} for sandboxes' records cannot be made: {error.strerror or error}.") from error
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise SandboxError(
                f"{self._folder} is not a folder of yours; sandboxes' records need one. XDG_RUNTIME_DIR can name another place."
            )


def _record(values: Any, slot: int) -> Record:
    """A record as it was written; whoever did may be of a newer version, which says more. Raises ValueError, TypeError, KeyError."""
    if not isinstance(values, dict) or not isinstance(values["owner"], dict):
        raise TypeError("it is no object")
    record = convert({**known(Record, values), "owner": known(Owner, values["owner"]), "slot": slot}, Record)
    created_at(record)
    return record


def records_folder(environ: Mapping[str, str]) -> Path:
    """Where this user's records lie: one place for all workspaces, gone with a restart of the machine."""
    if os.geteuid() == 0:
        return _ROOT_FOLDER
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.path.isdir(runtime):  # noqa: PTH112 - of another user's folder, which may not be looked into, this says no
        return Path(runtime) / "nodus-tui" / "sandboxes"
    return Path(tempfile.gettempdir()) / f"nodus-tui-sandboxes-{os.getuid()}"


def started_ticks(pid: int) -> str:
    """A process's start time in the kernel's ticks; empty when it is not there or a zombie. Raises OSError where that cannot be seen."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        if fields[0] not in {b"Z", b"X"}:
            return fields[19].decode()
    return ""


def created_at(record: Record) -> datetime:
    """When it was made."""
    return datetime.fromisoformat(record.created_at)
