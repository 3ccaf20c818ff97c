"""When memory is looked through for what nobody needs any more. It knows Python's collector, and nothing of the console.

Python looks through everything that lives whenever enough is new. With ten thousand runs that takes a tenth of a second, at any moment:
also at the one in which a person presses a key. Here all is looked through while no key is pressed, and what is found alive is set aside;
the collector's own turns then see only what came since.
"""

import gc
import time

GARBAGE_AFTER = 20_000
"""New objects after which the collector takes a turn of its own: a pause that nobody sees."""
QUIET_SECONDS = 1.0
"""So long no key was pressed when all is looked through."""
_SHARE = 0.003
"""Of the time, at most, is spent on that."""
_FEW = 3
"""Turns of the collector below which too little is new to look through everything."""


def not_before_begin() -> None:
    """Nothing is looked through until `Tidying.begin`: what a start loads stays, and looking through it is a tenth of the start."""
    gc.disable()


class Tidying:
    """Looks through the memory of this process in quiet moments."""

    def __init__(self) -> None:
        self._next = float("-inf")
        self._turns = -_FEW
        self.times = 0
        """How often all was looked through: what tests count."""

    def begin(self) -> None:
        """The start is over."""
        gc.set_threshold(GARBAGE_AFTER)
        gc.enable()

    def look(self, now: float, last_key: float) -> None:
        """Look through all where it is time: it is `now`, in seconds of a clock that only goes on, and the last key came at `last_key`."""
        turns = sum(each["collections"] for each in gc.get_stats())
        if now < self._next or now - last_key < QUIET_SECONDS or turns - self._turns < _FEW:
            return
        began = time.process_time()
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self.times += 1
        self._turns = sum(each["collections"] for each in gc.get_stats())
        self._next = now + (time.process_time() - began) / _SHARE

    def end(self) -> None:
        """What was set aside is as all else again."""
        gc.unfreeze()
