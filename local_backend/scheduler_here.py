"""The process that does a workspace's work, as one looks into it: its record, how late it is, its files, and the end of its log."""

import asyncio
import os
import shutil
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import psutil

from nodus_tui import __version__
from nodus_tui.contract.regular_files import read_regular
from nodus_tui.contract.scheduler import RECORD_NAME, SAME_START_SECONDS, SchedulerRecord
from nodus_tui.contract.scheduler_view import (
    LARGEST_LOG_BYTES,
    SMALLEST_LOG_BYTES,
    LoopLag,
    SchedulerFacts,
    SchedulerLog,
    SchedulerView,
)

LOG_NAME = Path("logs") / "scheduler.log"
"""In the state folder."""
_MEASURED = 300
"""Waits that the figures are of."""
_LINE_LOOK = 4096
"""Bytes in which the beginning of a line is looked for, where a part begins in the middle of one."""


def read_record(home: Path) -> SchedulerRecord | None:
    """What a scheduler has written down; None where none has, or not in full."""
    try:
        return SchedulerRecord.model_validate_json(read_regular(home / RECORD_NAME))
    except (OSError, ValueError):
        return None


def is_alive(record: SchedulerRecord) -> bool:
    """Whether the process that wrote it still runs; another one may have its number by now."""
    try:
        process = psutil.Process(record.pid)
        return abs(process.create_time() - record.process_start_time) <= SAME_START_SECONDS and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


class LagMeter:
    """Measures by the waits that a process has anyway how late its event loop is: it never wakes the process up itself."""

    def __init__(self) -> None:
        self._late: deque[tuple[float, float]] = deque(maxlen=_MEASURED)
        """When each wait ended, and how much too late, in seconds."""

    async def sleep(self, seconds: float) -> None:
        """Wait, and see how long that took."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        await asyncio.sleep(seconds)
        self.note(loop.time(), loop.time() - due)

    def note(self, at: float, late: float) -> None:
        """A wait ended at a time of any steady clock, and so much too late."""
        self._late.append((at, max(0.0, late)))

    def told(self) -> LoopLag | None:
        """The figures; None before anything was measured."""
        late = sorted(each * 1000 for _, each in self._late)
        if not late:
            return None
        return LoopLag(
            median_ms=late[len(late) // 2],
            p99_ms=late[min(len(late) - 1, len(late) * 99 // 100)],
            most_ms=late[-1],
            seconds=self._late[-1][0] - self._late[0][0],
        )


class _Files(NamedTuple):
    facts: SchedulerFacts
    log: SchedulerLog


class SchedulerHere:
    """One a backend."""

    def __init__(self, home: Path, database: Path, clock: Callable[[], datetime]) -> None:
        self._home = home
        self._database = database
        self._clock = clock
        self.lag = LagMeter()

    async def view(self, *, works: bool, last_event: int, after: int, limit: int) -> SchedulerView:
        """All of it; `works` says whether this process does the work."""
        found = await asyncio.to_thread(self._look, after, limit, works=works)
        facts = found.facts.model_copy(update={"last_event": last_event, "loop_lag": self.lag.told() if works else None})
        return SchedulerView(at=self._clock(), facts=facts, log=found.log)

    def _look(self, after: int, limit: int, *, works: bool) -> _Files:
        record = read_record(self._home)
        if record is not None and not is_alive(record):
            record = None
        here = works and (record is None or record.pid != os.getpid())
        pid = os.getpid() if here else record.pid if record is not None else None
        facts = SchedulerFacts(
            pid=pid,
            started_at=_started(pid) if here else record.started_at if record is not None else None,
            version=__version__ if here else record.version if record is not None else "",
            socket="" if here or record is None else record.socket,
            home=str(self._home),
            store_bytes=_size(self._database, self._database.with_name(self._database.name + "-wal")),
            memory_bytes=_memory(pid),
            free_disk_bytes=_free(self._home),
        )
        return _Files(facts, read_log(self._home / LOG_NAME, after, limit))


def read_log(path: Path, after: int, limit: int) -> SchedulerLog:
    """A part of a log, from a byte on or, negative, from the end; whole lines, where they are not longer than the part."""
    limit = min(max(limit, SMALLEST_LOG_BYTES), LARGEST_LOG_BYTES)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # A place behind the end is of a file that was put aside since: the new one is given from its beginning.
            start = max(0, size + after) if after < 0 else after if after <= size else 0
            file.seek(start)
            data = file.read(limit)
            if after < 0 and start and (cut := data[:_LINE_LOOK].find(b"\n")) >= 0:
                start, data = start + cut + 1, data[cut + 1 :]
    except FileNotFoundError:
        return SchedulerLog(path=str(path), problem="there is no log: no scheduler of its own process has worked in this folder yet")
    except OSError as error:
        return SchedulerLog(path=str(path), problem=f"the log {path} cannot be read: {error.strerror or error}")
    whole = data.rfind(b"\n") + 1
    if whole or len(data) < limit:
        data = data[:whole]
    return SchedulerLog(text=data.decode(errors="replace"), offset=start, next_offset=start + len(data), size=size, path=str(path))


def _started(pid: int | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(psutil.Process(pid).create_time(), UTC)
    except psutil.Error:
        return None


def _memory(pid: int | None) -> int | None:
    try:
        return int(psutil.Process(pid).memory_info().rss) if pid is not None else None
    except psutil.Error:
        return None


def _size(*files: Path) -> int | None:
    sizes = [file.stat().st_size for file in files if file.exists()]
    return sum(sizes) if sizes else None


def _free(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
