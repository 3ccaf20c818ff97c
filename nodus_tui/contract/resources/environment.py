"""Environment: a versioned task set with its grader. The tasks lie in a file; the answers in it are read by the grader process only."""

import re
import warnings
from datetime import timedelta
from pathlib import PurePath, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.durations import Duration, bounded_duration
from nodus_tui.contract.resources.hardware import Argument, Command
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


def _checked_task_path(path: str) -> str:
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or not parts or not path.isprintable() or path != "/".join(parts):
        raise ValueError(f"{quoted(path)} is no path of a file below the work folder, such as solution.py or src/solution.py")
    return path


Version = Annotated[str, AfterValidator(_checked_version), Field(json_schema_extra={"pattern": _VERSION_PATTERN})]
"""The version of a task set."""

Pattern = Annotated[str, Field(max_length=1000), AfterValidator(_checked_pattern)]
"""A Python regular expression with at most one group."""


TaskPath = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_checked_task_path)]
"""A file below the agent's work folder."""


class GraderBase(ContractModel):
    """What all graders of words share."""

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


class SandboxGraderBase(ContractModel):
    """What the graders share that judge in a fresh sandbox: without network, as root, which judged code cannot become."""

    timeout: Annotated[Duration, bounded_duration(timedelta(seconds=1), timedelta(hours=24))] = timedelta(minutes=1)
    """Of judging one answer; a grader that takes longer has failed, and the answer stays unscored."""
    solution: Literal["files", "completion", "text"] = "files"
    """What is judged: the files that the agent left, the last fenced code block of its last reply, or the whole of that reply."""
    solution_file: TaskPath | None = None
    """Where a completion or a text is put, `solution.py` by default. With `files`: the file without which an answer is InvalidOutput."""
    image: str | None = Field(default=None, min_length=1, max_length=500)
    """The image that it judges in; absent means the task's own, or the base image."""
    cpus: float = Field(default=1, gt=0, le=256)
    memory_gib: float = Field(default=1, gt=0, le=4096, alias="memoryGiB")
    disk_gib: float = Field(default=1, gt=0, le=4096, alias="diskGiB")
    """Space for files, beside `memoryGiB`."""
    processes: int = Field(default=256, ge=16, le=65_536)
    """Processes and threads at once, at most."""


class ProgramGrader(SandboxGraderBase):
    """A program judges: it runs in `/grader` and writes its verdict there."""

    type: Literal["program"]
    command: Command = Field(min_length=1)
    """Runs as root in `/grader`, which judged code cannot read. Let it start judged code as the other user only."""
    files: Argument | None = Field(default=None, min_length=1, max_length=4096)
    """A folder, relative to the spec's own, that is copied to `/grader`."""
    threshold: float = Field(default=1, gt=0, le=1)
    """The reward from which an answer is Correct, where the program writes a reward and no verdict."""


class PytestGrader(SandboxGraderBase):
    """Hidden pytest tests judge: Correct when all of them pass."""

    type: Literal["pytest"]
    reward: Literal["fraction", "all"] = "fraction"
    """The share of tests that pass; or 1 when all do, and else 0."""


WordGrader = ExactGrader | NumericGrader | ChoiceGrader | RegexGrader | JSONGrader
"""Graders that read a completion."""

SandboxGrader = ProgramGrader | PytestGrader
"""Graders that judge in a sandbox of their own."""

Grader = Annotated[
    ExactGrader | NumericGrader | ChoiceGrader | RegexGrader | JSONGrader | ProgramGrader | PytestGrader, Field(discriminator="type")
]


class TaskFields(ContractModel):
    """The names under which a task file has its columns."""

    id: str = "id"
    prompt: str = "prompt"
    """A text, or a list of texts: the user's messages, one after each reply; the last reply is graded."""
    answer: str = "answer"
    metadata: str = "metadata"
    split: str = Field(default="split", validate_default=True)
    """A row without it belongs to `test`."""
    files: str | None = None
    """What the agent finds in its work folder: texts, or `base64:` and bytes, by path. Absent means `files`, unless that name is taken."""
    tests: str | None = None
    """The hidden tests of a pytest grader, by path. Absent means `tests`, unless that name is taken."""
    solution: str | None = None
    """A solution that the grader must find right: texts by path, or one text. Absent means `solution`, unless that name is taken."""

    @field_validator("split")
    @classmethod
    def _different(cls, split: str, info: ValidationInfo) -> str:
        names = [*info.data.values(), split]
        if len(set(names)) != len(names):
            raise _same_name()
        return split

    @field_validator("files", "tests", "solution")
    @classmethod
    def _not_taken(cls, name: str | None, info: ValidationInfo) -> str | None:
        if name is not None and name in info.data.values():
            raise _same_name()
        return name

    def column(self, role: Literal["files", "tests", "solution"]) -> str | None:
        """The column of one of the roles that few files have; None where another role took its name."""
        given: str | None = getattr(self, role)
        taken = {self.id, self.prompt, self.answer, self.metadata, self.split, self.files, self.tests, self.solution}
        return given if given is not None else None if role in taken else role


