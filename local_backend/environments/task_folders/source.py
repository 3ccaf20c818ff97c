"""The tasks of a folder of task folders. The grader's process only."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from local_backend.environments.hashing import digest
from local_backend.environments.secret_tasks import GRADING_RULES, Judgement, SecretTask, SourceError, failure
from local_backend.environments.task_folders import harbor, terminal_bench
from local_backend.environments.task_folders.folder_task import FolderTask, secret_task
from local_backend.environments.task_folders.trees import FolderFaultError
from nodus_tui.contract.resources.environment import EnvironmentSpec

SPLITS = ("train", "test")
MOST_FAULTS = 50
_MOST_TASKS = 10_000
_LONGEST_ID = 200
_ELSEWHERE = "the answers to task folders are judged in a sandbox"
_LAYOUTS = {
    "harbor": (harbor.MARK, harbor.read_harbor),
    "terminal-bench": (terminal_bench.MARK, terminal_bench.read_terminal_bench),
}


class TaskFolderSource:
    """Every task of a folder, read and checked. Raises SourceError with every fault."""

    def __init__(self, options: Mapping[str, object]) -> None:
        spec = EnvironmentSpec.model_validate(options["spec"])
        if spec.folder is None or spec.layout is None:
            raise SourceError("the environment names no folder of task folders")
        self._spec = spec
        self._mark, self._read = _LAYOUTS[spec.layout]
        self._tasks: list[tuple[str, SecretTask]] = []
        faults: list[tuple[int, str]] = []
        for folder in self._folders(Path(spec.folder)):
            try:
                task = self._checked(folder)
                self._tasks.append((task.split, secret_task(task, network=spec.tests_network)))
            except FolderFaultError as fault:
                faults += [(0, f"{folder.name}: {line}") for line in str(fault).split("\n")]
            except OSError as error:
                faults.append((0, f"{folder.name}: cannot be read: {error.strerror}"))
        if faults:
            more = f"; the first {MOST_FAULTS} follow" if len(faults) > MOST_FAULTS else ""
            count = f"{len(faults)} fault{'s' if len(faults) > 1 else ''}"
            raise SourceError(
                f"the task folders have {count}{more}; a task that cannot be used may be left out under spec.exclude", faults[:MOST_FAULTS]
            )

    def _folders(self, root: Path) -> list[Path]:
        """The task folders below the root, or the root itself where it is one."""
        if not root.is_dir():
            raise SourceError("the folder of task folders does not exist, or is no folder")
        try:
            found = [root] if (root / self._mark).is_file() else sorted(each for each in root.iterdir() if (each / self._mark).is_file())
        except OSError as error:
            raise SourceError(f"the folder of task folders cannot be read: {error.strerror}") from None
        unknown = sorted(set(self._spec.exclude) - {each.name for each in found})
        if unknown:
            raise SourceError(f"spec.exclude names {', '.join(unknown[:5])}, and no task folder is called so")
        kept = [each for each in found if each.name not in set(self._spec.exclude)]
        if not kept:
            raise SourceError(f"the folder has no task folders: in this layout each holds a {self._mark}")
        if len(kept) > _MOST_TASKS:
            raise SourceError(f"the folder has more than {_MOST_TASKS:,} task folders")
        return kept

    def _checked(self, folder: Path) -> FolderTask:
        if len(folder.name) > _LONGEST_ID or not folder.name.isprintable():
            raise FolderFaultError(f"its name is longer than {_LONGEST_ID} letters, or has control characters")
        return self._read(folder)

    def identity(self) -> object:
        """The layout; tests and images are part of each task, wherever the folder lies."""
        return ["task folders", self._spec.layout]

    def _counts(self) -> dict[str, int]:
        return {split: sum(each == split for each, _ in self._tasks) for split in SPLITS}

    def describe(self) -> tuple[dict[str, int], str]:
        """The number of tasks by split, and the digest of all of them."""
        ordered = sorted(self._tasks, key=lambda each: each[1].id)
        return self._counts(), digest([self.identity(), GRADING_RULES, [[split, task.fingerprint()] for split, task in ordered]])

    def draw(self, split: str, seed: int, count: int) -> list[SecretTask]:
        """The split's tasks by SHA-256 of seed and id."""
        counts = self._counts()
        if split not in counts:
            raise SourceError("task folders have the splits train and test only")
        if count > counts[split]:
            raise SourceError(f"the split {split} has {counts[split]} tasks and {count} were asked for")
        there = [task for each, task in self._tasks if each == split]
        there.sort(key=lambda task: (hashlib.sha256(f"{seed}/{task.id}".encode()).digest(), task.id))
        return there[:count]

    def grade(self, task: SecretTask, completion: str) -> Judgement:
        """No words are judged here."""
        del task, completion
        return failure(_ELSEWHERE)

    def grade_stand_in(self, task: SecretTask, *, right: bool) -> Judgement:
        """No words are judged here."""
        del task, right
        return failure(_ELSEWHERE)
