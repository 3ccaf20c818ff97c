"""Durations as the documents write them: `90s`, `10m`, `24h`, or parts in falling order such as `1h30m`."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from nodus_tui.contract.wording import quoted

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_TEXT = re.compile(r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?")
DURATION_PATTERN = r"^(?=.)([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?$"

MAX_DURATION = timedelta(days=36_500)
"""The longest duration that a spec may name: a hundred years, far below what a timedelta holds."""


def parse_duration(text: str) -> timedelta:
    """The duration that the text names; raises ValueError with a sentence for the reader."""
    match = _TEXT.fullmatch(text)
    if not text or match is None:
        raise ValueError(f"{quoted(text)} is not a duration: write a whole number and a unit, such as 90s, 10m or 24h")
    seconds = sum(int(count or 0) * unit for count, unit in zip(match.groups(), _SECONDS.values(), strict=True))
    if seconds > MAX_DURATION.total_seconds():
        raise ValueError(f"{text} is too long: a duration is at most {MAX_DURATION.days} days")
    return timedelta(seconds=seconds)


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
    raise PydanticCustomError("duration_type", "a duration is a whole number with its unit, such as 90s, 10m or 24h")


Duration = Annotated[
    timedelta,
    BeforeValidator(_from_outside),
    PlainSerializer(duration_text, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "examples": ["90s", "10m", "24h"]}),
]
"""A span of time in whole seconds: text with units outside, a timedelta inside."""


def bounded_duration(low: timedelta, high: timedelta) -> AfterValidator:
    """A validator that keeps a duration between two bounds, both allowed, and names them when it refuses."""

    def check(duration: timedelta) -> timedelta:
        if not low <= duration <= high:
            raise PydanticCustomError(
                "duration_range",
                "{duration} is outside the allowed {low} to {high}",
                {"duration": duration_text(duration), "low": duration_text(low), "high": duration_text(high)},
            )
        return duration

    return AfterValidator(check)
