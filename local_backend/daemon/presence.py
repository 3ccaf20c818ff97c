"""Who is connected to a server at this moment: requests being answered, open event streams, and the word that it is stopping."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Presence:
    """Shared by all listeners of one server."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._requests = 0
        self._quiet_since = clock()
        self._streams: Counter[str] = Counter()
        self.stopping = asyncio.Event()
        """Set once the server stops: event streams end at once."""

    @contextmanager
    def request(self) -> Iterator[None]:
        """For as long as one request is answered, a stream's included."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            self._quiet_since = self._clock()

    @contextmanager
    def stream(self, caller: str) -> Iterator[None]:
        """For as long as one event stream is open."""
        self._streams[caller] += 1
        try:
            yield
        finally:
            self._streams[caller] -= 1

    def streams_of(self, caller: str) -> int:
        """The open event streams of a caller."""
        return self._streams[caller]

    @property
    def open_streams(self) -> int:
        """All open event streams."""
        return self._streams.total()

    def idle_seconds(self) -> float:
        """How long nobody has asked or watched; 0 while somebody does."""
        return 0.0 if self._requests else self._clock() - self._quiet_since
