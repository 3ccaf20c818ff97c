"""Reading a workspace: resources, results, transcripts, snapshots and the event stream, straight from the database. It never writes."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from local_backend.budgets.standing import standing_now
from local_backend.jobs.desk import JobDesk
from local_backend.reporting import group_resource, results_of, run_resource, sandbox_nano, transcript_of
from local_backend.sandbox_kind.desk import BoxDesk
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import CallRow, GroupRecord, RunRecord, TurnRow
from local_backend.storage.sandbox_records import SandboxRecord
from local_backend.storage.store import Store
from local_backend.storage.sweep_records import SweepRecord
from local_backend.sweeps.reading import find_sweep, list_sweeps, read_results
from local_backend.sweeps.telling import sweep_resource
from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.events import Event, EventBatch, Snapshot
from nodus_tui.contract.hardware_view import DeviceHolder
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.contract.resources.agent import Agent, AgentStatus
from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
from nodus_tui.contract.resources.budget import Budget, BudgetStatus
from nodus_tui.contract.resources.environment import Environment, EnvironmentStatus
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.results import GroupResults
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.sweep_results import SweepResults

POLL_SECONDS = 0.2
"""How often another process's commits are looked for."""

_ROWS_AT_ONCE = 200
"""Rows made into resources or events before the event loop gets its turn."""

_JOB_KINDS = frozenset({"Job", "TrainingJob"})

_MOST_EVENTS = 5000
"""Events read at once, before merging."""


