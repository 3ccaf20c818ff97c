"""What a spec asks for of devices, and which of them a name means here. Pure."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

from msgspec import Struct

from local_backend.devices.allocation import Request
from local_backend.devices.inventory import GIB, Device
from nodus_tui.statistics.hardware_names import means
from nodus_tui.statistics.hardware_rates import CPU, device_count


class MachinePart(Protocol):
    """What specs that ask for devices have in common."""

    @property
    def hardware(self) -> str:
        """A name of the price list."""
        ...

    @property
    def accelerators(self) -> int:
        """How many devices."""
        ...

    @property
    def accelerator_memory_gib(self) -> float | None:
        """What each has at least."""
        ...

    @property
    def share_accelerators(self) -> bool:
        """Whether others may use them too."""
        ...


class Wanted(Struct, frozen=True):
    """Devices that are wanted, whoever wants them."""

    names: tuple[str, ...]
    """Of which any will do, the earlier the better."""
    count: int
    memory_bytes: int = 0
    shared: bool = False

    def request(self, key: str, who: str) -> Request:
        """As somebody's."""
        return Request(key, who, self.names, self.count, self.memory_bytes, self.shared)


def wanted_of(spec: MachinePart, choices: Sequence[str] = ()) -> Wanted | None:
    """What a spec asks for; None where it asks for no device. `choices` are names that will do instead of the spec's own."""
    names = tuple(name for name in (choices or (spec.hardware,)) if name != CPU)
    if not names:
        return None
    memory = round((spec.accelerator_memory_gib or 0) * GIB)
    return Wanted(names, device_count(names[0], spec.accelerators), memory, spec.share_accelerators)


def named(patterns: Mapping[str, str], name: str, device: Device) -> bool:
    """Whether a name means a device: by the user's own pattern where there is one, else by the driver's name for it."""
    pattern = patterns.get(name)
    if pattern is not None:
        return fnmatchcase(device.name.casefold(), pattern.casefold())
    return means(name, device.name, device.memory_bytes)