def _same_name() -> PydanticCustomError:
    return PydanticCustomError("field_names", "two of the fields have the same name: an answer must not be read as anything else")


class EnvironmentSpec(ContractModel):
    """A task file and how its answers are graded; or a folder of task folders, which bring their graders."""

    version: Version
    """Change the file, change the version: one version always gives the same tasks."""
    description: str = ""
    folder: Argument | None = Field(default=None, min_length=1, max_length=4096)
    """In place of `file`: a folder with one folder a task, relative to the spec's own."""
    layout: Literal["harbor", "terminal-bench"] | None = Field(default=None, validate_default=True)
    """How the task folders in `folder` are laid out."""
    exclude: tuple[Argument, ...] = Field(default=(), max_length=10_000)
    """Task folders that are left out, by name."""
    tests_network: bool = False
    """Whether the tests of task folders may reach the network, as many of them expect; what the agent wrote then can as well."""

    @field_validator("exclude", "tests_network")
    @classmethod
    def _of_folder(cls, value: object, info: ValidationInfo) -> object:
        if value and info.data.get("folder") is None and "folder" in info.data:
            raise PydanticCustomError("task_folder", f"{'exclude' if info.field_name == 'exclude' else 'testsNetwork'} is for task folders")
        return value

    file: str | None = Field(default=None, min_length=1, validate_default=True)
    """The task file, relative to the spec's own folder."""
    format: Literal["jsonl", "csv", "yaml"] | None = None
    """Absent means by the file's ending."""
    fields: TaskFields = TaskFields.model_construct()
    grader: Grader | None = Field(default=None, validate_default=True)
    """How the answers of a task file are graded."""

    @field_validator("layout")
    @classmethod
    def _layout_of_folder(cls, layout: str | None, info: ValidationInfo) -> str | None:
        if "folder" in info.data and (layout is None) != (info.data["folder"] is None):
            missing = "layout is missing; it says how the folder's tasks are laid out" if layout is None else "a layout needs a folder"
            raise PydanticCustomError("task_folder", missing)
        return layout

    @field_validator("file")
    @classmethod
    def _one_source(cls, file: str | None, info: ValidationInfo) -> str | None:
        if file is None and info.data.get("folder") is None and "folder" in info.data:
            raise PydanticCustomError("task_source", "file is missing; it names the task file (or else folder, a folder of task folders)")
        if file is not None and info.data.get("folder") is not None:
            raise PydanticCustomError("task_source", "there are file and folder; give one of the two")
        return file

    @field_validator("grader")
    @classmethod
    def _grader_of_file(cls, grader: Grader | None, info: ValidationInfo) -> Grader | None:
        if grader is None and info.data.get("file") is not None:
            raise PydanticCustomError("grader_missing", "grader is missing; it says how the answers of the task file are graded")
        if grader is not None and info.data.get("folder") is not None:
            raise PydanticCustomError("grader_twice", "task folders bring their own graders: leave grader out")
        return grader

    def local_paths(self) -> dict[tuple[str, ...], str]:
        """The paths of the backend's machine in it, by field path below `spec`."""
        found: dict[tuple[str, ...], str | None] = {("file",): self.file, ("folder",): self.folder}
        if isinstance(self.grader, ProgramGrader):
            found["grader", "files"] = self.grader.files
        return {path: value for path, value in found.items() if value is not None}

    def located(self, folder: PurePath) -> "EnvironmentSpec":
        """The same with every relative path starting at a folder."""
        changes: dict[str, object] = {}
        if self.file is not None:
            changes["file"] = str(folder / self.file)
        if self.folder is not None:
            changes["folder"] = str(folder / self.folder)
        if isinstance(self.grader, ProgramGrader) and self.grader.files is not None:
            changes["grader"] = self.grader.model_copy(update={"files": str(folder / self.grader.files)})
        return self.model_copy(update=changes)


class EnvironmentStatus(ContractModel):
    """What the backend knows of an Environment."""

    digest: str
    """sha256 of the whole task set and its grader."""
    tasks: dict[str, int]
    """How many, by split; empty where a split has no end."""
    source: Literal["file", "folder", "catalogue", "reasoning-gym"]
    updated_at: UTCTime | None = None


class Environment(Resource):
    """A versioned task set with its grader."""

    api_version: Literal["nodus.dev/v1"] = "nodus.dev/v1"
    kind: Literal["Environment"] = "Environment"
    spec: EnvironmentSpec
    status: EnvironmentStatus | None = None
