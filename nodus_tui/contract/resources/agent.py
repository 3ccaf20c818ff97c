"""Agent: a system prompt, a model, a cap for each run, and the tools and sandbox that its runs get."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.durations import Duration, bounded_duration
from nodus_tui.contract.money import PositiveUSD, parse_usd
from nodus_tui.contract.resources.hardware import AcceleratorMemory, Accelerators, HardwareName
from nodus_tui.contract.resources.meta import Name, Resource

DEFAULT_PER_RUN_CAP = parse_usd("1.00")


class AgentModel(ContractModel):
    """Which models the agent may use, and how long one reply may be."""

    access: Literal["Nodus"] = "Nodus"
    """The operator's managed models; on a local backend, the model catalogue of the configuration file."""
    families: tuple[Name, ...] = Field(min_length=1, max_length=16)
    """The families it is limited to, in order of preference; the first that the catalogue has is used."""
    max_tokens: int = Field(default=1024, ge=1, le=1_000_000)
    """Output tokens of one reply, at most."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sampling temperature; absent means the provider's own default."""


class AgentSandbox(ContractModel):
    """The machine slice that each run gets when the agent has tools."""

    hardware: HardwareName = "CPU"
    """A name of the hardware price list."""
    accelerators: Accelerators = 0
    """Devices of that kind, each given to one run alone while its sandbox lives. 0 with hardware CPU; on other hardware 0 means one."""
    accelerator_memory_gib: AcceleratorMemory = Field(default=None, alias="acceleratorMemoryGiB")
    """What each of them must have at least; absent means that any will do."""
    share_accelerators: bool = False
    """Whether others that say so too may use the same devices at the same time. Sharing divides neither memory nor computing time."""
    cpus: float = Field(default=1, gt=0, le=256)
    memory_gib: float = Field(default=1, gt=0, le=4096, alias="memoryGiB")
    disk_gib: float = Field(default=1, gt=0, le=4096, alias="diskGiB")
    """Space for files, over all its writable folders together. It lies in memory and counts against `memoryGiB` as it fills."""
    processes: int = Field(default=256, ge=16, le=65_536)
    """Processes and threads at once, at most."""
    image: str | None = None
    """A container image by name, with tag or digest; absent means the environment's own, or the base image."""
    network: bool = False
    """Whether it may reach the network."""
    command_timeout: Annotated[Duration, bounded_duration(timedelta(seconds=1), timedelta(hours=24))] = timedelta(minutes=2)
    """One command of the agent, at most; it is killed then, with everything that it started."""
    idle_timeout: Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(days=7))] = timedelta(minutes=10)
    """After so long without a command the sandbox is stopped, its files kept; the next command starts it again."""
    max_lifetime: Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(days=30))] = timedelta(hours=24)
    """Sandbox time of one run, at most, whatever it does; the run ends unscored then."""
    max_cost_usd: PositiveUSD | None = None
    """Money for the agent's own sandbox, at most: time × the hourly rate of its hardware. The run ends unscored before it passes this.

    Grading comes on top: what has been worked for is graded.
    """


ToolName = Literal["bash", "read", "write", "edit", "submit"]


class AgentSpec(ContractModel):
    """What an Agent is. Every change makes a new revision."""

    system: str = ""
    """The system prompt."""
    model: AgentModel
    per_run_max_cost_usd: PositiveUSD = DEFAULT_PER_RUN_CAP
    """The cap on one run's model spend; copied when a run is created."""
    tools: tuple[ToolName, ...] = ()
    """The tools it may use in its sandbox; none means that it only talks."""
    sandbox: AgentSandbox = AgentSandbox.model_construct()
    max_turns: int = Field(default=50, ge=1, le=1000)
    """Model calls in one conversation, at most."""


class AgentStatus(ContractModel):
    """What the backend knows of an Agent."""

    revision: int
    """Counts from 1; groups pin the revision they were created with."""
    updated_at: UTCTime


class Agent(Resource):
    """A definition from which runs are made."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["Agent"] = "Agent"
    spec: AgentSpec
    status: AgentStatus | None = None
