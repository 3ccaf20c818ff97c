"""How a sweep sees a cell that is a group, by its rows: what may spend without being asked keeps its part of the cap, and nothing else."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import Struct

from local_backend.storage.records import GroupRecord, RunRecord
from local_backend.storage.store import Store
from local_backend.sweeps.book import CellState
from local_backend.sweeps.standing import Standing, standings
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase

NOW = datetime(2026, 5, 1, tzinfo=UTC)
CAP = 100


class Run(Struct, frozen=True):
    """One run under a cap of 60, which has spent this."""

    phase: RunPhase
    reason: Reason | None = None
    spent: int = 0


PARKED = Run(RunPhase.WAITING, Reason.MAX_COST_REACHED, 50)
WAITS = Run(RunPhase.PENDING, Reason.MAX_COST_REACHED)


async def standing_of(folder: Path, phase: GroupPhase, runs: Sequence[Run]) -> Standing:
    """Of a group in this phase with these runs, from a real database."""
    group = GroupRecord(1, "cell", {"name": "cell"}, {}, "worker", 1, CAP, 4, {}, {}, NOW, phase=phase)
    records = [
        RunRecord(number, f"cell-c{number}", "cell", number, number, f"t{number}", 0, 1, 60, NOW, phase=each.phase, reason=each.reason)
        for number, each in enumerate(runs, 1)
    ]
    for record, each in zip(records, runs, strict=True):
        record.spent = each.spent
        record.ended_at = NOW if each.phase.ended else None
    store = await Store.open(folder / "workspace.db")
    try:
        await store.commit([group.save(), *(record.save() for record in records)])
        return (await standings(store, "AgentGroup", ["cell"], lambda: NOW))["cell"]
    finally:
        await store.aclose()


@pytest.mark.parametrize(
    ("phase", "runs", "state", "broken"),
    [
        (GroupPhase.STALLED, [PARKED, WAITS], CellState.STALLED, False),
        # What a budget, the disk or a model server say of a group that stalls at caps all the same does not let it go on.
        (GroupPhase.STALLED, [PARKED, Run(RunPhase.PENDING, Reason.BUDGET_EXCEEDED)], CellState.STALLED, False),
        (GroupPhase.RUNNING, [PARKED, Run(RunPhase.PENDING, Reason.DISK_ALMOST_FULL)], CellState.STALLED, False),
        (GroupPhase.STALLED, [PARKED, Run(RunPhase.PENDING, Reason.WAITING_FOR_MODEL)], CellState.STALLED, False),
        # With room under its cap it goes on by itself as soon as they have nothing against it.
        (GroupPhase.STALLED, [Run(RunPhase.PENDING, Reason.BUDGET_EXCEEDED)], CellState.GOING, False),
        (GroupPhase.STALLED, [PARKED, Run(RunPhase.CANCELLED, Reason.BUDGET_EXCEEDED)], CellState.GOING, False),
        (GroupPhase.RUNNING, [PARKED, Run(RunPhase.RUNNING)], CellState.GOING, False),
        (GroupPhase.RUNNING, [PARKED, Run(RunPhase.GRADING)], CellState.GOING, False),
        (GroupPhase.PENDING, [], CellState.GOING, False),
        # Only a person lets these go on.
        (GroupPhase.STALLED, [PARKED, Run(RunPhase.INTERRUPTED, Reason.INTERRUPTED)], CellState.STALLED, False),
        (GroupPhase.INTERRUPTED, [Run(RunPhase.INTERRUPTED, Reason.INTERRUPTED)], CellState.RESTING, False),
        (GroupPhase.COMPLETED, [Run(RunPhase.SUCCEEDED, spent=10)], CellState.ENDED, False),
        (GroupPhase.COMPLETED, [Run(RunPhase.SUCCEEDED), Run(RunPhase.FAILED)], CellState.ENDED, True),
        # Killed before its tasks were made: a retry makes them, and spends.
        (GroupPhase.CANCELLED, [], CellState.ENDED, True),
        (GroupPhase.FAILED, [], CellState.ENDED, True),
    ],
)
async def test_a_group_goes_where_it_may_spend_without_being_asked(
    tmp_path: Path, phase: GroupPhase, runs: Sequence[Run], state: CellState, broken: bool
) -> None:
    found = await standing_of(tmp_path, phase, runs)
    assert (found.state, found.broken) == (state, broken)
    assert not found.ending


@pytest.mark.parametrize("phase", [GroupPhase.RUNNING, GroupPhase.STALLED])
async def test_a_group_whose_cases_have_all_ended_is_about_to_end(tmp_path: Path, phase: GroupPhase) -> None:
    """A kill ends the cases first: it does not go on for that."""
    found = await standing_of(tmp_path, phase, [Run(RunPhase.SUCCEEDED), Run(RunPhase.CANCELLED, Reason.KILLED)])
    assert found.ending
