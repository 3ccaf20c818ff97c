"""Counters that only grow, as amounts a second. Pure: time comes in as an argument."""

from collections.abc import Mapping


class Rates:
    """Remembers the counters of the sample before."""

    def __init__(self) -> None:
        self._before: Mapping[str, float] = {}
        self._at = 0.0

    def take(self, counters: Mapping[str, float], now: float) -> dict[str, float | None]:
        """The growth of each a second; None the first time, and where a counter went back because it wrapped round or was reset."""
        passed = now - self._at
        rates: dict[str, float | None] = {}
        for name, value in counters.items():
            before = self._before.get(name)
            rates[name] = (value - before) / passed if before is not None and value >= before and passed > 0 else None
        self._before, self._at = dict(counters), now
        return rates
