"""The gold check: what is wrong with a task is found before anybody pays for its answers."""

from pathlib import Path
from typing import Any

import pytest
from grading_places import ENGINE, connect
from test_grading_worker import environment

from local_backend.environments.catalogue import EnvironmentCatalogue
from local_backend.environments.client import EnvironmentFacts, check
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.grading.gold import check_gold, gold_batches
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import Verdict

CANARY = "canary-c0de"


async def checked(resolved: ResolvedEnvironment, **how: Any) -> dict[str, GoldCase]:
    facts = await check(resolved)
    settings = {"split": None, "tasks": None, "seed": 0, "engine": ENGINE, **how}
    return {case.task_id: case async for case in check_gold(resolved, facts, **settings)}


async def test_each_problem_of_hidden_tests_is_found(tmp_path: Path) -> None:
    await (await connect()).aclose()
    good = {
        "prompt": "p",
        "tests": {"test_it.py": "def test_it(solution): assert solution.f() == 1"},
        "files": {"solution.py": "def f(): return 0"},
    }
    right = {"solution.py": "def f(): return 1"}
    tasks = [
        {**good, "id": "fine", "solution": right},
        {**good, "id": "fails", "solution": {"solution.py": "def f(): return 2"}, "split": "train"},
        {**good, "id": "passes", "tests": {"test_it.py": "def test_it(): pass"}, "solution": right},
        {**good, "id": "none"},
        {**good, "id": "broken", "tests": {"test_it.py": f"raise ValueError('{CANARY}')"}, "solution": right},
    ]
    resolved = environment(tmp_path, tasks, {"type": "pytest", "timeout": "30s"})
    cases = await checked(resolved)
    assert {name: case.problem for name, case in cases.items()} == {
        "fine": "",
        "fails": "ReferenceFails",
        "passes": "EmptyPasses",
        "none": "NoReference",
        "broken": "GraderFails",
    }
    assert {case.split for case in cases.values()} == {"train", "test"}
    assert cases["none"].reference is None
    assert cases["fine"].reference is Verdict.CORRECT
    assert cases["fine"].empty is Verdict.INCORRECT
    assert not any(CANARY in case.message for case in cases.values())
    assert set(await checked(resolved, split="train")) == {"fails"}
    assert len(await checked(resolved, split="test", tasks=2)) == 2


async def test_graders_of_words_are_checked_with_their_expected_answers(tmp_path: Path) -> None:
    tasks = [
        {"id": "a", "prompt": "p", "answer": "yes|no"},
        {"id": "b", "prompt": "p", "answer": "(?s).*"},
        {"id": "c", "prompt": "p", "answer": "a{5000}(?!x)b"},
    ]
    cases = await checked(environment(tmp_path, tasks, {"type": "regex"}), engine=None)
    assert cases["a"].problem == ""
    assert cases["b"].problem == "EmptyPasses"
    exact = await checked(environment(tmp_path, [{"id": "a", "prompt": "p", "answer": CANARY}], {"type": "exact"}), engine=None)
    assert (exact["a"].reference, exact["a"].empty, exact["a"].problem) == (Verdict.CORRECT, Verdict.INVALID_OUTPUT, "")


async def test_the_catalogues_arithmetic_is_sound() -> None:
    resolved = EnvironmentCatalogue().resolve("nodus/arithmetic-v2@2.0.0", "test", own=lambda _: None)
    cases = await checked(resolved, tasks=20, engine=None)
    assert len(cases) == 40
    assert {case.problem for case in cases.values()} == {""}


def test_which_tasks_are_checked() -> None:
    facts = EnvironmentFacts({"train": 3, "test": 7}, "sha256:0")
    assert gold_batches(facts, split=None, tasks=None) == [("train", 3), ("test", 7)]
    assert gold_batches(facts, split="test", tasks=5) == [("test", 5)]
    assert gold_batches(facts, split=None, tasks=5) == [("train", 3), ("test", 5)]
    assert gold_batches(EnvironmentFacts({}, "sha256:0"), split="test", tasks=None) == [("test", 100)]
    with pytest.raises(NodusError, match="nothing to check"):
        gold_batches(EnvironmentFacts({"train": 0, "test": 7}, "sha256:0"), split="train", tasks=None)
