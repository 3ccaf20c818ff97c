"""When a box is stopped, so that the first of its limits holds and time × rate never passes its cap. Pure; time is an argument."""

from datetime import datetime, timedelta

from msgspec import Struct

from local_backend.jobs.deadlines import LEAST_US, SECOND_US, affordable_us, charge, kill_us, plan
from nodus_tui.contract.resources.sandbox import SandboxReason

STOP_SECONDS = 30.0
"""What a graceful stop may take: its commands hung up, its files taken out, the rest ended. A small cap leaves it less."""

_MICROSECOND = timedelta(microseconds=1)
_GRACE_US = round(STOP_SECONDS * SECOND_US)


class Limits(Struct, frozen=True):
    """The limits of one box."""

    idle: timedelta
    ask: timedelta
    """So long after its start it is told to stop, however busy it is."""
    reason: SandboxReason
    """Which limit that is."""
    end: timedelta
    """So long after its start it ends by itself, whoever lives: before its cap is passed, also where the stop hangs."""

    def due(self, started_at: datetime, idle_since: datetime | None) -> tuple[datetime, SandboxReason]:
        """When it has to be told to stop as things stand, and why."""
        last = (started_at + self.ask, self.reason)
        return last if idle_since is None else min(last, (idle_since + self.idle, "IdleTimeout"))


def limits_of(*, cap: int, rate: int, idle: timedelta, lifetime: timedelta) -> Limits:
    """The limits of a box. Raises ValueError with a sentence for a cap that pays for too little time."""
    longest = affordable_us(cap, rate)
    if longest is not None and longest < LEAST_US:
        raise ValueError(
            f"it pays for {longest / SECOND_US:.2f} s of this hardware, and a sandbox needs {LEAST_US // SECOND_US} s to start and stop in"
        )
    deadlines = plan(cap=cap, rate=rate, timeout_us=lifetime // _MICROSECOND, grace_us=_GRACE_US)
    return Limits(
        idle=idle,
        ask=deadlines.ask_us * _MICROSECOND,
        reason="MaxLifetime" if deadlines.reason == "Timeout" else "MaxCostReached",
        end=kill_us(deadlines.ask_us, _GRACE_US, deadlines.last_us) * _MICROSECOND,
    )


def cost_of(*, cap: int, rate: int, started_at: datetime, ended_at: datetime, end: timedelta) -> int:
    """What a box costs between two moments. It never ran past its end, whenever that is noticed, and never costs more than its cap."""
    used = min(max(timedelta(), ended_at - started_at), end)
    return min(cap, charge(used // _MICROSECOND, rate))
