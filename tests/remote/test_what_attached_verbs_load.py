"""What a verb loads that asks a running scheduler: of the contract what its own call takes and gives, and nothing that only others need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from detached import DetachedWorkspace, in_folder

_SHOW_MODULES = """
import json, sys
from nodus_tui.cli.main import main
try:
    main(json.loads(sys.argv[1]))
finally:
    sys.stdout.flush()
    sys.stderr.write("\\nMODULES " + json.dumps(sorted(sys.modules)))
"""
_OTHERS = {
    *("importlib.metadata", "zipfile", "shutil", "csv", "rapidfuzz", "psutil", "sqlite3"),
    *("local_backend", "aiohttp", "httpx2", "fastapi", "textual", "rich.console"),
    *(f"nodus_tui.contract.{name}" for name in ("actions", "backend_info", "environment_check", "evaluation", "sandbox_exec", "sandboxes")),
    *(f"nodus_tui.contract.{name}" for name in ("configuration", "scheduler_view", "resources.sandbox", "resources.job", "schema")),
    "nodus_tui.contract.spec_loading.mending",
}
"""Read by no verb of this test: what installed packages say of themselves, archives, backends, clients of HTTP, screens, other calls."""


@pytest.fixture
def place(tmp_path: Path) -> DetachedWorkspace:
    return in_folder(tmp_path)


def loaded_by(place: DetachedWorkspace, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _SHOW_MODULES, json.dumps(arguments)],
        capture_output=True,
        text=True,
        env=place.environment,
        check=True,
        timeout=60,
    )
    return set(json.loads(done.stderr.rpartition("MODULES ")[2]))


async def test_a_verb_loads_what_its_own_call_takes_and_gives(place: DetachedWorkspace) -> None:
    await place.scheduler.ensure()
    spec = place.spec()
    runs = loaded_by(place, "get", "runs")
    assert "nodus_tui.remote.pages" in runs, "it was asked of the scheduler"
    assert not runs & (_OTHERS | {"yaml", "nodus_tui.contract.outcomes", "nodus_tui.contract.resources.agent_group"})
    for verb in ("validate", "estimate"):
        loaded = loaded_by(place, verb, "-f", spec)
        assert {"yaml", "nodus_tui.contract.outcomes", "nodus_tui.remote.socket_wire"} <= loaded
        assert not loaded & _OTHERS
    gpus = loaded_by(place, "gpus", "--once")
    assert "nodus_tui.contract.hardware_view" in gpus
    assert not gpus & (_OTHERS | {"yaml", "rich.live", "pynvml", "nodus_tui.contract.resources.agent_group"})
