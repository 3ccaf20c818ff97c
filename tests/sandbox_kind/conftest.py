"""A workspace whose Sandboxes run on a real engine, with a clock that can be put forward."""

import os
import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent.parent / folder) for folder in ("backend", "sandboxes")]

from box_place import RATE_A_SECOND, chosen, needs
from engine_place import Place

from local_backend import sandboxing


@pytest.fixture(autouse=True)
def _chosen_without_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that is named, at once: what trials of engines show is tested elsewhere."""
    monkeypatch.setattr(sandboxing, "choose_engine", chosen)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """On bubblewrap, a cent a second."""
    made = Place(tmp_path, environ={**os.environ, "BOX_KEY": "key of the scheduler"})
    made.sandboxes = {"engine": "bubblewrap"}
    made.rates = {"CPU": RATE_A_SECOND}
    return made


@pytest.fixture(params=["bubblewrap", "docker"])
async def any_place(request: pytest.FixtureRequest, place: Place) -> Place:
    """On one engine after the other."""
    await needs(request.param)
    place.sandboxes = {"engine": request.param}
    return place
