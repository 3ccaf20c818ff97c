"""Minutes that are few or many are told otherwise as well."""

from decimal import Decimal

import pytest

from nodus_tui.statistics.minutes_text import beside_minutes


@pytest.mark.parametrize(
    ("minutes", "told"),
    [
        ("0.001", " (under 1 s)"),
        ("0.05", " (3 s)"),
        ("0.5", " (30 s)"),
        ("1", ""),
        ("120", ""),
        ("170", " (2 h 50 min)"),
        ("1000", " (16 h 40 min)"),
        ("1440", " (24 h)"),
        ("720000", " (12,000 h)"),
    ],
)
def test_few_and_many_minutes_are_told_in_seconds_and_hours(minutes: str, told: str) -> None:
    assert beside_minutes(Decimal(minutes)) == told
