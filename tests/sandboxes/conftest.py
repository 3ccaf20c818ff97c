"""The engines that the suite runs on. What a machine lacks is skipped by name, and fails where the variable CI is set."""

import os
from collections.abc import AsyncIterator

import pytest
from engine_suite import connect

from local_backend.sandboxes.interface import SandboxEngine, SandboxError


@pytest.fixture(params=["bubblewrap", "docker"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[SandboxEngine]:
    """One engine after the other."""
    try:
        found = await connect(request.param)
    except SandboxError as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have every engine: {error}")
        pytest.skip(f"{error} (scripts/sandbox_engines runs a command with both engines)")
    yield found
    await found.aclose()
