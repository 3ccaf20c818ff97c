"""When a workspace was last heard of before this scheduler, and whether its clock was set back since. Asked before anything is told."""

import logging
from datetime import datetime, timedelta

from msgspec import Struct

from local_backend.storage.records import time_from
from local_backend.storage.store import Store

_log = logging.getLogger(__name__)

_UNREMARKABLE = timedelta(seconds=1)
"""Clocks of two processes differ by so much without anybody having set one."""


class LastWord(Struct, frozen=True):
    """The end of what is known of the schedulers before this one."""

    at: datetime
    """When the last event was told, by the clock as it was then."""
    clock_back: timedelta = timedelta()
    """By how much, at least, the clock was set back since; zero where nothing tells of it. One that was set forward cannot be told from
    time that passed."""

    def then(self, now: datetime) -> datetime:
        """The present by the clock as it was then: what began by that clock ends by it."""
        return now + self.clock_back


async def last_word(store: Store, now: datetime) -> LastWord:
    """Of a workspace. Raises NodusError."""
    rows = await store.read("SELECT at FROM events ORDER BY cursor DESC LIMIT 1")
    last = time_from(rows[0]["at"]) if rows else None
    if last is None or last - now < _UNREMARKABLE:
        return LastWord(min(last or now, now))
    _log.warning("the clock stands %s before the last event: what has begun before goes on as if it had not been set", last - now)
    return LastWord(last, last - now)
