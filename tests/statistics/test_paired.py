"""Paired comparison of two agents on the same tasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.statistics.paired import compare_paired


def scores(digits: str) -> dict[str, float]:
    return {f"t{index}": float(digit) for index, digit in enumerate(digits)}


A, B = scores("11010110"), scores("10010011")


def test_paired_example_difference_is_0_125() -> None:
    assert compare_paired(A, B).difference == pytest.approx(0.125)


def test_paired_example_standard_error_is_0_2265817() -> None:
    assert compare_paired(A, B).standard_error == pytest.approx(0.2265817, abs=5e-8)


def test_paired_example_unpaired_error_is_0_2630521() -> None:
    assert compare_paired(A, B).unpaired_standard_error == pytest.approx(0.2630521, abs=5e-8)


def test_paired_example_correlation_is_0_2581989() -> None:
    assert compare_paired(A, B).correlation == pytest.approx(0.2581989, abs=5e-8)


def test_only_tasks_that_both_answered_count() -> None:
    more = compare_paired(A | {"only-a": 1.0}, B | {"only-b": 0.0})
    assert more == compare_paired(A, B)
    assert more.tasks == 8


def test_an_agent_that_scores_every_task_alike_has_no_correlation() -> None:
    assert compare_paired(A, scores("11111111")).correlation is None


def test_one_common_task_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two tasks that both answered; there are 1"):
        compare_paired({"a": 1.0, "b": 0.0}, {"b": 1.0, "c": 0.0})


pairs = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30)


@given(pairs)
def test_exchanging_the_agents_turns_the_sign_and_nothing_else(values: list[tuple[float, float]]) -> None:
    first = {f"t{index}": pair[0] for index, pair in enumerate(values)}
    second = {f"t{index}": pair[1] for index, pair in enumerate(values)}
    forth, back = compare_paired(first, second), compare_paired(second, first)
    assert back.difference == -forth.difference
    assert back.standard_error == pytest.approx(forth.standard_error, abs=1e-12)
    assert back.unpaired_standard_error == forth.unpaired_standard_error


@given(pairs)
def test_an_agent_does_not_differ_from_itself(values: list[tuple[float, float]]) -> None:
    same = {f"t{index}": pair[0] for index, pair in enumerate(values)}
    comparison = compare_paired(same, same)
    assert (comparison.difference, comparison.standard_error) == (0, 0)
