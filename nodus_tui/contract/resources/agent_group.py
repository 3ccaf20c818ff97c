"""AgentGroup: many runs of one agent at once under `maxActive` and one `maxCostUSD`; with `evaluation` it scores an Environment."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.durations import Duration, bounded_duration
from nodus_tui.contract.money import USD, PositiveUSD
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.meta import Name, Resource

MAX_CASES = 100
"""tasks × repetitions of one evaluation batch, at most. More is a Sweep with shards."""

_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?@[A-Za-z0-9][A-Za-z0-9.+-]*")


def _checked_reference(reference: str) -> str:
    if not _REFERENCE.fullmatch(reference):
        raise ValueError(f"{reference!r} is not name@version, such as nodus/arithmetic-v2@2.0.0")
    return reference


EnvironmentReference = Annotated[str, AfterValidator(_checked_reference)]
"""An Environment at an explicit version: `name@version`."""


class Evaluation(ContractModel):
    """The batch that the group scores. Creating the group generates it, runs it and grades it; there is no submit step."""

    environment: EnvironmentReference
    split: Literal["train", "test"] = "test"
    """`test` is held out."""
    tasks: int = Field(ge=1, le=MAX_CASES)
    repetitions: int = Field(default=1, ge=1, le=MAX_CASES)
    """Answers for each task."""
    seed: int = Field(default=0, ge=0, le=2_147_483_647)
    """With the name and the version it fixes the tasks and their order."""
    timeout: Annotated[Duration, bounded_duration(timedelta(minutes=1), timedelta(hours=24))] = timedelta(minutes=30)
    """From creation; it counts preparation, queueing and waiting for funds."""

    @model_validator(mode="after")
    def _within_one_batch(self) -> Self:
        if self.tasks * self.repetitions > MAX_CASES:
            raise PydanticCustomError(
                "batch_too_large",
                "tasks × repetitions is {cases}; one batch holds at most {limit} cases (more is a Sweep with shards)",
                {"cases": self.tasks * self.repetitions, "limit": MAX_CASES},
            )
        return self

    @property
    def cases(self) -> int:
        """tasks × repetitions."""
        return self.tasks * self.repetitions


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
    inputs: tuple[GroupInput, ...] = Field(default=(), max_length=1000)
    """Without evaluation: the prompts, whose answers the caller grades."""

    @model_validator(mode="after")
    def _evaluation_or_inputs(self) -> Self:
        if (self.evaluation is None) == (not self.inputs):
            raise PydanticCustomError("evaluation_or_inputs", "a group has either evaluation or inputs, exactly one of the two")
        if len({each.id for each in self.inputs}) != len(self.inputs):
            raise PydanticCustomError("input_ids", "two inputs have the same id")
        return self

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
    """Of the tasks and the grader; empty until the tasks are made."""
    model_family: str = ""
    model_name: str = ""
    price_source: str = ""
    simulated: bool = False
    notional_price: bool = False
    """The price is made up for a demonstration: nobody pays it."""
    money: GroupMoney
    coverage: Coverage
    pending: int
    """Cases that have not ended."""
    going: int
    """Runs that hold a slot."""
    verdicts: dict[str, int] = Field(default_factory=dict)
    """Cases by verdict, or by the reason for which they are unscored."""
    pass_rate: float | None = None
    """Correct ÷ (Correct + Incorrect + InvalidOutput), each task's answers averaged first; null while nothing is scored."""
    standard_error: float | None = None
    ci95: tuple[float, float] | None = None
    mean_reward: float | None = None


class AgentGroup(Resource):
    """Many runs of one agent under one cap."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["AgentGroup"] = "AgentGroup"
    spec: AgentGroupSpec
    status: AgentGroupStatus | None = None
