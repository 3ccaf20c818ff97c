"""Where a run's time went."""

from datetime import timedelta

from console_records import NOW, START, conversation, run, tool_conversation

from nodus_tui.contract.phases import Reason, RunPhase
from nodus_tui.contract.resources.agent_run import RunStretch
from nodus_tui.view_state.cells import line_width, plain
from nodus_tui.view_state.run_facts import run_pairs
from nodus_tui.view_state.run_times import time_lines, time_parts, time_words


def at(seconds: float):
    return START + timedelta(seconds=seconds)


def stretch(activity: str, since: float, reason: Reason | None = None) -> RunStretch:
    return RunStretch(activity=activity, reason=reason, since=at(since))


STRETCHES = (
    stretch("Queued", 0),
    stretch("Preparing", 3),
    stretch("Working", 5),
    stretch("Paused", 10, Reason.RATE_LIMITED),
    stretch("Paused", 14, Reason.BUDGET_EXCEEDED),
    stretch("Working", 15),
    stretch("AtCap", 200),
    stretch("Grading", 210),
)


def ended(**more):
    return run(1, phase=RunPhase.SUCCEEDED, created_at=at(0), started_at=at(3), ended_at=at(211), stretches=STRETCHES, **more)


def test_time_is_split_by_what_the_run_did() -> None:
    parts = {part.kind.name: part.seconds for part in time_parts(ended(), tool_conversation("x"), at(999))}
    assert parts == {
        "queue": 3,
        "preparation": 2,
        "model": 2.3,
        "waiting on rate limit": 4,
        "tools": 121.38,
        "grading": 1,
        "held up otherwise": 1,
        "at rest": 10,
        "other": 190 - 2.3 - 121.38,
    }
    assert sum(parts.values()) == 211
    assert "waiting on rate limit 4.0s, tools 2m01s" in time_words(time_parts(ended(), tool_conversation("x"), at(999)))


def test_without_a_conversation_work_is_not_guessed() -> None:
    parts = {part.kind.name: part.seconds for part in time_parts(ended(), None, at(999))}
    assert parts["model and tools"] == 190
    assert "model" not in parts


def test_what_goes_on_counts_up_to_now_and_no_part_is_longer_than_the_work() -> None:
    going = run(1, phase=RunPhase.RUNNING, created_at=at(0), started_at=at(1), stretches=(stretch("Queued", 0), stretch("Working", 1)))
    call = conversation("x").calls[0].model_copy(update={"started_at": at(0), "ended_at": None})
    told = conversation("x").model_copy(update={"calls": (call,)})
    assert {part.kind.name: part.seconds for part in time_parts(going, told, at(6))} == {"queue": 1, "model": 5}


def test_tools_at_work_count_before_their_results_are_there() -> None:
    told = tool_conversation("x", ended=False)
    since = told.turns[-1].at
    going = run(1, phase=RunPhase.RUNNING, created_at=at(0), started_at=at(0), stretches=(stretch("Working", 0),))
    parts = {part.kind.name: part.seconds for part in time_parts(going, told, since + timedelta(seconds=60))}
    assert parts["tools"] == 60.04
    waiting = going.model_copy(update={"status": going.status.model_copy(update={"reason": Reason.WAITING_FOR_SANDBOX})})
    assert {part.kind.name: part.seconds for part in time_parts(waiting, told, since + timedelta(seconds=60))}["tools"] == 0.04


def test_a_run_of_an_earlier_version_tells_what_it_knows() -> None:
    old = run(1, phase=RunPhase.SUCCEEDED, created_at=at(0), started_at=at(3), ended_at=at(9), queued_seconds=3.0)
    assert {part.kind.name: part.seconds for part in time_parts(old, None, at(99))} == {"queue": 3, "model and tools": 6}
    waiting = run(1, phase=RunPhase.PENDING, created_at=at(0))
    assert {part.kind.name: part.seconds for part in time_parts(waiting, None, at(4))} == {"queue": 4}


def test_bar_and_figures_fit_any_width() -> None:
    parts = time_parts(ended(), tool_conversation("x"), at(999))
    for width in range(30, 200):
        told = time_lines(parts, width, ended=True)
        assert all(line_width(each) <= width for each in told)
        assert "tools 2m" in plain(told[-1])
        assert "┼" in plain(told[0])[7:], "the bar is there at any width"
    [wide] = time_lines(parts, 199, ended=True)
    for kind in ("queue 3.0s", "prep 2.0s", "model 2.3s", "rate limit 4.0s", "tools 2m01s", "grading 1.0s", "at rest 10.0s"):
        assert kind in plain(wide)
    assert time_lines((), 80, ended=True) == ()


def test_a_run_without_a_slot_has_not_started_and_says_so() -> None:
    waiting = run(1, reason=Reason.WAITING_FOR_SLOT, created_at=NOW - timedelta(seconds=7))
    facts = dict(run_pairs(waiting, limits=None, transcript=None, now=NOW, moment=str))
    assert (facts["Started"], facts["Time"]) == ("not yet", "queue 7.0s")
    begun = run(1, phase=RunPhase.RUNNING, started_at=NOW, queued_seconds=7.0)
    assert dict(run_pairs(begun, limits=None, transcript=None, now=NOW, moment=str))["Started"].endswith("after 7.0s in the queue")
