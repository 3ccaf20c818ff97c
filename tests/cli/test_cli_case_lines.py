"""`results -o jsonl`: each case of a group with its whole conversation, a line of JSON each."""

import json
from collections.abc import Callable

import pytest
from cli_workspace import Workspace
from click.testing import Result

pytestmark = pytest.mark.timeout(90)

HOSTILE = "say \x1b[2J\x9b31m \u202e\u2028 [red]x[/red] no more"


def test_each_case_is_a_line_with_its_conversation_in_the_order_of_the_results(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    assert nodus("run", "-q", "-f", workspace.spec(tasks=20)).exit_code == 0
    told = nodus("results", "hello", "-o", "jsonl")
    assert told.exit_code == 0, told.stderr
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    cases = json.loads(nodus("results", "hello", "-o", "json").stdout)["results"]
    assert [{name: line[name] for name in case} for line, case in zip(lines, cases, strict=True)] == cases
    assert {(line["group"], line["simulated"]) for line in lines} == {("hello", True)}
    last = lines[-1]
    whole = json.loads(nodus("describe", f"run/{last['run']}", "--transcript", "-o", "json").stdout)
    assert (last["turns"], last["calls"]) == (whole["turns"], whole["calls"])
    assert [turn["role"] for turn in last["turns"]] == ["system", "user", "assistant"]


def test_a_gate_judges_as_with_every_format(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    assert nodus("run", "-q", "-f", workspace.spec(tasks=2)).exit_code == 0
    passed = nodus("results", "hello", "-o", "jsonl", "--min-pass-rate", "1")
    assert (passed.exit_code, len(passed.stdout.splitlines())) == (0, 2)


def test_what_stands_in_a_conversation_is_one_line_and_nothing_that_a_terminal_obeys(
    workspace: Workspace, nodus: Callable[..., Result]
) -> None:
    nodus("apply", "-f", workspace.spec())  # Its agent.
    group = {
        "apiVersion": "nodus.dev/v1",
        "kind": "AgentGroup",
        "metadata": {"name": "said"},
        "spec": {"agent": "solver", "maxActive": 1, "maxCostUSD": "1.00", "inputs": [{"id": "one", "prompt": HOSTILE}]},
    }
    ran = nodus("run", "-q", "-f", workspace.write(json.dumps(group), "said.json"))
    assert ran.exit_code == 0, ran.stderr
    told = nodus("results", "said", "-o", "jsonl").stdout
    assert told.endswith("\n")
    assert told[:-1].isprintable()
    assert HOSTILE in json.loads(told)["turns"][1]["text"]


@pytest.mark.parametrize("target", ["sweep/hello", "tj/hello"])
def test_only_groups_have_such_lines(nodus: Callable[..., Result], target: str) -> None:
    refused = nodus("results", target, "-o", "jsonl")
    assert (refused.exit_code, "-o jsonl is for groups" in refused.stderr) == (2, True)
