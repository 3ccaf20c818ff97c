"""Agents solve tasks of the code environment from end to end: scripted tool calls in real sandboxes, hidden tests in others."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_workspace import Workspace
from click.testing import Result

from local_backend.environments.code.task_data import all_tasks
from local_backend.environments.code_source import CodeSource
from local_backend.environments.names import CODE_NAME, CODE_VERSION

Nodus = Callable[..., Result]

TASKS = {task.id: task for task in all_tasks()}
EXAMPLES = Path(__file__).parents[2] / "examples" / "environments"

FAMILY = """\
models:
  - family: haiku
    provider: simulated
    name: simulated-coder
    price: {{inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}}
    simulated: {{accuracy: 1.0, outputTokens: 20, scripts: {scripts}}}
"""
SPEC = """\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {{name: coder}}
spec:
  model: {{families: [haiku], maxTokens: 4000}}
  perRunMaxCostUSD: "1.00"
  tools: {tools}
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {{name: coding}}
spec:
  agent: coder
  maxCostUSD: "10.00"
  evaluation: {{environment: {environment}, split: train, tasks: {tasks}, seed: 3, timeout: 30m}}
"""


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that needs no daemon."""
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", os.environ.get("NODUS_TEST_ENGINE", "bubblewrap"))


def verdicts(nodus: Nodus, workspace: Workspace, scripts: dict[str, object], spec: str) -> dict[str, str]:
    """The verdict of each task after a run of the spec."""
    workspace.config.write_text(FAMILY.format(scripts=json.dumps(scripts)), "utf-8")
    done = nodus("run", "-f", spec, "-q", "-o", "json")
    assert done.exit_code == 0, done.stderr
    name = "coding" if spec.endswith("spec.yaml") else "coder-small-functions"
    return {case["taskId"]: case["verdict"] for case in json.loads(nodus("results", name, "-o", "json").stdout)["results"]}


def test_agents_with_tools(workspace: Workspace, nodus: Nodus) -> None:
    drawn = [task.id for task in CodeSource().draw("train", 3, 3)]
    right, wrong, nothing = drawn

    def writes(files: dict[str, str]) -> list[object]:
        tools = [{"name": "write", "arguments": {"path": path, "content": content}} for path, content in files.items()]
        return [{"tools": [{"name": "bash", "arguments": {"command": "ls"}}]}, {"tools": tools}, {"text": "Done."}]

    scripts = {right: writes(dict(TASKS[right].reference)), wrong: writes(dict(TASKS[wrong].shallow)), nothing: [{"text": "I cannot."}]}
    spec = workspace.write(SPEC.format(tools="[bash, write]", environment=f"{CODE_NAME}@{CODE_VERSION}", tasks=3))
    found = verdicts(nodus, workspace, scripts, spec)
    assert (found[right], found[wrong]) == ("Correct", "Incorrect")
    assert found[nothing] in {"InvalidOutput", "Incorrect"}


def test_agents_without_tools(workspace: Workspace, nodus: Nodus) -> None:
    (task,) = (task.id for task in CodeSource().draw("train", 3, 1))
    reply = f"Here it is:\n\n```python\n{TASKS[task].reference['solution.py']}```\n"
    spec = workspace.write(SPEC.format(tools="[]", environment=f"{CODE_NAME}@{CODE_VERSION}", tasks=1))
    assert verdicts(nodus, workspace, {task: [{"text": reply}]}, spec) == {task: "Correct"}


def test_the_example_with_hidden_tests(workspace: Workspace, nodus: Nodus) -> None:
    leap = "def leap(year):\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n"
    scripts = {
        "leap-years": [{"tools": [{"name": "write", "arguments": {"path": "solution.py", "content": leap}}]}, {"text": "Repaired."}],
        "double-words": [{"text": "I have no idea."}],
    }
    found = verdicts(nodus, workspace, scripts, str(EXAMPLES / "functions.yaml"))
    assert found == {"leap-years": "Correct", "double-words": "InvalidOutput"}


def test_task_folders_are_refused_where_no_engine_runs_images(workspace: Workspace, nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "bubblewrap")
    workspace.config.write_text(FAMILY.format(scripts="{}"), "utf-8")
    done = nodus("apply", "-f", str(EXAMPLES / "task-folders.yaml"))
    assert done.exit_code != 0
    assert "the task folders of small-shell-tasks bring images, which need Docker" in done.stderr
