"""What hardware costs an hour and how fast it scores: the default lists. Pure data; a user's configuration replaces prices by name."""

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

DEFAULT_RATES: Mapping[str, Decimal] = MappingProxyType(
    {
        "CPU": Decimal("0.0075"),
        "L4": Decimal("0.430"),
        "H100 SXM": Decimal("2.600"),
    }
)
"""By name of the hardware. `CPU` is a slice of 1 vCPU and 1 GiB; `L4` and `H100 SXM` are one whole GPU of that type."""


SECONDS_PER_TASK: Mapping[str, Decimal] = MappingProxyType(
    {
        "A100-80G": Decimal("0.17"),
        "H100": Decimal("0.11"),
        "L40S": Decimal("0.25"),
        "RTX-4090": Decimal("0.3"),
        "RTX-A6000": Decimal("0.33"),
    }
)
"""How long the runtime `nodus/evaluate` takes for one task on one device, by name of the accelerator."""


def rates_with(overrides: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """The default price list with the user's own rates in it (electricity, or zero, on their own workstation)."""
    return {**DEFAULT_RATES, **overrides}


def slices(hardware: str, cpus: float, memory_gib: float) -> Decimal:
    """How many priced units some hardware is: a CPU slice counts by whichever is more, its vCPUs or its GiB, and at least once."""
    if hardware != "CPU":
        return Decimal(1)
    return max(Decimal(1), Decimal(str(cpus)), Decimal(str(memory_gib)))


def slice_rate(rates: Mapping[str, Decimal], hardware: str, cpus: float, memory_gib: float) -> Decimal | None:
    """US dollars an hour of one sandbox; None where the price list has no such hardware."""
    rate = rates.get(hardware)
    return None if rate is None else rate * slices(hardware, cpus, memory_gib)
