"""The one text in which a pass rate is shown: never without its error, its interval and its coverage. Pure; plain text, no markup."""

from collections.abc import Mapping
from typing import Protocol

from pydantic import JsonValue

_SAME = 1e-9
"""Two half-widths that differ by less are one: what is left is rounding."""


class Counted(Protocol):
    """How many of how many are scored."""

    @property
    def scored(self) -> int:
        """So many."""
        ...

    @property
    def total(self) -> int:
        """Of so many."""
        ...


class Ending(Protocol):
    """A phase."""

    @property
    def ended(self) -> bool:
        """Whether nothing more is to come."""
        ...


class Rated(Protocol):
    """What has a pass rate: a group's status, its results, or a cell of a sweep."""

    @property
    def pass_rate(self) -> float | None:
        """0 to 1; None while nothing is scored."""
        ...

    @property
    def standard_error(self) -> float | None:
        """Its standard error."""
        ...

    @property
    def ci95(self) -> tuple[float, float] | None:
        """Its 95 % interval."""
        ...

    @property
    def coverage(self) -> Counted:
        """How many of how many are scored."""
        ...


class Scored(Rated, Protocol):
    """The same with a phase."""

    @property
    def phase(self) -> Ending:
        """Where it stands."""
        ...


def rate_text_of(told: Scored) -> str:
    """The pass rate of a group as text, as its status or its results tell it."""
    return pass_rate_text(
        pass_rate=told.pass_rate,
        standard_error=told.standard_error,
        ci95=told.ci95,
        scored=told.coverage.scored,
        total=told.coverage.total,
        ended=told.phase.ended,
    )


def pass_rate_text(
    *,
    pass_rate: float | None,
    standard_error: float | None,
    ci95: tuple[float, float] | None,
    scored: int,
    total: int,
    ended: bool = False,
) -> str:
    """`62.0% ± 9.5 (SE 4.9), 97/100 scored`, in percentage points.

    An interval that is not symmetric about the rate shows its ends: `100.0% [72.2, 100.0] (SE 0.0), 10/10 scored`. With fewer than two
    tasks scored there is no error to show, and the text says so. `ended` tells that no verdict is to come.
    """
    coverage = f"{scored}/{total} scored"
    if pass_rate is None:
        return f"{'no verdict' if ended else 'no verdict yet'}, {coverage}"
    if standard_error is None or ci95 is None:
        return f"{_points(pass_rate)}% (no SE with one task), {coverage}"
    return f"{_points(pass_rate)}% {_interval_text(pass_rate, ci95)} (SE {_points(standard_error)}), {coverage}"


def told_rate_text(status: Mapping[str, JsonValue]) -> str:
    """The same of a group's status as events and `-o json` have it; `0/100 scored` before the first verdict, empty without a coverage."""
    coverage, rate, error, ci95 = (status.get(name) for name in ("coverage", "passRate", "standardError", "ci95"))
    if not isinstance(coverage, dict):
        return ""
    scored, total = coverage.get("scored"), coverage.get("total")
    if not isinstance(rate, float) or not isinstance(scored, int) or not isinstance(total, int):
        return f"{scored}/{total} scored"
    ends = (ci95[0], ci95[1]) if isinstance(ci95, list) and len(ci95) == 2 else (None, None)
    return pass_rate_text(
        pass_rate=rate,
        standard_error=error if isinstance(error, float) else None,
        ci95=(ends[0], ends[1]) if isinstance(ends[0], float) and isinstance(ends[1], float) else None,
        scored=scored,
        total=total,
    )


def _interval_text(pass_rate: float, ci95: tuple[float, float]) -> str:
    low, high = ci95
    if abs((high - pass_rate) - (pass_rate - low)) < _SAME:
        return f"± {_points(high - pass_rate)}"
    return f"[{_points(low)}, {_points(high)}]"


def interval_words(ci95: tuple[float, float] | None, ci_method: str, standard_error_method: str) -> str:
    """`52.2% to 71.8% (Normal; SE Bernoulli)`: the 95 % interval, and how it was found; empty where there is none."""
    if ci95 is None:
        return ""
    low, high = ci95
    return f"{_points(low)}% to {_points(high)}% ({ci_method}; SE {standard_error_method})"


def _points(fraction: float) -> str:
    return f"{100 * fraction:.1f}"
