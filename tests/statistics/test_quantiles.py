"""Quantiles against published table values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.statistics.quantiles import normal_quantile, student_t_cdf, student_t_quantile


@pytest.mark.parametrize(
    ("probability", "expected"), [(0.5, 0.0), (0.8, 0.841621), (0.975, 1.959964), (0.995, 2.575829), (0.025, -1.959964)]
)
def test_the_normal_quantiles_of_the_tables(probability: float, expected: float) -> None:
    assert normal_quantile(probability) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        (1, 12.706205),
        (2, 4.302653),
        (3, 3.182446),
        (4, 2.776445),
        (5, 2.570582),
        (9, 2.262157),
        (10, 2.228139),
        (24, 2.063899),
        (30, 2.042272),
    ],
)
def test_the_t_quantiles_of_the_tables_at_95_percent(degrees: int, expected: float) -> None:
    assert student_t_quantile(0.975, degrees) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("probability", "degrees", "expected"),
    [(0.95, 1, 6.313752), (0.95, 120, 1.657651), (0.995, 5, 4.032143), (0.9995, 7, 5.407883), (0.75, 2, 0.816497)],
)
def test_the_t_quantiles_of_the_tables_at_other_levels(probability: float, degrees: int, expected: float) -> None:
    assert student_t_quantile(probability, degrees) == pytest.approx(expected, abs=5e-7)


def test_t_comes_near_the_normal_with_many_degrees_of_freedom() -> None:
    assert student_t_quantile(0.975, 100_000) == pytest.approx(normal_quantile(0.975), abs=3e-5)


def test_one_and_two_degrees_of_freedom_have_closed_forms() -> None:
    for value in (-3.0, -0.5, 0.0, 1.0, 7.0):
        assert student_t_cdf(value, 1) == pytest.approx(0.5 + math.atan(value) / math.pi, abs=1e-15)
        assert student_t_cdf(value, 2) == pytest.approx(0.5 + value / (2 * math.sqrt(2 + value * value)), abs=1e-15)


@given(st.floats(0.001, 0.999), st.integers(1, 200))
def test_the_quantile_undoes_the_distribution_function(probability: float, degrees: int) -> None:
    assert student_t_cdf(student_t_quantile(probability, degrees), degrees) == pytest.approx(probability, abs=1e-12)


@given(st.floats(0.501, 0.999), st.integers(1, 200))
def test_t_is_symmetric_wider_than_the_normal_and_narrows(probability: float, degrees: int) -> None:
    quantile = student_t_quantile(probability, degrees)
    assert student_t_quantile(1 - probability, degrees) == pytest.approx(-quantile, rel=1e-9)
    assert quantile > student_t_quantile(probability, degrees + 1) > normal_quantile(probability)


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1, 1.1, math.nan])
def test_a_probability_outside_is_refused(probability: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        normal_quantile(probability)
    with pytest.raises(ValueError, match="between 0 and 1"):
        student_t_quantile(probability, 5)


def test_no_degree_of_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one degree of freedom"):
        student_t_quantile(0.975, 0)
