"""Which job starts next: in order of creation, while processors and memory that were asked for together fit this machine. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

_ROUNDING = 1e-9


class Share(Struct, frozen=True):
    """What a job asks of the machine."""

    name: str
    cpus: float
    memory_gib: float


class Machine(Struct, frozen=True):
    """What there is to give."""

    cpus: int
    memory_gib: float


def impossible(wanted: Share, machine: Machine) -> str:
    """Why a job can never start here, as a sentence; empty where it can."""
    if wanted.cpus > machine.cpus + _ROUNDING:
        return f"it asks for {wanted.cpus:g} CPUs, and this machine has {machine.cpus}"
    if wanted.memory_gib > machine.memory_gib + _ROUNDING:
        return f"it asks for {wanted.memory_gib:g} GiB of memory, and this machine has {machine.memory_gib:.1f}"
    return ""


def obstacle(wanted: Share, running: Sequence[Share], machine: Machine) -> str:
    """What a job waits for, as people read it; empty when it may start now. Alone it may always."""
    if not running:
        return ""
    names = ", ".join(each.name for each in running)
    cpus = machine.cpus - sum(each.cpus for each in running)
    if wanted.cpus > cpus + _ROUNDING:
        return (
            f"waits for {wanted.cpus:g} CPU{'' if wanted.cpus == 1 else 's'}; {max(0.0, cpus):g} of {machine.cpus} are free beside {names}"
        )
    memory = machine.memory_gib - sum(each.memory_gib for each in running)
    if wanted.memory_gib > memory + _ROUNDING:
        free = f"{max(0.0, memory):.1f} of {machine.memory_gib:.1f} GiB are free beside {names}"
        return f"waits for {wanted.memory_gib:g} GiB of memory; {free}"
    return ""


def queue(waiting: Iterable[Share], running: Sequence[Share], machine: Machine) -> dict[str, str]:
    """What each waiting job waits for, by name, empty for those that start now. None overtakes one that was there before it."""
    taken, told = list(running), dict[str, str]()
    first = ""
    for share in waiting:
        told[share.name] = f"waits for {first} to start" if first else obstacle(share, taken, machine)
        if told[share.name]:
            first = first or share.name
        else:
            taken.append(share)
    return told
