"""How far the harness is, read from what it writes: bars that it draws over one another with carriage returns. Pure."""

import re
from collections.abc import Mapping

from msgspec import Struct, field

_BEGUN = re.compile(r"\bRunning (\w+) requests$")
_CACHED = re.compile(r"\bCached requests: (\d+), Requests remaining: (\d+)$")
_BAR = re.compile(r"^(?:Running \w+ requests|Requesting API): +\d+%\|[^|]*\| *(\d+)/(\d+) \[")
_LONGEST_LINE = 10_000


class Bars(Struct):
    """Follows one run of the harness. Feed it everything that it writes, in pieces."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """How much of the whole each kind of request is, as far as that is known: samples by kind."""
    cached: int = 0
    """Requests that were answered in an earlier attempt."""
    asked: int = 0
    """Requests that had to be answered in this one."""
    _line: str = ""
    _begun: list[str] = field(default_factory=list)
    _share: float = 0.0
    """Of the present kind, what is done of it."""
    _before: float = 0.0
    """The same of what an earlier attempt had answered."""

    @property
    def working(self) -> bool:
        """Whether the model is being asked by now."""
        return bool(self._begun)

    def feed(self, data: bytes) -> None:
        """Take a piece."""
        *lines, self._line = re.split(r"[\r\n]", self._line + data.decode(errors="replace"))
        for line in lines:
            self._take(line)
        # A bar has no end before the next one begins.
        self._take_bar(self._line)
        self._line = self._line[-_LONGEST_LINE:]

    def _take(self, line: str) -> None:
        if self._take_bar(line):
            return
        if (cached := _CACHED.search(line)) is not None:
            known, remaining = int(cached[1]), int(cached[2])
            self.cached += known
            self.asked += remaining
            self._before = known / (known + remaining) if known + remaining else 0.0
            self._share = max(self._share, self._before)
        elif (begun := _BEGUN.search(line)) is not None and begun[1] not in self._begun:
            self._begun.append(begun[1])
            self._share = self._before = 0.0

    def _take_bar(self, line: str) -> bool:
        bar = _BAR.match(line)
        if bar is not None and int(bar[2]):
            done = min(1.0, int(bar[1]) / int(bar[2]))
            self._share = max(self._share, self._before + (1 - self._before) * done)
        return bar is not None

    @property
    def progress(self) -> float:
        """0 to 1: all kinds that are over, and what is done of the present one."""
        if not self._begun:
            return 0.0
        known = {kind: self.weights.get(kind, 1.0) for kind in {*self.weights, *self._begun}}
        whole = sum(known.values()) or 1.0
        over = sum(known[kind] for kind in self._begun[:-1])
        return min(1.0, (over + known[self._begun[-1]] * self._share) / whole)
