"""What a spec's hardware costs on this machine, and whether the machine has it."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from local_backend.devices.desk import DeviceDesk
from local_backend.devices.wanted import MachinePart, wanted_of
from nodus_tui.contract.money import nano_ceiling
from nodus_tui.statistics.hardware_rates import CPU, slice_rate


class Part(Struct, frozen=True):
    """Hardware that is asked for, where no spec says it in the usual fields."""

    hardware: str
    accelerators: int
    accelerator_memory_gib: float | None = None
    share_accelerators: bool = False


class Terms(Struct, frozen=True):
    """On what terms a spec gets its hardware here."""

    rate: int | None
    """Nano-dollars an hour of the dearest that it accepts; None where nothing is known of its price."""
    refusal: str = ""
    """Why it can never have it here, as a sentence without its subject; empty where it can."""


async def terms_of(
    desk: DeviceDesk, rates: Mapping[str, Decimal], spec: MachinePart, *, cpus: float, memory_gib: float, choices: Sequence[str] = ()
) -> Terms:
    """The terms of a spec; `choices` are names that will do instead of its own."""
    names = choices or (spec.hardware,)
    cpu = slice_rate(rates, CPU, cpus, memory_gib)
    without = None if cpu is None else nano_ceiling(cpu)
    if set(names) == {CPU}:
        return Terms(without, "hardware CPU has no accelerators, and it asks for some: name their hardware" if spec.accelerators else "")
    wanted = wanted_of(spec, choices)
    if wanted is None:
        return Terms(without)
    refusal, rate = await desk.assess(wanted)
    if CPU not in names:
        return Terms(rate, refusal)
    # Where there is no device for it, it goes without.
    return Terms(max(rate or 0, without or 0) if not refusal else without)
