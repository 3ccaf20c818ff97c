"""The arithmetic of a Sandbox's limits: no cap is ever passed, and the first limit counts."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.jobs.deadlines import LEAST_US, affordable_us, charge
from local_backend.sandbox_kind.limits import STOP_SECONDS, cost_of, limits_of

START = datetime(2026, 3, 31, 23, 59, 50, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

caps = st.integers(1, 10**15)
rates = st.integers(0, 10**13)
lifetimes = st.integers(60, 30 * 86_400).map(lambda seconds: timedelta(seconds=seconds))


@given(cap=caps, rate=rates, lifetime=lifetimes, late=st.integers(0, 10**15))
def test_no_cap_is_passed_however_late_the_end_is_noticed(cap: int, rate: int, lifetime: timedelta, late: int) -> None:
    longest = affordable_us(cap, rate)
    if longest is not None and longest < LEAST_US:
        with pytest.raises(ValueError, match="it pays for"):
            limits_of(cap=cap, rate=rate, idle=timedelta(minutes=10), lifetime=lifetime)
        return
    limits = limits_of(cap=cap, rate=rate, idle=timedelta(minutes=10), lifetime=lifetime)
    # What ends by itself has cost no more than the cap, though nobody stopped it.
    assert charge(limits.end // MICROSECOND, rate) <= cap
    assert timedelta() < limits.ask <= limits.end
    assert limits.ask <= lifetime
    assert limits.end <= lifetime + timedelta(seconds=STOP_SECONDS)
    ended = START + late * MICROSECOND
    cost = cost_of(cap=cap, rate=rate, started_at=START, ended_at=ended, end=limits.end)
    assert cost == charge(min(late, limits.end // MICROSECOND), rate)
    assert cost <= cap


def test_a_stop_has_its_time_before_the_cap_and_the_first_limit_counts() -> None:
    # A cent a second: a dollar pays for 100 s, the stop has a quarter of them.
    limits = limits_of(cap=10**9, rate=36 * 10**9, idle=timedelta(minutes=1), lifetime=timedelta(hours=1))
    assert (limits.ask, limits.end, limits.reason) == (timedelta(seconds=74), timedelta(seconds=99), "MaxCostReached")
    assert limits.due(START, START) == (START + timedelta(seconds=60), "IdleTimeout")
    assert limits.due(START, START + timedelta(seconds=20)) == (START + timedelta(seconds=74), "MaxCostReached")
    assert limits.due(START, None) == (START + timedelta(seconds=74), "MaxCostReached")
    free = limits_of(cap=1, rate=0, idle=timedelta(minutes=1), lifetime=timedelta(hours=1))
    assert (free.ask, free.reason) == (timedelta(hours=1), "MaxLifetime")
    assert free.end == timedelta(hours=1, seconds=STOP_SECONDS)


def test_a_cap_that_pays_for_too_little_time_says_for_how_much() -> None:
    with pytest.raises(ValueError, match=r"1\.00 s of this hardware, and a sandbox needs 2 s"):
        limits_of(cap=10**7, rate=36 * 10**9, idle=timedelta(minutes=1), lifetime=timedelta(hours=1))
