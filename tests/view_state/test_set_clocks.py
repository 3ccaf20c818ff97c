"""Clocks that were set while something went: a pace that nobody would believe foresees nothing, and breaks nothing."""

from console_records import group
from test_queue_state import BUSY, going, pending, queue, told


def test_the_queue_foresees_no_moment_beyond_the_calendar() -> None:
    state = queue(going(1), pending(2), pending(3), groups=[group(max_active=1, **{**BUSY, "mean_run_seconds": 1e11})])
    assert [when for _, _, when in told(state)] == ["unknown", "unknown"]
