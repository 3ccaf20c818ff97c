"""The scheduler's log as lines: levels that carry over, bounded, made once; and the facts in words."""

from datetime import UTC, datetime, timedelta

from nodus_tui.contract.scheduler_view import LoopLag, SchedulerFacts, SchedulerLog, SchedulerView
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.scheduler_log import MOST_LINES, SchedulerLogState, bytes_text, lag_line, lag_text, scheduler_lines

NOW = datetime(2026, 1, 2, 9, tzinfo=UTC)


def piece(text: str, offset: int = 0, at: datetime = NOW, last_event: int = 0) -> SchedulerView:
    log = SchedulerLog(text=text, offset=offset, next_offset=offset + len(text), size=offset + len(text))
    return SchedulerView(at=at, facts=SchedulerFacts(pid=1, last_event=last_event), log=log)


def texts(state: SchedulerLogState, width: int = 200) -> list[str]:
    return [plain(each) for each in state.lines(width)]


def test_what_follows_a_record_has_its_level() -> None:
    state = SchedulerLogState()
    state.take(piece("2026-01-02 09:00:00,000 ERROR a.b: broke\nTraceback\n2026-01-02 09:00:00,000 INFO a.b: on\n"))
    state.level = 2
    assert texts(state) == ["2026-01-02 09:00:00 ERROR b broke", "Traceback"]


def test_the_rate_is_told_of_two_looks_and_the_log_goes_on_where_it_was() -> None:
    state = SchedulerLogState()
    state.take(piece("one\n", last_event=10))
    assert state.rate is None
    state.take(piece("two\n", offset=state.place, at=NOW + timedelta(seconds=2), last_event=16))
    assert state.rate == 3
    assert texts(state) == ["one", "two"]
    assert any("3 events/s" in plain(each) for each in scheduler_lines(state, NOW))


def test_it_is_bounded_and_only_new_lines_are_made() -> None:
    state = SchedulerLogState()
    state.take(piece("x\n" * (2 * MOST_LINES + 1)))
    assert state.total == MOST_LINES
    before = state.lines(80)
    state.take(piece("new\n", offset=state.place))
    after = state.lines(80)
    assert all(old is new for old, new in zip(before, after, strict=False))
    assert plain(after[-1]) == "new"


def test_words_are_marked_and_lines_with_them_counted() -> None:
    state = SchedulerLogState()
    state.take(piece("first Word\nsecond\nthird word word\n"))
    state.words = "word"
    shown = state.lines(80)
    assert state.hits == [0, 2]
    assert [span.text for span in shown[0] if span.tone == "key"] == ["Word"]


def test_figures_are_told_in_steps_that_do_not_flicker() -> None:
    assert [lag_text(each) for each in (0.2, 1.0, 1.1, 130, 4_000, 9_000)] == ["≤ 1 ms", "≤ 1 ms", "≤ 2 ms", "≤ 200 ms", "≤ 5000 ms", "9 s"]
    assert [bytes_text(each) for each in (None, 120_000, 81_400_000, 70_000_000_000)] == ["?", "0.1 MiB", "78 MiB", "65 GiB"]
    assert "!" in plain(lag_line(LoopLag(median_ms=1, p99_ms=1500, most_ms=1500, seconds=60)))
    assert lag_line(None) == ()
