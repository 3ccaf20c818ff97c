"""Tasks and grades of one reasoning-gym dataset, through the package itself. The grader's process only.

Importing the package imports every dataset (seconds); so its package modules are replaced by empty ones and only the module of the
one dataset is loaded. Two datasets draw from the process's global random numbers: those are seeded before every task.
"""

import ast
import importlib
import importlib.util
import math
import random
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from local_backend.environments.reasoning_gym_names import (
    EXPRESSION_ANSWERS,
    INSTALL_HINT,
    LITERAL_ANSWERS,
    MODULES,
    PREFIX,
    SIZE,
    VERSION,
)
from local_backend.environments.secret_tasks import (
    CORRECT,
    Judgement,
    SecretTask,
    SourceError,
    failure,
    invalid,
    without_reference,
)
from nodus_tui.contract.phases import Verdict

_PACKAGE = "reasoning_gym"
_INSTRUCTION = "Give your final answer between <answer> and </answer>."
_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_SEEDS_APART = 2**32
"""The package makes task i of a seed from seed + i: seeds this far apart share no task."""

# Possessive, for a failing match must not try every way to cut a long number in two.
_EXPRESSION = re.compile(
    r"(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++|[-+*/^(),\s]"
    r"|(?:a?(?:sin|cos|tan|sec|csc|cot)h?|arc(?:sin|cos|tan)|exp|log|ln|sqrt|[Aa]bs|pi|[A-Za-z])(?![A-Za-z_]))*+"
)
_LONGEST_EXPRESSION = 2000


def split_seed(split: str, seed: int) -> int:
    """The package's seed for a split and a seed of ours: no two pairs share a task's own seed.

    Never below 2³²: Python seeds its generator from 32-bit words so that one word and two can mean the same (2 and 2³² + 2 do).
    """
    return (2 * seed + (split == "test") + 1) * _SEEDS_APART


def _stub(name: str, folder: Path) -> None:
    module = ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module


def load_dataset_factory(dataset: str) -> Any:
    """The package's factory, which then knows this dataset. Raises SourceError when the package is not installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise SourceError(f"reasoning-gym is not installed: {INSTALL_HINT}")
    folder = Path(next(iter(spec.submodule_search_locations)))
    path = MODULES[dataset]
    if _PACKAGE not in sys.modules:
        _stub(_PACKAGE, folder)
        name = _PACKAGE
        for part in path.split(".")[:-1]:
            folder /= part
            name = f"{name}.{part}"
            _stub(name, folder)
    # First, for it and the factory import each other.
    importlib.import_module(f"{_PACKAGE}.coaching")
    module = importlib.import_module(f"{_PACKAGE}.{path}")
    if dataset in LITERAL_ANSWERS:
        # A name in the module hides the builtin of the same name.
        module.__dict__["eval"] = ast.literal_eval
    return importlib.import_module(f"{_PACKAGE}.factory")


class ReasoningGymSource:
    """One dataset with its default settings."""

    def __init__(self, dataset: str) -> None:
        if dataset not in MODULES:
            raise SourceError(f"reasoning-gym {VERSION} has no such dataset")
        self._dataset = dataset
        self._factory = load_dataset_factory(dataset)
        self._grader: Any = None
        self._entries: dict[str, Mapping[str, Any]] = {}

    def identity(self) -> object:
        """The package's version and the dataset."""
        return [f"{PREFIX}{self._dataset}@{VERSION}", _INSTRUCTION]

    def draw(self, split: str, seed: int, count: int) -> list[SecretTask]:
        """Tasks 0, 1, 2, … of the package's dataset for this split and seed."""
        if count > SIZE:
            raise SourceError(f"a reasoning-gym dataset has {SIZE} tasks for a seed; {count} were asked for")
        start = split_seed(split, seed)
        random.seed(start)
        self._grader = self._factory.create_dataset(self._dataset, seed=start, size=SIZE)
        self._entries = {}
        tasks = []
        for index in range(count):
            random.seed(start + index)
            entry = self._grader[index]
            task = SecretTask(
                # Split and seed are in the name, so that two batches' tasks are never taken for one another.
                id=f"{self._dataset}-{split}-{seed}-{index:03d}",
                prompts=(f"{entry['question']}\n\n{_INSTRUCTION}",),
                # The entry's own metadata often spells the answer out.
                metadata={"dataset": self._dataset, "category": MODULES[self._dataset].partition(".")[0]},
                secret=entry["answer"],
            )
            self._entries[task.id] = entry
            tasks.append(task)
        return tasks

    def grade(self, task: SecretTask, completion: str) -> Judgement:
        """The package's own score: Correct at 1, else Incorrect with the score as its reward."""
        tagged = _TAGGED.findall(completion)
        answer = (tagged[-1] if tagged else completion).strip()
        if not answer:
            return invalid("the answer is empty")
        # Some references hold an `Integral` that stayed unsolved; in a completion that would be the question given back as its answer.
        if self._dataset in EXPRESSION_ANSWERS and not (len(answer) <= _LONGEST_EXPRESSION and _EXPRESSION.fullmatch(answer)):
            return invalid("the answer is not a plain mathematical expression")
        return self._scored(task, answer)

    def grade_stand_in(self, task: SecretTask, *, right: bool) -> Judgement:
        """The reference answer, or a text that is none."""
        if not right:
            return self._scored(task, "0 0 0 not the answer")
        if not isinstance(task.secret, str):
            return without_reference("this dataset has no reference answers, so a simulated right reply has no verdict")
        return self._scored(task, task.secret)

    def _scored(self, task: SecretTask, answer: str) -> Judgement:
        random.seed(task.id)
        score = float(self._grader.score_answer(answer, self._entries[task.id]))
        if not math.isfinite(score):
            return failure("the dataset's grader gave a score that is no number")
        if score >= 1:
            return CORRECT
        return Judgement(Verdict.INCORRECT, max(score, 0.0), "the dataset's grader did not give full marks")
