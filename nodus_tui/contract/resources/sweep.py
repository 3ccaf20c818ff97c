"""Sweep: one template over a matrix of accelerators, shards, agents and parameters, under one cap."""

from math import prod
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.money import USD, PositiveUSD
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_group import AgentGroupSpec
from nodus_tui.contract.resources.hardware import HardwareName
from nodus_tui.contract.resources.job import JobSpec
from nodus_tui.contract.resources.meta import Name, Resource
from nodus_tui.contract.resources.training_job import TrainingJobSpec
from nodus_tui.contract.wording import quoted

MAX_CELLS = 1000
"""Cells of one sweep, repetitions counted."""

SWEEP_LABEL = "nodus.dev/sweep"
"""The label that every cell's group or job has beside those of its sweep: the sweep's name."""

Scalar = str | bool | int | float
"""A value of a parameter."""

AXES = ("accelerator", "agent", "shard", "repetition")
"""The axes beside the parameters, which have their own names."""


def scalar_text(value: Scalar) -> str:
    """A parameter's value as an environment variable has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class AgentGroupTemplate(ContractModel):
    """Each cell is an AgentGroup."""

    kind: Literal["AgentGroup"]
    spec: AgentGroupSpec


class JobTemplate(ContractModel):
    """Each cell is a Job."""

    kind: Literal["Job"]
    spec: JobSpec


class TrainingJobTemplate(ContractModel):
    """Each cell is a TrainingJob."""

    kind: Literal["TrainingJob"]
    spec: TrainingJobSpec


Template = Annotated[AgentGroupTemplate | JobTemplate | TrainingJobTemplate, Field(discriminator="kind")]
"""What every cell starts from; its `maxCostUSD` is the cap of one cell."""


class Matrix(ContractModel):
    """The axes. Every combination of their values is a cell."""

    accelerators: tuple[HardwareName, ...] = Field(default=(), max_length=64)
    """Hardware that takes the place of a Job's or a TrainingJob's."""
    shards: int = Field(default=1, ge=1, le=MAX_CELLS)
    """Of an AgentGroup: disjoint slices into which one task order is cut; the template's task count is that of one slice. A Job is told its
    own in the variables NODUS_SHARD (from 1) and NODUS_SHARDS."""
    agents: tuple[Name, ...] = Field(default=(), max_length=64)
    """Agents that take the place of the template's."""
    parameters: dict[str, tuple[Scalar, ...]] = Field(default_factory=dict, max_length=16)
    """Values by parameter: of the runtime's parameters for a TrainingJob, of environment variables for a Job."""

    @field_validator("accelerators", "agents")
    @classmethod
    def _each_once(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(values)) != len(values):
            raise PydanticCustomError("axis_twice", "a value stands twice on this axis")
        return values

    @field_validator("parameters")
    @classmethod
    def _make_cells(cls, parameters: dict[str, tuple[Scalar, ...]]) -> dict[str, tuple[Scalar, ...]]:
        if not all(parameters.values()):
            raise PydanticCustomError("axis_empty", "a parameter without values would leave no cell; give it at least one")
        for name, values in parameters.items():
            if name in AXES:
                raise PydanticCustomError("axis_name", "a parameter cannot be called {name}, as another axis is", {"name": name})
            if len({scalar_text(value) for value in values}) != len(values):
                raise PydanticCustomError("axis_twice", "a value of {name} stands twice on its axis", {"name": quoted(name)})
        return parameters

    @property
    def combinations(self) -> int:
        """How many cells the axes make, repetitions left out."""
        return (len(self.accelerators) or 1) * self.shards * (len(self.agents) or 1) * prod(map(len, self.parameters.values()))


