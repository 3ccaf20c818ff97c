"""What one look at the machine gave, before it is told: the probe's lines put together, in values of the contract. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from pydantic import ValidationError

from nodus_tui.contract.hardware_view import GpuDevice, GpuProcess, MachineFact


class Whereabouts(Struct, frozen=True):
    """What leads from a process to a sandbox."""

    places: tuple[str, ...]
    """Ids of containers and sandboxes in the names of its control groups."""
    ancestors: tuple[tuple[int, str], ...]
    """Itself and its parents: pid and start time."""


class Look(Struct):
    """One sample."""

    machine: MachineFact | None = None
    devices: list[GpuDevice] = field(default_factory=list)
    whereabouts: dict[int, Whereabouts] = field(default_factory=dict)
    driver: str | None = None
    cuda: str | None = None
    notes: list[str] = field(default_factory=list)
    gpu_trouble: bool = False
    """NVML does not answer: what the notes say of it."""

    def take(self, line: Mapping[str, Any]) -> None:
        """Add what one line tells. Raises ValueError for a line that is none of the probe's."""
        try:
            if "machine" in line:
                self.machine = MachineFact.model_validate(line["machine"])
            elif "device" in line:
                self.devices.append(self._device(line["device"]))
            elif "no_nvml" in line:
                self.trouble(line["no_nvml"])
            elif "count" in line:
                self.driver, self.cuda = line["driver"], line["cuda"]
                self.trouble(line["problem"])
        except ValidationError as error:
            raise ValueError(f"the probe told something strange: {error.errors()[0]['msg']}") from error

    def trouble(self, sentence: str) -> None:
        """NVML does not answer, for this reason; an empty one is none."""
        if sentence:
            self.gpu_trouble = True
            self.notes.append(sentence)

    def _device(self, values: dict[str, Any]) -> GpuDevice:
        for place in (values, *values.get("mig_devices", ())):
            if place.get("processes") is None:
                continue
            unseen = 0
            for process in place["processes"]:
                found = Whereabouts(tuple(process.pop("places")), tuple((pid, started) for pid, started in process.pop("ancestors")))
                self.whereabouts[process["pid"]] = found
                unseen += not process.pop("seen")
            if unseen:
                were = "process of another pid namespace, or one" if unseen == 1 else "processes of another pid namespace, or some"
                place["notes"] = [*place["notes"], f"{unseen} {were} that just ended: who they are cannot be seen from here"]
        return GpuDevice.model_validate(values)


def processes_of(device: GpuDevice) -> Iterator[GpuProcess]:
    """All of them, those of its slices included."""
    yield from device.processes or ()
    for leaf in device.mig_devices:
        yield from leaf.processes or ()
