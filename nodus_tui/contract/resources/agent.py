"""Agent: a system prompt, a model, a cap for each run, and the tools and sandbox that its runs get."""

from typing import Literal

from pydantic import Field

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.money import PositiveUSD, parse_usd
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

    hardware: str = "CPU"
    """A name of the hardware price list."""
    cpus: float = Field(default=1, gt=0, le=256)
    memory_gib: float = Field(default=1, gt=0, le=4096, alias="memoryGiB")
    image: str | None = None
    network: bool = False


class AgentSpec(ContractModel):
    """What an Agent is. Every change makes a new revision."""

    system: str = ""
    """The system prompt."""
    model: AgentModel
    per_run_max_cost_usd: PositiveUSD = DEFAULT_PER_RUN_CAP
    """The cap on one run's model spend; copied when a run is created."""
    tools: tuple[Literal["bash", "read", "write", "edit", "submit"], ...] = ()
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
