"""What a run does when, as it is noted in its record: any sequence of changes gives a true and bounded story."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from local_backend.storage.records import RunRecord, SandboxUse, Stretch, stretches_from, stretches_text
from local_backend.storage.stretches import activity_of, held_seconds, note_stretch
from nodus_tui.contract.phases import MAX_STRETCHES, Reason, RunPhase

START = datetime(2026, 5, 1, 12, tzinfo=UTC)


def record(**values) -> RunRecord:
    given_values = {"seq": 1, "name": "g-c001", "group_name": "g", "case_index": 0, "task_position": 0, "task_id": "t", "repetition": 1}
    return RunRecord(**{**given_values, "attempt": 1, "cap": 100, "created_at": START, **values})


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(RunPhase),
        st.sampled_from([None, Reason.WAITING_FOR_SLOT, Reason.RATE_LIMITED, Reason.BUDGET_EXCEEDED, Reason.WAITING_FOR_SANDBOX]),
        st.integers(0, 100),
        st.booleans(),
    ),
    max_size=3 * MAX_STRETCHES,
)


@given(CHANGES, st.booleans())
def test_the_story_of_a_run_is_in_order_bounded_and_ends_with_what_it_does(changes, in_sandbox) -> None:
    run = record()
    note_stretch(run, START, in_sandbox=in_sandbox)
    at = START
    for phase, reason, seconds, made in changes:
        at += timedelta(seconds=seconds)
        run.phase, run.reason, run.sandbox = phase, reason, SandboxUse(running=made)
        note_stretch(run, at, in_sandbox=in_sandbox)
        activity = activity_of(run, in_sandbox=in_sandbox)
        assert activity is None or run.stretches[-1].activity == activity
    times = [each.since for each in run.stretches]
    assert times == sorted(times)
    assert times[0] == START
    assert len(times) <= MAX_STRETCHES
    told = [(each.activity, each.reason) for each in run.stretches]
    assert all(one != two for one, two in pairwise(told))
    assert stretches_from(stretches_text(run.stretches)) == run.stretches


def test_a_sandbox_that_is_being_made_is_preparation_and_what_follows_is_work() -> None:
    run = record(phase=RunPhase.RUNNING, reason=None)
    assert activity_of(run, in_sandbox=False) == "Working"
    assert activity_of(run, in_sandbox=True) == "Preparing"
    run.sandbox = SandboxUse(running=True)
    assert activity_of(run, in_sandbox=True) == "Working"
    run.reason = Reason.RATE_LIMITED
    assert activity_of(run, in_sandbox=True) == "Paused"
    run.sandbox, run.reason, run.answered = SandboxUse(running=False), None, True
    assert activity_of(run, in_sandbox=True) == "Working"


def test_a_run_leaves_the_queue_when_it_gets_its_slot_whenever_that_is_told() -> None:
    def at(seconds: int) -> datetime:
        return START + timedelta(seconds=seconds)

    run = record()
    changes = [(RunPhase.PENDING, 0), (RunPhase.RUNNING, 12), (RunPhase.PENDING, 20), (RunPhase.RUNNING, 30)]
    for phase, seconds in changes:
        run.phase, run.started_at = phase, at(10) if seconds else None
        note_stretch(run, at(seconds), in_sandbox=False)
    assert [each.since for each in run.stretches] == [at(0), at(10), at(20), at(30)]


def test_the_time_in_a_slot_leaves_out_what_was_waited_for_one() -> None:
    def at(seconds: int) -> datetime:
        return START + timedelta(seconds=seconds)

    told = [("Queued", 0), ("Working", 10), ("AtCap", 15), ("Queued", 100), ("Working", 120), ("Paused", 121), ("Grading", 130)]
    run = record(started_at=at(10), ended_at=at(133), stretches=[Stretch(name, None, at(seconds)) for name, seconds in told])
    assert held_seconds(run) == 5 + 13
    assert held_seconds(record(started_at=at(10), ended_at=at(133))) == 123
    assert held_seconds(record()) == 0
