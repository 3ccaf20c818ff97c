"""Workspaces that are served."""

from pathlib import Path

import pytest
from api_place import ApiPlace


@pytest.fixture
def place(tmp_path: Path) -> ApiPlace:
    """A workspace of its own."""
    return ApiPlace(tmp_path)
