"""Who is connected to a server at this moment: requests being answered, open event streams, and the word that it is stopping."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from nodus_tui.contract.errors import NodusError

_log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


class Presence:
    """Shared by all listeners of one server."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._requests = 0
        self._quiet_since = clock()
        self._streams: Counter[str] = Counter()
        self._works: set[asyncio.Task[Any]] = set()
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

    async def whole(self, work: Coroutine[Any, Any, _Answer]) -> _Answer:
        """Do what changes something to its end, even when whoever waits for the answer is cut off."""
        task = asyncio.create_task(work)
        self._works.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    def _done(self, work: asyncio.Task[Any]) -> None:
        self._works.discard(work)
        error = None if work.cancelled() else work.exception()
        if error is not None and not isinstance(error, NodusError):
            _log.error("something that was asked for failed", exc_info=error)

    async def settle(self, seconds: float) -> None:
        """Wait for what is being done still."""
        if self._works:
            _, unfinished = await asyncio.wait(tuple(self._works), timeout=seconds)
            if unfinished:
                _log.warning("%d requests are still being done; they are recorded and go on", len(unfinished))

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
