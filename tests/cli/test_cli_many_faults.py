"""A spec with many faults: all of them in one answer, those of its text beside those of the workspace, and nothing changed."""

import json
import sqlite3
from collections.abc import Callable

import pytest
from cli_workspace import Workspace
from click.testing import Result

Nodus = Callable[..., Result]

FAULTY = """\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {name: writer}
spec:
  model: {families: [perfekt], maxTokens: 0}
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {name: first}
spec:
  agent: writer
  maxActive: 0
  maxCostUSD: 10.00
  evaluation:
    environment: nodus/arithmetic-v3@2.0.0
    tasks: 101
    timeout: 59s
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {name: second}
spec:
  agent: wirter
  maxActiv: 3
  maxCostUSD: "1.00"
  evaluation: {environment: nodus/arithmetic-v2@9.0.0, tasks: 2, split: tset}
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {name: third}
spec: {agent: writer, maxCostUSD: "0.00", evaluation: {environment: capitals@2, tasks: 3}}
---
apiVersion: nodus.dev/v1
kind: Environment
metadata: {name: capitals}
spec: {version: "1", file: tasks.jsonl, grader: {type: exact, ignorCase: true}}
"""

OTHER = """\
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {name: fourth}
spec: {agent: nobody, maxCostUSD: "1.00", evaluation: {environment: towns@1, tasks: 2}}
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {name: fifth}
spec: {agent: solver, maxCostUSD: "1.00", evaluation: {environment: rivers@1, tasks: 3}}
---
apiVersion: nodus.dev/v1
kind: Environment
metadata: {name: rivers}
spec: {version: "1", file: tasks.jsonl, grader: {type: exact}, descripton: x}
"""

EXPECTED = [
    "faulty.yaml:5:21: spec.model.families: ",
    "faulty.yaml:5:43: spec.model.maxTokens: ",
    "faulty.yaml:12:14: spec.maxActive: ",
    "faulty.yaml:13:15: spec.maxCostUSD: ",
    "faulty.yaml:15:18: spec.evaluation.environment: there is no environment",
    "faulty.yaml:16:12: spec.evaluation.tasks: ",
    "faulty.yaml:17:14: spec.evaluation.timeout: ",
    'faulty.yaml:23:10: spec.agent: there is no Agent "wirter"',
    "faulty.yaml:24:3: spec.maxActiv: ",
    "faulty.yaml:26:29: spec.evaluation.environment: nodus/arithmetic-v2 has no version",
    "faulty.yaml:26:73: spec.evaluation.split: ",
    "faulty.yaml:31:35: spec.maxCostUSD: ",
    "faulty.yaml:31:69: spec.evaluation.environment: capitals has no version",
    "faulty.yaml:36:63: spec.grader.ignorCase: ",
    'other.yaml:4:15: spec.agent: there is no Agent "nobody"',
    'other.yaml:4:69: spec.evaluation.environment: there is no environment "towns"',
    "other.yaml:9:86: spec.evaluation.tasks: rivers@1 has 2 tasks",
    "other.yaml:14:64: spec.descripton: ",
]


