"""What hardware costs an hour and how fast it scores: the default lists. Pure data; a user's configuration replaces prices by name."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType

from nodus_tui.statistics.hardware_names import ANY_DEVICE, narrower

CPU = "CPU"
"""The name of hardware without accelerators."""

DEFAULT_RATES: Mapping[str, Decimal] = MappingProxyType(
    {
        CPU: Decimal("0.0075"),
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
    if hardware != CPU:
        return Decimal(1)
    return max(Decimal(1), Decimal(str(cpus)), Decimal(str(memory_gib)))


def device_count(hardware: str, accelerators: int) -> int:
    """How many devices are meant: none with a CPU, and one where no number is said."""
    return 0 if hardware == CPU else max(1, accelerators)


def device_rate(rates: Mapping[str, Decimal], name: str) -> Decimal | None:
    """US dollars an hour of one device asked for under a name; None where the price list has nothing for it.

    The name's own price counts; else the dearest of those that mean the same more narrowly or more widely (`H100` costs what `H100 SXM`
    does); else that of `GPU`, which a user sets for every device without a price of its own.
    """
    if name in rates:
        return rates[name]
    related = [rate for each, rate in rates.items() if each not in {CPU, ANY_DEVICE} and (narrower(each, name) or narrower(name, each))]
    return max(related, default=rates.get(ANY_DEVICE))


def slice_rate(rates: Mapping[str, Decimal], hardware: str, cpus: float, memory_gib: float, accelerators: int = 0) -> Decimal | None:
    """US dollars an hour of a machine slice; None where the price list has no such hardware. Devices cost as many times theirs."""
    if hardware == CPU:
        return rates[CPU] * slices(hardware, cpus, memory_gib) if CPU in rates else None
    rate = device_rate(rates, hardware)
    return None if rate is None else rate * device_count(hardware, accelerators)


def dearest_rate(rates: Mapping[str, Decimal], choices: Iterable[str], cpus: float, memory_gib: float, accelerators: int) -> Decimal | None:
    """The same of the dearest of several choices; None where one of them has no price."""
    found = [slice_rate(rates, each, cpus, memory_gib, accelerators) for each in choices]
    priced = [each for each in found if each is not None]
    return max(priced) if priced and len(priced) == len(found) else None
