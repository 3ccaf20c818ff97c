"""Slices of a task order: whatever makes the tasks, slices share none, and one after the other they are the order of the seed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from environment_builders import MakeEnvironment, resolve
from hypothesis import given
from hypothesis import strategies as st
from task_folder_builders import harbor_task, source_over
from test_reasoning_gym import package  # noqa: F401 - a fixture

from local_backend.environments import reasoning_gym_names as names
from local_backend.environments.arithmetic import ArithmeticSource
from local_backend.environments.client import EnvironmentWorker
from local_backend.environments.code_source import CodeSource
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.environments.names import ARITHMETIC_MOST
from local_backend.environments.secret_tasks import DescribedSource, SourceError, TaskSource
from local_backend.environments.task_file_source import TaskFileSource
from local_backend.environments.worker import drawn
from nodus_tui.contract.resources.agent_group import Evaluation, Shard
from nodus_tui.contract.resources.environment import Environment


def file_source(folder: Path) -> TaskSource:
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps({"id": f"t{n}", "prompt": f"{n}?", "answer": str(n)}) + "\n" for n in range(12)))
    spec = {"version": "1", "file": str(path), "grader": {"type": "exact"}}
    return TaskFileSource({"spec": Environment.model_validate({"metadata": {"name": "mine"}, "spec": spec}).spec.to_document()})


def folder_source(folder: Path) -> TaskSource:
    for number in range(12):
        harbor_task(folder, f"task-{number}")
    return source_over(folder, "harbor")


SOURCES: dict[str, Callable[[Path], TaskSource]] = {
    "arithmetic": lambda _: ArithmeticSource(),
    "code": lambda _: CodeSource(),
    "file": file_source,
    "folder": folder_source,
}


def slice_of(source: TaskSource, split: str, seed: int, shard: int, tasks: int, of: int) -> list[str]:
    evaluation = Evaluation(environment="a@1", tasks=tasks, shard=Shard(index=shard, of=of))
    return [task.id for task in drawn(source, {"split": split, "seed": seed, "skip": evaluation.skipped, "tasks": evaluation.tasks})]


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("seed", [0, 7, 2_147_483_647])
def test_slices_share_no_task_and_together_are_the_order_of_the_seed(kind: str, seed: int, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    counts = source.describe()[0] if isinstance(source, DescribedSource) else {"test": 40}
    split, size = max(counts.items(), key=lambda each: each[1])
    whole = [task.id for task in source.draw(split, seed, size)]
    assert len(set(whole)) == size
    for tasks in (1, 3, size // 2):
        of = size // tasks
        slices = [slice_of(source, split, seed, shard, tasks, of) for shard in range(1, of + 1)]
        assert [name for each in slices for name in each] == whole[: of * tasks]


@given(seed=st.integers(0, 2**31 - 1), tasks=st.integers(1, 20), shard=st.integers(1, 20))
def test_a_slice_of_arithmetic_is_the_same_whatever_the_number_of_slices(seed: int, tasks: int, shard: int) -> None:
    source = ArithmeticSource()
    order = [task.id for task in source.draw("test", seed, 20 * tasks)]
    assert slice_of(source, "test", seed, shard, tasks, 20) == order[(shard - 1) * tasks : shard * tasks]
    assert slice_of(source, "test", seed, shard, tasks, shard) == order[(shard - 1) * tasks : shard * tasks]


def test_arithmetic_says_where_its_order_ends() -> None:
    with pytest.raises(SourceError) as refused:
        ArithmeticSource().draw("test", 0, ARITHMETIC_MOST + 1)
    assert refused.value.sentence == "nodus/arithmetic-v2 makes 30,000 tasks of a seed at most, and 30,001 were asked for"


@pytest.mark.usefixtures("package")
async def test_slices_of_a_dataset_follow_each_other_in_the_graders_process() -> None:
    environment = resolve(f"reasoning-gym/chain_sum@{names.VERSION}")
    assert await ids(environment, 0, 4) + await ids(environment, 4, 4) == await ids(environment, 0, 8)


async def ids(environment: ResolvedEnvironment, skip: int, tasks: int) -> list[str]:
    async with await EnvironmentWorker.start(environment, split="test", seed=5, tasks=tasks, skip=skip) as worker:
        return [task.id for task in worker.batch.tasks]


async def test_a_slice_is_graded_and_has_a_digest_of_its_own(make_environment: MakeEnvironment) -> None:
    environment = make_environment([{"id": f"t{n}", "prompt": f"{n}?", "answer": str(n)} for n in range(6)], {"type": "exact"})
    digests = set()
    for skip in (0, 3):
        async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=3, skip=skip) as worker:
            digests.add(worker.batch.digest)
            task = worker.batch.tasks[0].id
            assert (await worker.grade(task, task.removeprefix("t"))).verdict.value == "Correct"
    assert len(digests) == 2
