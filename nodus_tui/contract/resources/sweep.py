"""Sweep: one template over a matrix of accelerators, shards, agents and parameters, under one cap."""

from math import prod
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.money import USD, PositiveUSD
from nodus_tui.contract.resources.agent_group import AgentGroupSpec
from nodus_tui.contract.resources.hardware import HardwareName
from nodus_tui.contract.resources.job import JobSpec
from nodus_tui.contract.resources.meta import Name, Resource
from nodus_tui.contract.resources.training_job import TrainingJobSpec

MAX_CELLS = 1000
"""Cells of one sweep, repetitions counted."""

Scalar = str | bool | int | float
"""A value of a parameter."""


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
    """Hardware that takes the place of the template's."""
    shards: int = Field(default=1, ge=1, le=MAX_CELLS)
    """Disjoint slices into which one task order is cut; the template's task count is that of one slice."""
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
    def _none_empty(cls, parameters: dict[str, tuple[Scalar, ...]]) -> dict[str, tuple[Scalar, ...]]:
        if not all(parameters.values()):
            raise PydanticCustomError("axis_empty", "a parameter without values would leave no cell; give it at least one")
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
    """Cells for each combination."""

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
        if matrix.shards > 1 and not (is_group and template.spec.evaluation):
            raise PydanticCustomError("axis_shards", "shards cut the tasks of an AgentGroup template with evaluation only")
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
    """What the backend knows of a Sweep."""

    phase: Literal["Pending", "Running", "Stalled", "Completed", "Cancelled", "Failed", "Interrupted"]
    reason: str | None = None
    message: str = ""
    cells: int
    ended: int
    going: int
    spent_usd: USD
    reserved_usd: USD
    left_usd: USD
    created_at: UTCTime
    ended_at: UTCTime | None = None


class Sweep(Resource):
    """One template over a matrix, under one cap."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["Sweep"] = "Sweep"
    spec: SweepSpec
    status: SweepStatus | None = None
