"""How a sweep sees a cell that is a job: what a budget stopped goes on by itself, and so keeps its part of the sweep's cap."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local_backend.storage.job_records import JobRecord
from local_backend.sweeps.book import CellState
from local_backend.sweeps.standing import job_standing
from nodus_tui.contract.phases import GroupPhase

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SERVE = {"family": "own", "port": 8000}


def record(reason: str, *, cost: int = 0, **spec: Any) -> JobRecord:
    document = {"command": ["true"], "maxCostUSD": "1", **spec}
    made = JobRecord("cell", {"name": "cell"}, document, None, cap=10**9, rate=10**9, created_at=NOW)
    made.phase, made.reason, made.cost = "Cancelled", reason, cost
    made.started_at, made.ended_at = NOW, NOW + timedelta(minutes=1)
    return made


@pytest.mark.parametrize(
    ("found", "state", "phase"),
    [
        (record("BudgetExceeded", cost=10**8), CellState.GOING, GroupPhase.STALLED),
        (record("Killed", cost=10**8), CellState.ENDED, GroupPhase.CANCELLED),
        (record("BudgetExceeded", cost=10**9), CellState.ENDED, GroupPhase.CANCELLED),
        (record("BudgetExceeded", serve=SERVE), CellState.ENDED, GroupPhase.CANCELLED),
    ],
    ids=["a budget may pay again", "killed", "its own cap pays for no more", "it serves a model"],
)
def test_a_job_that_a_budget_stopped_may_spend_the_rest_of_its_cap(found: JobRecord, state: CellState, phase: GroupPhase) -> None:
    standing = job_standing(found, NOW)
    assert (standing.state, standing.phase, standing.cap, standing.broken) == (state, phase, 10**9, state is CellState.ENDED)
