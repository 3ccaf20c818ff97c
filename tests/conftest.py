"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's own workspace, configuration or keys."""
    monkeypatch.setenv("NODUS_HOME", str(tmp_path / "nodus-home"))
    monkeypatch.delenv("NODUS_CONFIG", raising=False)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
