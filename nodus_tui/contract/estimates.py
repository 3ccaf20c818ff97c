"""Estimates: what something will cost at most and how long it will take, before it is launched."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field, PlainSerializer, WithJsonSchema

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.money import USD


def _json_number(exact: Decimal) -> int | float:
    return int(exact) if exact == exact.to_integral_value() else float(exact)


_Span = Annotated[
    Decimal,
    PlainSerializer(_json_number, return_type=int | float, when_used="json"),
    WithJsonSchema({"type": "number", "minimum": 0}),
]

Minutes = _Span
"""A span of time in minutes: exact inside, a JSON number outside (whole where it is whole)."""

Seconds = _Span
"""A span of time in seconds, likewise."""


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
    sandboxed: bool = True
    """Whether the runs have sandboxes: those of an agent without tools start none, and both figures are what they would be with some."""
    wall_clock_minutes: Minutes
    """At the spec's maxActive, start-up and rate limits left out."""
    wall_clock_by_max_active: dict[str, Minutes]
    """For other values of maxActive, in rising order; the spec's own is among them."""
    timeout_minutes: Minutes | None
    """The evaluation's timeout; null for a group without evaluation."""
    fits_timeout: bool
    room_for_all: bool
    """Whether the group's cap gives every case room to start."""
    every_run_waits: bool = False
    """Whether the first call of a run may cost more than the run's own cap, so that none would come to a call; a note says what helps."""
    cases_sure_to_start: int
    """How many cases can start even if each spends its whole cap."""
    half_width95: float | None
    """Half the 95 % interval of the pass rate at p = 0.5, as a fraction; null for a group without evaluation."""
    simulated: bool
    notes: tuple[str, ...] = ()
    """What the reader should know: a timeout too short, a cap too small, a price that is notional."""


class KindEstimate(ContractModel):
    """The estimate of a Sandbox, a Job, a TrainingJob or a Sweep. Money is a ceiling; seconds are a calculation from published speeds."""

    kind: str
    name: str
    cap_usd: USD
    """The spec's `maxCostUSD`."""
    ceiling_usd: USD
    """The most that it can cost: its cap, or less where its longest time, or its cells' own caps, allow only less."""
    longest_seconds: Seconds | None = None
    """How long it may run at most: a job's timeout, a sandbox's lifetime."""
    cells: int | None = None
    """Of a Sweep, repetitions counted."""
    cells_sure_to_start: int | None = None
    """How many of them can start even if each spends its whole cap."""
    tasks: int | None = None
    """Tasks that a TrainingJob scores, at most; null where the spec alone does not tell."""
    seconds_by_hardware: dict[str, Seconds] = Field(default_factory=dict)
    """Of a TrainingJob: seconds a task × tasks, loading left out."""
    usd_by_hardware: dict[str, USD] = Field(default_factory=dict)
    """The price of that time, where the price list has the hardware; rounded half up to the cent."""
    notes: tuple[str, ...] = ()
    """What the reader should know, in sentences with numbers."""
