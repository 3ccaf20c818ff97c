"""Durations as the documents write them: `90s`, `10m`, `24h`, or parts in falling order such as `1h30m`."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_TEXT = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?")


def parse_duration(text: str) -> timedelta:
    """The duration that the text names; raises ValueError with a sentence for the reader."""
    match = _TEXT.fullmatch(text)
    if not text or match is None:
        raise ValueError(f"{text!r} is not a duration: write a whole number and a unit, such as 90s, 10m or 24h")
    return timedelta(seconds=sum(int(count or 0) * unit for count, unit in zip(match.groups(), _SECONDS.values(), strict=True)))


def duration_text(duration: timedelta) -> str:
    """The exact text in hours, minutes and seconds: `10m`, `1h30m`, `24h`."""
    hours, rest = divmod(int(duration.total_seconds()), 3_600)
    minutes, seconds = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def _from_outside(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        return parse_duration(value)
    raise ValueError(f"a duration is a number with its unit, such as 90s, 10m or 24h, not {value!r}")


Duration = Annotated[
    timedelta,
    BeforeValidator(_from_outside),
    PlainSerializer(duration_text, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?$", "examples": ["90s", "10m", "24h"]}),
]
"""A span of time in whole seconds: text with units outside, a timedelta inside."""


def bounded_duration(low: timedelta, high: timedelta) -> AfterValidator:
    """A validator that keeps a duration between two bounds, both allowed, and names them when it refuses."""

    def check(duration: timedelta) -> timedelta:
        if not low <= duration <= high:
            raise ValueError(f"{duration_text(duration)} is outside {duration_text(low)} to {duration_text(high)}")
        return duration

    return AfterValidator(check)
