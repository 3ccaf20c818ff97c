"""The shelf of Sandboxes, the kind."""

from local_backend.reading.shelf import page_of
from local_backend.sandbox_kind.desk import BoxDesk
from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.resources.sandbox import Sandbox


class SandboxShelf:
    """Reads one workspace's Sandboxes."""

    def __init__(self, desk: BoxDesk) -> None:
        self._desk = desk

    async def get(self, _kind: str, name: str) -> Sandbox:
        """One of them. Raises NotFound with the nearest name."""
        return self._desk.resource(await self._desk.record(name))

    async def page(self, _kind: str, query: Query) -> Page:
        """Sandboxes in order of creation."""
        return page_of(await self._desk.page(query.after, query.limit + 1), query)
