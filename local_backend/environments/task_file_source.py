"""The user's own environment: a task file and one of the graders. The grader's process only."""

import hashlib
import re
from collections.abc import Mapping

from local_backend.environments.expectations import UnreadableAnswerError, expectation, extract
from local_backend.environments.hashing import digest
from local_backend.environments.secret_tasks import (
    GRADING_RULES,
    Expectation,
    Judgement,
    SecretTask,
    SourceError,
    invalid,
    judge_stand_in,
)
from local_backend.environments.task_file import MOST_FAULTS, SPLITS, ParsedRow, file_format, parse
from nodus_tui.contract.resources.environment import EnvironmentSpec


class TaskFileSource:
    """All rows of one file, parsed and checked. Raises SourceError with every fault."""

    def __init__(self, options: Mapping[str, object]) -> None:
        spec = EnvironmentSpec.model_validate(options["spec"])
        self._grader = spec.grader
        self._pattern = re.compile(spec.grader.answer_pattern) if spec.grader.answer_pattern is not None else None
        self._rows = parse(spec.file, file_format(spec.file, spec.format), spec.fields)
        self._expectations: dict[str, Expectation] = {}
        faults: list[tuple[int, str]] = []
        for row in self._rows:
            try:
                self._expectations[row.id] = expectation(self._grader, row.answer)
            except UnreadableAnswerError as fault:
                faults.append((row.line, str(fault)))
                if len(faults) >= MOST_FAULTS:
                    break
        if faults:
            raise SourceError(f"the {self._grader.type} grader cannot read {len(faults)} of the file's answers", faults)

    def identity(self) -> object:
        """The grader as the spec has it."""
        return self._grader.to_document()

    def _counts(self) -> dict[str, int]:
        return {split: sum(row.split == split for row in self._rows) for split in SPLITS}

    def describe(self) -> tuple[dict[str, int], str]:
        """The number of rows by split, and the digest of all of them in order of their ids, and of the grader."""
        rows = sorted(self._rows, key=lambda row: row.id)
        return self._counts(), digest([self.identity(), GRADING_RULES, [[row.split, _task(row).fingerprint()] for row in rows]])

    def draw(self, split: str, seed: int, count: int) -> list[SecretTask]:
        """The split's rows by SHA-256 of seed and id, whatever their order in the file."""
        counts = self._counts()
        if split not in counts:
            raise SourceError("a task file has the splits train and test only")
        if count > counts[split]:
            there = ", ".join(f"{number} in {name}" for name, number in counts.items())
            raise SourceError(f"the split {split} has {counts[split]} tasks and {count} were asked for; the file has {there}")
        ordered = sorted(
            (row for row in self._rows if row.split == split),
            key=lambda row: (hashlib.sha256(f"{seed}/{row.id}".encode()).digest(), row.id),
        )
        return [_task(row) for row in ordered[:count]]

    def grade(self, task: SecretTask, completion: str) -> Judgement:
        """By the part of the completion that the pattern finds, or by all of it."""
        answer = extract(self._pattern, completion)
        if answer is None:
            return invalid("the answer has nothing that the grader's answerPattern finds")
        return self._expectations[task.id].judge(answer)

    def grade_stand_in(self, task: SecretTask, *, right: bool) -> Judgement:
        """A right or a wrong answer, as if the pattern had found it."""
        return judge_stand_in(self._expectations[task.id], right=right)


def _task(row: ParsedRow) -> SecretTask:
    return SecretTask(id=row.id, prompts=row.prompts, metadata=row.metadata, secret=row.answer)
