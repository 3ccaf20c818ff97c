"""A running job's times where clocks were set: told by the scheduler's clock as it is now, so that no span of it is negative. Pure.

A supervisor's own clock cannot be set: its report says for how long the job has run, whatever the wall clock says. A clock that was set
forward between two schedulers is not seen, here as elsewhere: time may have passed.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from local_backend.jobs.order import Report
from local_backend.jobs.standing import Standing, serving_of
from local_backend.storage.job_records import JobRecord
from local_backend.storage.records import time_from, time_text

_FRESH = timedelta(seconds=10)
"""A supervisor that lives has written its report within twice its beat."""


def started_by(report: Report, now: datetime, *, alive: bool) -> datetime:
    """When a job that has started did, by a clock that says now. The wall clock, by which its supervisor told it, may say something else.

    `alive`: its supervisor lives, so that its report is fresh.
    """
    at_latest = now - timedelta(microseconds=report.used_us)
    started = min(report.started, at_latest)
    return max(started, at_latest - _FRESH) if alive else started


def by_this_clock(record: JobRecord, report: Report, now: datetime) -> bool:
    """Put a running job's times right where its clock was set back since it started. Whether it was."""
    if record.started_at is None or not report.started_at:
        return False
    started = started_by(report, now, alive=False)
    shift = started - record.started_at
    if shift >= timedelta():
        return False
    record.started_at = started
    if serving_of(record) is not None:
        standing = Standing.of(record)
        standing.since, standing.idle_since = _moved(standing.since, shift), _moved(standing.idle_since, shift)
        standing.keep(record)
    if "meter" in record.energy:
        meter: Mapping[str, Any] = record.energy["meter"]
        last = {uuid: {**each, "at": (datetime.fromisoformat(each["at"]) + shift).isoformat()} for uuid, each in meter["last"].items()}
        record.energy = {**record.energy, "meter": {**meter, "last": last}}
    return True


def _moved(moment: str, shift: timedelta) -> str:
    found = time_from(moment or None)
    return moment if found is None else time_text(found + shift) or ""
