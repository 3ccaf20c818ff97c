"""Standard errors of a mean score: independent answers, answers clustered by task, and their variance components.

Pure arithmetic over scores; knows nothing of verdicts. docs/statistics.md says which estimator the product uses and why.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct


class ClusterEstimator(StrEnum):
    """How the sums of residuals of the clusters become a variance. The published formulas differ in small samples."""

    CR0 = "CR0"
    """Σ (cluster's sum of residuals)² ÷ n², no correction: Miller 2024, Appendix A."""
    CR1 = "CR1"
    """CR0 × C ÷ (C − 1) for C clusters. With equally many answers in each cluster it is the standard error of the cluster means."""
    PAPER_EQUATION_4 = "PaperEquation4"
    """Miller 2024, Equation 4: the variance of independent scores (with n − 1), plus the products of residuals within clusters ÷ n²."""


def bernoulli_standard_error(rate: float, answers: int) -> float:
    """√(p(1−p)/n): the standard error of a pass rate with one answer a task.

    Raises ValueError without answers or with a rate outside 0 to 1.
    """
    if answers < 1:
        raise ValueError(f"a standard error needs at least one answer, not {answers}")
    if not 0 <= rate <= 1:
        raise ValueError(f"a rate lies between 0 and 1, not at {rate}")
    return math.sqrt(rate * (1 - rate) / answers)


def clt_standard_error(scores: Sequence[float]) -> float:
    """The standard error of the mean of independent scores: sample standard deviation (n − 1) ÷ √n.

    Over all answers of a batch with repetitions this is the pooled figure, which is too small: its answers are not independent.
    Raises ValueError with fewer than two scores.
    """
    if len(scores) < 2:
        raise ValueError(f"this standard error needs at least two scores, not {len(scores)}")
    return math.sqrt(sample_variance(scores) / len(scores))


def task_means_standard_error(tasks: Sequence[Sequence[float]]) -> float:
    """The standard error of the mean of the tasks' means: each task's answers are averaged first, and the tasks are independent.

    Raises ValueError with fewer than two tasks or a task without answers.
    """
    return clt_standard_error([mean(task) for task in tasks])


def clustered_standard_error(clusters: Sequence[Sequence[float]], estimator: ClusterEstimator = ClusterEstimator.CR1) -> float:
    """The standard error of the mean over all scores when those of one cluster belong together, such as a task's repeated answers.

    A negative variance, which Equation 4 can give, counts as zero. Raises ValueError with fewer than two clusters or an empty one.
    """
    if len(clusters) < 2:
        raise ValueError(f"a clustered standard error needs at least two clusters, not {len(clusters)}")
    scores = [score for cluster in clusters for score in cluster]
    if any(not cluster for cluster in clusters):
        raise ValueError("a cluster has no scores")
    centre = mean(scores)
    count = len(scores)
    between = math.fsum(math.fsum(score - centre for score in cluster) ** 2 for cluster in clusters) / count**2
    if estimator is ClusterEstimator.CR0:
        variance = between
    elif estimator is ClusterEstimator.CR1:
        variance = between * len(clusters) / (len(clusters) - 1)
    else:
        squares = math.fsum((score - centre) ** 2 for score in scores)
        variance = squares / (count - 1) / count + between - squares / count**2
    return math.sqrt(max(0.0, variance))


class VarianceComponents(Struct, frozen=True):
    """Where the spread of repeated answers comes from. With K answers a task the variance of a task's mean is between + within ÷ K."""

    within: float
    """E[σ²]: the mean over the tasks of the unbiased variance of one task's answers."""
    between: float
    """Var(x): the variance of the tasks' true means; an estimate by difference, so it can come out below zero."""


def variance_components(tasks: Sequence[Sequence[float]]) -> VarianceComponents:
    """Split the spread into within and between tasks (Miller 2024, section 3.1); tells whether more repetitions or more tasks help.

    Raises ValueError with fewer than two tasks or with a task that has fewer than two answers.
    """
    if len(tasks) < 2:
        raise ValueError(f"variance components need at least two tasks, not {len(tasks)}")
    variances = [sample_variance(task) for task in tasks]
    noise_of_means = mean([variance / len(task) for variance, task in zip(variances, tasks, strict=True)])
    return VarianceComponents(
        within=mean(variances),
        between=sample_variance([mean(task) for task in tasks]) - noise_of_means,
    )


def mean(scores: Sequence[float]) -> float:
    """The arithmetic mean, the same in any order of the scores. Raises ValueError without scores."""
    if not scores:
        raise ValueError("a mean needs at least one score")
    return math.fsum(scores) / len(scores)


def sample_variance(scores: Sequence[float]) -> float:
    """The unbiased variance, with n − 1. Raises ValueError with fewer than two scores."""
    if len(scores) < 2:
        raise ValueError(f"a sample variance needs at least two scores, not {len(scores)}")
    centre = mean(scores)
    return math.fsum((score - centre) ** 2 for score in scores) / (len(scores) - 1)
