"""The forecast of a group's course: what must hold for any load, and some courses that can be counted by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.statistics.queueing import GroupLoad, RunLoad, forecast, what_if
from nodus_tui.values import replace

RUNS = st.builds(RunLoad, cap=st.integers(1, 100), spent=st.integers(0, 1), seconds=st.floats(0, 100))
LOADS = st.builds(
    GroupLoad,
    going=st.lists(RUNS, max_size=8).map(tuple),
    waiting=st.lists(st.builds(RunLoad, cap=st.integers(1, 100), spent=st.integers(0, 1)), max_size=30).map(tuple),
    max_active=st.integers(1, 12),
    left=st.integers(0, 1000),
    mean_seconds=st.one_of(st.none(), st.floats(0.5, 1000)),
    mean_spent=st.one_of(st.none(), st.integers(0, 120)),
)


@given(LOADS, st.integers(1, 12))
def test_more_at_once_never_starts_a_run_later_nor_ends_the_group_later(load: GroupLoad, fewer: int) -> None:
    few, more = forecast(load, fewer), forecast(load, fewer + 1)
    assert more.stranded == few.stranded
    for one, other in zip(few.starts, more.starts, strict=True):
        assert one is None or (other is not None and other <= one)
    if few.seconds is not None:
        assert more.seconds is not None
        assert more.seconds <= few.seconds


@given(LOADS)
def test_the_present_max_active_forecasts_the_present(load: GroupLoad) -> None:
    assert forecast(load, load.max_active) == forecast(load)
    assert what_if(load, [load.max_active, load.max_active]) == (forecast(load),)


@given(LOADS, st.integers(1, 12))
def test_neither_slots_nor_the_cap_are_ever_passed(load: GroupLoad, slots: int) -> None:
    found = forecast(load, slots)
    assert len(load.going) <= found.peak_active <= max(slots, len(load.going))
    # What is spent already lies inside the reservations.
    assert found.peak_reserved <= load.reserved + load.left + sum(run.spent for run in load.waiting)
    starts = [start for start in found.starts if start is not None]
    assert starts == sorted(starts)


@given(LOADS)
def test_without_a_pace_there_is_no_time_and_what_starts_now_is_still_known(load: GroupLoad) -> None:
    known, blind = forecast(load), forecast(replace(load, mean_seconds=None, mean_spent=None))
    assert blind.seconds is None
    assert set(blind.starts) <= {None, 0.0}
    assert blind.admitted == known.admitted
    assert blind.stranded >= known.stranded


def ten(cap: int = 100, **values) -> GroupLoad:
    """Ten runs wait, none goes."""
    fields = {"going": (), "max_active": 2, "left": 10_000, "mean_seconds": 60.0, "mean_spent": 40}
    return GroupLoad(waiting=(RunLoad(cap),) * 10, **{**fields, **values})


def test_two_at_a_time_take_five_rounds_and_ten_at_a_time_take_one() -> None:
    assert forecast(ten()).seconds == 300
    assert forecast(ten()).starts == (0, 0, 60, 60, 120, 120, 180, 180, 240, 240)
    assert forecast(ten(), 10).seconds == 60
    assert forecast(ten(), 10).peak_reserved == 1000


def test_the_cap_admits_only_as_many_as_it_has_room_for() -> None:
    found = forecast(ten(left=700), 10)
    assert (found.admitted, found.peak_active, found.peak_reserved) == (7, 7, 700)
    assert found.held_by_cap
    # Each gives back 60 of its 100: 420 for the other three.
    assert found.starts[7:] == (60, 60, 60)
    assert found.stranded == 0
    assert not forecast(ten(left=700), 7).held_by_cap


def test_where_nothing_comes_back_the_rest_waits_for_more_cap() -> None:
    found = forecast(ten(left=700, mean_spent=100), 10)
    assert (found.stranded, found.seconds) == (3, 60)
    assert found.starts[7:] == (None, None, None)


def test_runs_that_go_end_when_the_mean_is_over_and_late_ones_at_once() -> None:
    found = forecast(ten(going=(RunLoad(100, 10, 50), RunLoad(100, 90, 500))))
    assert found.starts[:3] == (0, 10, 60)


def test_no_slot_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        forecast(ten(), 0)
