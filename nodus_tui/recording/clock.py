"""The time of a replay: a place in a recording that moves at a speed, stands still, and jumps."""

import asyncio
from collections.abc import Callable
from math import inf, isinf


class ReplayClock:
    """Places are seconds since the recording's beginning. It never passes the end."""

    def __init__(self, length: float, *, speed: float = 1.0, steady: Callable[[], float]) -> None:
        self.length = length
        self.speed = speed
        self.paused = False
        self._steady = steady
        self._place = 0.0
        self._since = steady()
        self._changed = asyncio.Event()
        self.jumps = 0
        """How often it was moved otherwise than by time passing."""

    @property
    def place(self) -> float:
        """Where it stands now."""
        if self.paused or isinf(self.speed):
            return self._place
        return min(self.length, self._place + (self._steady() - self._since) * self.speed)

    def _hold(self, place: float) -> None:
        self._place = min(self.length, max(0.0, place))
        self._since = self._steady()
        # Whoever waits looks again.
        self._changed.set()
        self._changed = asyncio.Event()

    def pause(self, *, paused: bool) -> None:
        """Stand still, or go on."""
        place = self.place
        self.paused = paused
        self._hold(place)

    def set_speed(self, speed: float) -> None:
        """Another speed, from here on."""
        place = self.place
        self.speed = speed
        self._hold(place)

    def jump(self, place: float) -> None:
        """Go to a place."""
        self.jumps += 1
        self._hold(place)

    async def moved(self) -> None:
        """Wait until something else than time moves it, or holds it."""
        await self._changed.wait()

    async def reach(self, place: float) -> bool:
        """Wait until a place is reached; False where a jump came in between. At infinite speed a place is reached by waiting for it."""
        jumps = self.jumps
        while self.jumps == jumps:
            if self.place >= place:
                return True
            if isinf(self.speed) and not self.paused:
                self._place = min(self.length, place)
                return True
            rest = inf if self.paused else (place - self.place) / self.speed
            changed = self._changed
            try:
                async with asyncio.timeout(None if isinf(rest) else max(rest, 0.0)):
                    await changed.wait()
            except TimeoutError:
                continue
        return False
