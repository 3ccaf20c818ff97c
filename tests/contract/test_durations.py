"""Durations: text and back, limits, and what is refused."""

from datetime import timedelta
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from nodus_tui.contract.durations import MAX_DURATION, Duration, bounded_duration, duration_text, parse_duration


@given(st.integers(min_value=0, max_value=int(MAX_DURATION.total_seconds())))
def test_text_goes_round(seconds):
    duration = timedelta(seconds=seconds)
    assert parse_duration(duration_text(duration)) == duration


@given(days=st.integers(0, 999), hours=st.integers(0, 999), minutes=st.integers(0, 9999), seconds=st.integers(0, 99999))
def test_parts_add_up(days, hours, minutes, seconds):
    assert parse_duration(f"{days}d{hours}h{minutes}m{seconds}s") == timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("24h", 86_400), ("1h30m", 5_400), ("1d", 86_400), ("0s", 0), ("007m", 420)]
)
def test_the_documents_spellings(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "10", "10 m", "m", "1.5h", "-1m", "+1m", "1m1h", "1M", "1min", "٣s", "1h\n", "PT1H", "1w", "9999999999s"]
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["999999999d", "999999999d999999999h", "36501d"])
def test_a_duration_beyond_a_hundred_years_is_refused_and_does_not_overflow(text):
    with pytest.raises(ValueError, match="too long"):
        parse_duration(text)


@pytest.mark.parametrize("value", [90, 1.5, True, None, ["1m"]])
def test_a_number_without_its_unit_is_refused(value):
    with pytest.raises(ValidationError, match="whole number with its unit"):
        TypeAdapter(Duration).validate_python(value)


def test_bounds_are_allowed_themselves():
    bounded = TypeAdapter(Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(hours=24))])
    assert bounded.validate_python("60s") == timedelta(minutes=1)
    assert bounded.validate_python("24h") == timedelta(hours=24)
    assert bounded.dump_json(timedelta(minutes=90)) == b'"1h30m"'
    for text in ("59s", "24h1s", "25h"):
        with pytest.raises(ValidationError, match=f"{duration_text(parse_duration(text))} is outside the allowed 1m to 24h"):
            bounded.validate_python(text)
