"""Figures: nothing rounds to what it is not, and bars fill exactly their width."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.text import width_of
from nodus_tui.view_state.cells import Span, Tone, cut_line, line, line_width, plain
from nodus_tui.view_state.figures import (
    bar,
    clock_text,
    column_span_text,
    count_text,
    exact_span_text,
    segments,
    short_usd,
    shorter_reward_texts,
    span_text,
)

NOW = datetime(2026, 3, 14, 14, 3, 10, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h00m"),
        (86_399, "23h59m"),
        (86_400, "1d00h"),
        (99 * 86_400, "99d00h"),
        (400 * 86_400, "400d"),
    ],
)
def test_spans(seconds: float, text: str) -> None:
    assert span_text(seconds) == text


def test_exact_spans() -> None:
    assert [exact_span_text(seconds) for seconds in (0, 18.44, 59.96, 75.6, 3599.6, 4000)] == [
        "0.0s",
        "18.4s",
        "1m00s",
        "1m16s",
        "1h00m",
        "1h06m",
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (1240, "1.2k"),
        (34_400, "34k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (999_499_999, "999M"),
        (1_200_000, "1.2M"),
        (7 * 10**12, "7000G"),
    ],
)
def test_counts(count: int, text: str) -> None:
    assert count_text(count) == text


def test_clock_times_are_in_the_zone_of_now_and_name_another_day() -> None:
    assert clock_text(datetime(2026, 3, 14, 13, 3, 22, tzinfo=UTC), NOW) == "14:03:22"
    assert clock_text(datetime(2026, 3, 13, 13, 3, 22, tzinfo=UTC), NOW) == "13 Mar 14:03"
    assert clock_text(datetime(2025, 12, 31, 13, 3, 22, tzinfo=UTC), NOW) == "31 Dec 14:03"
    assert clock_text(datetime(2025, 3, 14, 13, 3, 22, tzinfo=UTC), NOW) == "14 Mar 2025"
    assert clock_text(datetime(2027, 3, 14, 23, 3, 22, tzinfo=UTC), NOW) == "15 Mar 2027"
    assert clock_text(datetime(2026, 3, 14, 13, 3, 22, tzinfo=UTC), NOW, seconds=False) == "14:03"


@given(st.floats(0, 1), st.integers(1, 60))
def test_a_bar_takes_its_width_and_never_lies_at_its_ends(fraction: float, width: int) -> None:
    spans = bar(fraction, width)
    assert line_width(spans) == width
    full = plain(spans) == "█" * width
    assert full == (fraction == 1)
    assert (plain(spans) == "░" * width) == (fraction == 0)


@given(st.lists(st.integers(0, 500), min_size=1, max_size=7), st.integers(0, 80))
def test_segments_take_their_width_and_show_every_part_that_fits(counts: list[int], width: int) -> None:
    glyphs = "abcdefg"
    spans = segments(tuple((count, Tone.PLAIN, glyphs[index]) for index, count in enumerate(counts)), width)
    assert line_width(spans) == width
    if sum(counts) and width >= 2 * len(counts):
        assert set(plain(spans)) == {glyphs[index] for index, count in enumerate(counts) if count}


@given(st.lists(st.text(max_size=12), max_size=5), st.integers(0, 30))
def test_cutting_a_line_keeps_its_width(texts: list[str], width: int) -> None:
    spans = cut_line(line(*(Span(text, Tone.BAD) for text in texts)), width)
    assert sum(width_of(span.text) for span in spans) <= width


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "$0.00"),
        ("0.000000011", "<$0.0001"),
        ("0.00009", "<$0.0001"),
        ("0.0001", "$0.0001"),
        ("0.00033", "$0.00033"),
        ("12.5", "$12.50"),
    ],
)
def test_sums_too_small_to_read_are_told_as_such_and_never_as_nothing(amount: str, text: str) -> None:
    assert short_usd(Decimal(amount)) == text


def test_spans_of_a_column_have_one_notation_and_growing_ones_move_every_ten_seconds() -> None:
    assert [column_span_text(seconds) for seconds in (0, 0.4, 18.44, 59.6, 245, 3599.6, 3720)] == [
        "0s",
        "<1s",
        "18s",
        "1m00s",
        "4m05s",
        "1h00m",
        "1h02m",
    ]
    assert [column_span_text(seconds, going=True) for seconds in (0.4, 9.9, 59.9, 61, 69.9, 70, 3725)] == [
        "<1s",
        "9s",
        "59s",
        "1m00s",
        "1m00s",
        "1m10s",
        "1h02m",
    ]


@pytest.mark.parametrize(("reward", "texts"), [(-0.0667, ("-0.067", "-0.07")), (0.00123, ("0.0012", "0.001")), (1, ("1", "1"))])
def test_a_reward_in_fewer_digits(reward: float, texts: tuple[str, str]) -> None:
    assert shorter_reward_texts(reward) == texts
