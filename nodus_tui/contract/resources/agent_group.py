"""AgentGroup: many runs of one agent at once under `maxActive` and one `maxCostUSD`; with `evaluation` it scores an Environment."""

import re
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.durations import Duration, bounded_duration
from nodus_tui.contract.money import USD, PositiveUSD
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.meta import Name, Resource
from nodus_tui.contract.wording import quoted

MAX_CASES = 100
"""tasks × repetitions of one evaluation batch, at most. More is a Sweep with shards."""

_REFERENCE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?@[A-Za-z0-9][A-Za-z0-9.+-]*$"
_REFERENCE = re.compile(_REFERENCE_PATTERN)


def _checked_reference(reference: str) -> str:
    if not _REFERENCE.fullmatch(reference):
        raise ValueError(f"{quoted(reference)} is not name@version, such as nodus/arithmetic-v2@2.0.0")
    return reference


EnvironmentReference = Annotated[
    str, Field(max_length=200), AfterValidator(_checked_reference), Field(json_schema_extra={"pattern": _REFERENCE_PATTERN})
]
"""An Environment at an explicit version: `name@version`."""


MAX_SHARDS = 1000
"""Slices into which one task order is cut, at most."""


class Shard(ContractModel):
    """One slice of a seed's task order. All slices have equally many tasks, share none, and follow each other from the first task on."""

    index: int = Field(ge=1, le=MAX_SHARDS)
    """Which slice, from 1."""
    of: int = Field(ge=1, le=MAX_SHARDS, validate_default=True)
    """How many slices there are."""

    @field_validator("of")
    @classmethod
    def _has_the_slice(cls, of: int, info: ValidationInfo) -> int:
        index = info.data.get("index", 1)
        if index > of:
            raise PydanticCustomError("shard_index", "slice {index} of {of} does not exist", {"index": index, "of": of})
        return of


class Evaluation(ContractModel):
    """The batch that the group scores. Creating the group generates it, runs it and grades it; there is no submit step."""

    environment: EnvironmentReference
    split: Literal["train", "test"] = "test"
    """`test` is held out."""
    tasks: int = Field(ge=1, le=MAX_CASES)
    repetitions: int = Field(default=1, ge=1, le=MAX_CASES, validate_default=True)
    """Answers for each task."""
    seed: int = Field(default=0, ge=0, le=2_147_483_647)
    """With the name and the version it fixes the tasks and their order."""
    timeout: Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(hours=24))] = timedelta(minutes=30)
    """From creation; it counts preparation, queueing and waiting for funds."""
    shard: Shard | None = None
    """Scores this slice of the seed's task order, of `tasks` tasks; absent scores the first `tasks` tasks. A Sweep with shards sets it."""

    # Rules over two fields hang on the later field, so that they are told together with faults of other fields.
    @field_validator("repetitions")
    @classmethod
    def _within_one_batch(cls, repetitions: int, info: ValidationInfo) -> int:
        cases = info.data.get("tasks", 1) * repetitions
        if cases > MAX_CASES:
            raise PydanticCustomError(
                "batch_too_large",
                "tasks × repetitions is {cases}; one batch holds at most {limit} cases (more is a Sweep with shards)",
                {"cases": cases, "limit": MAX_CASES},
            )
        return repetitions

    @property
    def cases(self) -> int:
        """tasks × repetitions."""
        return self.tasks * self.repetitions

    @property
    def skipped(self) -> int:
        """How many tasks of the seed's order come before this batch's first."""
        return 0 if self.shard is None else (self.shard.index - 1) * self.tasks


class GroupInput(ContractModel):
    """One input of a group without evaluation."""

    id: Name
    prompt: str = Field(min_length=1)


class AgentGroupSpec(ContractModel):
    """What the group runs, how many at once, and what it may spend on models."""

    agent: Name
    max_active: int = Field(default=10, ge=1, le=1000)
    """Runs going at once, at most."""
    max_cost_usd: PositiveUSD
    """The cap on the group's model spend. tasks × repetitions × the per-run cap gives every case room to start."""
    evaluation: Evaluation | None = None
    inputs: tuple[GroupInput, ...] = Field(default=(), max_length=1000, validate_default=True)
    """Without evaluation: the prompts, whose answers the caller grades."""

    @field_validator("inputs")
    @classmethod
    def _evaluation_or_inputs(cls, inputs: tuple[GroupInput, ...], info: ValidationInfo) -> tuple[GroupInput, ...]:
        if "evaluation" in info.data and (info.data["evaluation"] is None) == (not inputs):
            raise PydanticCustomError("evaluation_or_inputs", "a group has either evaluation or inputs, exactly one of the two")
        twice = [name for name, count in Counter(each.id for each in inputs).items() if count > 1]
        if twice:
            raise PydanticCustomError("input_ids", "two inputs have the id {id}", {"id": quoted(twice[0])})
        return inputs

    @property
    def cases(self) -> int:
        """How many cases the group has."""
        return self.evaluation.cases if self.evaluation else len(self.inputs)


class Coverage(ContractModel):
    """How many of all cases carry a verdict that counts. Never shown apart from the pass rate."""

    scored: int
    total: int


class GroupMoney(ContractModel):
    """A group's money. spent + reserved + left = cap."""

    cap_usd: USD
    spent_usd: USD
    """By runs that are no longer going."""
    reserved_usd: USD
    """The caps of the runs still going."""
    left_usd: USD
    model_usd: USD
    """Everything spent on models so far, going runs included."""
    unconfirmed_usd: USD
    """The part of it that was charged at worst case because a call's outcome is unknown."""
    sandbox_usd: USD = Decimal(0)


class AgentGroupStatus(ContractModel):
    """What the backend knows of a group."""

    phase: GroupPhase
    reason: Reason | None = None
    message: str = ""
    """For people: why it is in this phase, and what would change that."""
    created_at: UTCTime
    started_at: UTCTime | None = None
    ended_at: UTCTime | None = None
    deadline_at: UTCTime | None = None
    """When the evaluation's timeout falls."""
    agent_revision: int
    environment_digest: str = ""
    weaker_grader: str = ""
    """Why its grader can be trusted less than a grader of our own, as a sentence; empty where it cannot."""
    """Of the tasks and the grader; empty until the tasks are made."""
    model_family: str = ""
    model_name: str = ""
    price_source: str = ""
    simulated: bool = False
    notional_price: bool = False
    """The price is made up for a demonstration: nobody pays it."""
    money: GroupMoney
    needed_cap_usd: USD | None = None
    """While it is stalled at its own cap: the least cap that gives all waiting cases room to start."""
    coverage: Coverage
    pending: int
    """Cases that have not ended."""
    going: int
    """Runs that hold a slot."""
    verdicts: dict[str, int] = Field(default_factory=dict)
    """Cases by verdict, or by the reason for which they are unscored."""
    pass_rate: float | None = None
    """Correct ÷ (Correct + Incorrect + InvalidOutput); null while nothing is scored."""
    standard_error: float | None = None
    ci95: tuple[float, float] | None = None
    mean_reward: float | None = None
    mean_run_seconds: float | None = None
    """How long a run that came to an answer held its slot, on average; null before the first. Forecasts go by it."""
    mean_run_usd: USD | None = None
    """What such a run spent on models, on average."""


class AgentGroup(Resource):
    """Many runs of one agent under one cap."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["AgentGroup"] = "AgentGroup"
    spec: AgentGroupSpec
    status: AgentGroupStatus | None = None
