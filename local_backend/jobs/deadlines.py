"""When a job must be asked to end, and when it must be gone, so that time × rate never passes its cap. Pure, over whole numbers.

Times are microseconds since the job's start, money is nano-dollars, rates are nano-dollars an hour.
"""

from typing import Literal

from msgspec import Struct

HOUR_US = 3_600_000_000
SECOND_US = 1_000_000

LEAST_US = 2 * SECOND_US
"""A cap that pays for less time than this is refused: starting and ending take about as long."""

_LONGEST_MARGIN_US = SECOND_US


def charge(used_us: int, rate: int) -> int:
    """What so much time costs, rounded up to the nano-dollar."""
    return -(-used_us * rate // HOUR_US)


def affordable_us(cap: int, rate: int) -> int | None:
    """The longest time whose charge does not pass the cap; None where time costs nothing."""
    return None if rate == 0 else cap * HOUR_US // rate


class Deadlines(Struct, frozen=True):
    """When what happens to a job that does not end by itself."""

    ask_us: int
    """It is asked to end (SIGTERM)."""
    reason: Literal["MaxCostReached", "Timeout"]
    last_us: int | None
    """The last moment at which all that is left may be killed (SIGKILL), whatever grace it was given; None where time costs nothing."""


def kill_us(asked_us: int, grace_us: int, last_us: int | None) -> int:
    """When to kill what was asked to end at that time: after the grace, or when the cap's time is up."""
    return asked_us + grace_us if last_us is None else max(asked_us, min(asked_us + grace_us, last_us))


def _margin(longest_us: int) -> int:
    """What a kill itself may take, on a busy machine."""
    return min(_LONGEST_MARGIN_US, longest_us // 8)


def plan(*, cap: int, rate: int, timeout_us: int, grace_us: int) -> Deadlines:
    """The deadlines of a job. A cap that pays for little time leaves a quarter of it for the graceful end, at most.

    Raises ValueError with a sentence when the cap pays for less than `LEAST_US`.
    """
    longest = affordable_us(cap, rate)
    if longest is None:
        return Deadlines(timeout_us, "Timeout", None)
    if longest < LEAST_US:
        raise ValueError(
            f"it pays for {longest / SECOND_US:.2f} s of this hardware, and a job needs {LEAST_US // SECOND_US} s to start and end in"
        )
    last = longest - _margin(longest)
    ask = last - min(grace_us, longest // 4)
    return Deadlines(timeout_us, "Timeout", last) if timeout_us <= ask else Deadlines(ask, "MaxCostReached", last)
