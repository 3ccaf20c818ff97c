"""The shelf of AgentGroups and their AgentRuns, with results and transcripts."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from local_backend.reading.shelf import ROWS_AT_ONCE, page_of
from local_backend.reading.told_groups import group_resource
from local_backend.reporting import sandbox_nano
from local_backend.storage.records import CallRow, GroupRecord, RunRecord, TurnRow
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.contract.spec_loading.nearest import nearest

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from decimal import Decimal

    from local_backend.storage.store import Store
    from nodus_tui.contract.backend import Page, Query
    from nodus_tui.contract.resources.agent_group import AgentGroup
    from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
    from nodus_tui.contract.results import GroupResults


class GroupShelf:
    """Reads one workspace's groups and runs."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    async def get(self, kind: str, name: str) -> AgentGroup | AgentRun:
        """A group or a run. Raises NotFound with the nearest name."""
        if kind == "AgentGroup":
            return group_resource(await self._group(name))
        from local_backend.reading.told_runs import run_resource  # noqa: PLC0415 - groups do without

        run, group = await self._run(name)
        return run_resource(run, group, max_turns=await self._max_turns(group), now=self._clock())

    async def page(self, kind: str, query: Query) -> Page:
        """Groups or runs in order of creation. Raises NotFound for the runs of a group that is not there."""
        if kind == "AgentRun":
            # A run has no project of its own: it is its group's.
            return page_of(await self._runs(query), query.model_copy(update={"project": ""}))
        rows = await self._store.read(
            "SELECT * FROM groups WHERE seq > coalesce((SELECT seq FROM groups WHERE name = ?), 0) ORDER BY seq LIMIT ?",
            (query.after, query.limit + 1),
        )
        return page_of([group_resource(GroupRecord.from_row(row)) for row in rows], query)

    async def _group(self, name: str) -> GroupRecord:
        rows = await self._store.read("SELECT * FROM groups WHERE name = ?", (name,))
        if not rows:
            names = await self._store.read("SELECT name FROM groups LIMIT 10000")
            raise NodusError.not_found("AgentGroup", name, nearest(name, [row["name"] for row in names]))
        return GroupRecord.from_row(rows[0])

    async def _run(self, name: str) -> tuple[RunRecord, GroupRecord]:
        rows = await self._store.read("SELECT * FROM runs WHERE name = ?", (name,))
        if not rows:
            names = await self._store.read("SELECT name FROM runs LIMIT 10000")
            raise NodusError.not_found("AgentRun", name, nearest(name, [row["name"] for row in names]))
        run = RunRecord.from_row(rows[0])
        return run, await self._group(run.group_name)

    async def _max_turns(self, group: GroupRecord) -> int:
        rows = await self._store.read(
            "SELECT spec FROM agent_revisions WHERE agent = ? AND revision = ?", (group.agent, group.agent_revision)
        )
        return int(json.loads(rows[0]["spec"])["maxTurns"])

    async def _runs(self, query: Query) -> list[AgentRun]:
        rows = await self._store.read(
            "SELECT * FROM runs WHERE (? = '' OR group_name = ?) AND (NOT ? OR current) "
            "AND (NOT ? OR phase NOT IN ('Succeeded', 'Failed', 'Cancelled', 'Superseded')) "
            "AND seq > coalesce((SELECT seq FROM runs WHERE name = ?), 0) ORDER BY seq LIMIT ?",
            (query.group, query.group, query.current_only, query.unfinished, query.after, query.limit + 1),
        )
        if query.group and not rows:
            await self._group(query.group)
        return await self.runs_of(rows)

    async def runs_of(self, rows: Sequence[sqlite3.Row]) -> list[AgentRun]:
        """The runs of these rows, as they stand now."""
        from local_backend.reading.told_runs import run_resource  # noqa: PLC0415 - see above

        groups: dict[str, tuple[GroupRecord, int]] = {}
        made = []
        now = self._clock()
        for place, row in enumerate(rows):
            if place % ROWS_AT_ONCE == ROWS_AT_ONCE - 1:
                await asyncio.sleep(0)
            run = RunRecord.from_row(row)
            if run.group_name not in groups:
                group = await self._group(run.group_name)
                groups[run.group_name] = (group, await self._max_turns(group))
            group, max_turns = groups[run.group_name]
            made.append(run_resource(run, group, max_turns=max_turns, now=now))
        return made

    async def results(self, name: str) -> GroupResults:
        """The results of a group as they stand. Raises NotFound."""
        from local_backend.reading.told_results import results_of  # noqa: PLC0415 - see above

        group = await self._group(name)
        rows = await self._store.read("SELECT * FROM runs WHERE group_name = ? ORDER BY seq", (name,))
        return results_of(group, [RunRecord.from_row(row) for row in rows], self._clock())

    async def transcript(self, name: str, from_turn: int) -> Transcript:
        """A run's conversation, from this index of its turns on, and all its calls. Raises NotFound."""
        from local_backend.reading.told_runs import transcript_of  # noqa: PLC0415 - see above

        run, group = await self._run(name)
        turns, calls = await self._store.read_many(
            [
                ("SELECT * FROM turns WHERE run = ? AND position >= ? ORDER BY position", (name, from_turn)),
                ("SELECT * FROM calls WHERE run = ? ORDER BY number", (name,)),
            ]
        )
        return transcript_of(run, group, [TurnRow.from_row(row) for row in turns], [CallRow.from_row(row) for row in calls])

    async def sandbox_costs(self, names: Sequence[str]) -> dict[str, Decimal]:
        """What the sandboxes of some runs cost up to now, in US dollars, by run."""
        marks = ", ".join("?" for _ in names)
        rows = await self._store.read(f"SELECT * FROM runs WHERE name IN ({marks})", tuple(names))  # noqa: S608 - question marks only
        now = self._clock()
        return {run.name: usd_from_nano(sandbox_nano([run], now)) for run in map(RunRecord.from_row, rows)}
