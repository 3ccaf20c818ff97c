from collections.abc import AsyncIterator

import pytest
from grading_places import Bench, bench


@pytest.fixture
async def place() -> AsyncIterator[Bench]:
    """A place to judge in."""
    async with bench() as made:
        yield made
