"""Environment: a versioned task set with its grader. The tasks lie in a file; the answers in it are read by the grader process only."""

import re
import warnings
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.wording import quoted

_VERSION_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9.+-]{0,63}$"
_VERSION = re.compile(_VERSION_PATTERN)


def _checked_version(version: str) -> str:
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{quoted(version)} is no version: 1 to 64 letters, digits, dots, plus signs and hyphens, such as 1.0.0")
    return version


def _checked_pattern(pattern: str) -> str:
    try:
        with warnings.catch_warnings():
            # A set that a later Python may read differently is still a valid pattern here.
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{quoted(pattern)} is no regular expression: {error}") from None
    if compiled.groups > 1:
        raise ValueError(f"{quoted(pattern)} has {compiled.groups} groups; at most one says which part counts")
    return pattern


Version = Annotated[str, AfterValidator(_checked_version), Field(json_schema_extra={"pattern": _VERSION_PATTERN})]
"""The version of a task set."""

Pattern = Annotated[str, Field(max_length=1000), AfterValidator(_checked_pattern)]
"""A Python regular expression with at most one group."""


class GraderBase(ContractModel):
    """What all graders share."""

    answer_pattern: Pattern | None = None
    """Finds the answer in a completion (its last match; the group, or the whole match). Nothing found is InvalidOutput."""


class ExactGrader(GraderBase):
    """The answer equals the expected text after trimming white space."""

    type: Literal["exact"]
    ignore_case: bool = False


class NumericGrader(GraderBase):
    """The last number of the answer lies within a tolerance of the expected one."""

    type: Literal["numeric"]
    tolerance: float = Field(default=0, ge=0, allow_inf_nan=False)
    relative_tolerance: float = Field(default=0, ge=0, allow_inf_nan=False)


def _checked_choices(choices: tuple[str, ...]) -> tuple[str, ...]:
    names = [choice.strip().casefold() for choice in choices]
    if not all(names):
        raise ValueError("a choice is empty")
    if len(set(names)) != len(names):
        raise ValueError("two choices are the same, letter case aside")
    return choices


Choices = Annotated[tuple[str, ...], AfterValidator(_checked_choices), Field(min_length=2, max_length=64)]


class ChoiceGrader(GraderBase):
    """The answer names one of the choices."""

    type: Literal["choice"]
    choices: Choices = ("A", "B", "C", "D")


class RegexGrader(GraderBase):
    """The whole answer, white space around it aside, matches the expected text, which is a regular expression."""

    type: Literal["regex"]
    ignore_case: bool = False


class JSONGrader(GraderBase):
    """The answer is JSON and equals the expected JSON."""

    type: Literal["json"]
    tolerance: float = Field(default=0, ge=0, allow_inf_nan=False)
    """For numbers in it."""


Grader = Annotated[ExactGrader | NumericGrader | ChoiceGrader | RegexGrader | JSONGrader, Field(discriminator="type")]


class TaskFields(ContractModel):
    """The names under which a task file has its columns."""

    id: str = "id"
    prompt: str = "prompt"
    """A text, or a list of texts: the user's messages, one after each reply; the last reply is graded."""
    answer: str = "answer"
    metadata: str = "metadata"
    split: str = Field(default="split", validate_default=True)
    """A row without it belongs to `test`."""

    @field_validator("split")
    @classmethod
    def _all_different(cls, split: str, info: ValidationInfo) -> str:
        names = [*info.data.values(), split]
        if len(set(names)) != len(names):
            raise PydanticCustomError("field_names", "two of the fields have the same name: an answer must not be read as anything else")
        return split


class EnvironmentSpec(ContractModel):
    """A task file and how its answers are graded."""

    version: Version
    """Change the file, change the version: one version always gives the same tasks."""
    description: str = ""
    file: str = Field(min_length=1)
    """Relative to the spec's own folder."""
    format: Literal["jsonl", "csv", "yaml"] | None = None
    """Absent means by the file's ending."""
    fields: TaskFields = TaskFields.model_construct()
    grader: Grader


class EnvironmentStatus(ContractModel):
    """What the backend knows of an Environment."""

    digest: str
    """sha256 of the whole task set and its grader."""
    tasks: dict[str, int]
    """How many, by split; empty where a split has no end."""
    source: Literal["file", "catalogue", "reasoning-gym"]
    updated_at: UTCTime | None = None


class Environment(Resource):
    """A versioned task set with its grader."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["Environment"] = "Environment"
    spec: EnvironmentSpec
    status: EnvironmentStatus | None = None
