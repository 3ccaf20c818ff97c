"""The shelf of Jobs and TrainingJobs."""

from local_backend.jobs.desk import JobDesk
from local_backend.reading.shelf import page_of
from local_backend.storage.job_records import JobRecord
from local_backend.storage.store import Store
from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.training_job import TrainingJob


class JobShelf:
    """Reads one workspace's jobs."""

    def __init__(self, store: Store, desk: JobDesk) -> None:
        self._store = store
        self._desk = desk

    async def get(self, kind: str, name: str) -> Job | TrainingJob:
        """A job of this kind. Raises NotFound with the nearest name."""
        return self._desk.resource(await self._desk.record(name, kind))

    async def page(self, kind: str, query: Query) -> Page:
        """Jobs of a kind in order of creation."""
        rows = await self._store.read(
            "SELECT * FROM jobs WHERE kind = ? AND seq > coalesce((SELECT seq FROM jobs WHERE name = ?), 0) ORDER BY seq LIMIT ?",
            (kind, query.after, query.limit + 1),
        )
        return page_of([self._desk.resource(JobRecord.from_row(row)) for row in rows], query)
