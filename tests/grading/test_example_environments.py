"""The environments that come along pass their gold checks: the examples, and a part of the catalogue's code environment."""

import os
from pathlib import Path

import pytest
import yaml
from folder_images import EXAMPLES, docker_bench, on_base
from grading_places import ENGINE, connect

from local_backend.environments.catalogue import EnvironmentCatalogue, own_environment
from local_backend.environments.client import check
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.environments.names import CODE_NAME, CODE_VERSION
from local_backend.grading.gold import check_gold
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.resources.environment import Environment


def example(name: str, **spec: object) -> ResolvedEnvironment:
    """The environment of an example file."""
    document = next(yaml.safe_load_all((EXAMPLES / name).read_text("utf-8")))
    environment = Environment.model_validate(document)
    located = environment.spec.located(EXAMPLES).model_copy(update=spec)
    return own_environment(environment.model_copy(update={"spec": located}))


async def gold(resolved: ResolvedEnvironment, engine: str, tasks: int | None = None) -> dict[str, GoldCase]:
    """Every case by its task."""
    cases = check_gold(resolved, await check(resolved), split=None, tasks=tasks, seed=0, engine=engine, environ=os.environ)
    return {case.task_id: case async for case in cases}


@pytest.mark.parametrize("name", ["functions.yaml", "sorting.yaml"])
async def test_examples(name: str) -> None:
    await (await connect()).aclose()
    cases = await gold(example(name), ENGINE)
    assert len(cases) == 2
    assert {case.problem for case in cases.values()} == {""}
    assert {case.reference for case in cases.values()} == {Verdict.CORRECT}


async def test_the_example_of_task_folders(tmp_path: Path) -> None:
    async with docker_bench() as place:
        folder = await on_base(place, EXAMPLES / "tasks-harbor", tmp_path / "tasks")
        cases = await gold(example("task-folders.yaml", folder=str(folder)), "docker")
    assert {name: (case.reference, case.empty, case.problem) for name, case in cases.items()} == {
        "count-lines": (Verdict.CORRECT, Verdict.INCORRECT, ""),
        "fix-mean": (Verdict.CORRECT, Verdict.INCORRECT, ""),
    }


async def test_a_part_of_the_code_environment() -> None:
    await (await connect()).aclose()
    resolved = EnvironmentCatalogue().resolve(f"{CODE_NAME}@{CODE_VERSION}", "test", own=lambda _: None)
    cases = await gold(resolved, ENGINE, tasks=2)
    assert len(cases) == 4
    assert {name: case.problem for name, case in cases.items() if case.problem} == {}
