"""The planning tables: allocation, precision, power, wall clock and sandbox money."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.statistics.hardware_rates import DEFAULT_RATES, rates_with
from nodus_tui.statistics.planning import (
    Contrast,
    allocation,
    expected_half_width,
    minimum_detectable_difference,
    sandbox_money,
    tasks_needed,
    time_charge,
    variance_factor,
    wall_clock_minutes,
)


@pytest.mark.parametrize(("repetitions", "expected"), [(1, 1.0), (2, 2 / 3), (4, 0.5)])
def test_repetitions_cut_the_variance_of_one_answer_to_1_plus_2_over_k_thirds(repetitions: int, expected: float) -> None:
    assert variance_factor(repetitions) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("repetitions", "tasks", "variance", "error"), [(1, 100, "1.00", "1.00"), (2, 50, "1.33", "1.15"), (4, 25, "2.00", "1.41")]
)
def test_100_cases_as_100x1_50x2_25x4(repetitions: int, tasks: int, variance: str, error: str) -> None:
    shared = allocation(100, repetitions)
    assert shared.tasks == tasks
    assert (f"{shared.relative_variance:.2f}", f"{shared.relative_standard_error:.2f}") == (variance, error)


@pytest.mark.parametrize(("tasks", "points"), [(100, "9.8"), (400, "4.9")])
def test_expected_half_width_at_one_half(tasks: int, points: str) -> None:
    assert f"{100 * expected_half_width(tasks):.1f}" == points


def test_expected_half_width_of_50x2_is_1_15_times_that_of_100x1() -> None:
    assert f"{expected_half_width(50, 2) / expected_half_width(100):.2f}" == "1.15"


def test_power_finds_3_points_with_969_tasks() -> None:
    assert tasks_needed(Contrast(difference_variance=1 / 9), 0.03) == 969


@pytest.mark.parametrize(("repetitions", "expected"), [(1, 0.132733), (10, 0.075670)])
def test_minimum_detectable_difference_of_198_tasks(repetitions: int, expected: float) -> None:
    contrast = Contrast(1 / 9, 1 / 6, 1 / 6, repetitions, repetitions)
    assert minimum_detectable_difference(contrast, 198) == pytest.approx(expected, abs=5e-7)


@given(st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_so_many_tasks_as_are_needed_find_the_difference_and_one_fewer_do_not(variance: float, difference: float) -> None:
    contrast = Contrast(variance)
    needed = tasks_needed(contrast, difference)
    assert minimum_detectable_difference(contrast, needed) <= difference * (1 + 1e-12)
    if needed > 1:
        assert minimum_detectable_difference(contrast, needed - 1) > difference * (1 - 1e-12)


@pytest.mark.parametrize(("active", "minutes"), [(1, 1000), (10, 100), (25, 40), (50, 20), (100, 10)])
def test_wall_clock_of_100_cases_of_10_minutes(active: int, minutes: int) -> None:
    assert wall_clock_minutes(100, active, Decimal(10)) == minutes


def test_wall_clock_counts_the_last_wave_whole() -> None:
    assert wall_clock_minutes(101, 50, Decimal("2.5")) == Decimal("7.5")
    assert wall_clock_minutes(1, 1000, Decimal(3)) == 3


@pytest.mark.parametrize(
    ("hardware", "per_hour", "money"), [("CPU", "0.0075", "0.13"), ("L4", "0.430", "7.17"), ("H100 SXM", "2.600", "43.33")]
)
def test_100_episodes_of_10_minutes_by_hardware(hardware: str, per_hour: str, money: str) -> None:
    assert DEFAULT_RATES[hardware] == Decimal(per_hour)
    assert sandbox_money(Decimal(1000), DEFAULT_RATES)[hardware] == Decimal(money)


def test_sandbox_money_is_exact_before_it_is_rounded() -> None:
    assert time_charge(Decimal(60_000), Decimal("0.0075")) == Decimal("0.125")
    assert time_charge(Decimal(1), Decimal(1)) * 3600 == pytest.approx(Decimal(1), abs=Decimal("1e-50"))


def test_a_small_amount_of_sandbox_money_keeps_its_digits() -> None:
    assert sandbox_money(Decimal(10), {"CPU": Decimal("0.0075")}) == {"CPU": Decimal("0.0013")}


def test_own_rates_take_the_place_of_the_defaults_and_add_to_them() -> None:
    rates = rates_with({"CPU": Decimal(0), "Workstation": Decimal("0.05")})
    assert rates == {"CPU": 0, "L4": Decimal("0.430"), "H100 SXM": Decimal("2.600"), "Workstation": Decimal("0.05")}
    assert sandbox_money(Decimal(1000), rates)["CPU"] == 0
    assert DEFAULT_RATES["CPU"] == Decimal("0.0075")


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(ValueError, match="at least once, not 0 times"):
        variance_factor(0)
    with pytest.raises(ValueError, match="100 cases do not make whole tasks of 3 repetitions"):
        allocation(100, 3)
    with pytest.raises(ValueError, match="at least one task, not 0"):
        expected_half_width(0)
    with pytest.raises(ValueError, match="difference of zero"):
        tasks_needed(Contrast(1 / 9), 0)
    with pytest.raises(ValueError, match="at least one task, not 0"):
        minimum_detectable_difference(Contrast(1 / 9), 0)
    with pytest.raises(ValueError, match="maxActive is at least 1, not 0"):
        wall_clock_minutes(10, 0, Decimal(1))
