"""The scores of a TrainingJob as text: an Environment's pass rate with its error and coverage, a benchmark's figures with theirs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodus_tui.statistics.format import pass_rate_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodus_tui.contract.resources.training_job import TaskScore

PASS_RATE, COVERAGE, MEAN_REWARD = "passRate", "coverage", "meanReward"
"""The metrics of an Environment."""

_SHOWN = 3


def figure(value: float) -> str:
    """A figure of whatever kind, in at most four digits."""
    return f"{value:.4g}"


def with_error(score: TaskScore) -> str:
    """`0.375 (SE 0.183)`; without an error the figure alone."""
    return figure(score.value) + ("" if score.standard_error is None else f" (SE {score.standard_error:.3g})")


def of_environment(scores: Sequence[TaskScore]) -> bool:
    """Whether an Environment was scored, and no benchmark."""
    return any(score.metric == COVERAGE for score in scores)


def environment_text(scores: Sequence[TaskScore]) -> str:
    """`62.0% ± 9.5 (SE 4.9), 97/100 scored`."""
    by_metric = {score.metric: score for score in scores}
    coverage, rate = by_metric[COVERAGE], by_metric.get(PASS_RATE)
    return pass_rate_text(
        pass_rate=rate.value if rate else None,
        standard_error=rate.standard_error if rate else None,
        ci95=rate.ci95 if rate else None,
        scored=rate.samples if rate else 0,
        total=coverage.samples,
        ended=True,
    )


def scores_text(scores: Sequence[TaskScore], *, most: int = _SHOWN) -> str:
    """All of them on one line, the first ones of many."""
    if not scores:
        return ""
    if of_environment(scores):
        return environment_text(scores)
    shown = [f"{score.task} {score.metric} {with_error(score)}" for score in scores[:most]]
    more = [f"{len(scores) - most} more"] if len(scores) > most else []
    return ", ".join([*shown, *more])