class SweepSpec(ContractModel):
    """The template, the matrix, and what all cells together may spend."""

    max_cost_usd: PositiveUSD
    """Shared by all cells: one starts only when its own cap fits under what is left."""
    max_parallel: int = Field(default=1, ge=1, le=1000)
    """Cells going at once, at most."""
    template: Template
    matrix: Matrix = Field(default=Matrix.model_construct(), validate_default=True)
    repetitions: int = Field(default=1, ge=1, le=64, validate_default=True)
    """Cells for each combination. Those of an AgentGroup are asked the same tasks again; those of a TrainingJob count its seed up; a Job
    is told its own in the variable NODUS_REPETITION (from 1)."""

    @field_validator("matrix")
    @classmethod
    def _axes_fit(cls, matrix: Matrix, info: ValidationInfo) -> Matrix:
        template = info.data.get("template")
        if template is None:
            return matrix
        is_group = isinstance(template, AgentGroupTemplate)
        if matrix.agents and not is_group:
            raise PydanticCustomError("axis_agents", "agents are an axis of an AgentGroup template only")
        if matrix.parameters and is_group:
            raise PydanticCustomError("axis_parameters", "parameters are an axis of a Job or TrainingJob template only")
        if matrix.accelerators and is_group:
            raise PydanticCustomError(
                "axis_accelerators",
                "accelerators are an axis of a Job or TrainingJob template only: a group's runs have the hardware of their agent's sandbox",
            )
        evaluation = template.spec.evaluation if isinstance(template, AgentGroupTemplate) else None
        if matrix.shards > 1 and evaluation is None and not isinstance(template, JobTemplate):
            raise PydanticCustomError(
                "axis_shards", "shards cut the tasks of an AgentGroup template with evaluation, or number the cells of a Job template"
            )
        if matrix.shards > 1 and evaluation is not None and evaluation.shard is not None:
            raise PydanticCustomError(
                "axis_shard_twice", "the template's evaluation has a shard already; leave it out, each cell gets its own"
            )
        return matrix

    @field_validator("repetitions")
    @classmethod
    def _not_too_many(cls, repetitions: int, info: ValidationInfo) -> int:
        matrix = info.data.get("matrix")
        if isinstance(matrix, Matrix) and matrix.combinations * repetitions > MAX_CELLS:
            raise PydanticCustomError(
                "too_many_cells",
                "the matrix and its repetitions make {cells} cells; a sweep holds at most {limit}",
                {"cells": matrix.combinations * repetitions, "limit": MAX_CELLS},
            )
        return repetitions

    @property
    def cells(self) -> int:
        """How many cells the sweep has."""
        return self.matrix.combinations * self.repetitions


class SweepStatus(ContractModel):
    """What is known of a Sweep. Its money is the model spend of its groups and the cost of its jobs: spent + reserved + left = cap."""

    phase: GroupPhase
    """As an AgentGroup's, of cells instead of cases. Completed when every cell has ended, however; Failed when no cell came to anything."""
    reason: str | None = None
    """MaxCostReached, BudgetExceeded, Paused, Killed, Interrupted or DiskAlmostFull."""
    message: str = ""
    """For people: why it is in this phase, what its next cell waits for, and what would change that."""
    cells: int
    ended: int
    """Cells that have ended, whatever came of them."""
    failed: int = 0
    """Of those, cells that a retry would run again: killed, failed, or with cases that ended unscored."""
    going: int
    """Cells at work: each holds one of the `maxParallel` places, and its whole cap."""
    stalled: int = 0
    """Cells that do not go on for now. Those all of whose unfinished cases wait at caps hold what they spent, and no place; those that a
    budget stopped, or that wait for their model, go on by themselves, and so hold their places and their whole caps.
    """
    cap_usd: USD
    """The cap in force."""
    cost_usd: USD
    """Everything spent so far, by cells that are going too."""
    spent_usd: USD
    """By cells that are not going."""
    reserved_usd: USD
    """The caps of the cells that hold places."""
    left_usd: USD
    needed_cap_usd: USD | None = None
    """While cells cannot start for the sweep's cap: the least cap that gives all of them room."""
    simulated: bool = False
    """Whether a cell's model is simulated."""
    notional_price: bool = False
    """Whether a cell's price is made up for a demonstration: nobody pays it."""
    created_at: UTCTime
    started_at: UTCTime | None = None
    ended_at: UTCTime | None = None


class Sweep(Resource):
    """One template over a matrix, under one cap."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["Sweep"] = "Sweep"
    spec: SweepSpec
    status: SweepStatus | None = None
