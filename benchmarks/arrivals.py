"""When events reach a reader: one clock for all processes of this machine, and the watch that notes each batch's arrival.

Shared by the measured scheduler and by the benchmark that starts it. What a change's own time is, the database tells afterwards.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from datetime import UTC, datetime
from statistics import quantiles

from measuring import BenchmarkError
from msgspec import Struct

from nodus_tui.contract.backend import Backend

_PATIENCE_SECONDS = 60.0
"""How long after a window's end a batch is waited for."""

Arrival = tuple[int, int]
"""A batch's cursor, and the nanoseconds of `now_ns` at which the reader had it."""


def now_ns() -> int:
    """The clock that all of this machine's processes share, and that the backend's own times go by (`local_backend/clock.py`)."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def wall_offset_ns() -> int:
    """What the wall clock is ahead of `now_ns`. A backend fixes this number when it opens, so it is asked for then."""
    return time.time_ns() - now_ns()


async def arrivals(backend: Backend, *, after: int, until: datetime) -> list[Arrival]:
    """Watch from a cursor on, to the first batch with a change that was made after that moment, by the backend's clock.

    Changes are committed in the order of their times, so everything before that moment has come by then. Raises BenchmarkError when no
    such batch comes.
    """
    seen: list[Arrival] = []
    watch = backend.watch(after=after)
    try:
        async with asyncio.timeout((until - datetime.now(UTC)).total_seconds() + _PATIENCE_SECONDS):
            async for batch in watch:
                seen.append((batch.cursor, now_ns()))
                if batch.events and batch.events[-1].at > until:
                    break
    except TimeoutError:
        raise BenchmarkError(f"no event came for {_PATIENCE_SECONDS:.0f} s after the window's end: the runs had ended before it") from None
    finally:
        if isinstance(watch, AsyncGenerator):
            await watch.aclose()
    return seen


def latencies_ms(changes: Iterable[Arrival], batches: Sequence[Arrival]) -> list[float]:
    """Milliseconds from each change (its cursor and its moment) to the batch that brought it, or what it was merged into.

    Both are in order of their cursors. Raises BenchmarkError for a change that no batch brought: leaving it out would flatter.
    """
    found = []
    place = 0
    for cursor, at in changes:
        while place < len(batches) and batches[place][0] < cursor:
            place += 1
        if place == len(batches):
            raise BenchmarkError(f"the change with cursor {cursor} had not arrived when the reader stopped")
        found.append((batches[place][1] - at) / 1e6)
    return found


class Percentiles(Struct, frozen=True):
    """Of one set of measurements."""

    p50: float
    p95: float
    p99: float
    most: float


def percentiles(values: Sequence[float]) -> Percentiles:
    """The usual four. Raises BenchmarkError for fewer than two values."""
    if len(values) < 2:
        raise BenchmarkError("too few measurements for percentiles: ask for more with --seconds")
    cuts = quantiles(values, n=100, method="inclusive")
    return Percentiles(cuts[49], cuts[94], cuts[98], max(values))
