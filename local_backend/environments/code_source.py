"""nodus/code-v1: small functions and programs to write and modules to repair, judged by hidden tests. The grader's process only."""

import hashlib

from local_backend.environments.code.task_data import SOLUTION_FILE, TESTS_FILE, CodeTask, all_tasks, full_prompt, split_of
from local_backend.environments.hashing import digest
from local_backend.environments.interface import Workbench
from local_backend.environments.names import CODE_NAME, CODE_VERSION
from local_backend.environments.secret_tasks import GRADING_RULES, Judgement, SecretTask, SourceError, failure
from local_backend.environments.trials import Reference, TaskFile, Trial, TrialLimits

SPLITS = ("train", "test")

_LIMITS = TrialLimits(seconds=60, cpus=1, memory_bytes=512 * 2**20, disk_bytes=64 * 2**20, pids=64)
_ELSEWHERE = "the answers of this environment are judged in a sandbox"


class CodeSource:
    """The tasks of the package."""

    def __init__(self) -> None:
        self._tasks = all_tasks()

    def identity(self) -> object:
        """Name and version; the tests are part of each task."""
        return [f"{CODE_NAME}@{CODE_VERSION}"]

    def describe(self) -> tuple[dict[str, int], str]:
        """The number of tasks by split, and the digest of all of them."""
        counts = {split: sum(split_of(task.id) == split for task in self._tasks) for split in SPLITS}
        return counts, digest([self.identity(), GRADING_RULES, [secret_task(task).fingerprint() for task in self._tasks]])

    def draw(self, split: str, seed: int, count: int) -> list[SecretTask]:
        """The split's tasks by SHA-256 of seed and name."""
        if split not in SPLITS:
            raise SourceError(f"{CODE_NAME} has the splits train and test only")
        there = [task for task in self._tasks if split_of(task.id) == split]
        if count > len(there):
            raise SourceError(f"the split {split} has {len(there)} tasks and {count} were asked for")
        there.sort(key=lambda task: (hashlib.sha256(f"{seed}/{task.id}".encode()).digest(), task.id))
        return [secret_task(task) for task in there[:count]]

    def grade(self, task: SecretTask, completion: str) -> Judgement:
        """No words are judged here."""
        del task, completion
        return failure(_ELSEWHERE)

    def grade_stand_in(self, task: SecretTask, *, right: bool) -> Judgement:
        """No words are judged here."""
        del task, right
        return failure(_ELSEWHERE)


def secret_task(task: CodeTask) -> SecretTask:
    """The task with its hidden tests."""
    reference = {name: TaskFile.of(content.encode()) for name, content in task.reference.items()}
    return SecretTask(
        id=task.id,
        prompts=(full_prompt(task),),
        metadata={"family": task.family, "difficulty": task.difficulty, "kind": task.kind},
        secret=None,
        workbench=Workbench(files=dict(task.files)),
        trial=Trial(
            kind="pytest",
            grader_files={TESTS_FILE: TaskFile.of(task.tests.encode())},
            solution="either",
            solution_file=SOLUTION_FILE,
            limits=_LIMITS,
            reference=Reference(files=reference),
        ),
    )
