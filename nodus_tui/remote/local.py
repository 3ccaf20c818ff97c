"""The workspace's detached scheduler as a client sees it: find it, start it, attach to it, stop it.

Whether it runs is what its socket answers; the record beside the database (`scheduler.json`) says where that is. A record of a process
that is gone means a crash: the next one who works starts a new scheduler. No record means that it was stopped, or never started.
"""

import asyncio
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from msgspec import Struct
from pydantic import ValidationError

from nodus_tui.contract.errors import ErrorCode, NodusError, Problem
from nodus_tui.contract.regular_files import read_regular
from nodus_tui.contract.scheduler import RECORD_NAME, SAME_START_SECONDS, SchedulerRecord, surroundings_digest
from nodus_tui.remote.address import Address, socket_address

START_SECONDS = 180.0
"""How long a scheduler may take to its first answer: it settles what a crash left open, and waits for one before it that is stopping."""

STOP_SECONDS = 3_660.0
"""How long a scheduler that was asked to stop is waited for: the longest grace that the configuration allows, and a minute."""

_LOOK_SECONDS = 0.05
_TRIES = 5
_START_NAME = "scheduler.start"
"""In the state folder: locked by whoever is just starting a scheduler, with what came of the last start."""


class LocalScheduler(Struct, frozen=True):
    """The scheduler of one workspace."""

    home: Path
    config: Path | None
    module: Callable[[], str]
    """What `python -m` runs as the scheduler; asked for when one is started."""

    @property
    def log(self) -> Path:
        """Where it writes what it has to say."""
        return self.home / "logs" / "scheduler.log"

    # Looking.

    def record(self) -> SchedulerRecord | None:
        """What the last scheduler wrote down; None when it ended in order, or there was none."""
        try:
            return SchedulerRecord.model_validate_json(read_regular(self.home / RECORD_NAME))
        except (OSError, ValidationError):
            return None

    def running(self) -> SchedulerRecord | None:
        """The record of a scheduler that answers and takes work."""
        record = self.record()
        return record if record is not None and not record.stopping and _answers(Path(record.socket), self.home) else None

    def silence(self, record: SchedulerRecord) -> str:
        """What a scheduler that does not answer is doing, in a sentence; what to do where that is known."""
        import psutil  # noqa: PLC0415 - see process

        process = self.process(record)
        if process is None:
            return f"the scheduler (process {record.pid}) has ended: waiting for the one after it to answer"
        waiting = f"waiting for the scheduler (process {record.pid}) to answer"
        if process.status() == psutil.STATUS_STOPPED:
            return f"{waiting}: that process is stopped; `kill -CONT {record.pid}` lets it go on"
        return waiting

    def surroundings_changed(self, record: SchedulerRecord, environ: Mapping[str, str]) -> bool:
        """Whether the configuration file or a provider's key is another one now than when the scheduler was started."""
        try:
            text = read_regular(self.config) if self.config is not None else b""
        except OSError as error:
            raise NodusError(ErrorCode.CONFIGURATION, f"the configuration file {self.config} cannot be read: {error.strerror}") from error
        return surroundings_digest(text, environ, record.salt) != record.surroundings

    # Starting.

    async def ensure(self) -> SchedulerRecord | None:
        """The running scheduler, started where there is none. None when another process runs the work itself (`--in-process`).

        Raises NodusError when none can be started.
        """
        for _ in range(_TRIES):
            found = self.running()
            if found is not None:
                return found
            told = await asyncio.to_thread(self._launch)
            if told.get("state") == "held":
                return self.running()
        raise self._failed("it started and went away again")

    async def revive(self, acting: bool) -> Address:  # noqa: FBT001 - the one argument of its kind
        """Where to go on after a loss. Whoever only looks starts a scheduler after a crash, but none that was stopped on purpose."""
        record = self.record()
        if record is not None and not record.stopping and _answers(Path(record.socket), self.home):
            return socket_address(Path(record.socket))
        if not acting and (record is None or record.stopping):
            raise NodusError(
                ErrorCode.UNAVAILABLE,
                "this workspace's scheduler was stopped; everything is kept. `nodus-tui scheduler start`, or any verb that works, goes on",
            )
        found = await self.ensure()
        if found is None:
            raise NodusError(ErrorCode.UNAVAILABLE, "another process runs this workspace's work now: start this one again to watch it")
        return socket_address(Path(found.socket))

    def _launch(self) -> dict[str, Any]:
        """Start a process and hear what comes of it; where somebody else is just starting one, hear it of that one. Blocks.

        Many clients lose one scheduler in the same moment: a process for each of them would only find the first one's lock.
        """
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.log.parent.mkdir(mode=0o700, exist_ok=True)
            with (self.home / _START_NAME).open("a+b") as turn:
                out = self._told_to_others(turn)
                if not out and self.running() is not None:
                    return {"state": "ready"}
                if not out:
                    turn.truncate(0)
                    out = self._started()
                    turn.write(out)
        except OSError as error:
            raise self._failed(error.strerror or str(error)) from error
        except subprocess.TimeoutExpired as error:
            raise self._late() from error
        return self._told(out)

    def _told_to_others(self, turn: IO[bytes]) -> bytes:
        """Wait until nobody else starts a scheduler; gives what that one heard, and nothing where nobody was in between."""
        waited, until = False, time.monotonic() + START_SECONDS
        while True:
            try:
                fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise self._late() from None
                waited = True
                time.sleep(_LOOK_SECONDS)
                continue
            turn.seek(0)
            return turn.read() if waited else b""

    def _started(self) -> bytes:
        """Start a process; gives the line that it tells its starter. Blocks. Raises OSError and TimeoutExpired."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - this interpreter, and a module that an installed package names
                [sys.executable, "-P", "-m", self.module(), *self._arguments(), "--detach"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
            out, _ = process.communicate(timeout=START_SECONDS)
        return out

    def _late(self) -> NodusError:
        return self._failed(f"it has not answered within {START_SECONDS:.0f} s")

    def _arguments(self) -> list[str]:
        return ["--home", str(self.home), *(["--config", str(self.config)] if self.config is not None else [])]

    def _told(self, out: bytes) -> dict[str, Any]:
        try:
            told = json.loads(out)
        except ValueError:
            raise self._failed("it ended at once") from None
        if "problem" in told:
            problem = Problem.model_validate(told["problem"])
            raise NodusError(problem.code, problem.detail, problem.faults)
        return dict(told)

    def _failed(self, why: str) -> NodusError:
        return NodusError(
            ErrorCode.UNAVAILABLE,
            f"the scheduler of {self.home} could not be started: {why}; {self.log} has more. "
            "`--in-process` works without one for as long as the command runs",
        )

    # Stopping.

    async def stop(self) -> SchedulerRecord | None:
        """Ask it to end, and wait until it has. Gives the record of the one that ended; None when none ran."""
        record = self.record()
        if record is None or self.process(record) is None:
            return None
        try:
            os.kill(record.pid, signal.SIGTERM)
        except ProcessLookupError:
            return record
        except PermissionError as error:
            raise NodusError(ErrorCode.UNAVAILABLE, f"the scheduler (process {record.pid}) belongs to another user") from error
        if not await asyncio.to_thread(self._gone, record):
            raise NodusError(ErrorCode.UNAVAILABLE, f"the scheduler (process {record.pid}) has not ended; {self.log} may say why")
        return record

    def _gone(self, record: SchedulerRecord) -> bool:
        """Wait until the process has ended; False when it does not. Blocks."""
        until = time.monotonic() + STOP_SECONDS
        while self.process(record) is not None:
            if time.monotonic() > until:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    def process(self, record: SchedulerRecord) -> Any:
        """The record's process (psutil.Process); None when it is gone, whoever has its number now."""
        import psutil  # noqa: PLC0415 - needed to stop it and to tell its state only

        try:
            process = psutil.Process(record.pid)
            same = abs(process.create_time() - record.process_start_time) <= SAME_START_SECONDS
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def _answers(path: Path, home: Path) -> bool:
    """Whether somebody listens there who may: this user, or the owner of the state folder."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        if not hasattr(socket, "SO_PEERCRED"):
            return True
        _, uid, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    if uid not in {os.getuid(), home.stat().st_uid}:
        raise NodusError(
            ErrorCode.CONFIGURATION, f"{path} belongs to user {uid}, who is not the owner of {home}: nothing is sent there; remove it"
        )
    return True
