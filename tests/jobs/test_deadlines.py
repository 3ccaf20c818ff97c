from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.jobs.deadlines import HOUR_US, LEAST_US, SECOND_US, affordable_us, charge, kill_us, plan
from local_backend.jobs.describing import cost_nano
from local_backend.storage.job_records import JobRecord

AMOUNTS = st.integers(min_value=1, max_value=10**18)
RATES = st.integers(min_value=1, max_value=10**15)
SPANS = st.integers(min_value=SECOND_US, max_value=30 * 24 * HOUR_US)


@given(used=st.integers(min_value=0, max_value=10**14), rate=RATES)
def test_a_charge_is_rounded_up_by_less_than_a_nano_dollar(used: int, rate: int) -> None:
    assert 0 <= charge(used, rate) * HOUR_US - used * rate < HOUR_US


@given(cap=AMOUNTS, rate=RATES)
def test_the_time_that_a_cap_pays_for_is_the_longest_that_does_not_pass_it(cap: int, rate: int) -> None:
    longest = affordable_us(cap, rate)
    assert longest is not None
    assert charge(longest, rate) <= cap < charge(longest + 1, rate)


@given(cap=AMOUNTS, rate=RATES, timeout=SPANS, grace=SPANS, stopped_after=st.integers(min_value=0, max_value=10**15))
def test_whatever_ends_a_job_all_of_it_is_killed_while_its_cap_still_pays(
    cap: int, rate: int, timeout: int, grace: int, stopped_after: int
) -> None:
    longest = affordable_us(cap, rate)
    assert longest is not None
    if longest < LEAST_US:
        with pytest.raises(ValueError, match="pays for"):
            plan(cap=cap, rate=rate, timeout_us=timeout, grace_us=grace)
        return
    found = plan(cap=cap, rate=rate, timeout_us=timeout, grace_us=grace)
    asked = min(found.ask_us, stopped_after)
    killed = kill_us(asked, grace, found.last_us)
    assert 0 < found.ask_us <= timeout
    assert asked <= killed < longest
    assert charge(killed, rate) <= cap
    # It is never asked without any time to end in.
    assert kill_us(found.ask_us, grace, found.last_us) - found.ask_us >= min(grace, longest // 4)


@given(timeout=SPANS, grace=SPANS)
def test_where_time_costs_nothing_only_the_timeout_ends_it(timeout: int, grace: int) -> None:
    found = plan(cap=1, rate=0, timeout_us=timeout, grace_us=grace)
    assert (found.ask_us, found.reason, found.last_us) == (timeout, "Timeout", None)
    assert kill_us(found.ask_us, grace, found.last_us) == timeout + grace


def test_a_clock_that_was_set_back_makes_no_negative_cost() -> None:
    started = datetime(2026, 5, 1, 12, tzinfo=UTC)
    spec = {"command": ["true"], "maxCostUSD": "1"}
    record = JobRecord(
        "work", {"name": "work"}, spec, None, cap=10**9, rate=36 * 10**9, created_at=started, started_at=started, cost_before=5
    )
    assert cost_nano(record, started - timedelta(hours=1)) == 5
    assert cost_nano(record, started + timedelta(seconds=1)) == 5 + 10**7
