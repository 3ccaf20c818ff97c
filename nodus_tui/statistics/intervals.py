"""95 % intervals of a rate: normal, Student's t, and Wilson's score interval. Pure arithmetic; knows nothing of verdicts."""

import math

from nodus_tui.statistics.quantiles import normal_quantile

UPPER_TAIL_95 = 0.975
"""The probability below the upper end of a two-sided 95 % interval."""

Z95 = normal_quantile(UPPER_TAIL_95)
"""1.959964: a 95 % interval reaches so many standard errors to either side."""

Interval = tuple[float, float]
"""Low and high end, each within 0 to 1."""


def symmetric_interval(rate: float, standard_error: float, quantile: float = Z95) -> Interval:
    """rate ± quantile × standard error, cut off at 0 and 1."""
    half = quantile * standard_error
    return max(0.0, rate - half), min(1.0, rate + half)


def wilson_interval(rate: float, answers: float, quantile: float = Z95) -> Interval:
    """Wilson's score interval of a rate seen in so many answers; `answers` may be an effective number and need not be whole.

    It lies within 0 to 1 and keeps its width where all answers agree: 0 of 10 gives 0 to 0.2775. Raises ValueError unless answers > 0.
    """
    if answers <= 0:
        raise ValueError(f"a Wilson interval needs a number of answers above zero, not {answers}")
    squared = quantile * quantile
    scale = 1 + squared / answers
    centre = (rate + squared / (2 * answers)) / scale
    half = quantile / scale * math.sqrt(rate * (1 - rate) / answers + squared / (4 * answers * answers))
    # The exact interval always contains the rate and touches 0 or 1 where the rate does; rounding must not undo that.
    low = 0.0 if rate == 0 else min(rate, max(0.0, centre - half))
    high = 1.0 if rate == 1 else max(rate, min(1.0, centre + half))
    return low, high
