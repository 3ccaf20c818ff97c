"""The user's own environment: a task file and one of the graders. The grader's process only."""

import hashlib
import re
from collections.abc import Callable, Mapping

from local_backend.environments.expectations import UnreadableAnswerError, expectation, extract
from local_backend.environments.hashing import digest
from local_backend.environments.interface import Workbench
from local_backend.environments.sandbox_trials import decoded, needs_of, trial_maker
from local_backend.environments.secret_tasks import (
    GRADING_RULES,
    Expectation,
    Judgement,
    SecretTask,
    SourceError,
    failure,
    invalid,
    judge_stand_in,
)
from local_backend.environments.task_contents import ContentError, check_size
from local_backend.environments.task_file import MOST_FAULTS, SPLITS, ParsedRow, file_format, parse
from local_backend.environments.trials import Trial
from nodus_tui.contract.resources.environment import EnvironmentSpec, Grader, ProgramGrader, PytestGrader, WordGrader


class TaskFileSource:
    """All rows of one file, parsed and checked. Raises SourceError with every fault."""

    def __init__(self, options: Mapping[str, object]) -> None:
        spec = EnvironmentSpec.model_validate(options["spec"])
        if spec.file is None or spec.grader is None:
            raise SourceError("the environment names no task file")
        self._grader = grader = spec.grader
        self._pattern: re.Pattern[str] | None = None
        self._expectations: dict[str, Expectation] = {}
        self._trials: dict[str, Trial] = {}
        form = file_format(spec.file, spec.format)
        if isinstance(grader, ProgramGrader | PytestGrader):
            make_trial = trial_maker(grader)
            self._rows = parse(spec.file, form, spec.fields, needs_of(grader))
            self._check(lambda row: self._trials.__setitem__(row.id, make_trial(row)), "use {} of the file's tasks")
        else:
            self._pattern = re.compile(grader.answer_pattern) if grader.answer_pattern is not None else None
            self._rows = parse(spec.file, form, spec.fields)
            self._check(lambda row: self._expectations.__setitem__(row.id, _expected(grader, row)), "read {} of the file's answers")

    def _check(self, make: Callable[[ParsedRow], None], what: str) -> None:
        faults: list[tuple[int, str]] = []
        for row in self._rows:
            try:
                make(row)
            except (UnreadableAnswerError, ContentError) as fault:
                faults.append((row.line, str(fault)))
                if len(faults) >= MOST_FAULTS:
                    break
        if faults:
            raise SourceError(f"the {self._grader.type} grader cannot {what.format(len(faults))}", faults)

    def identity(self) -> object:
        """The grader as the spec has it; the files of its folder are part of each task, wherever the folder lies."""
        return without_folder(self._grader).to_document()

    def _counts(self) -> dict[str, int]:
        return {split: sum(row.split == split for row in self._rows) for split in SPLITS}

    def describe(self) -> tuple[dict[str, int], str]:
        """The number of rows by split, and the digest of all of them in order of their ids, and of the grader."""
        rows = sorted(self._rows, key=lambda row: row.id)
        return self._counts(), digest([self.identity(), GRADING_RULES, [[row.split, self._task(row).fingerprint()] for row in rows]])

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
        return [self._task(row) for row in ordered[:count]]

    def grade(self, task: SecretTask, completion: str) -> Judgement:
        """By the part of the completion that the pattern finds, or by all of it."""
        if task.id not in self._expectations:
            return failure(_ELSEWHERE)
        answer = extract(self._pattern, completion)
        if answer is None:
            return invalid("the answer has nothing that the grader's answerPattern finds")
        return self._expectations[task.id].judge(answer)

    def grade_stand_in(self, task: SecretTask, *, right: bool) -> Judgement:
        """A right or a wrong answer, as if the pattern had found it."""
        if task.id not in self._expectations:
            return failure(_ELSEWHERE)
        return judge_stand_in(self._expectations[task.id], right=right)

    def _task(self, row: ParsedRow) -> SecretTask:
        trial = self._trials.get(row.id)
        bench = Workbench(files=row.files) if row.files or (trial is not None and trial.solution == "files") else None
        return SecretTask(id=row.id, prompts=row.prompts, metadata=row.metadata, secret=row.answer, workbench=bench, trial=trial)


_ELSEWHERE = "the answers of this grader are judged in a sandbox"


def _expected(grader: WordGrader, row: ParsedRow) -> Expectation:
    check_size(decoded(row.files))
    return expectation(grader, row.answer)


def without_folder(grader: Grader) -> Grader:
    """The grader without the place of its files."""
    return grader.model_copy(update={"files": None}) if isinstance(grader, ProgramGrader) else grader
