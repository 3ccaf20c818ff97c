"""The pass rate with its error, interval, coverage and bounds."""

import math
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nodus_tui.statistics.intervals import Z95
from nodus_tui.statistics.pass_rate import (
    IntervalMethod,
    PassRateSummary,
    StandardErrorMethod,
    TaskCount,
    pass_rate_summary,
    summary_of_counts,
)
from nodus_tui.statistics.standard_errors import clt_standard_error, clustered_standard_error, task_means_standard_error

Answers = dict[str, list[bool]]


def one_each(correct: int, wrong: int) -> Answers:
    return {f"t{index}": [index < correct] for index in range(correct + wrong)}


def half_width(summary: PassRateSummary) -> float:
    assert summary.ci95 is not None
    return (summary.ci95[1] - summary.ci95[0]) / 2


def test_one_answer_a_task_p_one_half_n_100_is_9_8_points() -> None:
    summary = pass_rate_summary(one_each(50, 50), total=100)
    assert summary.pass_rate == 0.5
    assert summary.standard_error == 0.05
    assert summary.standard_error_method is StandardErrorMethod.BERNOULLI
    assert summary.ci_method is IntervalMethod.NORMAL
    assert f"{100 * half_width(summary):.1f}" == "9.8"


def test_one_answer_a_task_p_one_half_n_400_is_4_9_points() -> None:
    assert f"{100 * half_width(pass_rate_summary(one_each(200, 200), total=400)):.1f}" == "4.9"


def test_one_answer_a_task_62_of_100_is_9_5_points_with_an_error_of_4_9() -> None:
    summary = pass_rate_summary(one_each(62, 38), total=100)
    assert summary.standard_error == pytest.approx(math.sqrt(0.62 * 0.38 / 100))
    assert f"{100 * half_width(summary):.1f}" == "9.5"


def test_60_of_97_scored_keeps_100_cases_as_its_coverage_and_bounds() -> None:
    summary = pass_rate_summary(one_each(60, 37), total=100)
    assert summary.pass_rate == 60 / 97
    assert (summary.scored, summary.total) == (97, 100)
    assert (summary.worst, summary.best) == (0.60, 0.63)


def test_80_right_of_90_scored_with_10_broken_is_not_a_plain_88_9_percent() -> None:
    summary = pass_rate_summary(one_each(80, 10), total=100)
    assert summary.pass_rate == pytest.approx(0.8889, abs=5e-5)
    assert (summary.worst, summary.best) == (0.80, 0.90)


def test_repetitions_take_the_error_of_the_task_means() -> None:
    answers = {
        "a": [True, True, True, False],
        "b": [False] * 4,
        "c": [True, False, True, True],
        "d": [False, False, True, False],
        "e": [True] * 4,
    }
    summary = pass_rate_summary(answers, total=20)
    assert summary.pass_rate == 0.55
    assert summary.standard_error == pytest.approx(0.1837117, abs=5e-8)
    assert summary.standard_error_method is StandardErrorMethod.TASK_MEANS


def test_unequal_repetitions_take_the_cluster_robust_error_of_the_ratio() -> None:
    answers = {"a": [True] * 3, "b": [False] * 2, "c": [True, False, True], "d": [False, True]}
    summary = pass_rate_summary(answers, total=12)
    assert summary.pass_rate == 0.6
    assert summary.standard_error == pytest.approx(0.1986622, abs=5e-8)
    assert summary.standard_error_method is StandardErrorMethod.CLUSTER_CR1


def test_few_tasks_with_repetitions_take_t_with_tasks_minus_one_degrees_of_freedom() -> None:
    answers = {f"t{index}": [True, index % 2 == 0, False, index < 5] for index in range(10)}
    summary = pass_rate_summary(answers, total=40)
    assert summary.ci_method is IntervalMethod.STUDENT_T
    assert summary.standard_error is not None
    assert half_width(summary) == pytest.approx(2.262157 * summary.standard_error, rel=1e-6)


def test_many_tasks_with_repetitions_take_the_normal() -> None:
    answers = {f"t{index}": [True, index % 2 == 0] for index in range(50)} | {f"u{index}": [False, False] for index in range(10)}
    summary = pass_rate_summary(answers, total=120)
    assert summary.ci_method is IntervalMethod.NORMAL
    assert summary.standard_error is not None
    assert half_width(summary) == pytest.approx(Z95 * summary.standard_error)


def test_10_right_of_10_does_not_claim_certainty() -> None:
    summary = pass_rate_summary(one_each(10, 0), total=10)
    assert summary.standard_error == 0
    assert summary.ci_method is IntervalMethod.WILSON
    assert summary.ci95 == pytest.approx((1 - 0.277533, 1.0), abs=5e-7)


def test_all_right_with_repetitions_counts_tasks_not_answers() -> None:
    summary = pass_rate_summary({f"t{index}": [True] * 5 for index in range(40)}, total=200)
    assert summary.standard_error == 0
    assert summary.ci_method is IntervalMethod.WILSON_EFFECTIVE
    assert summary.ci95 == pytest.approx((40 / (40 + Z95**2), 1.0))


def test_tasks_that_are_all_alike_inside_do_not_claim_certainty() -> None:
    summary = pass_rate_summary({f"t{index}": [True, False] for index in range(20)}, total=40)
    assert summary.standard_error == 0
    assert summary.ci_method is IntervalMethod.WILSON_EFFECTIVE
    assert half_width(summary) > 0.15


def test_few_wrong_answers_with_repetitions_take_wilson_at_the_effective_number() -> None:
    answers = {f"t{index}": [True, index != 0] for index in range(50)}
    summary = pass_rate_summary(answers, total=100)
    assert summary.ci_method is IntervalMethod.WILSON_EFFECTIVE
    assert summary.ci95 is not None
    assert summary.ci95[0] < 0.99 - Z95 * 0.01
    assert summary.ci95[1] < 1


