"""The tasks of the code environment: their references pass, what agents find does not, and neither do plausible wrong solutions."""

import re
from collections import Counter
from pathlib import Path

import pytest
from code_task_trials import outcomes

from local_backend.environments.catalogue import EnvironmentCatalogue
from local_backend.environments.client import check
from local_backend.environments.code.task_data import CodeTask, all_tasks, full_prompt, split_of
from local_backend.environments.code_source import CodeSource
from local_backend.environments.names import CODE_NAME, CODE_SIZE, CODE_VERSION
from local_backend.environments.secret_tasks import SourceError

TASKS = all_tasks()

LOOPS = {"numeric-bases", "numeric-share", "dates-recurrence", "structures-sliding-median", "intervals-rooms"}
"""Their wrong solutions never end, or take very long, in some of the tests."""


def test_there_are_enough_of_each_kind() -> None:
    assert Counter(split_of(task.id) for task in TASKS) == {"train": CODE_SIZE, "test": CODE_SIZE}
    assert {task.kind for task in TASKS} == {"function", "repair", "program"}
    for split in ("train", "test"):
        there = [task for task in TASKS if split_of(task.id) == split]
        assert {task.family for task in there} == {task.family for task in TASKS}
        assert {task.difficulty for task in there} == {"easy", "medium", "hard"}


def test_references_pass_every_hidden_test(tmp_path: Path) -> None:
    found = outcomes(tmp_path, TASKS, "reference")
    assert set(found) == {task.id for task in TASKS}
    assert {name: count for name, count in found.items() if count["failed"]} == {}
    assert all(count["passed"] >= 5 for count in found.values())


def test_what_agents_find_passes_nowhere(tmp_path: Path) -> None:
    # A task without files has an empty work folder: there is nothing to load.
    there = [task for task in TASKS if task.files and task.id not in LOOPS]
    found = outcomes(tmp_path, there, "start")
    assert {name for name, count in found.items() if count["failed"]} == {task.id for task in there}


def test_plausible_wrong_solutions_fail(tmp_path: Path) -> None:
    there = [task for task in TASKS if task.id not in LOOPS]
    found = outcomes(tmp_path, there, "shallow")
    assert {name for name, count in found.items() if count["failed"]} == {task.id for task in there}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_prompts_tell_what_is_needed(task: CodeTask) -> None:
    prompt = full_prompt(task)
    assert "`solution.py`" in prompt
    for name, content in task.files.items():
        assert f"`{name}`" in prompt
        assert content.rstrip() in prompt
    # Every function that a hidden test calls is named to the agent.
    for name in set(re.findall(r"\bsolution\.(?!mutated|py)([a-z_]+)", task.tests)):
        assert f"{name}(" in prompt


def test_the_same_seed_gives_the_same_tasks() -> None:
    first, second = CodeSource().draw("test", 7, CODE_SIZE), CodeSource().draw("test", 7, 5)
    assert [task.id for task in first][:5] == [task.id for task in second]
    assert [task.fingerprint() for task in first][:5] == [task.fingerprint() for task in second]
    assert [task.id for task in CodeSource().draw("test", 8, CODE_SIZE)] != [task.id for task in first]
    assert {split_of(task.id) for task in first} == {"test"}


def test_too_many_and_other_splits() -> None:
    with pytest.raises(SourceError, match="has 26 tasks and 27"):
        CodeSource().draw("train", 0, CODE_SIZE + 1)
    with pytest.raises(SourceError, match="train and test only"):
        CodeSource().draw("all", 0, 1)


async def test_the_catalogue_finds_and_counts_it() -> None:
    resolved = EnvironmentCatalogue().resolve(f"{CODE_NAME}@{CODE_VERSION}", "train", own=lambda _: None)
    assert resolved.in_sandbox
    facts = await check(resolved)
    assert facts.tasks == {"train": CODE_SIZE, "test": CODE_SIZE}
    assert facts.digest == CodeSource().describe()[1]


def test_nothing_secret_is_on_a_card() -> None:
    for task in CodeSource().draw("train", 0, CODE_SIZE):
        assert task.workbench is not None
        assert task.trial is not None
        assert task.trial.reference is not None
        shown = "\n".join([*task.prompts, *task.workbench.files.values(), repr(task)])
        hidden = [file.content.decode() for file in (task.trial.reference.files or {}).values()]
        assert not any(content in shown for content in hidden)
        assert "pytest" not in shown
