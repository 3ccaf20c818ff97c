"""Planning an eval: cases shared between tasks and repetitions, tasks that a difference needs, wall clock and sandbox money. Pure."""

import math
from collections.abc import Mapping
from decimal import Decimal, localcontext

from msgspec import Struct

from nodus_tui.contract.money import cent_text
from nodus_tui.statistics.intervals import Z95
from nodus_tui.statistics.quantiles import normal_quantile

_DIGITS = 60
"""Precision of a division of money; whatever a spec can name needs far fewer, so that only true ties round as ties."""


def variance_factor(repetitions: int) -> float:
    """(1 + 2/K)/3: the variance of a task's mean over K binary answers, as a share of that of one answer.

    Holds for difficulties spread uniformly over 0 to 1. Raises ValueError with fewer than one repetition.
    """
    if repetitions < 1:
        raise ValueError(f"a task is answered at least once, not {repetitions} times")
    return (1 + 2 / repetitions) / 3


class Allocation(Struct, frozen=True):
    """One way of sharing a number of cases, measured against as many tasks answered once each."""

    tasks: int
    repetitions: int
    relative_variance: float
    relative_standard_error: float


def allocation(cases: int, repetitions: int) -> Allocation:
    """What it costs in precision to answer cases ÷ repetitions tasks several times instead of `cases` tasks once.

    Raises ValueError when the cases do not divide into so many repetitions.
    """
    factor = variance_factor(repetitions)
    if cases < 1 or cases % repetitions:
        raise ValueError(f"{cases} cases do not make whole tasks of {repetitions} repetitions")
    relative = repetitions * factor
    return Allocation(cases // repetitions, repetitions, relative, math.sqrt(relative))


def expected_half_width(tasks: int, repetitions: int = 1, rate: float = 0.5) -> float:
    """Half the 95 % interval to expect at this pass rate, as a fraction: z √(p(1−p) (1 + 2/K)/3 ÷ tasks); 0.098 for 100 tasks once.

    Raises ValueError without tasks.
    """
    if tasks < 1:
        raise ValueError(f"an interval needs at least one task, not {tasks}")
    return Z95 * math.sqrt(rate * (1 - rate) * variance_factor(repetitions) / tasks)


class Contrast(Struct, frozen=True):
    """The variances that a paired comparison of two agents meets (Miller 2024, section 5)."""

    difference_variance: float
    """ω²: of the tasks' true differences."""
    first_variance: float = 0
    """σ_A²: of one answer of the first agent, within a task."""
    second_variance: float = 0
    first_repetitions: int = 1
    second_repetitions: int = 1

    @property
    def per_task(self) -> float:
        """ω² + σ_A²/K_A + σ_B²/K_B: the variance of one task's observed difference."""
        return self.difference_variance + self.first_variance / self.first_repetitions + self.second_variance / self.second_repetitions


def tasks_needed(contrast: Contrast, difference: float, *, significance: float = 0.05, power: float = 0.8) -> int:
    """Tasks that a two-sided paired test needs to find this difference with this power: (z_{α/2} + z_β)² × per-task variance ÷ δ².

    Raises ValueError when the difference is zero, or significance or power lie outside 0 to 1.
    """
    if difference == 0:
        raise ValueError("no number of tasks finds a difference of zero")
    return math.ceil(_reach(significance, power) ** 2 * contrast.per_task / difference**2)


def minimum_detectable_difference(contrast: Contrast, tasks: int, *, significance: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that so many tasks find with this power; the inverse of `tasks_needed`.

    Raises ValueError without tasks.
    """
    if tasks < 1:
        raise ValueError(f"a comparison needs at least one task, not {tasks}")
    return _reach(significance, power) * math.sqrt(contrast.per_task / tasks)


def _reach(significance: float, power: float) -> float:
    return normal_quantile(1 - significance / 2) + normal_quantile(power)


def wall_clock_minutes(cases: int, max_active: int, minutes_per_case: Decimal) -> Decimal:
    """ceil(cases ÷ maxActive) × minutes a case: full waves, start-up and rate limits left out. Raises ValueError unless max_active ≥ 1."""
    if max_active < 1:
        raise ValueError(f"maxActive is at least 1, not {max_active}")
    return -(-cases // max_active) * minutes_per_case


def time_charge(seconds: Decimal, rate_per_hour: Decimal) -> Decimal:
    """US dollars for so many seconds at an hourly rate, unrounded (to 60 digits)."""
    with localcontext(prec=_DIGITS):
        return seconds * rate_per_hour / 3600


def sandbox_money(minutes: Decimal, rates: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """US dollars by hardware for so many sandbox-minutes, rounded half up to the cent; a small amount keeps the digits it needs."""
    return {hardware: Decimal(cent_text(time_charge(60 * minutes, rate))) for hardware, rate in rates.items()}
