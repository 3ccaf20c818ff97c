"""A workspace with simulated models, and the Python interface on it, the scheduler in this process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodus_tui import sdk


def family(name: str, **behaviour: Any) -> dict[str, Any]:
    """A simulated family of the catalogue."""
    price = {"inputPerMTok": "1.00", "outputPerMTok": "5.00", "notional": True}
    return {"family": name, "provider": "simulated", "name": f"simulated-{name}", "price": price, "simulated": behaviour}


CONFIGURATION = {
    "models": [
        family("haiku", accuracy=1.0, outputTokens=20, seed=1),
        family("slow", accuracy=1.0, outputTokens=20, latencySeconds=600, seed=1),
        family("broken", failures=1.0, outputTokens=20, seed=1),
    ],
    "minFreeDiskMiB": 0,
}

EVALUATION = {"environment": "nodus/arithmetic-v2@2.0.0", "split": "test", "tasks": 2, "repetitions": 1, "seed": 42, "timeout": "10m"}


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder; the interface opens its backend there and lets go of it afterwards."""
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    monkeypatch.setenv("NODUS_CONFIG", str(config))
    monkeypatch.setenv("NODUS_IN_PROCESS", "1")
    yield tmp_path
    sdk.close()
