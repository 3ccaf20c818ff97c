"""How many calls one provider gets at once: a gate for each endpoint and model that narrows while the provider says 429, and widens again.

Additive increase, multiplicative decrease, as congestion control does it: each refusal halves the limit, each round of successes adds one.
A pause that the provider asks for holds back every call to that endpoint and model, not only the one that was told.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from types import TracebackType

from local_backend.models.retries import LONGEST_ASKED_PAUSE
from local_backend.models.wire import CallOutcome, ModelCallError


class ConcurrencyGate:
    """The gate of one endpoint and model. Belongs to one event loop.

    Waiting goes by the loop's own clock, so that a machine whose wall clock is set does not wait for ever; the given clock only tells
    people until when.
    """

    def __init__(self, maximum: int, clock: Callable[[], datetime]) -> None:
        self._maximum = maximum
        self._clock = clock
        self._limit = float(maximum)
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._resume_at = 0.0
        self._paused_until: datetime | None = None
        self._wake_up: asyncio.TimerHandle | None = None
        self._told_before_narrowing = 0

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return max(1, int(self._limit))

    @property
    def in_flight(self) -> int:
        """Calls that hold a place."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """Calls that wait for a place."""
        return len(self._waiting)

    def paused_until(self) -> datetime | None:
        """When the pause that the provider asked for ends; None when there is none."""
        if self._paused_until is not None and not self._paused():
            self._paused_until = None
        return self._paused_until

    def try_acquire(self) -> bool:
        """Take a place if a call that came now would not have to wait; gives whether it has one."""
        if self._in_flight >= self.limit or self._waiting or self._paused():
            return False
        self._in_flight += 1
        return True

    async def acquire(self) -> None:
        """Take a place, first come first served. Returns at once, without yielding, while there is room."""
        if self.try_acquire():
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if place in self._waiting:
                self._waiting.remove(place)
            elif not place.cancelled() and place.exception() is None:
                self.release()  # The place was given in the moment in which the call was cancelled.
            raise

    def release(self) -> None:
        """Give the place back."""
        self._in_flight -= 1
        self._admit()

    def note(self, error: ModelCallError | None) -> None:
        """Learn from how a call ended; None means well. Calls that were already in flight when the gate narrowed do not narrow it again."""
        if self._told_before_narrowing:
            self._told_before_narrowing -= 1
        elif error is None:
            self._limit = min(float(self._maximum), self._limit + 1 / self._limit)
        elif error.rate_limited:
            self._limit = max(1.0, self._limit / 2)
            self._told_before_narrowing = max(0, self._in_flight - 1)
        if error is not None and error.rate_limited and error.retry_after:
            self._pause(min(error.retry_after, LONGEST_ASKED_PAUSE))
        self._admit()

    def close(self) -> None:
        """Stop the timer; whoever still waits gets a ModelCallError."""
        if self._wake_up is not None:
            self._wake_up.cancel()
            self._wake_up = None
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_exception(ModelCallError("the call was not sent: the backend is closing", CallOutcome.FREE))

    def _pause(self, seconds: float) -> None:
        resume_at = asyncio.get_running_loop().time() + seconds
        if resume_at > self._resume_at:
            self._resume_at = resume_at
            self._paused_until = self._clock() + timedelta(seconds=seconds)

    def _paused(self) -> bool:
        return bool(self._resume_at) and asyncio.get_running_loop().time() < self._resume_at

    def _admit(self) -> None:
        if not self._waiting:
            return
        if self._paused():
            if self._wake_up is None:
                self._wake_up = asyncio.get_running_loop().call_at(self._resume_at, self._end_pause)
            return
        while self._waiting and self._in_flight < self.limit:
            place = self._waiting.popleft()
            if not place.done():
                self._in_flight += 1
                place.set_result(None)

    def _end_pause(self) -> None:
        self._wake_up = None
        self._admit()


class Slot:
    """A place at a gate, as an async context manager."""

    __slots__ = ("_gate",)

    def __init__(self, gate: ConcurrencyGate) -> None:
        self._gate = gate

    @property
    def taken(self) -> int:
        """Places that other calls hold."""
        return self._gate.in_flight

    def try_enter(self) -> bool:
        """Enter if nobody must be waited for; gives whether the place is held, which `__aexit__` gives back."""
        return self._gate.try_acquire()

    async def __aenter__(self) -> None:
        await self._gate.acquire()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._gate.release()
