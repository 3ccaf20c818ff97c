"""The present and what changes after it: snapshots, and one stream of events with cursors."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime

from local_backend.jobs.desk import JobDesk
from local_backend.reading.definitions import DefinitionShelf
from local_backend.reading.groups import GroupShelf
from local_backend.reading.shelf import ROWS_AT_ONCE
from local_backend.reading.told_groups import group_resource
from local_backend.sandbox_kind.desk import BoxDesk
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import GroupRecord
from local_backend.storage.sandbox_records import SandboxRecord
from local_backend.storage.store import POLL_SECONDS, Store
from local_backend.storage.sweep_records import SweepRecord
from local_backend.sweeps.telling import sweep_resource
from nodus_tui.contract.events import Event, EventBatch, Snapshot
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.training_job import TrainingJob

_MOST_EVENTS = 5000
"""Events read at once, before merging."""


class Stream:
    """The events of one workspace.

    `check` raises NodusError when nothing more is to be expected from the workspace: a watcher must not wait for ever.
    """

    def __init__(self, store: Store, check: Callable[[], None]) -> None:
        self._store = store
        self._check = check
        self._wakes: set[asyncio.Event] = set()
        store.on_commit(self._wake)

    def _wake(self) -> None:
        for wake in self._wakes:
            wake.set()

    async def watch(self, after: int) -> AsyncIterator[EventBatch]:
        """Everything after a cursor, in order, for ever."""
        wake = asyncio.Event()
        self._wakes.add(wake)
        try:
            while True:
                wake.clear()
                version = await self._store.data_version()
                rows = await self._store.read("SELECT * FROM events WHERE cursor > ? ORDER BY cursor LIMIT ?", (after, _MOST_EVENTS))
                if rows:
                    after = rows[-1]["cursor"]
                    yield EventBatch(cursor=after, events=merge(await _events(rows)))
                    continue
                await self._changed(wake, version)
        finally:
            self._wakes.discard(wake)

    async def _changed(self, wake: asyncio.Event, version: int) -> None:
        """Return after a commit of this process, or once another process has committed since that version."""
        while True:
            try:
                await asyncio.wait_for(wake.wait(), POLL_SECONDS)
            except TimeoutError:
                self._check()
                if await self._store.data_version() == version:
                    continue
            return


async def read_snapshot(
    store: Store, groups: GroupShelf, definitions: DefinitionShelf, jobs: JobDesk, boxes: BoxDesk, runs_of: str | None
) -> Snapshot:
    """All groups and some runs, at one cursor: those of the group `runs_of`, all where it is empty, none where it is None."""
    wanted = "1" if runs_of == "" else "group_name = ?"
    cursor, group_rows, run_rows, job_rows, budget_rows, sweep_rows, box_rows = await store.read_many(
        [
            ("SELECT coalesce(max(cursor), 0) AS cursor FROM events", ()),
            ("SELECT * FROM groups ORDER BY seq", ()),
            (f"SELECT * FROM runs WHERE {wanted} ORDER BY seq", () if runs_of == "" else (runs_of,)),  # noqa: S608 - constants
            ("SELECT * FROM jobs ORDER BY seq", ()),
            ("SELECT * FROM resources WHERE kind = 'Budget' ORDER BY created_at, name", ()),
            ("SELECT * FROM sweeps ORDER BY seq", ()),
            ("SELECT * FROM sandboxes ORDER BY seq", ()),
        ]
    )
    jobs_of_any_kind = [jobs.resource(JobRecord.from_row(row)) for row in job_rows]
    return Snapshot(
        cursor=cursor[0]["cursor"],
        groups=tuple(group_resource(GroupRecord.from_row(row)) for row in group_rows),
        runs=tuple(await groups.runs_of(run_rows)),
        jobs=tuple(each for each in jobs_of_any_kind if isinstance(each, Job)),
        training_jobs=tuple(each for each in jobs_of_any_kind if isinstance(each, TrainingJob)),
        budgets=tuple([await definitions.budget(row) for row in budget_rows]),
        sweeps=tuple(sweep_resource(SweepRecord.from_row(row)) for row in sweep_rows),
        sandboxes=tuple(boxes.resource(SandboxRecord.from_row(row)) for row in box_rows),
    )


async def _events(rows: Sequence[sqlite3.Row]) -> list[Event]:
    made = []
    for place, row in enumerate(rows):
        if place % ROWS_AT_ONCE == ROWS_AT_ONCE - 1:
            await asyncio.sleep(0)
        made.append(event_from_row(row))
    return made


def event_from_row(row: sqlite3.Row) -> Event:
    """One stored event."""
    body = json.loads(row["body"])
    # Not validated again: this package wrote the row, and a watcher of a thousand runs reads thousands a second. Every field is named,
    # for to find out what each default is takes as long as all the rest.
    return Event.model_construct(
        cursor=row["cursor"],
        at=datetime.fromisoformat(row["at"]),
        change=row["change"],
        kind=row["kind"],
        name=row["name"],
        group=row["group_name"],
        spec=body.get("spec", {}),
        status=body.get("status", {}),
        metadata=body.get("metadata", {}),
    )


def merge(events: Sequence[Event]) -> tuple[Event, ...]:
    """One event for each object: what changed last of each field. A creation or a deletion ends the merging before it.

    The merged event has the last cursor of its parts and stands in that order, so that a reader that stops in between misses nothing.
    """
    open_at: dict[tuple[str, str], int] = {}
    merged: list[Event | None] = []
    for event in events:
        key = (event.kind, event.name)
        before = merged[open_at[key]] if key in open_at else None
        if before is not None and event.change == "Changed":
            merged[open_at[key]] = None
            event = before.model_copy(  # noqa: PLW2901 - the merged one takes its place
                update={
                    "cursor": event.cursor,
                    "at": event.at,
                    "status": {**before.status, **event.status},
                    "spec": {**before.spec, **event.spec},
                    "metadata": {**before.metadata, **event.metadata},
                }
            )
        merged.append(event)
        open_at[key] = len(merged) - 1
        if event.change == "Deleted":
            del open_at[key]
    return tuple(event for event in merged if event is not None)