def test_nothing_scored_has_no_rate_but_its_bounds() -> None:
    summary = pass_rate_summary({}, total=100)
    assert (summary.pass_rate, summary.standard_error, summary.ci95, summary.mean_reward) == (None, None, None, None)
    assert summary.standard_error_method is StandardErrorMethod.NONE
    assert summary.ci_method is IntervalMethod.NONE
    assert (summary.worst, summary.best) == (0, 1)


def test_no_cases_have_no_bounds() -> None:
    summary = pass_rate_summary({}, total=0)
    assert summary.worst is summary.best is None


@pytest.mark.parametrize("answers", [[True], [True, False, True]])
def test_one_task_scored_has_a_rate_and_no_error(answers: list[bool]) -> None:
    summary = pass_rate_summary({"t": answers}, total=5)
    assert summary.pass_rate == sum(answers) / len(answers)
    assert (summary.standard_error, summary.ci95) == (None, None)


def test_a_task_without_scored_answers_is_no_task() -> None:
    assert pass_rate_summary({"t": [True], "u": []}, total=5) == pass_rate_summary({"t": [True]}, total=5)


def test_the_mean_reward_stands_beside_the_pass_rate() -> None:
    summary = pass_rate_summary(one_each(1, 1), total=3, rewards=[1.0, 0.25])
    assert (summary.pass_rate, summary.mean_reward) == (0.5, 0.625)


def test_more_answers_than_cases_are_refused() -> None:
    with pytest.raises(ValueError, match="3 answers are scored, but there are only 2 cases"):
        pass_rate_summary(one_each(3, 0), total=2)


def test_rewards_that_do_not_fit_the_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="1 rewards are given for 2 scored answers"):
        pass_rate_summary(one_each(1, 1), total=2, rewards=[1.0])


tasks = st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=40)


def named(lists: list[list[bool]]) -> Answers:
    return {f"t{index}": each for index, each in enumerate(lists)}


@given(tasks, st.integers(0, 20))
def test_the_interval_contains_the_rate_and_stays_within_0_and_1(lists: list[list[bool]], unscored: int) -> None:
    scored = sum(map(len, lists))
    summary = pass_rate_summary(named(lists), total=scored + unscored)
    assert summary.pass_rate is not None
    assert summary.worst is not None
    assert summary.best is not None
    assert summary.worst <= summary.pass_rate <= summary.best
    if len(lists) < 2:
        assert summary.standard_error is None
        return
    assert summary.standard_error is not None
    assert summary.standard_error >= 0
    assert summary.ci95 is not None
    low, high = summary.ci95
    assert 0 <= low <= summary.pass_rate <= high <= 1
    assert low < high


@given(tasks, st.randoms())
def test_no_order_of_tasks_or_answers_matters(lists: list[list[bool]], random: Random) -> None:
    total = sum(map(len, lists))
    rewards = [float(answer) / 3 for each in lists for answer in each]
    before = pass_rate_summary(named(lists), total=total, rewards=rewards)
    shuffled = [list(each) for each in lists]
    for each in shuffled:
        random.shuffle(each)
    random.shuffle(shuffled)
    random.shuffle(rewards)
    assert pass_rate_summary(named(shuffled), total=total, rewards=rewards) == before


@given(tasks, st.integers(0, 50))
def test_unscored_cases_never_count_as_zero(lists: list[list[bool]], unscored: int) -> None:
    scored = sum(map(len, lists))
    without = pass_rate_summary(named(lists), total=scored)
    with_some = pass_rate_summary(named(lists), total=scored + unscored)
    assert (with_some.pass_rate, with_some.standard_error, with_some.ci95) == (without.pass_rate, without.standard_error, without.ci95)
    assert (with_some.scored, with_some.total) == (scored, scored + unscored)


@given(st.lists(st.booleans(), min_size=2, max_size=100))
def test_one_answer_a_task_takes_the_simple_formula(values: list[bool]) -> None:
    summary = pass_rate_summary(named([[value] for value in values]), total=len(values))
    rate = sum(values) / len(values)
    assert summary.standard_error == pytest.approx(math.sqrt(rate * (1 - rate) / len(values)))


@given(tasks)
def test_clustered_errors_agree_with_the_reference_formulas(lists: list[list[bool]]) -> None:
    assume(len(lists) > 1)
    assume(any(len(each) > 1 for each in lists))
    summary = pass_rate_summary(named(lists), total=sum(map(len, lists)))
    assert summary.standard_error == pytest.approx(clustered_standard_error(lists), abs=1e-12)
    if summary.standard_error_method is StandardErrorMethod.TASK_MEANS:
        assert summary.standard_error == pytest.approx(task_means_standard_error(lists), abs=1e-12)


def test_identical_repetitions_add_no_certainty_which_a_pooled_error_would_claim() -> None:
    once = [[index % 3 == 0] for index in range(40)]
    thrice = [each * 3 for each in once]
    clustered = pass_rate_summary(named(thrice), total=120).standard_error
    assert clustered == pytest.approx(clt_standard_error([each[0] for each in once]))
    assert clustered is not None
    assert clt_standard_error([answer for each in thrice for answer in each]) < 0.6 * clustered


def test_counts_give_the_same_as_answers() -> None:
    counts = [TaskCount(answers=3, correct=2), TaskCount(answers=0, correct=0), TaskCount(answers=2, correct=0)]
    assert summary_of_counts(counts, total=6) == pass_rate_summary({"a": [True, True, False], "b": [False, False]}, total=6)
