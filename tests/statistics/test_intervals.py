"""Intervals of a rate against the figures of the literature."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.statistics.intervals import Z95, symmetric_interval, wilson_interval


def test_wilson_of_0_among_10_is_0_to_0_277533() -> None:
    low, high = wilson_interval(0, 10)
    assert low == 0
    assert high == pytest.approx(0.277533, abs=5e-7)


def test_wilson_of_7_among_50_is_0_069508_to_0_261862() -> None:
    assert wilson_interval(7 / 50, 50) == pytest.approx((0.069508, 0.261862), abs=5e-7)


def test_normal_of_one_half_among_100_is_9_8_points_either_way() -> None:
    low, high = symmetric_interval(0.5, 0.05)
    assert (f"{100 * low:.1f}", f"{100 * high:.1f}") == ("40.2", "59.8")


def test_a_symmetric_interval_is_cut_off_at_0_and_1() -> None:
    assert symmetric_interval(0.05, 0.1)[0] == 0
    assert symmetric_interval(0.95, 0.1)[1] == 1


@given(st.integers(1, 2000), st.data())
def test_wilson_contains_the_rate_stays_within_and_mirrors(answers: int, data: st.DataObject) -> None:
    correct = data.draw(st.integers(0, answers))
    low, high = wilson_interval(correct / answers, answers)
    assert 0 <= low <= correct / answers <= high <= 1
    assert low < high
    mirrored = wilson_interval((answers - correct) / answers, answers)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(st.floats(0, 1), st.floats(0.5, 500))
def test_wilson_solves_the_score_equation(rate: float, answers: float) -> None:
    for end in wilson_interval(rate, answers):
        assert (rate - end) ** 2 == pytest.approx(Z95**2 * end * (1 - end) / answers, abs=1e-9)


def test_wilson_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        wilson_interval(0.5, 0)
