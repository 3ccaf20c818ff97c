"""The demonstration without a terminal: a real campaign on a real model, and a simulated one."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_workspace import COMMAND, Workspace
from click.testing import Result

import local_backend.demo
from local_backend.demo_specs import errand_tasks
from local_backend.models.local_server import local_model_problem
from nodus_tui.cli.specs import load_files
from nodus_tui.contract.demo import DemoRequest

Nodus = Callable[..., Result]


def test_the_real_campaign_reaches_verdicts_without_a_terminal(workspace: Workspace) -> None:
    problem = local_model_problem()
    if problem and os.environ.get("CI"):
        pytest.fail(f"CI must have the local model: {problem}")
    if problem:
        pytest.skip(problem)
    done = workspace.installed("demo", "--small", "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["group"] == "arithmetic-smollm2"
    assert results["coverage"] == {"scored": 4, "total": 4}
    assert results["simulated"] is False
    assert results["notionalPrice"] is True
    assert all(case["inputTokens"] > 0 and case["costUSD"] != "0.00" for case in results["results"])


def test_the_simulated_campaign_ends_and_starts_anew_each_time(nodus: Nodus) -> None:
    first = nodus("demo", "--simulated-only", "--small", "--json", "-q")
    assert first.exit_code == 0, first.stderr
    results = json.loads(first.stdout)
    assert results["simulated"] is True
    assert results["coverage"]["total"] == 10
    again = nodus("demo", "--simulated-only", "--small", "--json", "-q")
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["coverage"]["total"] == 10


def test_the_user_s_own_workspace_is_left_alone(workspace: Workspace, nodus: Nodus) -> None:
    done = nodus("demo", "--simulated-only", "--small", "-q")
    assert f"NODUS_HOME={workspace.home / 'demo'} " in done.stderr, "where its own is"
    assert done.stderr.rstrip().endswith(" get groups")
    assert not (workspace.home / "nodus.db").exists()
    assert json.loads(nodus("get", "groups", "--json").stdout) == []


@pytest.mark.parametrize("on_path", [True, False])
def test_its_last_words_name_a_program_that_this_shell_finds(workspace: Workspace, on_path: bool) -> None:
    folder = Path(COMMAND).parent
    ways = [str(folder), "/usr/bin", "/bin"] if on_path else ["/usr/bin", "/bin"]
    environ = {**workspace.environment, "PATH": os.pathsep.join(ways)}
    done = subprocess.run([COMMAND, "demo", "--simulated-only", "--small", "-q"], env=environ, capture_output=True, text=True, check=True)
    again = done.stderr.strip().rpartition(": ")[2]
    shown = subprocess.run(["/bin/sh", "-c", again], env=environ, capture_output=True, text=True, check=True)
    assert "Completed" in shown.stdout


def test_without_the_local_model_it_says_how_to_get_it(nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = "the local model needs xllamacpp: run `pip install xllamacpp`"
    monkeypatch.setattr(local_backend.demo, "local_model_problem", lambda: problem)
    done = nodus("demo", "--headless")
    assert done.exit_code == 4
    assert problem in done.stderr
    assert done.stdout == ""


async def test_the_demonstration_s_specs_are_as_valid_as_anybody_s(tmp_path: Path) -> None:
    kit = await local_backend.demo.prepare_demo(DemoRequest(home=tmp_path, campaigns=frozenset({"simulated"})))
    await kit.aclose()
    bundle = load_files(tuple(str(campaign.spec) for campaign in kit.campaigns))
    assert [each.resource.kind for each in bundle] == ["Environment", "Agent", "AgentGroup"]


def test_errands_have_one_to_four_messages_and_right_totals() -> None:
    tasks = errand_tasks(50)
    assert {len(prompts) for task in tasks if isinstance(prompts := task["prompt"], list)} == {1, 2, 3, 4}
    assert tasks[1]["prompt"] == [
        "I take 2 bulbs at 9 coins each. What is my total so far?",
        "Then I take 3 maps at 15 coins each. What is my total so far?",
    ]
    assert tasks[1]["answer"] == str(2 * 9 + 3 * 15)
