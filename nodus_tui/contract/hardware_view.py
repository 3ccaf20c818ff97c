"""What a backend tells of its machine: its accelerators as the driver sees them, who uses them, and the machine around them.

A figure that a device does not tell is null, and `notes` say why in sentences. Commands and names of processes came from other programs:
they are data, and go to a screen through safe_text only.
"""

from typing import Literal

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.phases import UntilKind

HISTORY_SAMPLES = 120
"""The most samples that a history holds."""


class GpuProcess(ContractModel):
    """A process that uses a device."""

    pid: int
    """As the backend's machine counts it."""
    kind: Literal["compute", "graphics"]
    user: str | None
    """The login name, or `uid N` where the machine has none; null where the process cannot be seen from there."""
    command: str | None
    """Its command line, cut off after 300 characters."""
    memory_bytes: int | None
    """Of the device's memory."""
    run: str | None = None
    """The run of this workspace in whose sandbox it is."""
    job: str | None = None
    """The job of this workspace that it belongs to."""
    sandbox: str | None = None
    """The sandbox of ours that it is in, whichever workspace made that."""


class DeviceHolder(ContractModel):
    """Who was given a device by this workspace. It may have started no program on it yet."""

    kind: str
    """`Job`, `TrainingJob`, `AgentRun` or `Sandbox`."""
    name: str
    shared: bool = False
    """Whether others may be given it at the same time."""
    since: UTCTime
    until: UTCTime | None = None
    """When it is given back, as far as that is known."""
    until_kind: UntilKind = "Exact"


class GpuClocks(ContractModel):
    """Clocks now and at most, in MHz."""

    sm_mhz: int | None = None
    sm_max_mhz: int | None = None
    memory_mhz: int | None = None
    memory_max_mhz: int | None = None


class PcieFact(ContractModel):
    """The device's way to the machine. An idle device often runs a lower generation than it can."""

    generation: int | None = None
    max_generation: int | None = None
    width: int | None = None
    """Lanes."""
    max_width: int | None = None
    received_bytes_per_second: float | None = None
    sent_bytes_per_second: float | None = None


class NvLinkFact(ContractModel):
    """The device's links to other devices."""

    links: int
    active_links: int
    received_bytes_per_second: float | None = None
    """Data over all links."""
    sent_bytes_per_second: float | None = None


class EccFact(ContractModel):
    """Errors of the device's memory."""

    enabled: bool
    corrected: int | None = None
    """Since the driver was loaded."""
    uncorrected: int | None = None
    uncorrected_in_all: int | None = None
    """Over the device's whole life."""
    remapping_pending: bool | None = None
    """Whether rows of its memory wait for a reset to be replaced."""
    remapping_failed: bool | None = None


class MigDevice(ContractModel):
    """A slice of a device that is divided by MIG (multi-instance GPU). What is measured of whole devices only is not here."""

    index: int
    uuid: str | None
    name: str | None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    multiprocessors: int | None = None
    gpu_instance: int | None = None
    """The numbers by which the driver's device files name it."""
    compute_instance: int | None = None
    holders: tuple[DeviceHolder, ...] = ()
    processes: tuple[GpuProcess, ...] | None = None
    notes: tuple[str, ...] = ()


class GpuHistory(ContractModel):
    """The last samples, oldest first; null where there was no figure."""

    interval_seconds: float
    utilization_percent: tuple[int | None, ...] = ()
    memory_percent: tuple[int | None, ...] = ()


class GpuDevice(ContractModel):
    """One accelerator. Its names in JSON are stable: programs read them."""

    index: int
    """As the driver counts. It may be another after a restart; the uuid stays."""
    uuid: str | None
    name: str | None
    minor: int | None = None
    """The number in the name of its device file, `/dev/nvidiaN`."""
    responding: bool = True
    """Whether its figures are of this sample; a device that is lost, or hangs, keeps its place and `notes` say what happened."""
    utilization_percent: int | None = None
    """The share of the last sample period in which some kernel ran."""
    memory_utilization_percent: int | None = None
    """The share of it in which the device's memory was read or written."""
    memory_used_bytes: int | None = None
    """Allocated, without what the driver reserves for itself."""
    memory_total_bytes: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    """The limit in force."""
    energy_j: float | None = None
    """What it has taken since the driver was loaded, in joules, where it counts that."""
    fan_percent: int | None = None
    clocks: GpuClocks | None = None
    throttle_reasons: tuple[str, ...] | None = None
    """Why its clocks are lower than they could be, in words; empty where they are not, or where it is idle."""
    pcie: PcieFact | None = None
    nvlink: NvLinkFact | None = None
    ecc: EccFact | None = None
    mig_enabled: bool | None = None
    mig_devices: tuple[MigDevice, ...] = ()
    processes: tuple[GpuProcess, ...] | None = None
    """Null where it does not tell; those of its slices are with the slices."""
    holders: tuple[DeviceHolder, ...] = ()
    """Who of this workspace has been given it."""
    notes: tuple[str, ...] = ()
    history: GpuHistory | None = None
    """Only where it was asked for."""


class MachineFact(ContractModel):
    """The machine itself."""

    host: str
    cpus: int | None = None
    cpu_percent: float | None = None
    """Of all processors together, since the sample before."""
    load: float | None = None
    """Processes that run or want to, averaged over a minute."""
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    disk_used_bytes: int | None = None
    """Of the file system that holds the workspace."""
    disk_total_bytes: int | None = None
    disk_read_bytes_per_second: float | None = None
    """Of all disks together."""
    disk_written_bytes_per_second: float | None = None
    network_received_bytes_per_second: float | None = None
    """Of all interfaces but the loopback."""
    network_sent_bytes_per_second: float | None = None
    notes: tuple[str, ...] = ()


class HardwareView(ContractModel):
    """One sample of everything."""

    at: UTCTime
    """When it was taken, by the backend's clock."""
    driver: str | None = None
    """The version of the NVIDIA driver; null where none answers, and `notes` say why."""
    cuda: str | None = None
    """The newest CUDA version that this driver supports."""
    devices: tuple[GpuDevice, ...] = ()
    machine: MachineFact
    notes: tuple[str, ...] = ()


def without_arguments(view: HardwareView) -> HardwareView:
    """The same view with each command cut to its program: arguments may hold what is not for everybody who may look."""
    return view.model_copy(update={"devices": tuple(_device_without_arguments(device) for device in view.devices)})


def _device_without_arguments(device: GpuDevice) -> GpuDevice:
    slices = tuple(leaf.model_copy(update={"processes": _programs(leaf.processes)}) for leaf in device.mig_devices)
    return device.model_copy(update={"processes": _programs(device.processes), "mig_devices": slices})


def _programs(processes: tuple[GpuProcess, ...] | None) -> tuple[GpuProcess, ...] | None:
    if processes is None:
        return None
    return tuple(each.model_copy(update={"command": each.command and each.command.partition(" ")[0]}) for each in processes)
