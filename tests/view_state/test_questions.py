"""What is asked for several times at once, as after a broken link: no answer that is late takes away what is known by then."""

from console_records import changed, group, run, snapshot
from test_queue_state import going, queue

from nodus_tui.contract.phases import RunPhase
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.run_columns import run_status

ONE = "fleet-0001-a1"


def asked_twice() -> tuple[GroupState, int, int]:
    state = GroupState("fleet")
    return state, state.await_snapshot(), state.await_snapshot()


def answer(state: GroupState, asked: int, cursor: int, phase: RunPhase) -> None:
    state.load(snapshot(group(), runs=[run(1, phase=phase)], cursor=cursor), asked)


def told(state: GroupState, cursor: int, phase: RunPhase) -> bool:
    return state.fold(changed("AgentRun", ONE, cursor, of="fleet", phase=phase.value))


def phase(state: GroupState) -> RunPhase:
    return run_status(state.rows.item(ONE)).phase


def test_an_answer_that_comes_behind_a_newer_one_is_not_taken() -> None:
    state, first, second = asked_twice()
    answer(state, second, 110, RunPhase.RUNNING)
    assert told(state, 111, RunPhase.GRADING)
    answer(state, first, 100, RunPhase.PENDING)
    assert phase(state) is RunPhase.GRADING


def test_what_happens_between_two_answers_is_not_lost_with_the_second() -> None:
    state, first, second = asked_twice()
    answer(state, first, 100, RunPhase.PENDING)
    assert told(state, 105, RunPhase.RUNNING)
    assert phase(state) is RunPhase.RUNNING, "what is known goes on meanwhile"
    answer(state, second, 103, RunPhase.PENDING)
    assert phase(state) is RunPhase.RUNNING


def test_a_place_of_an_earlier_time_is_taken_where_it_was_asked_for_last() -> None:
    # As a recording that is wound back.
    state = GroupState("fleet")
    answer(state, state.await_snapshot(), 110, RunPhase.GRADING)
    answer(state, state.await_snapshot(), 50, RunPhase.PENDING)
    assert phase(state) is RunPhase.PENDING


def test_what_is_known_goes_on_where_a_later_question_gets_no_answer() -> None:
    state = GroupState("fleet")
    answer(state, state.await_snapshot(), 100, RunPhase.PENDING)
    asked = state.await_snapshot()
    assert told(state, 101, RunPhase.RUNNING)
    state.no_snapshot(asked)
    assert told(state, 102, RunPhase.GRADING)
    assert phase(state) is RunPhase.GRADING


def test_the_queue_goes_on_where_a_later_question_gets_no_answer_or_an_old_one() -> None:
    for answered in (False, True):
        state = queue(going(1), going(2))
        asked, late = state.await_runs(), state.await_runs()
        state.fold(changed("AgentRun", ONE, 5, of="fleet", phase=RunPhase.SUCCEEDED.value))
        state.load([going(2)], late)
        if answered:
            state.load([going(1), going(2)], asked)
        else:
            state.no_runs(asked)
        assert list(state._group_of) == ["fleet-0002-a1"]
        assert state.fold(changed("AgentRun", "fleet-0002-a1", 6, of="fleet", phase=RunPhase.SUCCEEDED.value))
        assert not state._group_of
