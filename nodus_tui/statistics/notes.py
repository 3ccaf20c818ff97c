"""Sentences that several estimates share. Pure text."""

from decimal import Decimal

from nodus_tui.contract.money import usd_text


def dollars(amount: Decimal) -> str:
    """An exact amount as sentences name it: `$10.00`."""
    return f"${usd_text(amount)}"


def is_larger_than_priced(hardware: str, cpus: float, memory_gib: float) -> bool:
    """Whether a CPU slice is larger than the 1 vCPU and 1 GiB that the price list's `CPU` stands for."""
    return hardware == "CPU" and (cpus > 1 or memory_gib > 1)


def slice_notes(hardware: str, cpus: float, memory_gib: float) -> tuple[str, ...]:
    """What to say where a slice is larger than its price is for."""
    if not is_larger_than_priced(hardware, cpus, memory_gib):
        return ()
    return (f"The CPU price is that of 1 vCPU and 1 GiB; the spec asks for {cpus:g} vCPU and {memory_gib:g} GiB.",)
