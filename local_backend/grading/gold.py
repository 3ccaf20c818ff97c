"""The gold check: each task's reference solution and an empty answer through the task's own grader."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Literal, NamedTuple

from local_backend.environments.client import EnvironmentFacts, EnvironmentWorker
from local_backend.environments.interface import Grade, ResolvedEnvironment
from local_backend.grading.client import GradingWorker, start_grader
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER

TASKS_OF_ENDLESS = 100
"""Tasks of a split without an end that are checked where no number is given."""
SPLITS = ("train", "test")

_AT_ONCE = 64
"""Tasks that are asked for at once; how many sandboxes run is the worker's."""

Problem = Literal["", "ReferenceFails", "EmptyPasses", "NoReference", "GraderFails"]


class GoldBatch(NamedTuple):
    """What is checked of one split."""

    split: str
    tasks: int


def gold_batches(facts: EnvironmentFacts, *, split: str | None, tasks: int | None) -> list[GoldBatch]:
    """The splits to check and how many tasks of each. Raises NodusError (NotFound) when there are none."""
    made = []
    for each in SPLITS if split is None else (split,):
        there = facts.tasks.get(each, 0) if facts.tasks else None
        count = tasks or TASKS_OF_ENDLESS if there is None else min(there, tasks or there)
        if count:
            made.append(GoldBatch(each, count))
    if not made:
        where = "no tasks" if split is None else f"no tasks in the split {split}"
        raise NodusError(ErrorCode.NOT_FOUND, f"there is nothing to check: the environment has {where}")
    return made


async def check_gold(
    resolved: ResolvedEnvironment,
    facts: EnvironmentFacts,
    *,
    split: str | None,
    tasks: int | None,
    seed: int,
    engine: str | None,
    workspace: str = "",
    environ: Mapping[str, str] | None = None,
) -> AsyncGenerator[GoldCase, None]:
    """Check an environment, case by case as they are done; of a split or both, of the first `tasks` tasks of each or of all.

    `engine` makes the sandboxes where the environment needs some. Close it (`contextlib.aclosing`) when leaving early, so that its process
    ends. Raises NodusError when the tasks cannot be made.
    """
    for batch in gold_batches(facts, split=split, tasks=tasks):
        worker = await start_grader(
            resolved, split=batch.split, seed=seed, tasks=batch.tasks, engine=engine, workspace=workspace, environ=environ
        )
        try:
            async with aclosing(_cases(worker, batch.split)) as cases:
                async for case in cases:
                    yield case
        finally:
            await worker.aclose()


async def _cases(worker: EnvironmentWorker | GradingWorker, split: str) -> AsyncGenerator[GoldCase, None]:
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(task_id: str) -> GoldCase:
        async with room:
            return await _case(worker, task_id, split)

    going = [asyncio.create_task(one(card.id)) for card in worker.batch.tasks]
    try:
        for done in asyncio.as_completed(going):
            yield await done
    finally:
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)


async def _case(worker: EnvironmentWorker | GradingWorker, task_id: str, split: str) -> GoldCase:
    clock = asyncio.get_running_loop().time
    began = clock()
    if isinstance(worker, GradingWorker):
        reference, empty = await asyncio.gather(worker.check(task_id, "reference"), worker.check(task_id, "empty"))
    else:
        reference, empty = await asyncio.gather(
            worker.grade(task_id, REFERENCE_PLACEHOLDER, simulated=True), worker.grade(task_id, "", simulated=False)
        )
    problem, message = _problem(reference, empty)
    in_sandboxes = (reference.sandbox_seconds or 0) + (empty.sandbox_seconds or 0)
    return GoldCase(
        task_id=task_id,
        split=split,
        reference=None if reference.no_reference else reference.verdict,
        empty=empty.verdict,
        problem=problem,
        message=message,
        seconds=round(in_sandboxes or clock() - began, 3),
    )


def _problem(reference: Grade, empty: Grade) -> tuple[Problem, str]:
    """The gravest thing that is wrong, and what its grade said."""
    broken = next((each for each in (reference, empty) if each.verdict is Verdict.INFRASTRUCTURE_FAILURE and not each.no_reference), None)
    if broken is not None:
        return "GraderFails", broken.message
    if empty.verdict is Verdict.CORRECT:
        return "EmptyPasses", "an empty answer is graded Correct"
    if reference.no_reference:
        return "NoReference", reference.message
    if reference.verdict is not Verdict.CORRECT:
        return "ReferenceFails", reference.message
    return "", ""
