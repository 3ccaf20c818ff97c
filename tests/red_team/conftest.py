"""Each engine in turn, with an agent that the attacks of one file share where they do no harm to each other."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from attacking import ENGINES, Court, Ground, agent_of, engine_of

from local_backend.sandboxes.owner import this_process


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=ENGINES)
async def ground(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    """One engine after the other. When its attacks are over, nothing of ours may be left at it."""
    async with engine_of(request.param) as engine:
        before = {each.id for each in await engine.list()}
        async with agent_of(engine) as agent:
            yield Ground(engine, agent, Court(engine))
            await agent.is_well()
        left = [each for each in await engine.list() if each.id not in before and each.owner == this_process()]
        assert left == []
