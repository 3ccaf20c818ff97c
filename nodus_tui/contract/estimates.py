"""Estimates: what something will cost at most and how long it will take, before it is launched."""

from decimal import Decimal
from typing import Annotated

from pydantic import PlainSerializer, WithJsonSchema

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.money import USD


def _minutes_number(minutes: Decimal) -> int | float:
    return int(minutes) if minutes == minutes.to_integral_value() else float(minutes)


Minutes = Annotated[
    Decimal,
    PlainSerializer(_minutes_number, return_type=int | float, when_used="json"),
    WithJsonSchema({"type": "number", "minimum": 0}),
]
"""A span of time in minutes: exact inside, a JSON number outside (whole where it is whole)."""


class Estimate(ContractModel):
    """The estimate of one group: the documented interface of `estimate -o json`. It is a ceiling, not a forecast."""

    group: str
    agent: str
    cases: int
    model_ceiling_usd: USD
    """The most that the group can spend on models: cases × the per-run cap, or the group's cap where that is less."""
    per_run_cap_usd: USD
    cap_usd: USD
    minutes_per_case: Minutes
    sandbox_minutes: Minutes
    """cases × minutes a case; it does not depend on maxActive."""
    sandbox_usd: dict[str, USD]
    """By hardware, rounded half up to the cent."""
    wall_clock_minutes: Minutes
    """At the spec's maxActive, start-up and rate limits left out."""
    wall_clock_by_max_active: dict[str, Minutes]
    """For other values of maxActive, in rising order; the spec's own is among them."""
    timeout_minutes: Minutes | None
    """The evaluation's timeout; null for a group without evaluation."""
    fits_timeout: bool
    room_for_all: bool
    """Whether the group's cap gives every case room to start."""
    cases_sure_to_start: int
    """How many cases can start even if each spends its whole cap."""
    half_width95: float | None
    """Half the 95 % interval of the pass rate at p = 0.5, as a fraction; null for a group without evaluation."""
    simulated: bool
    notes: tuple[str, ...] = ()
    """What the reader should know: a timeout too short, a cap too small, a price that is notional."""
