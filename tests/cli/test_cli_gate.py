"""Every row of the exit-code table of docs/cli.md."""

import pytest
from cli_builders import case, results, unscored
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.cli.gate import Gate, judge, judge_all, judge_scores
from nodus_tui.contract.phases import CaseState, GroupPhase, Reason, Verdict
from nodus_tui.contract.resources.training_job import TaskScore

CORRECT, WRONG = Verdict.CORRECT, Verdict.INCORRECT
NO_GATE = Gate()


def test_everything_scored_and_no_gate_is_done_whatever_the_verdicts() -> None:
    assert judge(results([case(0, WRONG), case(1, Verdict.INVALID_OUTPUT)]), NO_GATE).code is Exit.DONE


@pytest.mark.parametrize(("minimum", "code"), [(0.5, Exit.DONE), (0.5001, Exit.GATE), (1.0, Exit.GATE), (0.0, Exit.DONE)])
def test_the_pass_rate_must_reach_the_gate(minimum: float, code: Exit) -> None:
    judgement = judge(results([case(0, CORRECT), case(1, WRONG)]), Gate(min_pass_rate=minimum))
    assert judgement.code is code
    assert bool(judgement.sentences) is (code is Exit.GATE)


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (Reason.INFRASTRUCTURE_FAILURE, Exit.INFRASTRUCTURE),
        (Reason.EVALUATION_TIMEOUT, Exit.INFRASTRUCTURE),
        (Reason.MAX_COST_REACHED, Exit.CAP),
        (Reason.BUDGET_EXCEEDED, Exit.CAP),
        (Reason.SANDBOX_LIMIT_REACHED, Exit.CAP),
        (Reason.KILLED, Exit.GATE),
        (Reason.TURN_LIMIT_REACHED, Exit.GATE),
        (Reason.INTERRUPTED, Exit.INTERRUPTED),
    ],
)
def test_an_unscored_case_is_told_by_its_cause_even_beside_a_perfect_pass_rate(reason: Reason, code: Exit) -> None:
    judgement = judge(results([case(0), case(1), unscored(2, reason)]), Gate(min_pass_rate=0.5))
    assert judgement.code is code
    assert f"1 {reason.value}" in judgement.sentences[0]


def test_what_broke_is_told_in_its_own_words_and_how_to_try_again() -> None:
    broken = [unscored(each, Reason.INFRASTRUCTURE_FAILURE, message="localhost:8000 could not be reached") for each in (1, 2)]
    other = unscored(3, Reason.INFRASTRUCTURE_FAILURE, message="the grader died")
    assert judge(results([case(0), *broken, other]), NO_GATE).sentences == (
        "hello: 3 of 4 cases are not scored (3 InfrastructureFailure)",
        "hello: localhost:8000 could not be reached, 2 times; `nodus-tui retry hello` tries again",
    )
    at_work = judge(results([case(0), other], phase=GroupPhase.RUNNING), NO_GATE)
    assert at_work.sentences[1:] == ("hello: the grader died",)
    killed = judge(results([case(0), unscored(1, Reason.KILLED, message="killed by ann")]), NO_GATE)
    assert len(killed.sentences) == 1


def test_coverage_that_was_allowed_for_lets_unscored_cases_pass() -> None:
    group = results([case(0), case(1), unscored(2, Reason.INFRASTRUCTURE_FAILURE)])
    assert judge(group, Gate(min_coverage=0.66)).code is Exit.DONE
    assert judge(group, Gate(min_coverage=0.67)).code is Exit.INFRASTRUCTURE


def test_with_enough_coverage_the_pass_rate_decides() -> None:
    group = results([case(0, WRONG), unscored(1, Reason.MAX_COST_REACHED)])
    assert judge(group, Gate(min_pass_rate=0.5, min_coverage=0.5)).code is Exit.GATE
    assert judge(group, Gate(min_pass_rate=0.5)).code is Exit.CAP


def test_nothing_scored_never_passes() -> None:
    group = results([unscored(0, Reason.KILLED)])
    assert judge(group, Gate(min_coverage=0.0)).code is Exit.GATE
    assert judge(results([]), Gate(min_coverage=0.0)).code is Exit.GATE


def test_infrastructure_outweighs_a_cap_and_a_cap_a_kill() -> None:
    cases = [unscored(0, Reason.KILLED), unscored(1, Reason.MAX_COST_REACHED)]
    assert judge(results(cases), NO_GATE).code is Exit.CAP
    assert judge(results([*cases, unscored(2, Reason.INFRASTRUCTURE_FAILURE)]), NO_GATE).code is Exit.INFRASTRUCTURE


