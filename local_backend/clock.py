"""The clock of a process: the wall clock as it was at the start, and from there on the time that really passed.

Deadlines go by it. Setting the system's clock, by hand or by a time server's jump, moves no deadline of a process at work; sleep of the
machine counts, where the system can tell (CLOCK_BOOTTIME).
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def _wall() -> datetime:
    return datetime.now(UTC)


def _elapsed_ns() -> int:
    """Nanoseconds since some fixed moment, sleep of the machine included where the system counts it."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic_ns() if boot is None else time.clock_gettime_ns(boot)


class SteadyClock:
    """A clock that nobody can set. Calling it gives the present in UTC."""

    def __init__(self, *, wall: Callable[[], datetime] = _wall, elapsed_ns: Callable[[], int] = _elapsed_ns) -> None:
        self._elapsed_ns = elapsed_ns
        self._start = wall()
        self._zero = elapsed_ns()

    def __call__(self) -> datetime:
        """The wall clock's time at the start, and what has passed since."""
        return self._start + timedelta(microseconds=(self._elapsed_ns() - self._zero) // 1000)
