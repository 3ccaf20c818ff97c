"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's own workspace, configuration or keys."""
    monkeypatch.setenv("NODUS_HOME", str(tmp_path / "nodus-home"))
    # Tests of the detached scheduler unset this; all others do their work in the process that asks.
    monkeypatch.setenv("NODUS_IN_PROCESS", "1")
    for name in ("NODUS_CONFIG", "NODUS_URL", "NODUS_TOKEN", "NODUS_CA", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
