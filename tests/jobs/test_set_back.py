"""A running job's times where the clock was set back since it started: nothing of it is negative, and nothing lasts longer for it."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from local_backend.jobs.order import Report
from local_backend.jobs.set_back import by_this_clock, started_by
from local_backend.jobs.standing import Standing
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import time_text

STARTED = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
BACK = timedelta(hours=8)
USED = timedelta(minutes=10)


def running(**more: object) -> JobRecord:
    spec = {"command": ["serve"], "maxCostUSD": "1.00", "network": True, "serve": {"family": "qwen", "port": 8000}}
    record = JobRecord("server", {"name": "server"}, spec, None, 1_000_000_000, 36_000_000_000, STARTED, token="t", phase="Serving")
    record.started_at = STARTED
    standing = Standing(up=True, since=time_text(STARTED + USED) or "", idle_since=time_text(STARTED + USED) or "")
    standing.keep(record)
    record.energy = {"meter": {"joules": 1.0, "assumed_seconds": 0.0, "last": {"GPU-1": {"at": (STARTED + USED).isoformat()}}}}
    return record


def report() -> Report:
    return Report("t", "Running", STARTED.isoformat(), used_us=USED // timedelta(microseconds=1))


def test_all_its_moments_go_back_with_the_clock() -> None:
    record, now = running(), STARTED + USED - BACK
    assert by_this_clock(record, report(), now)
    assert record.started_at == now - USED
    standing = Standing.of(record)
    assert [datetime.fromisoformat(each) for each in (standing.since, standing.idle_since)] == [now, now]
    assert record.energy["meter"]["last"]["GPU-1"]["at"] == now.isoformat()
    json.dumps(record.energy)
    assert not by_this_clock(record, report(), now), "and they do so once"


@pytest.mark.parametrize("later", [timedelta(), timedelta(seconds=4), timedelta(days=3)])
def test_a_clock_that_went_on_or_was_set_forward_changes_nothing(later: timedelta) -> None:
    record = running()
    assert not by_this_clock(record, report(), STARTED + USED + later)
    assert record.started_at == STARTED
    assert started_by(report(), STARTED + USED + later, alive=False) == STARTED


@pytest.mark.parametrize("set_by", [timedelta(), timedelta(hours=3), timedelta(days=-40)])
def test_one_that_was_started_under_another_clock_than_its_schedulers_has_run_for_as_long_as_it_has(set_by: timedelta) -> None:
    """The wall clock was set while the scheduler worked: a server would be late at once, or never, and a budget pay for what never ran."""
    now = STARTED + USED + set_by
    assert timedelta() <= now - started_by(report(), now, alive=True) - USED <= timedelta(seconds=10)


def test_one_that_has_not_started_has_no_times() -> None:
    record = running()
    record.started_at = None
    assert not by_this_clock(record, Report("t", "Preparing", ""), STARTED)
