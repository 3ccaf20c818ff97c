"""The lines of the scheduler's log about work: one for each start, stall and end, with figures, and none for a figure that counts on."""

import json
import logging

import pytest

from local_backend.work_log import Told, log_answer, log_refusal


def test_a_line_comes_with_a_phase_or_a_reason_and_has_the_figures_of_then() -> None:
    told = Told()
    begun = {"phase": "Running", "coverage": {"scored": 0, "total": 4}, "money": {"modelUSD": "0.00"}, "passRate": None}
    assert told.line("AgentGroup", "g", "Created", begun) == "group/g: Running; 0/4 scored; $0.00 spent"
    counts = {
        "coverage": {"scored": 2, "total": 4},
        "money": {"modelUSD": "0.0213"},
        "passRate": 0.5,
        "standardError": 0.3536,
        "ci95": [0.095, 0.905],
    }
    assert told.line("AgentGroup", "g", "Changed", counts) is None
    stalls = {"phase": "Stalled", "reason": "MaxCostReached", "message": "raise the group's cap"}
    assert told.line("AgentGroup", "g", "Changed", stalls) == (
        "group/g: Stalled (MaxCostReached); raise the group's cap; 50.0% ± 40.5 (SE 35.4), 2/4 scored; $0.021 spent"
    )
    assert told.line("AgentGroup", "g", "Changed", stalls) is None
    assert told.line("AgentGroup", "g", "Deleted", {}) == "group/g: deleted"
    job = {"phase": "Failed", "reason": "NonZeroExit", "exitCode": 3, "costUSD": "0.25"}
    assert told.line("Job", "j", "Changed", job) == "job/j: Failed (NonZeroExit); exit code 3; $0.25 spent"


def test_an_action_is_written_down_with_who_asked_for_it_on_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        log_answer("action", "ann", json.dumps({"action": "kill", "message": "killed g:\n2 unfinished runs ended"}))
        log_answer("apply", "", json.dumps({"documents": [{"kind": "AgentGroup", "name": "g", "outcome": "created"}]}))
        log_refusal("action", "ann", "g has ended")
    assert [record.getMessage() for record in caplog.records] == [
        "kill by ann: killed g: 2 unfinished runs ended",
        "apply by nobody named: AgentGroup g created",
        "action by ann was refused: g has ended",
    ]
