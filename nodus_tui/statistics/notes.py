"""Sentences that several estimates share. Pure text."""

from decimal import Decimal

from nodus_tui.contract.money import usd_text
from nodus_tui.statistics.hardware_rates import slices


def dollars(amount: Decimal) -> str:
    """An exact amount as sentences name it: `$10.00`."""
    return f"${usd_text(amount)}"


def slice_notes(hardware: str, cpus: float, memory_gib: float) -> tuple[str, ...]:
    """What to say where a CPU slice counts as more than one of those that the price list's `CPU` stands for."""
    count = slices(hardware, cpus, memory_gib)
    if count == 1:
        return ()
    return (f"The CPU price is that of 1 vCPU and 1 GiB; {cpus:g} vCPU and {memory_gib:g} GiB count as {float(count):g} of them.",)
