"""What anybody may read of a workspace's jobs beside their records: their logs, and the outputs that were kept. It starts nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path

from local_backend.jobs.describing import job_resource
from local_backend.jobs.launching import job_folder
from local_backend.jobs.log_files import read_log, whole_characters
from local_backend.jobs.order import LOG_FOLDER, read_report
from local_backend.jobs.outputs import ChangedError, entries, pieces
from local_backend.storage.job_records import JobRecord
from local_backend.storage.store import Store
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.job import Job, JobLog
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.wording import quoted

_LOOK_SECONDS = 0.2
LEAST_PIECE = 4
"""Bytes: a piece holds at least one character."""
LARGEST_PIECE = 1 << 20


class JobDesk:
    """Reads one workspace's jobs."""

    def __init__(self, store: Store, home: Path, grace: timedelta, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._home = home
        self._grace = grace
        self._clock = clock

    async def record(self, name: str, kind: str | None = None) -> JobRecord:
        """A job's record, of any kind or of one only. Raises NotFound with the nearest name."""
        rows = await self._store.read("SELECT * FROM jobs WHERE name = ? AND kind = coalesce(?, kind)", (name, kind))
        if not rows:
            names = await self._store.read("SELECT name FROM jobs WHERE kind = coalesce(?, kind) LIMIT 10000", (kind,))
            raise NodusError.not_found(kind or "Job", name, nearest(name, [row["name"] for row in names]))
        return JobRecord.from_row(rows[0])

    def resource(self, record: JobRecord) -> Job | TrainingJob:
        """The job as it stands now."""
        return job_resource(record, self._clock(), self._grace)

    async def log(self, name: str, *, after: int, limit: int, wait_seconds: float) -> JobLog:
        """A part of its log; where there is none after that place yet, some that comes within the time. Raises NodusError."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_seconds
        while True:
            found = await self._log(name, after, min(max(limit, LEAST_PIECE), LARGEST_PIECE))
            if found.text or found.ended or loop.time() >= until:
                return found
            await asyncio.sleep(_LOOK_SECONDS)

    async def _log(self, name: str, after: int, limit: int) -> JobLog:
        record = await self.record(name)
        folder = job_folder(self._home, name)
        # Looked at before the log is read: what it says to be over has all been written by then.
        over = record.ended or await asyncio.to_thread(_over, folder, record.token)
        try:
            piece = await asyncio.to_thread(read_log, folder / LOG_FOLDER, after, limit)
        except OSError as error:
            raise NodusError(ErrorCode.UNAVAILABLE, f"the log of {name} cannot be read: {error.strerror or error}") from error
        last = piece.offset + len(piece.data) >= piece.size
        data = piece.data if last and over else whole_characters(piece.data)
        return JobLog(
            job=name,
            offset=piece.offset,
            next_offset=piece.offset + len(data),
            size=piece.size,
            skipped=piece.skipped,
            text=data.decode(errors="replace"),
            ended=over and last,
        )

    async def files(self, name: str) -> tuple[FileEntry, ...]:
        """The outputs that were kept. Raises NodusError."""
        record = await self._ended(name)
        return await asyncio.to_thread(entries, job_folder(self._home, name), record.outputs)

    async def read_file(self, name: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them. Raises NodusError."""
        record = await self._ended(name)
        output = next((each for each in record.outputs if each["path"] == path), None)
        if output is None:
            raise NodusError(ErrorCode.NOT_FOUND, f"{name} has kept no output {quoted(path)}")
        content = pieces(job_folder(self._home, name), output)
        try:
            while (piece := await asyncio.to_thread(next, content, None)) is not None:
                yield piece
        except ChangedError:
            detail = f"the kept output {quoted(path)} of {name} is not what was kept: its sha256 differs from the manifest's"
            raise NodusError(ErrorCode.UNAVAILABLE, detail) from None
        except OSError as error:
            raise NodusError(ErrorCode.UNAVAILABLE, f"{quoted(path)} of {name} cannot be read: {error.strerror or error}") from error

    async def _ended(self, name: str) -> JobRecord:
        record = await self.record(name)
        if not record.ended:
            raise NodusError(ErrorCode.NOT_FOUND, f"{name} has not ended; its outputs are kept when it does")
        return record


def _over(folder: Path, token: str) -> bool:
    report = read_report(folder, token) if token else None
    return report is not None and report.state == "Ended"
