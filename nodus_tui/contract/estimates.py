"""Estimates: what a group will cost at most and how long it will take, before it is launched."""

from decimal import Decimal

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.money import USD


class Estimate(ContractModel):
    """The estimate of one group: the documented interface of `estimate -o json`. It is a ceiling, not a forecast."""

    group: str
    agent: str
    cases: int
    model_ceiling_usd: USD
    """The most that the group can spend on models: cases × the per-run cap, or the group's cap where that is less."""
    per_run_cap_usd: USD
    cap_usd: USD
    minutes_per_case: Decimal
    sandbox_minutes: Decimal
    """cases × minutes a case; it does not depend on maxActive."""
    sandbox_usd: dict[str, USD]
    """By hardware, rounded half up to the cent."""
    wall_clock_minutes: Decimal
    """At the spec's maxActive, start-up and rate limits left out."""
    wall_clock_by_max_active: dict[str, Decimal]
    timeout_minutes: Decimal | None
    fits_timeout: bool
    room_for_all: bool
    """Whether the group's cap gives every case room to start."""
    cases_sure_to_start: int
    """How many cases can start even if each spends its whole cap."""
    half_width95: float | None
    """Half the 95 % interval of the pass rate at p = 0.5, as a fraction."""
    simulated: bool
    notes: tuple[str, ...] = ()
    """What the reader should know: a timeout too short, a cap too small, a price that is notional."""
