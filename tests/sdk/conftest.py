"""A workspace with simulated models, and the Python interface on it, the scheduler in this process."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sdk_place import CONFIGURATION

from nodus_tui import sdk


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder; the interface opens its backend there and lets go of it afterwards."""
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    monkeypatch.setenv("NODUS_CONFIG", str(config))
    monkeypatch.setenv("NODUS_IN_PROCESS", "1")
    yield tmp_path
    sdk.close()
