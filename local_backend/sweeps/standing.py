"""How a cell's group or job stands, as its sweep sees it: whether it may go on by itself, what it spent, how it is told. Reads only."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from local_backend.jobs.attempts import waits_for_budget
from local_backend.jobs.describing import cost_nano
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import time_from
from local_backend.storage.store import Store
from local_backend.sweeps.book import CellState
from nodus_tui.contract.phases import GroupPhase, Reason

_JOB_PHASES = {
    "Pending": GroupPhase.PENDING,
    "Succeeded": GroupPhase.COMPLETED,
    "Failed": GroupPhase.FAILED,
    "Cancelled": GroupPhase.CANCELLED,
    "Interrupted": GroupPhase.INTERRUPTED,
}

_GROUPS = """
SELECT groups.name, groups.phase, groups.reason, groups.message, groups.cap, groups.started_at, groups.ended_at,
  json_extract(groups.model, '$.simulated') AS simulated, json_extract(groups.model, '$.notional') AS notional,
  coalesce(sum(runs.spent), 0) AS spent, coalesce(sum(runs.spent + runs.in_flight), 0) AS committed,
  sum(runs.current AND runs.phase = 'Cancelled' AND runs.reason = 'BudgetExceeded') AS unpaid,
  sum(runs.current AND runs.phase IN ('Failed', 'Cancelled')) AS unscored,
  count(runs.name) AS made, sum(runs.current AND runs.ended_at IS NULL) AS unfinished,
  sum(runs.current AND runs.phase IN ('Running', 'Grading')) AS going,
  min(CASE WHEN runs.current AND runs.phase = 'Pending' THEN runs.cap - runs.carried - runs.spent END) AS least
FROM groups LEFT JOIN runs ON runs.group_name = groups.name WHERE groups.name IN ({marks}) GROUP BY groups.name
"""


class Standing(Struct, frozen=True):
    """One cell's group or job. Money is nano-dollars."""

    state: CellState
    """GOING as long as it may spend without being asked to go on."""
    cap: int
    spent: int
    phase: GroupPhase
    reason: str | None
    message: str
    broken: bool
    """It has ended, and a retry would run something of it again."""
    simulated: bool
    notional: bool
    started_at: datetime | None
    ended_at: datetime | None
    ending: bool = False
    """All its cases have ended, and its own end is just being written."""


async def standings(store: Store, kind: str, names: Sequence[str], now: Callable[[], datetime]) -> Mapping[str, Standing]:
    """How the groups or jobs of these names stand; one that is not there is left out."""
    if not names:
        return {}
    marks = ", ".join("?" for _ in names)
    if kind == "AgentGroup":
        rows = await store.read(_GROUPS.format(marks=marks), tuple(names))
        return {row["name"]: group_standing(row) for row in rows}
    rows = await store.read(f"SELECT * FROM jobs WHERE name IN ({marks})", tuple(names))  # noqa: S608 - question marks only
    records = [JobRecord.from_row(row) for row in rows]
    return {record.name: job_standing(record, now()) for record in records if record.kind == kind}


def group_standing(row: sqlite3.Row) -> Standing:
    """From a row of the query above."""
    phase, reason = GroupPhase(row["phase"]), row["reason"]
    state = _group_state(row, phase)
    if row["unpaid"] and state is CellState.GOING and phase.ended:
        phase, reason = GroupPhase.STALLED, Reason.BUDGET_EXCEEDED.value
    elif state is CellState.GOING and phase is GroupPhase.STALLED and reason == Reason.MAX_COST_REACHED.value:
        phase, reason = GroupPhase.RUNNING, None  # Its last word is older than the cap that was raised since.
    return Standing(
        state=state,
        cap=row["cap"],
        spent=row["spent"],
        phase=phase,
        reason=reason,
        message=row["message"],
        # One that was killed before its tasks were made has no case that could stand for it.
        broken=state is CellState.ENDED and (phase is GroupPhase.FAILED or bool(row["unscored"]) or not row["made"]),
        simulated=bool(row["simulated"]),
        notional=bool(row["notional"]),
        started_at=time_from(row["started_at"]),
        ended_at=time_from(row["ended_at"]),
        ending=state is CellState.GOING and bool(row["made"]) and not row["unfinished"] and not row["unpaid"],
    )


def _group_state(row: sqlite3.Row, phase: GroupPhase) -> CellState:
    if row["unpaid"] and phase is not GroupPhase.CANCELLED:
        return CellState.GOING  # What a budget stopped goes on by itself.
    if phase.ended:
        return CellState.ENDED
    if phase is GroupPhase.INTERRUPTED:
        return CellState.RESTING
    fits = row["least"] is not None and row["least"] <= row["cap"] - row["committed"]
    # Whatever it names as its reason, a budget or the disk say: without a higher cap nothing of it goes on.
    return CellState.STALLED if row["unfinished"] and not row["going"] and not fits else CellState.GOING


def job_standing(record: JobRecord, now: datetime) -> Standing:
    """The same of a job of any kind. What a budget stopped goes on by itself, and keeps its part of the sweep's cap."""
    waits = waits_for_budget(record)
    ended = record.ended and not waits
    return Standing(
        state=CellState.ENDED if ended else CellState.GOING,
        cap=record.cap,
        spent=cost_nano(record, now),
        phase=GroupPhase.STALLED if waits else _JOB_PHASES.get(record.phase, GroupPhase.RUNNING),
        reason=record.reason,
        message=record.message,
        broken=ended and record.phase != "Succeeded",
        simulated=False,
        notional=False,
        started_at=record.started_at,
        ended_at=record.ended_at,
    )
