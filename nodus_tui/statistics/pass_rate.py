"""The pass rate of an eval with its standard error, its 95 % interval, its coverage and its bounds. Pure; counts verdicts, not runs.

Only scored answers come in here: an answer without a verdict that counts is not a zero, it is absent. docs/statistics.md has the formulas.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from nodus_tui.statistics.intervals import UPPER_TAIL_95, Z95, Interval, symmetric_interval, wilson_interval
from nodus_tui.statistics.quantiles import student_t_quantile

FEW_TASKS = 30
"""With repetitions and fewer tasks than this, Student's t with tasks − 1 degrees of freedom takes the normal's place."""

FEW_ANSWERS = 10
"""With fewer right, or fewer wrong, answers than this the symmetric interval is poor, and Wilson's takes its place."""


class StandardErrorMethod(StrEnum):
    """How the standard error was found."""

    NONE = "None"
    """Fewer than two tasks are scored: there is none."""
    BERNOULLI = "Bernoulli"
    """One answer a task: √(p(1−p)/n)."""
    TASK_MEANS = "TaskMeans"
    """Equally many answers a task: the standard error of the tasks' means, with tasks − 1."""
    CLUSTER_CR1 = "ClusterRobustCR1"
    """Unequally many: the cluster-robust error of correct ÷ scored. With equal numbers it is the one of the task means."""


class IntervalMethod(StrEnum):
    """How the 95 % interval was found."""

    NONE = "None"
    """There is no standard error, so there is no interval."""
    NORMAL = "Normal"
    """p ± 1.96 standard errors, cut off at 0 and 1."""
    STUDENT_T = "StudentT"
    """p ± t standard errors with tasks − 1 degrees of freedom, cut off at 0 and 1."""
    WILSON = "Wilson"
    """Wilson's score interval."""
    WILSON_EFFECTIVE = "WilsonEffectiveN"
    """Wilson's score interval at the effective number of answers, p(1−p) ÷ SE²; at the number of tasks where no two tasks differ."""


class PassRateSummary(Struct, frozen=True):
    """A pass rate and everything that must stand beside it. Rates are fractions, 0 to 1."""

    pass_rate: float | None
    """Correct ÷ scored; None while nothing is scored."""
    standard_error: float | None
    """Clustered by task; None with fewer than two tasks scored."""
    standard_error_method: StandardErrorMethod
    ci95: Interval | None
    ci_method: IntervalMethod
    mean_reward: float | None
    """Over the scored answers."""
    scored: int
    total: int
    """All cases, scored or not. Coverage is scored ÷ total."""
    worst: float | None
    """The pass rate if every unscored case were wrong; None when there are no cases."""
    best: float | None
    """The pass rate if every unscored case were right."""


class TaskCount(Struct, frozen=True):
    """The scored answers of one task."""

    answers: int
    correct: int


def pass_rate_summary(answers: Mapping[str, Sequence[bool]], *, total: int, rewards: Iterable[float] = ()) -> PassRateSummary:
    """The summary of scored answers by task, of `total` cases. `rewards` are those of the scored answers, in any order.

    Raises ValueError when more answers are scored than there are cases, or when rewards are given but not one for each answer.
    """
    counts = [TaskCount(len(each), sum(each)) for each in answers.values()]
    return summary_of_counts(counts, total=total, rewards=rewards)


def summary_of_counts(counts: Iterable[TaskCount], *, total: int, rewards: Iterable[float] = ()) -> PassRateSummary:
    """The same from the tasks' counts; a task without scored answers does not count as a task."""
    tasks = [count for count in counts if count.answers]
    scored = sum(task.answers for task in tasks)
    correct = sum(task.correct for task in tasks)
    if scored > total:
        raise ValueError(f"{scored} answers are scored, but there are only {total} cases")
    error, error_method = _standard_error(tasks, scored, correct)
    interval, interval_method = _interval(len(tasks), scored, correct, error, error_method)
    return PassRateSummary(
        pass_rate=correct / scored if scored else None,
        standard_error=error,
        standard_error_method=error_method,
        ci95=interval,
        ci_method=interval_method,
        mean_reward=_mean_reward(list(rewards), scored),
        scored=scored,
        total=total,
        worst=correct / total if total else None,
        best=(correct + total - scored) / total if total else None,
    )


def _mean_reward(rewards: Sequence[float], scored: int) -> float | None:
    if not rewards:
        return None
    if len(rewards) != scored:
        raise ValueError(f"{len(rewards)} rewards are given for {scored} scored answers")
    return math.fsum(rewards) / scored


def _standard_error(tasks: Sequence[TaskCount], scored: int, correct: int) -> tuple[float | None, StandardErrorMethod]:
    if len(tasks) < 2:
        return None, StandardErrorMethod.NONE
    if scored == len(tasks):
        return math.sqrt(correct * (scored - correct) / scored) / scored, StandardErrorMethod.BERNOULLI
    # CR1 in whole numbers: scored × each task's sum of residuals. So a spread of zero is exactly zero, and no order of tasks matters.
    squares = sum((task.correct * scored - task.answers * correct) ** 2 for task in tasks)
    error = math.sqrt(squares * len(tasks) / (len(tasks) - 1)) / scored**2
    equal = len({task.answers for task in tasks}) == 1
    return error, StandardErrorMethod.TASK_MEANS if equal else StandardErrorMethod.CLUSTER_CR1


def _interval(
    tasks: int, scored: int, correct: int, error: float | None, error_method: StandardErrorMethod
) -> tuple[Interval | None, IntervalMethod]:
    if error is None:
        return None, IntervalMethod.NONE
    rate = correct / scored
    few_answers = min(correct, scored - correct) < FEW_ANSWERS
    if error_method is StandardErrorMethod.BERNOULLI:
        if few_answers:
            return wilson_interval(rate, scored), IntervalMethod.WILSON
        return symmetric_interval(rate, error), IntervalMethod.NORMAL
    few_tasks = tasks < FEW_TASKS
    quantile = student_t_quantile(UPPER_TAIL_95, tasks - 1) if few_tasks else Z95
    if few_answers or error == 0:
        effective = min(scored, rate * (1 - rate) / error**2) if error else tasks
        return wilson_interval(rate, effective, quantile), IntervalMethod.WILSON_EFFECTIVE
    return symmetric_interval(rate, error, quantile), IntervalMethod.STUDENT_T if few_tasks else IntervalMethod.NORMAL
