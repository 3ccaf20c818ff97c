"""The machine slice that a Sandbox, a Job or an agent's run is given. Shared by the kinds that ask for hardware."""

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.resources.meta import EnvironmentVariable
from nodus_tui.contract.wording import quoted

_NUL = "\0"


def _checked_argument(text: str) -> str:
    if _NUL in text:
        raise ValueError(f"{quoted(text)} holds a NUL character, which no program can be given")
    return text


def _checked_absolute(path: str) -> str:
    if not PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError(f"{quoted(path)} is no absolute path inside the job, such as /data")
    return path


Argument = Annotated[str, Field(max_length=100_000), AfterValidator(_checked_argument)]
"""One word of a command line, or the value of an environment variable."""

MountTarget = Annotated[Argument, Field(min_length=1, max_length=4096), AfterValidator(_checked_absolute)]
"""An absolute path inside the job."""

Command = Annotated[tuple[Argument, ...], Field(max_length=1000)]
"""A program and its arguments; no shell reads it."""

HardwareName = Annotated[str, Field(min_length=1, max_length=64)]
"""A name of the hardware price list, such as `CPU`, `L4` or `A100-80G`."""


Accelerators = Annotated[int, Field(ge=0, le=64)]
"""A number of devices."""

AcceleratorMemory = Annotated[float | None, Field(gt=0, le=65_536)]
"""Memory of a device, in GiB."""


class Mount(ContractModel):
    """A file or folder of the backend's machine that the job sees."""

    source: Argument = Field(min_length=1, max_length=4096)
    """On the backend's machine; a relative path starts at the spec's own folder."""
    target: MountTarget
    """Where the job sees it."""
    read_only: bool = True


class MachineSlice(ContractModel):
    """What of a machine is asked for. The names in `hardware` are priced by the hour."""

    hardware: HardwareName = "CPU"
    """A name of the hardware price list."""
    accelerators: Accelerators = 0
    """Devices of that kind, each given to this alone. 0 with hardware CPU; on other hardware 0 means one device."""
    accelerator_memory_gib: AcceleratorMemory = Field(default=None, alias="acceleratorMemoryGiB")
    """What each of them must have at least; absent means that any will do."""
    share_accelerators: bool = False
    """Whether others that say so too may use the same devices at the same time. Sharing divides neither memory nor computing time."""
    cpus: float = Field(default=1, gt=0, le=256)
    memory_gib: float = Field(default=1, gt=0, le=4096, alias="memoryGiB")


class Surroundings(MachineSlice):
    """A machine slice with what runs in it: the image, the network and the environment variables."""

    image: str | None = Field(default=None, min_length=1, max_length=500)
    """The container image; absent means the backend's own base, or this machine where the kind allows it."""
    network: bool = False
    """Whether it may reach the network."""
    env: dict[EnvironmentVariable, Argument] = Field(default_factory=dict, max_length=200)
    """Environment variables with their values. Keep secrets out: name them in `envFrom`."""
    env_from: tuple[EnvironmentVariable, ...] = Field(default=(), max_length=200)
    """Variables whose values are taken from the backend's own environment when it starts."""