@pytest.fixture
def faulty(workspace: Workspace, nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files, in the current folder, in a workspace that knows the agent `solver`."""
    monkeypatch.chdir(workspace.folder)
    tasks = [{"id": f"t{number}", "prompt": "?", "answer": "x"} for number in range(2)]
    workspace.write("".join(json.dumps(task) + "\n" for task in tasks), "tasks.jsonl")
    agent = workspace.write((workspace.folder / workspace.spec()).read_text(encoding="utf-8").partition("---")[0], "agent.yaml")
    assert nodus("apply", "-f", agent).exit_code == 0
    workspace.write(FAULTY, "faulty.yaml")
    workspace.write(OTHER, "other.yaml")
    return ["-f", "faulty.yaml", "-f", "other.yaml"]


def database(workspace: Workspace) -> list[str]:
    """Everything in the database, as text."""
    with sqlite3.connect(workspace.home / "nodus.db") as connection:
        lines = list(connection.iterdump())
    connection.close()
    return lines


@pytest.mark.parametrize("verb", [["validate"], ["apply"], ["apply", "--dry-run"], ["run", "-q"], ["estimate"]])
def test_every_fault_is_told_at_once_and_nothing_changes(verb: list[str], faulty: list[str], workspace: Workspace, nodus: Nodus) -> None:
    before = database(workspace)
    done = nodus(*verb, *faulty)
    assert done.exit_code == 2
    assert done.stdout == ""
    told = done.stderr.splitlines()
    assert told[-1].startswith(f"nodus-tui: {len(EXPECTED)} faults")
    assert [(line[: len(start)], start) for line, start in zip(told[:-1], EXPECTED, strict=True)] == [(start, start) for start in EXPECTED]
    assert database(workspace) == before


def test_with_offline_only_the_texts_are_looked_at(faulty: list[str], nodus: Nodus) -> None:
    told = json.loads(nodus("validate", "--offline", "--json", *faulty).stdout)
    assert [fault["line"] for fault in told] == [5, 12, 13, 16, 17, 24, 26, 31, 36, 14]


@pytest.mark.usefixtures("faulty")
def test_what_can_only_be_told_by_an_unreadable_file_is_told_with_that_doubt(workspace: Workspace, nodus: Nodus) -> None:
    workspace.write("apiVersion: [\n", "broken.yaml")
    told = nodus("validate", "-f", "other.yaml", "-f", "broken.yaml").stderr
    assert 'there is no Agent "nobody", here or applied before, unless it is in what could not be read' in told
    assert 'there is no environment "towns", unless it is in what could not be read' in told
    assert "broken.yaml:1:13" in told


@pytest.mark.usefixtures("faulty")
def test_a_workspace_that_cannot_be_asked_is_told_beside_the_faults_of_the_text(nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_CONFIG", "/nowhere/config.yaml")
    done = nodus("validate", "-f", "other.yaml")
    assert done.exit_code == 2
    first, second, count = done.stderr.splitlines()
    assert first.startswith("other.yaml:14:64: spec.descripton: ")
    assert second.startswith("the rest could not be checked against the workspace: NODUS_CONFIG names /nowhere/config.yaml")
    assert count == "nodus-tui: 2 faults"


@pytest.mark.usefixtures("faulty")
def test_a_spec_from_standard_input_finds_its_task_file_in_the_current_folder(
    workspace: Workspace, nodus: Nodus, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = OTHER.partition("---\n")[2].replace(", descripton: x", "").replace("tasks: 3", "tasks: 2")
    assert nodus("apply", "-f", "-", text=text).exit_code == 0
    monkeypatch.chdir("/")
    done = nodus("wait", "fifth", "-q", "--json")
    assert json.loads(done.stdout)["coverage"] == {"scored": 2, "total": 2}


def test_a_group_that_runs_under_another_name_meets_no_group_of_its_own(workspace: Workspace, nodus: Nodus) -> None:
    assert nodus("apply", "-f", workspace.spec()).exit_code == 0
    spec = workspace.write((workspace.folder / workspace.spec(tasks=2, active=0)).read_text(encoding="utf-8"))
    assert [line for line in nodus("run", "-f", spec).stderr.splitlines() if "exists with another spec" in line]
    first, count = nodus("run", "-f", spec, "--as", "again").stderr.splitlines()
    assert "spec.maxActive: " in first
    assert count.startswith("nodus-tui: 1 fault in the spec")


@pytest.mark.parametrize("verb", [["validate"], ["estimate"], ["apply", "--dry-run"]])
def test_what_is_valid_but_would_be_refused_is_told_as_that_and_never_as_unchanged(
    verb: list[str], workspace: Workspace, nodus: Nodus
) -> None:
    path = workspace.write(
        "apiVersion: nodus.dev/v1\nkind: Sandbox\nmetadata: {name: many}\n"
        'spec: {hardware: CPU, accelerators: 2, maxCostUSD: "1.00", idleTimeout: 10m, maxLifetime: 1h}\n'
    )
    told = nodus(*verb, "-f", path)
    assert told.exit_code == 0
    assert "Sandbox many is valid, but" in told.stdout + told.stderr
    assert "apply refuses it" in told.stdout + told.stderr
    assert "unchanged" not in told.stdout
    assert verb[0] != "apply" or "refused" in told.stdout
