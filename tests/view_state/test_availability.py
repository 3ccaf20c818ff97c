"""What an action would do nothing to is known from the thing as it stands: one rule a kind, for every footer."""

import pytest
from box_records import box
from console_records import every_kind_of_run, group, run, scored
from job_records import job
from sweep_records import sweep

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.view_state.availability import useful_to, useless

_ENDED = {"phase": GroupPhase.COMPLETED, "pending": 0, "going": 0}


@pytest.mark.parametrize(
    ("thing", "idle"),
    [
        (run(0), {"retry"}),
        (run(0, phase=RunPhase.RUNNING), {"retry"}),
        (run(0, phase=RunPhase.INTERRUPTED), set()),
        (run(0, phase=RunPhase.CANCELLED, reason=Reason.KILLED), {"kill", "extend"}),
        (run(0, phase=RunPhase.SUPERSEDED, current=False), {"kill", "extend", "retry"}),
        (scored(0, Verdict.CORRECT), {"kill", "extend", "retry"}),
        (scored(0, Verdict.INFRASTRUCTURE_FAILURE), {"kill", "extend"}),
        (group(), set()),
        (group(verdicts={"Correct": 3}), {"retry"}),
        (group(phase=GroupPhase.INTERRUPTED, verdicts={"Correct": 3}), set()),
        (group(verdicts={"Correct": 3, "Answered": 2}, **_ENDED), {"kill", "extend", "extend_waiting", "retry"}),
        (group(**_ENDED), {"kill", "extend", "extend_waiting"}),
        # All that have not ended are going: none can wait.
        (group(pending=2, going=2), {"extend_waiting"}),
        (job("a", phase="Running"), {"retry"}),
        (job("a", phase="Succeeded"), {"kill", "extend", "retry"}),
        (job("a", phase="Failed", reason="MaxCostReached"), {"kill"}),
        (job("a", phase="Cancelled", reason="Killed"), {"kill"}),
        # It would go on by itself.
        (job("a", phase="Cancelled", reason="BudgetExceeded"), set()),
        (box("a", phase="Running"), set()),
        (box("a", phase="Pending"), {"shell"}),
        (box("a", phase="Stopped"), {"kill", "shell"}),
        (sweep("a", failed=0), {"retry"}),
        (sweep("a", phase=GroupPhase.COMPLETED, failed=2), {"kill", "extend"}),
        (None, set()),
        ("a text", set()),
    ],
)
def test_what_does_nothing(thing: object, idle: set[str]) -> None:
    assert useless(thing) == idle


def test_for_no_run_is_everything_useless_that_can_be_acted_on() -> None:
    for each in every_kind_of_run():
        assert useless(each) != {"kill", "extend", "retry"} or (each.status is not None and each.status.verdict is not None)


def test_of_picked_ones_those_are_counted_to_which_an_action_does_something() -> None:
    waiting = run(0, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED)
    broken = scored(1, Verdict.INFRASTRUCTURE_FAILURE)
    assert useful_to([waiting, broken, scored(2, Verdict.CORRECT)]) == {"kill": 1, "extend": 1, "retry": 1}
    assert useful_to([waiting]) == {"kill": 1, "extend": 1}
    # Only resuming lets it go on, which is not done by picks.
    assert "retry" not in useful_to([run(0, phase=RunPhase.INTERRUPTED)])
