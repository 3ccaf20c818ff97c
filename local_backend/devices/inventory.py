"""What there is to give: whole devices, and the slices of those that are divided; and who uses them that was not given them. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from nodus_tui.contract.hardware_view import GpuDevice, GpuProcess, HardwareView, MigDevice

MIB = 1 << 20
GIB = 1 << 30


class Device(Struct, frozen=True):
    """One thing that can be given: a device that is not divided, or a slice of one that is."""

    uuid: str
    place: str
    """`0`, or `0:3` for the slice 3 of device 0, as the driver counts now."""
    name: str
    """As the driver has it."""
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    responding: bool = True
    processes: tuple[GpuProcess, ...] | None = ()
    """None where it does not tell."""
    minor: int | None = None
    """The number of the device's file; that of the whole device for a slice."""
    gpu_instance: int | None = None
    compute_instance: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    energy_j: float | None = None

    @property
    def label(self) -> str:
        """For people: `0 NVIDIA L4`."""
        return f"{self.place} {self.name}"

    @property
    def order(self) -> tuple[int, int]:
        """As the driver counts."""
        whole, _, part = self.place.partition(":")
        return int(whole), int(part or -1)


def devices_of(view: HardwareView) -> tuple[Device, ...]:
    """Everything that can be given, in the driver's order. What has no uuid cannot be named to anybody, and is left out."""
    return tuple(found for each in view.devices for found in _parts(each))


def _parts(device: GpuDevice) -> Iterator[Device]:
    if device.mig_enabled:
        # Power is told of the whole device only, and a part of it cannot be told apart.
        yield from (_slice(device, leaf) for leaf in device.mig_devices if leaf.uuid is not None)
    elif device.uuid is not None:
        yield Device(
            uuid=device.uuid,
            place=str(device.index),
            name=device.name or "",
            memory_bytes=device.memory_total_bytes,
            memory_used_bytes=device.memory_used_bytes,
            responding=device.responding,
            processes=device.processes,
            minor=device.minor,
            power_w=device.power_w,
            power_limit_w=device.power_limit_w,
            energy_j=device.energy_j,
        )


def _slice(device: GpuDevice, leaf: MigDevice) -> Device:
    return Device(
        uuid=leaf.uuid or "",
        place=f"{device.index}:{leaf.index}",
        name=leaf.name or "",
        memory_bytes=leaf.memory_total_bytes,
        memory_used_bytes=leaf.memory_used_bytes,
        responding=device.responding,
        processes=leaf.processes,
        minor=device.minor,
        gpu_instance=leaf.gpu_instance,
        compute_instance=leaf.compute_instance,
    )


class Belongings(Struct, frozen=True):
    """By what the processes of those who hold a device are known."""

    runs: Collection[str] = ()
    jobs: Collection[str] = ()
    sandboxes: Collection[str] = ()
    """Their names at the engine."""

    def has(self, process: GpuProcess) -> bool:
        """Whether it belongs to one of them."""
        return process.run in self.runs or process.job in self.jobs or process.sandbox in self.sandboxes


def strangers(device: Device, holders: Belongings, *, held: bool, idle_memory_bytes: int) -> tuple[str, ...]:
    """Who uses a device without having been given it, in words. What draws a screen on it is no matter.

    Memory that no process explains is somebody's too: one of another pid namespace, say. While the device is `held` it may be the holders'.
    """
    processes = device.processes or ()
    found = dict.fromkeys(_words(each) for each in processes if each.kind == "compute" and not holders.has(each))
    if not found and not held and (hidden := _unexplained(device)) > idle_memory_bytes:
        return (f"{hidden / GIB:.1f} GiB of no process that can be seen",)
    return tuple(found)


def _unexplained(device: Device) -> int:
    processes = device.processes or ()
    if device.memory_used_bytes is None or any(each.memory_bytes is None for each in processes):
        return 0
    return device.memory_used_bytes - sum(each.memory_bytes or 0 for each in processes)


def _words(process: GpuProcess) -> str:
    words = (process.command or "").split()
    program = PurePosixPath(words[0]).name if words else ""
    owner = process.job or process.run or process.sandbox
    by = f"{owner}, which was not given it" if owner else process.user
    return (program or f"process {process.pid}") + (f" ({by})" if by else "")
