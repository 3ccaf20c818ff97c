"""When the waiting runs of a group start and when it is done: a forecast from what a run took so far, slots and the cap. Pure.

It takes every run that has not ended to last as long, and to spend as much, as those that came to an answer did on average; starts them in
their order; and keeps the ledger's rules: a run starts when there is a slot and its cap fits under what the group has left, and gives back
what it did not spend. Seconds count from now; money is whole nano-dollars.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct

LEAST_SECONDS = 0.001
"""What a run is taken to last at least."""


class RunLoad(Struct, frozen=True):
    """One run, as far as a forecast goes by it."""

    cap: int
    """What is reserved for it while it goes."""
    spent: int = 0
    """The part of it that is spent."""
    seconds: float = 0
    """For how long it has held its slot; nothing for one that waits."""


class GroupLoad(Struct, frozen=True):
    """What a group has to do and with what."""

    going: tuple[RunLoad, ...]
    waiting: tuple[RunLoad, ...]
    """Those that start by themselves, in their order."""
    max_active: int
    left: int
    """Of the group's cap: neither spent nor reserved."""
    mean_seconds: float | None
    """What a run took that came to an answer, on average; None before the first."""
    mean_spent: int | None

    @property
    def reserved(self) -> int:
        """What the going runs hold."""
        return sum(run.cap for run in self.going)


class Forecast(Struct, frozen=True):
    """What is to be expected under one `maxActive`."""

    max_active: int
    starts: tuple[float | None, ...]
    """Seconds until each waiting run starts; None where the cap does not let it, or where nothing is known of how long runs take."""
    seconds: float | None
    """Until the last run that can start has ended; None where nothing is known of how long runs take."""
    peak_active: int
    peak_reserved: int
    admitted: int
    """How many the cap lets go at once, as it stands: those that go, and as many more as what is left has room for."""
    stranded: int
    """Waiting runs that the cap does not let start, even when all others have ended."""
    held_by_cap: bool
    """Whether the cap, and not `maxActive`, is what holds runs up now."""


def forecast(load: GroupLoad, max_active: int | None = None) -> Forecast:
    """What is to be expected with the group's own `maxActive`, or with another. Raises ValueError for one below 1."""
    slots = load.max_active if max_active is None else max_active
    if slots < 1:
        raise ValueError(f"maxActive must be 1 or more, not {slots}")
    return _Course(load, slots).run()


def what_if(load: GroupLoad, values: Sequence[int]) -> tuple[Forecast, ...]:
    """The forecasts for some values of `maxActive`, each once, in rising order."""
    return tuple(forecast(load, value) for value in sorted(set(values)))


class _Course:
    """One course of events, from now to the last end."""

    def __init__(self, load: GroupLoad, slots: int) -> None:
        self._load = load
        self._slots = slots
        self._known = load.mean_seconds is not None
        # Without a pace the order of starts and ends is still the same: each run takes one unit of a time that nobody is told.
        self._lasts = max(LEAST_SECONDS, load.mean_seconds) if load.mean_seconds is not None else 1.0
        self._left = load.left
        self._reserved = load.reserved
        self._ends = [(self._remaining(run), self._given_back(run), run.cap) for run in load.going]
        heapify(self._ends)
        self._starts: list[float] = []
        self._peak_active, self._peak_reserved = len(self._ends), self._reserved

    def _remaining(self, run: RunLoad) -> float:
        return max(0.0, self._lasts - run.seconds) if self._known else self._lasts

    def _given_back(self, run: RunLoad) -> int:
        spends = run.cap if self._load.mean_spent is None else max(run.spent, min(run.cap, self._load.mean_spent))
        return run.cap - spends

    def run(self) -> Forecast:
        """All that happens."""
        now = 0.0
        self._start(now)
        while self._ends:
            now = self._ends[0][0]
            while self._ends and self._ends[0][0] == now:
                _, given_back, cap = heappop(self._ends)
                self._left += given_back
                self._reserved -= cap
            self._start(now)
        waiting, started = self._load.waiting, len(self._starts)
        going = len(self._load.going)
        admitted = going + self._fitting()
        rest = (None,) * (len(waiting) - started)
        return Forecast(
            max_active=self._slots,
            starts=(*self._starts, *rest) if self._known else tuple(0.0 if start == 0 else None for start in self._starts) + rest,
            seconds=now if self._known else None,
            peak_active=self._peak_active,
            peak_reserved=self._peak_reserved,
            admitted=admitted,
            stranded=len(waiting) - started,
            held_by_cap=admitted < min(self._slots, going + len(waiting)),
        )

    def _start(self, now: float) -> None:
        waiting = self._load.waiting
        while len(self._starts) < len(waiting) and len(self._ends) < self._slots:
            run = waiting[len(self._starts)]
            need = run.cap - run.spent
            if need > self._left:
                break
            self._left -= need
            self._reserved += run.cap
            self._starts.append(now)
            heappush(self._ends, (now + self._lasts, self._given_back(run), run.cap))
        self._peak_active = max(self._peak_active, len(self._ends))
        self._peak_reserved = max(self._peak_reserved, self._reserved)

    def _fitting(self) -> int:
        left, count = self._load.left, 0
        for run in self._load.waiting:
            left -= run.cap - run.spent
            if left < 0:
                break
            count += 1
        return count
