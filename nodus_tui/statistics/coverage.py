"""What is missing of a group's results, and what each of them cost. Pure."""

from collections import Counter
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal

from nodus_tui.contract.money import display_usd
from nodus_tui.contract.phases import CaseState, Reason

_NANO = Decimal("0.000000001")
_SETTLED = frozenset({CaseState.SCORED, CaseState.ANSWERED})


def why_unscored(cases: Iterable[tuple[CaseState, Reason | None]]) -> dict[str, int]:
    """Cases without a verdict that counts, by reason (by state where there is none), the most frequent first."""
    return dict(Counter((reason or state).value for state, reason in cases if state not in _SETTLED).most_common())


def unscored_words(reasons: dict[str, int]) -> str:
    """`2 InfrastructureFailure, 1 EvaluationTimeout`."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items())


def cost_each(cost: Decimal, count: int) -> Decimal | None:
    """US dollars for one of so many, to the nano-dollar; None for one of none."""
    return (cost / count).quantize(_NANO, rounding=ROUND_HALF_EVEN) if count else None


def cost_each_words(cost: Decimal, *, scored: int, correct: int) -> str:
    """`$0.0393 a scored case, $0.0635 a correct one`: all model spend, shared out; empty while nothing is scored."""
    each, each_correct = cost_each(cost, scored), cost_each(cost, correct)
    if each is None:
        return ""
    right = "none is correct" if each_correct is None else f"{display_usd(each_correct)} a correct one"
    return f"{display_usd(each)} a scored case, {right}"
