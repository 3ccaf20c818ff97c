"""A fixture for environments over files that a test writes."""

import json
from pathlib import Path
from typing import Any

import pytest
from environment_builders import MakeEnvironment, environment_of

from local_backend.environments.catalogue import own_environment
from local_backend.environments.interface import ResolvedEnvironment


@pytest.fixture
def make_environment(tmp_path: Path) -> MakeEnvironment:
    """An environment from rows (JSONL) or from text under a file name."""

    def make(
        content: list[dict[str, Any]] | str | bytes, grader: dict[str, Any], *, name: str = "tasks.jsonl", **spec: Any
    ) -> ResolvedEnvironment:
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return own_environment(environment_of(path, grader, **spec))

    return make
