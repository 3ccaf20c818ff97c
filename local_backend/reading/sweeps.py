"""The shelf of Sweeps, with their results."""

from collections.abc import Callable
from datetime import datetime

from local_backend.reading.shelf import page_of
from local_backend.storage.store import Store
from local_backend.sweeps.reading import find_sweep, list_sweeps, read_results
from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.sweep_results import SweepResults


class SweepShelf:
    """Reads one workspace's sweeps."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    async def get(self, _kind: str, name: str) -> Sweep:
        """One of them. Raises NotFound with the nearest name."""
        return await find_sweep(self._store, name)

    async def page(self, _kind: str, query: Query) -> Page:
        """Sweeps in order of creation."""
        return page_of(await list_sweeps(self._store, after=query.after, limit=query.limit + 1), query)

    async def results(self, name: str) -> SweepResults:
        """A sweep's cells and what they have come to. Raises NotFound."""
        return await read_results(self._store, name, self._clock)
