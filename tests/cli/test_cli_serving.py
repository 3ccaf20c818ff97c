"""Served models by the command line: one file with a server, an agent and a group, and what is told of each."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_workspace import COMMAND, Workspace
from click.testing import Result
from free_ports import free_port

pytestmark = pytest.mark.timeout(90)

SERVER = Path(__file__).parent.parent / "serving" / "stand_in_server.py"


def campaign(workspace: Workspace, *, command: list[str] | None = None, **serve: Any) -> str:
    folder = workspace.folder / "server"
    folder.mkdir()
    spec = {
        "command": command or [sys.executable, str(SERVER), str(folder)],
        "network": True,
        "maxCostUSD": "0.50",
        "serve": {"family": "qwen", "port": free_port(), **serve},
    }
    documents = [
        {"kind": "Job", "metadata": {"name": "qwen-server"}, "spec": spec},
        {"kind": "Agent", "metadata": {"name": "solver"}, "spec": {"model": {"families": ["qwen"]}, "perRunMaxCostUSD": "0.01"}},
        {
            "kind": "AgentGroup",
            "metadata": {"name": "hello"},
            "spec": {"agent": "solver", "maxCostUSD": "1.00", "inputs": [{"id": "one", "prompt": "say 1"}]},
        },
    ]
    return workspace.write("\n---\n".join(json.dumps({"apiVersion": "nodus.dev/v1", **each}) for each in documents), "both.yaml")


def test_run_serves_waits_for_the_group_and_leaves_no_server_up(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    path = campaign(workspace, stopAfter="1h")
    assert nodus("validate", "-f", path).exit_code == 0
    estimated = json.loads(nodus("estimate", "-f", path, "-o", "json").stdout)
    assert [each.get("ceilingUSD") for each in estimated] == ["0.50", None]
    assert "Its model is served by Job qwen-server, whose time is its cost: $0.50 at most" in estimated[1]["notes"][0]
    unwell = workspace.folder / "server" / "unwell"
    unwell.touch()

    def heal_once_waited_for() -> None:
        asking = [COMMAND, "get", "group/hello", "-o", "json"]
        while b"WaitingForModel" not in subprocess.run(asking, capture_output=True, check=False).stdout:
            pass
        unwell.unlink()

    healer = threading.Thread(target=heal_once_waited_for, daemon=True)
    healer.start()
    done = nodus("run", "-f", path, "-o", "json")
    assert done.exit_code == 0, done.stderr
    assert "qwen-server serves qwen while something at work uses that family; `nodus-tui logs --follow qwen-server`" in done.stderr
    assert "waits for the model server of qwen (job qwen-server): " in done.stderr
    # Its scheduler ended with the command, and took along what nobody would have stopped.
    status = json.loads(nodus("get", "job/qwen-server", "-o", "json").stdout)["status"]
    assert status["serving"]["family"] == "qwen"
    assert nodus("wait", "job/qwen-server").exit_code == 0
    status = json.loads(nodus("get", "job/qwen-server", "-o", "json").stdout)["status"]
    assert (status["phase"], status["reason"]) == ("Succeeded", "NoLongerUsed")
    listed = nodus("get", "jobs").stdout
    assert "SERVES" in listed
    described = nodus("describe", "job/qwen-server").stdout
    assert "Serves:          qwen, asked for as qwen" in described
    assert "Stays up:        stops 1h after the last one that uses it" in described


def test_run_with_a_server_that_does_not_start_stalls_with_code_4_and_says_what_frees_it(
    workspace: Workspace, nodus: Callable[..., Result]
) -> None:
    done = nodus("run", "-f", campaign(workspace, command=["/bin/false"]))
    assert done.exit_code == 4, done.stderr
    assert "hello is stalled: the model server of qwen has ended: job qwen-server (Failed, it exited with 1)" in done.stderr
    assert "`nodus-tui retry job/qwen-server` starts it again" in done.stderr
    again = nodus("retry", "job/qwen-server")
    assert again.exit_code == 0, again.stderr
    assert "qwen-server is tried again (attempt 2)" in again.stderr
    assert "qwen-server serves qwen while something at work uses that family" in again.stderr


def test_run_of_a_server_alone_does_not_wait(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    path = campaign(workspace)
    server = workspace.write(Path(path).read_text().split("\n---\n")[0], "server.yaml")
    done = nodus("run", "-f", server)
    assert done.exit_code == 0, done.stderr
    status = json.loads(nodus("get", "job/qwen-server", "-o", "json").stdout)["status"]
    assert status["phase"] == "Pending"
