"""`environment`: what there is, and the gold check with its lines, its tables and its exit codes."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cli_workspace import Workspace
from click.testing import Result

from nodus_tui.cli import session
from nodus_tui.contract.backend import Page, Query
from nodus_tui.contract.backend_info import BackendInfo, EnvironmentFact
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Verdict

Nodus = Callable[..., Result]


def apply_environment(workspace: Workspace, nodus: Nodus, grader: dict[str, object], *tasks: dict[str, object]) -> None:
    """An environment of the user's own, named `mine`."""
    (workspace.folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
    document = {
        "apiVersion": "nodus.dev/v1",
        "kind": "Environment",
        "metadata": {"name": "mine"},
        "spec": {"version": "3", "file": "tasks.jsonl", "grader": grader},
    }
    applied = nodus("apply", "-f", workspace.write(json.dumps(document), "environment.yaml"))
    assert applied.exit_code == 0, applied.stderr


def test_the_catalogue_and_what_was_applied_are_listed(workspace: Workspace, nodus: Nodus) -> None:
    apply_environment(workspace, nodus, {"type": "numeric"}, {"id": "t1", "prompt": "1+1?", "answer": "2"})
    listed = nodus("environment", "list").stdout.splitlines()
    assert listed[0].split() == ["NAME", "VERSION", "SOURCE", "TASKS", "DESCRIPTION"]
    assert any(line.startswith("nodus/arithmetic-v2 ") for line in listed)
    found = {each["name"]: each for each in json.loads(nodus("environment", "list", "--json").stdout)}
    assert (found["mine"]["version"], found["mine"]["source"]) == ("3", "file")
    assert found["mine"]["digest"].startswith("sha256:")


def test_a_sound_environment_passes_its_check(workspace: Workspace, nodus: Nodus) -> None:
    apply_environment(workspace, nodus, {"type": "numeric"}, {"id": "t1", "prompt": "1+1?", "answer": "2"})
    checked = nodus("environment", "check", "mine")
    assert checked.exit_code == 0, checked.stderr
    assert "✓ test/t1: reference Correct, empty InvalidOutput" in checked.stderr
    assert "Problems:     none" in checked.stdout
    told = json.loads(nodus("environment", "check", "mine@3", "--split", "test", "--tasks", "1", "--seed", "5", "-q", "--json").stdout)
    assert (told["environment"], told["tasks"], told["problems"]) == ("mine@3", 1, 0)
    assert told["digest"].startswith("sha256:")
    assert [case["taskId"] for case in told["cases"]] == ["t1"]


def test_a_task_whose_empty_answer_passes_is_found(workspace: Workspace, nodus: Nodus) -> None:
    lenient = {"id": "lenient", "prompt": "Say anything.", "answer": ".*"}
    sound = {"id": "sound", "prompt": "1+1?", "answer": "2"}
    apply_environment(workspace, nodus, {"type": "regex"}, lenient, sound)
    checked = nodus("environment", "check", "mine")
    assert checked.exit_code == 1
    assert "the empty answer passes" in checked.stdout
    assert "lenient" in checked.stdout
    assert "sound" not in checked.stdout
    quiet = nodus("environment", "check", "mine", "-q", "-o", "json")
    assert quiet.exit_code == 1
    assert quiet.stderr == ""
    assert [case["problem"] for case in json.loads(quiet.stdout)["cases"] if case["taskId"] == "lenient"] == ["EmptyPasses"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nodus/arithmetic-v3"], 'did you mean "nodus/arithmetic-v2"'),
        (["nodus/arithmetic-v2@9"], "2.0.0"),
        (["nodus/arithmetic-v2", "--split", "none"], "none"),
        (["nodus/arithmetic-v2", "--tasks", "0"], "--tasks"),
    ],
)
def test_what_cannot_be_checked_is_2(arguments: list[str], told: str, nodus: Nodus) -> None:
    done = nodus("environment", "check", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr


class Checked:
    """As much of a backend as the check asks, with the cases that it gives."""

    def __init__(self, *cases: GoldCase | NodusError) -> None:
        self.cases = cases

    async def info(self) -> BackendInfo:
        fact = EnvironmentFact(name="code", version="1.0.0", description="", splits=("train",), tasks=3, source="catalogue")
        return BackendInfo(name="scripted", version="0", workspace="", scheduling=False, scheduler_elsewhere=False, environments=(fact,))

    async def list(self, kind: str, query: Query | None = None) -> Page:
        return Page(items=())

    async def check_environment(
        self, reference: str, *, split: str | None = None, tasks: int | None = None, seed: int = 0
    ) -> AsyncIterator[GoldCase]:
        assert reference == "code@1.0.0"
        for case in self.cases:
            if isinstance(case, NodusError):
                raise case
            yield case


def case(name: str, problem: str = "", **more: object) -> GoldCase:
    fields = {"reference": Verdict.CORRECT, "empty": Verdict.INCORRECT, "split": "train", "taskId": name, "problem": problem}
    return GoldCase.model_validate({**fields, **more})


@pytest.fixture
def check(nodus: Nodus, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    def checked(*cases: GoldCase | NodusError) -> Result:
        @asynccontextmanager
        async def opened(_: str) -> AsyncIterator[Checked]:
            yield Checked(*cases)

        monkeypatch.setattr(session, "opened", opened)
        return nodus("environment", "check", "code")

    return checked


def test_each_problem_has_words_and_the_gravest_decides(check: Callable[..., Result]) -> None:
    failing = case("a\x1b[2J", "ReferenceFails", reference=Verdict.INCORRECT, message="2 of 3 tests failed\x07")
    without = case("b", "NoReference", reference=None)
    broken = case("c", "GraderFails", empty=Verdict.INFRASTRUCTURE_FAILURE)
    assert check(case("d")).exit_code == 0
    ended = check(failing, without, case("d"))
    assert ended.exit_code == 1
    assert "✗ train/a␛[2J: reference Incorrect, empty Incorrect, 0.0s; the reference solution fails: 2 of 3 tests failed␇" in ended.stderr
    assert "reference none" in ended.stderr
    assert "Problems:     2" in ended.stdout
    assert "\x1b" not in ended.stdout + ended.stderr
    assert check(failing, broken).exit_code == 4


def test_a_check_that_ends_early_says_how_far_it_came(check: Callable[..., Result]) -> None:
    ended = check(case("a"), NodusError(ErrorCode.UNAVAILABLE, "the engine hangs"))
    assert ended.exit_code == 4
    assert "ended early, after 1 task" in ended.stderr
    assert "the engine hangs" in ended.stderr
    assert check().exit_code == 2


def test_hidden_answers_are_in_no_line_of_the_check(workspace: Workspace, nodus: Nodus, tmp_path: Path) -> None:
    apply_environment(workspace, nodus, {"type": "exact"}, {"id": "t1", "prompt": "?", "answer": "the-secret-answer"})
    checked = nodus("environment", "check", "mine", "-o", "json")
    assert checked.exit_code == 0
    assert "the-secret-answer" not in checked.stdout + checked.stderr
