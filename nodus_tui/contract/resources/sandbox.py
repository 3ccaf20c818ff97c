"""Sandbox: a machine slice of its own, bounded by idle time, lifetime and cost, for it costs money while idle."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.durations import Duration, bounded_duration, duration_text
from nodus_tui.contract.money import USD, PositiveUSD
from nodus_tui.contract.resources.hardware import Surroundings
from nodus_tui.contract.resources.meta import Resource


class SandboxSpec(Surroundings):
    """The slice and its three limits. The first one that is reached stops it."""

    idle_timeout: Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(days=7))] = timedelta(minutes=10)
    """Stopped after so long without a command in it."""
    max_lifetime: Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(days=30))] = timedelta(hours=24)
    """Stopped so long after its start, busy or not."""
    max_cost_usd: PositiveUSD
    """Stopped before its time × the hourly rate of its hardware passes this."""

    @field_validator("max_lifetime")
    @classmethod
    def _not_below_idle(cls, lifetime: timedelta, info: ValidationInfo) -> timedelta:
        idle = info.data.get("idle_timeout", lifetime)
        if lifetime < idle:
            raise PydanticCustomError(
                "lifetime_below_idle",
                "a lifetime of {lifetime} ends before idleTimeout ({idle}) can; make idleTimeout the shorter one",
                {"lifetime": duration_text(lifetime), "idle": duration_text(idle)},
            )
        return lifetime


class SandboxStatus(ContractModel):
    """What the backend knows of a Sandbox."""

    phase: Literal["Pending", "Running", "Stopped", "Failed"]
    reason: Literal["IdleTimeout", "MaxLifetime", "MaxCostReached", "BudgetExceeded", "Killed", "InfrastructureFailure"] | None = None
    message: str = ""
    engine: str = ""
    """What isolates it, such as `docker` or `bubblewrap`."""
    cost_usd: USD
    created_at: UTCTime
    started_at: UTCTime | None = None
    ended_at: UTCTime | None = None
    idle_since: UTCTime | None = None


class Sandbox(Resource):
    """A machine slice with limits on idle time, lifetime and cost."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["Sandbox"] = "Sandbox"
    spec: SandboxSpec
    status: SandboxStatus | None = None
