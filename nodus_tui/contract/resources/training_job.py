"""TrainingJob: here always the runtime `nodus/evaluate`, which scores a model on benchmark tasks or on an Environment."""

import re
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.durations import Duration, bounded_duration
from nodus_tui.contract.money import PositiveUSD
from nodus_tui.contract.resources.agent_group import EnvironmentReference
from nodus_tui.contract.resources.hardware import Argument, HardwareName
from nodus_tui.contract.resources.job import JobStatus
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.wording import quoted

DEFAULT_HARDWARE = ("RTX-4090", "L40S", "RTX-A6000", "A100-80G")
"""One device of any of these, when the spec asks for nothing else."""

_URI_PATTERN = r"^[a-z][a-z0-9+.-]*://[^\s]+$"
_URI = re.compile(_URI_PATTERN)


def _checked_uri(uri: str) -> str:
    if not _URI.fullmatch(uri) or not uri.isprintable():
        raise ValueError(f"{quoted(uri)} is no model address, such as hf://organisation/name@commit or file:///models/name")
    return uri


ModelURI = Annotated[str, Field(max_length=2000), AfterValidator(_checked_uri), Field(json_schema_extra={"pattern": _URI_PATTERN})]
"""Where a model lies: scheme, colon, two slashes, and the rest by the scheme."""

IncludePath = Annotated[Argument, Field(min_length=1, max_length=4096)]
"""A folder of the backend's machine."""

TaskName = Annotated[str, Field(min_length=1, max_length=200)]
"""The name of a benchmark task, such as `arc_easy`."""


class TrainingModel(ContractModel):
    """The model that is scored."""

    uri: ModelURI
    """Such as `hf://organisation/name@commit`."""


class EvaluateParameters(ContractModel):
    """The parameters of `nodus/evaluate`. A parameter that is absent is left to the runtime."""

    batch_size: int = Field(default=8, ge=1, le=1024)
    """Examples in one forward pass."""
    evaluation_batch_size: int | None = Field(default=None, ge=1, le=1024)
    """Prompts generated together when an Environment is scored."""
    limit: int | None = Field(default=None, ge=1, le=1_000_000)
    """Samples of each task; absent scores the whole task."""
    max_completion_length: int | None = Field(default=None, ge=8, le=32_768)
    """Tokens of one completion when an Environment is scored."""
    num_fewshot: int | None = Field(default=None, ge=0, le=64)
    """Worked examples before each prompt."""
    seed: int = Field(default=0, ge=0, le=2_147_483_647)
    """For sampling and for the choice of worked examples."""
    task_filter: dict[str, str | bool | int | float] | None = Field(default=None, max_length=8)
    """Keeps the tasks whose metadata has these values; applied before tasks are counted."""
    tasks: tuple[TaskName, ...] | None = Field(default=None, min_length=1, max_length=64)
    """Benchmark tasks; absent when `spec.environment` is scored."""


class TrainingResources(ContractModel):
    """What it runs on. With several devices the launcher is torchrun."""

    hardware: tuple[HardwareName, ...] = Field(default=DEFAULT_HARDWARE, min_length=1, max_length=16)
    """Any one of these will do; the first that is free is taken."""
    accelerators: int = Field(default=1, ge=1, le=64)
    cpus: float | None = Field(default=None, gt=0, le=256)
    """Of the machine that the devices are in; absent means 2 for each of them."""
    memory_gib: float | None = Field(default=None, gt=0, le=4096, alias="memoryGiB")
    """Likewise, beside the devices' own; absent means 4 GiB for each of them."""

    @property
    def on_cpu(self) -> bool:
        """Whether it asks for no device at all."""
        return set(self.hardware) == {"CPU"}

    @property
    def all_cpus(self) -> float:
        """Processors, whether said or not."""
        return 2.0 * self.accelerators if self.cpus is None else self.cpus

    @property
    def all_memory_gib(self) -> float:
        """Memory, whether said or not."""
        return 4.0 * self.accelerators if self.memory_gib is None else self.memory_gib


class TrainingJobSpec(ContractModel):
    """What is scored, how, and for how much."""

    runtime: Literal["nodus/evaluate"]
    mode: Literal["Evaluate"] = "Evaluate"
    model: TrainingModel
    parameters: EvaluateParameters = EvaluateParameters.model_construct()
    environment: EnvironmentReference | None = Field(default=None, validate_default=True)
    """Scores the held-out tasks of this Environment; exactly one of this and `parameters.tasks`."""
    include_paths: tuple[IncludePath, ...] = Field(default=(), max_length=16)
    """Folders with benchmark tasks of your own, for the harness to look into; a relative one starts at the spec's own folder."""
    resources: TrainingResources = TrainingResources.model_construct()
    max_cost_usd: PositiveUSD
    timeout: Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(days=30))] = timedelta(hours=24)
    """Of the running job, queueing left out."""

    @field_validator("environment")
    @classmethod
    def _tasks_or_environment(cls, environment: str | None, info: ValidationInfo) -> str | None:
        parameters = info.data.get("parameters")
        if isinstance(parameters, EvaluateParameters) and (environment is None) == (parameters.tasks is None):
            raise PydanticCustomError(
                "tasks_or_environment", "an evaluation scores either parameters.tasks or environment, exactly one of the two"
            )
        return environment


class TaskScore(ContractModel):
    """The figure of one benchmark task; of an Environment its `passRate`, its `coverage` and its `meanReward`."""

    task: str
    metric: str
    value: float
    standard_error: float | None = None
    ci95: tuple[float, float] | None = None
    """Of a pass rate."""
    samples: int


class TrainingJobStatus(JobStatus):
    """What the backend knows of a TrainingJob."""

    scores: tuple[TaskScore, ...] = ()


class TrainingJob(Resource):
    """A model scored by the runtime `nodus/evaluate`."""

    api_version: Literal["nodus.dev/v1beta1"] = "nodus.dev/v1beta1"
    kind: Literal["TrainingJob"] = "TrainingJob"
    spec: TrainingJobSpec
    status: TrainingJobStatus | None = None
