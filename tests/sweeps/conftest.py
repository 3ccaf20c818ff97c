"""A real backend over a real database, a model server of our own at the paid edge, and the shortest specs for sweeps."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent.parent / folder) for folder in ("backend", "sandboxes", "models", "training")]

from engine_place import NUMBERS, Place
from model_server import ModelServer


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    """A model server that solves the tasks of `place`."""
    async with ModelServer() as running:
        yield running


@pytest.fixture
def place(tmp_path: Path, server: ModelServer) -> Place:
    """A folder whose family `own` is the server and whose family `sim` is simulated."""
    made = Place(tmp_path, server.base_url)
    made.tasks(NUMBERS)
    return made
