"""A timeline: what each run did when, drawn on a window of time that fits, scrolls, zooms and follows the present."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from console_records import NOW, START, changed, group, run, scored, snapshot
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.ascii_cells import ascii_cells
from nodus_tui.contract.phases import Reason, RunActivity, RunPhase, Verdict
from nodus_tui.view_state.cells import line_width, plain
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.run_story import STORY_SIGNS, Part, end_sign, story, story_words
from nodus_tui.view_state.time_window import STEPS, TimeWindow
from nodus_tui.view_state.timeline import TimelineState, legend, middle_of, timeline_columns


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def stretches(*told: tuple[RunActivity, float]) -> list[dict[str, object]]:
    return [{"activity": activity, "since": at(seconds)} for activity, seconds in told]


TOLD = stretches(("Queued", 0), ("Preparing", 10), ("Working", 14), ("Paused", 20), ("Working", 26), ("Grading", 36))


def worked(case: int = 1, **more):
    return run(case, phase=RunPhase.SUCCEEDED, verdict=Verdict.CORRECT, started_at=at(10), ended_at=at(38), stretches=TOLD, **more)


def window(step: float, width: int = 60) -> TimeWindow:
    made = TimeWindow()
    made.settle(START, START + timedelta(seconds=step * (width - 2)), width, going=False)
    assert made.step == step
    return made


def test_a_story_has_every_stretch_up_to_the_end_or_now() -> None:
    assert [(part.activity, part.seconds) for part in story(worked(), NOW)] == [
        ("Queued", 10),
        ("Preparing", 4),
        ("Working", 6),
        ("Paused", 6),
        ("Working", 10),
        ("Grading", 2),
    ]
    assert story_words(worked(), NOW) == "queued 10.0s, prepared 4.0s, worked 16.0s, held up 6.0s, graded 2.0s"
    going = run(1, phase=RunPhase.RUNNING, started_at=at(10), stretches=TOLD[:3])
    assert story(going, NOW)[-1].end == NOW


def test_the_story_of_a_run_of_an_earlier_version_is_what_its_own_moments_tell() -> None:
    assert [part.activity for part in story(scored(1, Verdict.CORRECT), NOW)] == ["Queued", "Working"]
    waiting = run(1, phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED, started_at=at(5), rested_at=at(9))
    assert [(part.activity, part.begin) for part in story(waiting, NOW)] == [("Queued", START), ("Working", at(5)), ("AtCap", at(9))]
    assert [part.activity for part in story(run(1), NOW)] == ["Queued"]


def test_each_cell_shows_what_took_most_of_it_and_the_one_behind_the_last_how_it_ended() -> None:
    shown = plain(window(2).cells(story(worked(), NOW), 60, end_sign(worked())))
    assert shown.rstrip() == "⋅⋅⋅⋅⋅▒▒███~~~█████▓✓"
    coarse = plain(window(10).cells(story(worked(), NOW), 60, end_sign(worked())))
    assert coarse.rstrip() == "⋅█~█✓"


def test_every_activity_has_a_sign_of_its_own_in_ascii_too() -> None:
    glyphs = [sign.glyph for sign in STORY_SIGNS.values()]
    assert len({ascii_cells(glyph) for glyph in glyphs}) == len(glyphs)
    assert line_width(legend(78)) <= 78


MOMENTS = st.floats(0, 400_000).map(at)


@given(st.lists(MOMENTS, min_size=2, max_size=9), st.integers(1, 300), st.sampled_from(STEPS), MOMENTS)
def test_a_story_takes_exactly_the_cells_that_it_is_given(moments, width, step, begin) -> None:
    ordered = sorted(moments)
    parts = [Part("Working", one, other) for one, other in pairwise(ordered)]
    made = TimeWindow()
    made.begin, made.step = begin, step
    assert line_width(made.cells(parts, width, end_sign(worked()))) == width
    assert line_width(made.axis(width, NOW)) == width


@given(MOMENTS, MOMENTS, st.integers(20, 300), st.booleans())
def test_all_of_a_groups_time_fits_the_window(one, other, width, going) -> None:
    first, last = sorted((one, other))
    made = TimeWindow()
    made.settle(first, last, width, going=going)
    assert 0 <= made.cell_of(first) <= made.cell_of(last) < width


@given(st.floats(60, 100_000), st.sampled_from(STEPS[:12]))
def test_a_window_that_follows_has_the_present_in_it_and_moves_in_jumps(seconds, step) -> None:
    made = TimeWindow()
    made.settle(START, at(seconds), 80, going=True)
    made.follow()
    made.step = step
    begins = set()
    for tick in range(40):
        now = at(seconds + tick * step)
        made.settle(START, now, 80, going=True)
        assert 0 <= made.cell_of(now) < 80
        begins.add(made.begin)
    assert len(begins) <= 6


def test_a_window_of_everything_stays_as_it_is_while_what_goes_on_grows_into_it() -> None:
    made = TimeWindow()
    keys = []
    for second in range(60, 240):
        made.settle(START, at(second), 80, going=True)
        keys.append(made.key)
    assert len(set(keys)) <= 4


def test_zooming_keeps_the_moment_in_its_place_and_panning_goes_where_it_is_told() -> None:
    made = window(10)
    middle = at(200)
    before = made.cell_of(middle)
    made.zoom(1, middle)
    made.settle(START, at(1000), 60, going=False)
    assert made.step == 5
    assert abs(made.cell_of(middle) - before) <= 1
    begin = made.begin
    made.pan(1)
    made.settle(START, at(1000), 60, going=False)
    assert made.begin == begin + timedelta(seconds=5 * 7)
    made.show_all()
    made.settle(START, at(580), 60, going=False)
    assert (made.step, made.begin) == (10, START)
    assert made.words() == "10s a cell, all of it"


def test_the_axis_is_in_the_time_of_the_place_and_marks_the_present() -> None:
    here = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    made = window(5)
    axis = plain(made.axis(60, here))
    assert axis.startswith("╵19:30")
    assert axis[made.cell_of(NOW)] == "▼"
    assert "▼" not in plain(made.axis(20, here))


@pytest.mark.parametrize("going", [True, False])
def test_the_rows_follow_the_groups_runs_with_earlier_attempts(*, going: bool) -> None:
    first = worked(1, current=False)
    second = run(1, attempt=2, predecessor=first.name, phase=RunPhase.RUNNING, started_at=at(50), created_at=at(40))
    known = GroupState("fleet")
    known.load(snapshot(group(), runs=[first, second]))
    state = TimelineState(known)
    state.refresh()
    assert [state.rows.key_at(place) for place in range(2)] == [first.name, second.name]
    assert state.moving()
    if not going:
        known.fold(changed("AgentRun", second.name, 101, of="fleet", phase="Cancelled", endedAt="2026-03-14T14:02:00Z"))
        state.refresh()
        assert not state.moving()
    state.settle(60, NOW)
    assert state.window.cell_of(NOW if going else at(120)) < 60
    assert middle_of(first, NOW) == at(24)


def test_the_timeline_column_is_as_wide_as_there_is_room_and_copied_in_words() -> None:
    made = window(2)
    column = timeline_columns(made)[-1]
    assert line_width(column.fitted(worked(), NOW, 47)) == 47
    assert plain(column.cell(worked(), NOW)).startswith("queued 10.0s, prepared 4.0s")
    assert NOW.tzinfo is UTC
