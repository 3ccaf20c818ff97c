from typing import Any

import pytest

from local_backend.jobs.endings import ending
from local_backend.jobs.order import Report

STARTED = "2026-05-01T12:00:00.000000+00:00"


@pytest.mark.parametrize(
    ("known", "phase", "reason", "words"),
    [
        ({"exit_code": 0}, "Succeeded", None, ""),
        ({"exit_code": 2}, "Failed", "NonZeroExit", "it exited with 2"),
        ({"exit_code": 137, "signal": "SIGKILL"}, "Failed", "NonZeroExit", "it was ended by SIGKILL"),
        ({"exit_code": 0, "reason": "MaxCostReached"}, "Failed", "MaxCostReached", "before it passed its cap on cost (it exited with 0)"),
        ({"exit_code": 143, "signal": "SIGTERM", "reason": "Timeout"}, "Failed", "Timeout", "at its timeout (it was ended by SIGTERM)"),
        ({"reason": "Killed", "started_at": ""}, "Cancelled", "Killed", "it was killed"),
        ({"reason": "BudgetExceeded", "exit_code": 0}, "Cancelled", "BudgetExceeded", "a budget stopped it"),
        ({"reason": "Interrupted", "exit_code": 0}, "Interrupted", "Interrupted", "told the process that watched over it to end"),
        ({"problem": "no such program", "exit_code": 127}, "Failed", "NotStarted", "no such program"),
        ({"problem": "no such image", "started_at": ""}, "Failed", "NotStarted", "no such image"),
        ({"problem": "the engine does not answer"}, "Failed", "InfrastructureFailure", "the engine does not answer"),
    ],
)
def test_what_a_report_tells_has_one_name(known: dict[str, Any], phase: str, reason: str | None, words: str) -> None:
    found = ending(Report(**{"token": "t", "state": "Ended", "started_at": STARTED, **known}))
    assert (found.phase, found.reason) == (phase, reason)
    assert words in found.message