class Reader:
    """Reads one workspace."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        check: Callable[[], None],
        jobs: JobDesk,
        kept_budget: Callable[[str], Mapping[str, Any] | None],
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._kept_budget = kept_budget
        """The status of a budget that this process itself keeps; None for any other."""
        self.boxes = BoxDesk(store, clock)
        """The Sandboxes."""
        self._check = check
        """Raises NodusError when nothing more is to be expected from this workspace: a watcher must not wait for ever."""
        self._clock = clock
        self._wakes: set[asyncio.Event] = set()
        store.on_commit(self._wake)

    def _wake(self) -> None:
        for wake in self._wakes:
            wake.set()

    # Resources.

    async def get(self, kind: str, name: str) -> Resource:
        """One resource. Raises NotFound with the nearest name."""
        found = await self._with_table(kind, name)
        if found is not None:
            return found
        if kind == "Agent" and "@" in name:
            return await self._pinned_agent(name)
        rows = await self._store.read("SELECT * FROM resources WHERE kind = ? AND name = ?", (kind, name))
        if not rows:
            raise NodusError.not_found(kind, name, await self._nearest(kind, name))
        return await self._standing(_definition(rows[0]))

    async def _with_table(self, kind: str, name: str) -> Resource | None:
        """One of a kind that has a table of its own; None for any other kind."""
        if kind == "AgentGroup":
            return group_resource(await self.group(name))
        if kind in _JOB_KINDS:
            return self._jobs.resource(await self._jobs.record(name, kind))
        if kind == "Sweep":
            return await find_sweep(self._store, name)
        if kind == "Sandbox":
            return self.boxes.resource(await self.boxes.record(name))
        if kind == "AgentRun":
            run, group = await self._run(name)
            return run_resource(run, group, max_turns=await self._max_turns(group), now=self._clock())
        return None

    async def _standing(self, found: Resource) -> Resource:
        if not isinstance(found, Budget):
            return found
        kept = self._kept_budget(found.name)
        if kept is not None:
            return found.model_copy(update={"status": BudgetStatus.model_validate(kept)})
        return await standing_now(self._store, found, self._clock)

    async def _pinned_agent(self, name: str) -> Agent:
        agent, _, revision = name.partition("@")
        query = "SELECT * FROM agent_revisions WHERE agent = ? AND revision = ?"
        rows = await self._store.read(query, (agent, revision))
        if not rows:
            raise NodusError.not_found("Agent", name)
        status = {"revision": rows[0]["revision"], "updatedAt": rows[0]["created_at"]}
        return Agent.model_validate({"metadata": {"name": agent}, "spec": json.loads(rows[0]["spec"]), "status": status})

    async def _nearest(self, kind: str, name: str) -> str:
        table = {"AgentGroup": "groups", "AgentRun": "runs"}.get(kind)
        rows = (
            await self._store.read(f"SELECT name FROM {table} LIMIT 10000")  # noqa: S608 - one of two constants
            if table
            else await self._store.read("SELECT name FROM resources WHERE kind = ?", (kind,))
        )
        return nearest(name, [row["name"] for row in rows])

    async def group(self, name: str) -> GroupRecord:
        """A group's record. Raises NotFound."""
        rows = await self._store.read("SELECT * FROM groups WHERE name = ?", (name,))
        if not rows:
            raise NodusError.not_found("AgentGroup", name, await self._nearest("AgentGroup", name))
        return GroupRecord.from_row(rows[0])

    async def _run(self, name: str) -> tuple[RunRecord, GroupRecord]:
        rows = await self._store.read("SELECT * FROM runs WHERE name = ?", (name,))
        if not rows:
            raise NodusError.not_found("AgentRun", name, await self._nearest("AgentRun", name))
        run = RunRecord.from_row(rows[0])
        return run, await self.group(run.group_name)

    async def _max_turns(self, group: GroupRecord) -> int:
        rows = await self._store.read(
            "SELECT spec FROM agent_revisions WHERE agent = ? AND revision = ?", (group.agent, group.agent_revision)
        )
        return int(json.loads(rows[0]["spec"])["maxTurns"])

    async def page(self, kind: str, query: Query) -> Page:
        """Resources in order of creation."""
        if kind == "AgentGroup":
            rows = await self._store.read(
                "SELECT * FROM groups WHERE seq > coalesce((SELECT seq FROM groups WHERE name = ?), 0) ORDER BY seq LIMIT ?",
                (query.after, query.limit + 1),
            )
            groups = [group_resource(GroupRecord.from_row(row)) for row in rows]
            return _page([each for each in groups if not query.project or each.metadata.project == query.project], query.limit)
        if kind == "AgentRun":
            return _page(await self._runs(query), query.limit)
        if kind in _JOB_KINDS:
            rows = await self._store.read(
                "SELECT * FROM jobs WHERE kind = ? AND seq > coalesce((SELECT seq FROM jobs WHERE name = ?), 0) ORDER BY seq LIMIT ?",
                (kind, query.after, query.limit + 1),
            )
            jobs = [self._jobs.resource(JobRecord.from_row(row)) for row in rows]
            return _page([each for each in jobs if not query.project or each.metadata.project == query.project], query.limit)
        found: list[Resource]
        if kind == "Sweep":
            found = [*await list_sweeps(self._store, after=query.after, limit=query.limit + 1)]
        elif kind == "Sandbox":
            found = [*await self.boxes.page(query.after, query.limit + 1)]
        else:
            rows = await self._store.read(
                "SELECT * FROM resources WHERE kind = ? AND name > ? ORDER BY name LIMIT ?", (kind, query.after, query.limit + 1)
            )
            found = [await self._standing(_definition(row)) for row in rows]
        return _page([each for each in found if not query.project or each.metadata.project == query.project], query.limit)

    async def _runs(self, query: Query) -> list[AgentRun]:
        rows = await self._store.read(
            "SELECT * FROM runs WHERE (? = '' OR group_name = ?) AND (NOT ? OR current) "
            "AND (NOT ? OR phase NOT IN ('Succeeded', 'Failed', 'Cancelled', 'Superseded')) "
            "AND seq > coalesce((SELECT seq FROM runs WHERE name = ?), 0) ORDER BY seq LIMIT ?",
            (query.group, query.group, query.current_only, query.unfinished, query.after, query.limit + 1),
        )
        if query.group and not rows:
            await self.group(query.group)
        return await self._run_resources(rows)

    async def _run_resources(self, rows: Sequence[sqlite3.Row]) -> list[AgentRun]:
        groups: dict[str, tuple[GroupRecord, int]] = {}
        made = []
        now = self._clock()
        for place, row in enumerate(rows):
            if place % _ROWS_AT_ONCE == _ROWS_AT_ONCE - 1:
                await asyncio.sleep(0)
            run = RunRecord.from_row(row)
            if run.group_name not in groups:
                group = await self.group(run.group_name)
                groups[run.group_name] = (group, await self._max_turns(group))
            group, max_turns = groups[run.group_name]
            made.append(run_resource(run, group, max_turns=max_turns, now=now))
        return made

    async def results(self, name: str) -> GroupResults:
        """The results of a group as they stand."""
        group = await self.group(name)
        rows = await self._store.read("SELECT * FROM runs WHERE group_name = ? ORDER BY seq", (name,))
        return results_of(group, [RunRecord.from_row(row) for row in rows], self._clock())

    async def sweep_results(self, name: str) -> SweepResults:
        """A sweep's cells and what they have come to."""
        return await read_results(self._store, name, self._clock)

    async def sandbox_costs(self, names: Sequence[str]) -> dict[str, Decimal]:
        """What the sandboxes of some runs cost up to now, in US dollars, by run."""
        marks = ", ".join("?" for _ in names)
        rows = await self._store.read(f"SELECT * FROM runs WHERE name IN ({marks})", tuple(names))  # noqa: S608 - question marks only
        now = self._clock()
        return {run.name: usd_from_nano(sandbox_nano([run], now)) for run in map(RunRecord.from_row, rows)}

    async def launches(self) -> dict[str, str]:
        """The jobs that may have processes on this machine, by the tokens of their launches."""
        rows = await self._store.read("SELECT name, token FROM jobs WHERE phase IN ('Pending', 'Running', 'Serving') AND token != ''")
        return {row["token"]: row["name"] for row in rows}

    async def device_holders(self) -> dict[str, tuple[DeviceHolder, ...]]:
        """Who has been given which device, by uuid, as far as it is written down: for a process that gives none itself."""
        found: dict[str, tuple[DeviceHolder, ...]] = {}
        jobs, runs = await self._store.read_many(
            [
                ("SELECT * FROM jobs WHERE phase IN ('Pending', 'Running', 'Serving') AND token != '' AND devices != '[]'", ()),
                ("SELECT * FROM runs WHERE current AND phase = 'Running' AND sandbox != ''", ()),
            ]
        )
        for row in jobs:
            job = JobRecord.from_row(row)
            holder = DeviceHolder(kind=job.kind, name=job.name, shared=job.job.share_accelerators, since=job.started_at or job.created_at)
            for uuid in job.devices:
                found[uuid] = (*found.get(uuid, ()), holder)
        for row in runs:
            run = RunRecord.from_row(row)
            if run.sandbox is not None and run.sandbox.running and run.sandbox.started_at is not None:
                for uuid in run.sandbox.devices:
                    found[uuid] = (*found.get(uuid, ()), DeviceHolder(kind="AgentRun", name=run.name, since=run.sandbox.started_at))
        return found

    async def transcript(self, name: str, from_turn: int) -> Transcript:
        """A run's conversation, from this index of its turns on, and all its calls."""
        run, group = await self._run(name)
        turns, calls = await self._store.read_many(
            [
                ("SELECT * FROM turns WHERE run = ? AND position >= ? ORDER BY position", (name, from_turn)),
                ("SELECT * FROM calls WHERE run = ? ORDER BY number", (name,)),
            ]
        )
        return transcript_of(run, group, [TurnRow.from_row(row) for row in turns], [CallRow.from_row(row) for row in calls])

    # The stream.

    async def last_event(self) -> int:
        """The cursor of the newest event; 0 before the first."""
        rows = await self._store.read("SELECT coalesce(max(cursor), 0) AS cursor FROM events")
        return int(rows[0]["cursor"])

    async def snapshot(self, runs_of: str | None) -> Snapshot:
        """All groups and some runs, at one cursor."""
        wanted = "1" if runs_of == "" else "group_name = ?"
        cursor, groups, runs, jobs, budgets, sweeps, boxes = await self._store.read_many(
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
        standing = [await self._standing(_definition(row)) for row in budgets]
        jobs_of_any_kind = [self._jobs.resource(JobRecord.from_row(row)) for row in jobs]
        return Snapshot(
            cursor=cursor[0]["cursor"],
            groups=tuple(group_resource(GroupRecord.from_row(row)) for row in groups),
            runs=tuple(await self._run_resources(runs)),
            jobs=tuple(each for each in jobs_of_any_kind if isinstance(each, Job)),
            training_jobs=tuple(each for each in jobs_of_any_kind if isinstance(each, TrainingJob)),
            budgets=tuple(found for found in standing if isinstance(found, Budget)),
            sweeps=tuple(sweep_resource(SweepRecord.from_row(row)) for row in sweeps),
            sandboxes=tuple(self.boxes.resource(SandboxRecord.from_row(row)) for row in boxes),
        )

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


def _page(items: Sequence[Resource], limit: int) -> Page:
    more = len(items) > limit
    kept = tuple(items[:limit])
    return Page(items=kept, next_after=kept[-1].name if more else "")


def _definition(row: sqlite3.Row) -> Resource:
    status: dict[str, Any] = json.loads(row["status"])
    if row["kind"] == "Agent":
        return Agent.model_validate_json(row["document"]).model_copy(update={"status": AgentStatus.model_validate(status)})
    if row["kind"] == "Budget":
        return Budget.model_validate_json(row["document"]).model_copy(update={"status": BudgetStatus.model_validate(status)})
    found = Environment.model_validate_json(row["document"])
    return found.model_copy(update={"status": EnvironmentStatus.model_validate(status)})


async def _events(rows: Sequence[sqlite3.Row]) -> list[Event]:
    made = []
    for place, row in enumerate(rows):
        if place % _ROWS_AT_ONCE == _ROWS_AT_ONCE - 1:
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
