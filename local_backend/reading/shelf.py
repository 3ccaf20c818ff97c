"""What each shelf answers, whatever it keeps."""

from collections.abc import Sequence
from typing import Protocol

from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.resources.meta import Resource

ROWS_AT_ONCE = 200
"""Rows made into resources or events before the event loop gets its turn."""


class Shelf(Protocol):
    """The resources of some kinds."""

    async def get(self, kind: str, name: str) -> Resource:
        """One of them. Raises NotFound with the nearest name."""
        ...

    async def page(self, kind: str, query: Query) -> Page:
        """So many of a kind, in order of creation, or of name where a kind has no such order."""
        ...


def page_of(read: Sequence[Resource], query: Query) -> Page:
    """The page of what was read, which is one more than the query's limit where there is a next page.

    With a project the page may be short, or empty, and have a next one all the same: what was read is what the next page goes on from.
    """
    of_page = read[: query.limit]
    kept = tuple(each for each in of_page if not query.project or each.metadata.project == query.project)
    return Page(items=kept, next_after=of_page[-1].name if len(read) > query.limit else "")
