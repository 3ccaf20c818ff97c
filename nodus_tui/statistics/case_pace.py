"""How long a case takes where nobody said: as it took in groups of the same agent and environment, else an assumption. Pure."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from nodus_tui.contract.resources.agent_group import AgentGroup

_LEAST_MINUTES = Decimal("0.01")


class CasePace(Struct, frozen=True):
    """Minutes a case, and what they rest on."""

    minutes: Decimal
    basis: Literal["assumed", "measured", "chosen"]


ASSUMED = CasePace(Decimal(10), "assumed")
"""What an estimate goes by while nothing is known."""


def measured_pace(wanted: Iterable[AgentGroup], known: Iterable[AgentGroup]) -> CasePace:
    """The slowest of the wanted groups, each by what runs took of known ones with its agent and environment; assumed where one has none."""
    there = list(known)
    found = [_mean_seconds(group, there) for group in wanted]
    seconds = [each for each in found if each is not None]
    if not seconds or len(seconds) < len(found):
        return ASSUMED
    return CasePace(max(_LEAST_MINUTES, round(Decimal(max(seconds)) / 60, 2)), "measured")


def _mean_seconds(wanted: AgentGroup, known: Iterable[AgentGroup]) -> float | None:
    of, agent = wanted.spec.evaluation, wanted.spec.agent
    taken = cases = 0.0
    for group in known:
        status, evaluation = group.status, group.spec.evaluation
        if of is None or evaluation is None or status is None or status.mean_run_seconds is None:
            continue
        if group.spec.agent == agent and evaluation.environment == of.environment and status.coverage.scored:
            taken += status.mean_run_seconds * status.coverage.scored
            cases += status.coverage.scored
    return taken / cases if cases else None
