"""Sandbox: a machine slice of its own, bounded by idle time, lifetime and cost, for it costs money while idle."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.durations import Duration, bounded_duration, duration_text
from nodus_tui.contract.money import USD, PositiveUSD
from nodus_tui.contract.phases import UntilKind
from nodus_tui.contract.resources.hardware import Surroundings
from nodus_tui.contract.resources.meta import Resource

SandboxPhase = Literal["Pending", "Running", "Stopped", "Failed"]
"""Where a Sandbox is in its life. What has stopped or failed does nothing more: another one goes on."""

SandboxReason = Literal[
    "WaitingForSandbox",
    "WaitingForDevice",
    "DiskAlmostFull",
    "IdleTimeout",
    "MaxLifetime",
    "MaxCostReached",
    "BudgetExceeded",
    "Killed",
    "Interrupted",
    "NotStarted",
    "InfrastructureFailure",
]
"""Why it is in its phase: what it waits for, or what stopped it first."""


class SandboxSpec(Surroundings):
    """The slice and its three limits. The first one that is reached stops it."""

    disk_gib: float = Field(default=1, gt=0, le=4096, alias="diskGiB")
    """Space for files, over all its writable folders together. It lies in memory and counts against `memoryGiB` as it fills."""
    processes: int = Field(default=256, ge=16, le=65_536)
    """Processes and threads at once, at most."""
    idle_timeout: Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(days=7))] = timedelta(minutes=10)
    """Stopped after so long without a command in it. One that runs counts as long as it runs."""
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

    phase: SandboxPhase
    reason: SandboxReason | None = None
    message: str = ""
    until: UTCTime | None = None
    """When what it waits for comes free, where that is known."""
    until_kind: UntilKind = "Exact"
    """How sure that is."""
    hardware: str = ""
    """The name of the price list that its devices were given under; empty before, and without any."""
    devices: tuple[str, ...] = ()
    """The devices that it was given, by uuid; told when it has stopped, too."""
    device_names: tuple[str, ...] = ()
    """The same for people, in that order: the driver's number and name as they were then, such as `0 NVIDIA L4`."""
    engine: str = ""
    """What isolates it, such as `docker` or `bubblewrap`."""
    isolation: Literal["full", "weaker"] = "full"
    image: str = ""
    """What it runs: the image with its digest."""
    cost_usd: USD
    rate_usd: USD
    """An hour of it; where devices cost their electricity, at their power limit: no less than what is booked in the end."""
    created_at: UTCTime
    started_at: UTCTime | None = None
    ended_at: UTCTime | None = None
    commands: int = 0
    """Those that run in it now, as far as they were asked for through the backend."""
    idle_since: UTCTime | None = None
    """Since when no command has run in it; null while one does, and while it does not run."""
    stops_at: UTCTime | None = None
    """When it is stopped at the latest, at its cap or its lifetime, however busy it is; null while it does not run."""
    files_kept: bool = False
    """Whether the files of its work folder were kept when it stopped."""
    notes: tuple[str, ...] = ()
    """What a person should know: files that could not be kept, say."""

    @property
    def ended(self) -> bool:
        """Whether it will never run again."""
        return self.phase not in {"Pending", "Running"}


class Sandbox(Resource):
    """A machine slice with limits on idle time, lifetime and cost."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["Sandbox"] = "Sandbox"
    spec: SandboxSpec
    status: SandboxStatus | None = None
