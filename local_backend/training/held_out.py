"""The held-out tasks of an Environment: their prompts for the harness, and the grading of what the model answered.

The graders are those of groups, in their own processes. None of them lives while the harness runs: then no answer is in any process.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from local_backend.environments.client import EnvironmentWorker
from local_backend.environments.interface import Grade, TaskCard
from local_backend.grading.client import GradingWorker, start_grader
from local_backend.training.order import EvaluationOrder, OrderedEnvironment, matches
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.resources.training_job import TaskScore
from nodus_tui.statistics.pass_rate import PassRateSummary, TaskCount, summary_of_counts
from nodus_tui.statistics.scores import COVERAGE, MEAN_REWARD, PASS_RATE

SPLIT = "test"

_AT_ONCE = 64
"""Answers that are with the grader at the same time."""


class UnfitTasksError(Exception):
    """The tasks cannot be scored by the harness; the text is a sentence."""


class Drawn(Struct, frozen=True):
    """The tasks that are scored."""

    tasks: tuple[TaskCard, ...]
    digest: str
    """Over all that were looked at, and their grader."""


class Case(ContractModel):
    """One task and its verdict."""

    task_id: str
    verdict: Verdict | None
    """Null where there is no answer; InfrastructureFailure is unscored too."""
    reward: float | None
    message: str


async def draw(order: EvaluationOrder, environment: OrderedEnvironment, *, expect_digest: str | None) -> Drawn:
    """The held-out tasks whose metadata fits, at most `limit` of them. Raises UnfitTasksError and NodusError."""
    worker = await _start(order, environment, expect_digest)
    try:
        found, digest = worker.batch.tasks, worker.batch.digest
    finally:
        await worker.aclose()
    kept = [task for task in found if matches(task.metadata, order.task_filter)][: order.number("limit")]
    if not kept:
        raise UnfitTasksError(
            f"none of the {len(found):,} held-out tasks of {environment.reference} that were looked at fits the taskFilter"
        )
    for task in kept:
        if len(task.prompts) > 1:
            raise UnfitTasksError(
                f"the task {task.id} of {environment.reference} is a conversation of {len(task.prompts)} prompts, and the harness asks "
                "one: score it with an AgentGroup"
            )
    return Drawn(tuple(kept), digest)


async def grade(
    order: EvaluationOrder,
    environment: OrderedEnvironment,
    drawn: Drawn,
    answers: Mapping[str, str],
    graded: Callable[[int], None],
) -> list[Case]:
    """The verdicts, in order of the tasks; `graded` is told how many there are. Raises NodusError."""
    worker = await _start(order, environment, drawn.digest)
    places, done = asyncio.Semaphore(_AT_ONCE), 0

    async def judge(task: TaskCard) -> Case:
        nonlocal done
        if task.id not in answers:
            return Case(task_id=task.id, verdict=None, reward=None, message="the harness gave no answer")
        async with places:
            found: Grade = await worker.grade(task.id, answers[task.id])
        done += 1
        graded(done)
        return Case(task_id=task.id, verdict=found.verdict, reward=found.reward, message=found.message)

    try:
        return list(await asyncio.gather(*(judge(task) for task in drawn.tasks)))
    finally:
        await worker.aclose()


async def _start(order: EvaluationOrder, environment: OrderedEnvironment, expect_digest: str | None) -> EnvironmentWorker | GradingWorker:
    return await start_grader(
        environment.resolved,
        split=SPLIT,
        seed=order.seed,
        tasks=environment.draw,
        expect_digest=expect_digest,
        engine=environment.engine,
        workspace=order.workspace,
        environ=dict(os.environ),
    )


_SCORED = frozenset({Verdict.CORRECT, Verdict.INCORRECT, Verdict.INVALID_OUTPUT})


def summary(cases: Sequence[Case]) -> PassRateSummary:
    """Pass rate, error and coverage: a case without a verdict that counts is absent, never a zero."""
    scored = [case for case in cases if case.verdict in _SCORED]
    counts = [TaskCount(1, int(case.verdict is Verdict.CORRECT)) for case in scored]
    rewards = [case.reward for case in scored if case.reward is not None]
    return summary_of_counts(counts, total=len(cases), rewards=rewards if len(rewards) == len(scored) else ())


def task_scores(reference: str, found: PassRateSummary) -> tuple[TaskScore, ...]:
    """The same as scores of a TrainingJob."""
    coverage = TaskScore(task=reference, metric=COVERAGE, value=found.scored / found.total, samples=found.total)
    rate, reward = found.pass_rate, found.mean_reward
    rates = (
        [
            TaskScore(
                task=reference,
                metric=PASS_RATE,
                value=rate,
                standard_error=found.standard_error,
                ci95=found.ci95,
                samples=found.scored,
            )
        ]
        if rate is not None
        else []
    )
    rewards = [TaskScore(task=reference, metric=MEAN_REWARD, value=reward, samples=found.scored)] if reward is not None else []
    return (*rates, coverage, *rewards)


def told(error: NodusError) -> str:
    """An error of the graders as one sentence."""
    return "; ".join([error.detail, *(fault.sentence() for fault in error.faults[:3])])
