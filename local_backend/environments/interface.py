"""What the rest of the backend may know of environments: tasks without answers, and grades without answers."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nodus_tui.contract.phases import Verdict

if TYPE_CHECKING:
    from pydantic import JsonValue


class TaskCard(Struct, frozen=True):
    """One task as an agent may see it."""

    id: str
    """Unique in its environment and split."""
    prompts: tuple[str, ...]
    """The user's messages: the first starts the conversation, each other one follows a reply; the last reply is graded."""
    metadata: "Mapping[str, JsonValue]" = field(default_factory=dict)
    workbench: "Workbench | None" = None
    """What its sandbox has; None for a task that is only answered in words."""


class Workbench(Struct, frozen=True):
    """What a task puts into the agent's sandbox. Nothing in it is secret."""

    files: "Mapping[str, str]" = field(default_factory=dict)
    """By path relative to the work folder: the text of a file, or `base64:` and its bytes. Placed before the first turn."""
    image: str | None = None
    """The image that the task needs; None means the agent's own choice, or the base image."""
    build: str | None = None
    """A folder with a Dockerfile (an absolute path on the scheduler's machine) from which that image is built; `image` is its tag then."""
    workdir: str = "/task"
    agent_seconds: float | None = None
    """How long the agent may work, where the task says so."""


class TaskBatch(Struct, frozen=True):
    """The tasks of one evaluation, in their fixed order."""

    tasks: tuple[TaskCard, ...]
    digest: str
    """`sha256:…` over these tasks and their grader."""


Began = Callable[[float], None]
"""Told when a grading sandbox is about to be made, and that it ends by itself after so many seconds."""


class Grade(Struct, frozen=True):
    """What the grader says of one answer."""

    verdict: Verdict
    reward: float | None
    """0 to 1; None with an infrastructure failure."""
    message: str = ""
    """For people; never holds the expected answer."""
    sandbox_seconds: float | None = 0
    """How long grading sandboxes ran for it; None where whoever ran them broke and cannot tell."""
    image: str = ""
    """What they ran, with its digest."""
    no_reference: bool = False
    """It could not be graded because the task has no reference answer, which a simulated model's mark or a gold check asked for."""


class ResolvedEnvironment(Struct, frozen=True):
    """An environment that exists: enough for a worker process to load it. Holds no task and no answer."""

    name: str
    version: str
    source: str
    """`catalogue`, `reasoning-gym`, `file` or `folder`."""
    options: "Mapping[str, JsonValue]"
    """JSON for the worker: paths, fields, grader."""

    @property
    def in_sandbox(self) -> bool:
        """Whether its answers are graded in sandboxes."""
        if self.source == "folder" or self.options.get("gradedInSandbox") is True:
            return True
        spec = self.options.get("spec")
        grader = spec.get("grader") if isinstance(spec, dict) else None
        return isinstance(grader, dict) and grader.get("type") in {"program", "pytest"}