def test_an_interrupted_group_says_how_it_goes_on() -> None:
    judgement = judge(results([case(0)], phase=GroupPhase.INTERRUPTED), NO_GATE)
    assert judgement.code is Exit.INTERRUPTED
    assert "nodus-tui resume hello" in judgement.sentences[0]


def test_a_group_whose_preparation_failed_is_infrastructure() -> None:
    assert judge(results([], phase=GroupPhase.FAILED), NO_GATE).code is Exit.INFRASTRUCTURE


def test_answers_that_the_caller_grades_count_as_covered() -> None:
    answered = case(0, None, state=CaseState.ANSWERED, reason=Reason.ANSWERED)
    assert judge(results([answered], environment=None), NO_GATE).code is Exit.DONE


def test_of_several_groups_each_must_pass() -> None:
    good, bad = results([case(0)]), results([case(0, WRONG)], group="other")
    judgement = judge_all((good, bad), Gate(min_pass_rate=0.5))
    assert judgement.code is Exit.GATE
    assert [text.split(":")[0] for text in judgement.sentences] == ["other"]


@given(st.lists(st.sampled_from(list(Exit))))
def test_the_gravest_code_is_one_of_them_and_nothing_outweighs_usage(codes: list[Exit]) -> None:
    chosen = gravest(tuple(codes))
    assert chosen in codes or (not codes and chosen is Exit.DONE)
    assert gravest((*codes, Exit.USAGE)) is Exit.USAGE
    assert gravest((*codes, Exit.DONE)) is chosen


@given(
    st.lists(st.sampled_from([CORRECT, WRONG, None]), max_size=12),
    st.one_of(st.none(), st.floats(0, 1)),
    st.one_of(st.none(), st.floats(0, 1)),
)
def test_done_is_never_said_with_unscored_cases_that_nobody_allowed_for(
    verdicts: list[Verdict | None], rate: float | None, coverage: float | None
) -> None:
    cases = [case(n, v) if v else unscored(n, Reason.INFRASTRUCTURE_FAILURE) for n, v in enumerate(verdicts)]
    group = results(cases)
    if judge(group, Gate(rate, coverage)).code is Exit.DONE:
        assert group.coverage.scored > 0
        assert group.coverage.scored / group.coverage.total >= (1.0 if coverage is None else coverage)
        assert rate is None or (group.pass_rate is not None and group.pass_rate >= rate)


def test_a_timeout_that_fell_while_cases_waited_on_a_cap_is_told_as_the_cap() -> None:
    group = results([case(0), unscored(1, Reason.EVALUATION_TIMEOUT)])
    assert judge(group, NO_GATE, ended_stalled=True).code is Exit.CAP
    assert judge_all((group,), NO_GATE, frozenset({"hello"})).code is Exit.CAP
    assert judge_all((group,), NO_GATE, frozenset({"other"})).code is Exit.INFRASTRUCTURE


def scores(passed: float, scored: int, total: int) -> list[TaskScore]:
    facts = {"passRate": (passed, scored), "coverage": (scored / total, total)}
    return [TaskScore(task="own/tasks", metric=metric, value=value, samples=samples) for metric, (value, samples) in facts.items()]


@pytest.mark.parametrize(
    ("found", "gate", "code"),
    [
        (scores(0.0, 4, 4), NO_GATE, Exit.DONE),
        (scores(0.5, 4, 4), Gate(min_pass_rate=0.5), Exit.DONE),
        (scores(0.5, 4, 4), Gate(min_pass_rate=0.51), Exit.GATE),
        (scores(1.0, 3, 4), NO_GATE, Exit.INFRASTRUCTURE),
        (scores(1.0, 3, 4), Gate(min_coverage=0.75, min_pass_rate=1.0), Exit.DONE),
        (scores(1.0, 3, 4), Gate(min_coverage=0.76), Exit.INFRASTRUCTURE),
        ([TaskScore(task="sums", metric="acc", value=0.9, samples=9)], NO_GATE, Exit.DONE),
        ([TaskScore(task="sums", metric="acc", value=0.9, samples=9)], Gate(min_pass_rate=0.1), Exit.USAGE),
    ],
)
def test_a_training_job_is_judged_by_what_its_environment_gave(found: list[TaskScore], gate: Gate, code: Exit) -> None:
    judgement = judge_scores("score", found, gate)
    assert judgement.code is code
    assert bool(judgement.sentences) is (code is not Exit.DONE)
