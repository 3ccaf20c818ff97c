"""Two agents on the same tasks, compared task by task. Pure arithmetic over the tasks' scores."""

import math
from collections.abc import Mapping

from msgspec import Struct

from nodus_tui.statistics.intervals import UPPER_TAIL_95, Z95, Interval
from nodus_tui.statistics.pass_rate import FEW_TASKS
from nodus_tui.statistics.quantiles import student_t_quantile
from nodus_tui.statistics.standard_errors import clt_standard_error, mean, sample_variance


class PairedComparison(Struct, frozen=True):
    """How A differs from B on the tasks that both answered. Figures are fractions; differences are A − B."""

    tasks: int
    difference: float
    """The mean of the tasks' differences."""
    standard_error: float
    """Of that mean: the tasks' own difficulty cancels out."""
    unpaired_standard_error: float
    """What two separate headline numbers would give: √(SE_A² + SE_B²)."""
    correlation: float | None
    """Of the two agents' scores over the tasks; None where one of them scores every task alike."""


def paired_interval(comparison: PairedComparison) -> Interval:
    """The 95 % interval of the difference: Student's t with tasks − 1 degrees of freedom below 30 tasks, else the normal's quantile."""
    few = comparison.tasks < FEW_TASKS
    half = comparison.standard_error * (student_t_quantile(UPPER_TAIL_95, comparison.tasks - 1) if few else Z95)
    return comparison.difference - half, comparison.difference + half


def compare_paired(first: Mapping[str, float], second: Mapping[str, float]) -> PairedComparison:
    """Compare two agents by each task's mean score (a task's repeated answers averaged first); tasks that only one answered are left out.

    Variances take n − 1 (Miller 2024, section 4.2). Raises ValueError with fewer than two tasks in common.
    """
    shared = [task for task in first if task in second]
    if len(shared) < 2:
        raise ValueError(f"a paired comparison needs at least two tasks that both answered; there are {len(shared)}")
    a = [first[task] for task in shared]
    b = [second[task] for task in shared]
    differences = [x - y for x, y in zip(a, b, strict=True)]
    return PairedComparison(
        tasks=len(shared),
        difference=mean(differences),
        standard_error=clt_standard_error(differences),
        unpaired_standard_error=math.hypot(clt_standard_error(a), clt_standard_error(b)),
        correlation=_correlation(a, b),
    )


def _correlation(a: list[float], b: list[float]) -> float | None:
    spread = math.sqrt(sample_variance(a) * sample_variance(b))
    if spread == 0:
        return None
    centre_a, centre_b = mean(a), mean(b)
    covariance = math.fsum((x - centre_a) * (y - centre_b) for x, y in zip(a, b, strict=True)) / (len(a) - 1)
    return max(-1.0, min(1.0, covariance / spread))
