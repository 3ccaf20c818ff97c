"""What only the grader's process holds: tasks with their answers. Nothing here may be imported by the scheduler's side."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from local_backend.environments.hashing import digest
from local_backend.environments.interface import Workbench
from local_backend.environments.trials import Trial
from nodus_tui.contract.phases import Verdict

GRADING_RULES = 1
"""Raised whenever a grader judges some answer differently than before, so that digests tell the two apart."""


class Judgement(Struct, frozen=True):
    """What a grader says. The message is for people and never holds the expected answer or the completion."""

    verdict: Verdict
    reward: float | None
    message: str = ""
    no_reference: bool = False
    """There is no verdict because the task has no reference answer."""


CORRECT = Judgement(Verdict.CORRECT, 1.0)


def incorrect(message: str = "") -> Judgement:
    """Readable and wrong."""
    return Judgement(Verdict.INCORRECT, 0.0, message)


def invalid(message: str) -> Judgement:
    """Nothing there that the grader can read."""
    return Judgement(Verdict.INVALID_OUTPUT, 0.0, message)


def failure(message: str) -> Judgement:
    """The grader could not say: unscored."""
    return Judgement(Verdict.INFRASTRUCTURE_FAILURE, None, message)


def without_reference(message: str) -> Judgement:
    """A mark asked for a reference answer that the task does not have."""
    return Judgement(Verdict.INFRASTRUCTURE_FAILURE, None, message, no_reference=True)


class Expectation(Protocol):
    """One expected answer, ready to judge by."""

    def judge(self, text: str) -> Judgement:
        """Judge an answer."""
        ...

    def stand_in(self, *, right: bool) -> str | None:
        """A text that this grader finds right, or one that it reads and finds wrong; None where none can be made."""
        ...


class SecretTask(Struct, frozen=True):
    """A task with what is needed to grade it."""

    id: str
    prompts: tuple[str, ...]
    metadata: Mapping[str, object]
    secret: object
    """The expected answer as JSON types: what the digest covers."""
    workbench: Workbench | None = None
    """What the agent's sandbox has for it. A folder to build from is covered by the digest through the image's tag alone."""
    trial: Trial | None = None
    """How it is judged in a sandbox; None for a task whose source judges words."""

    def __repr__(self) -> str:
        return f"SecretTask({self.id!r})"

    def fingerprint(self) -> list[object]:
        """What the digest covers of this task."""
        parts: list[object] = [self.id, list(self.prompts), dict(self.metadata), self.secret]
        if self.workbench is not None:
            bench = self.workbench
            parts.append({"files": dict(bench.files), "image": bench.image, "workdir": bench.workdir, "seconds": bench.agent_seconds})
        if self.trial is not None:
            parts.append(self.trial.fingerprint())
        return parts


class SourceError(Exception):
    """Tasks cannot be made. `sentence` is for people; `faults` are (line, sentence) in a task file. Neither holds an answer."""

    def __init__(self, sentence: str, faults: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.faults = tuple(faults)


class TaskSource(Protocol):
    """Where the tasks of one environment come from, and who grades them."""

    def draw(self, split: str, seed: int, count: int) -> list[SecretTask]:
        """The first `count` tasks of a seed. The first N are the same for every count. Raises SourceError."""
        ...

    def identity(self) -> object:
        """What the digest covers of the grader."""
        ...

    def grade(self, task: SecretTask, completion: str) -> Judgement:
        """Judge a completion."""
        ...

    def grade_stand_in(self, task: SecretTask, *, right: bool) -> Judgement:
        """Judge, with the same grader, a right answer or a readable wrong one in place of a simulated model's mark."""
        ...


@runtime_checkable
class DescribedSource(TaskSource, Protocol):
    """A source with an end."""

    def describe(self) -> tuple[dict[str, int], str]:
        """The number of tasks by split, and the digest of all of them and of their grader. Raises SourceError."""
        ...


def judge_stand_in(expectation: Expectation, *, right: bool) -> Judgement:
    """The judgement of an answer that stands in for a simulated model's mark."""
    text = expectation.stand_in(right=right)
    if text is None:
        return without_reference(
            f"no {'right' if right else 'wrong'} answer can be made up for this task, so its simulated reply has no verdict"
        )
    return expectation.judge(text)


def batch_digest(source: TaskSource, tasks: Sequence[SecretTask]) -> str:
    """The digest of some tasks in their order, and of their grader."""
    return digest([source.identity(), GRADING_RULES, [task.fingerprint() for task in tasks]])
