"""For grader programs: run and question judged code as the other user, so that it can neither read the answers nor touch the verdict.

Copied to `/grader` of every grading sandbox. It runs as root there; uid 1000 is the judged code's. Its parts:

- `run(argv, …)` runs a program of the solution, with limits, and afterwards kills everything that it left.
- `read(path)`, `write(path, data)` touch the work folder as the judged user, so that links lead nowhere else.
- `load(path)` loads a Python file in a process of its own and gives a proxy of its functions.
- `verdict(…)` writes the verdict.

What judged code does wrong is a SolutionError. A GradingError means that the grader failed: let it end the program, and no verdict counts.
"""

from __future__ import annotations

import json
import os

from .files import read, write
from .processes import WORK, GradingError, SolutionError, SolutionTimeoutError, kill_all
from .programs import Finished, run
from .solution import Remote, Solution, load

__all__ = [
    "GRADER",
    "WORK",
    "Finished",
    "GradingError",
    "Remote",
    "Solution",
    "SolutionError",
    "SolutionTimeoutError",
    "answer",
    "completion",
    "kill_all",
    "load",
    "read",
    "run",
    "verdict",
    "write",
]

GRADER = os.environ.get("NODUS_GRADER", "/grader")
"""The grader's folder."""


def verdict(correct: bool | str, reward: float | None = None, message: str = "") -> None:  # noqa: FBT001  # `verdict(got == expected)` reads well.
    """Write the verdict: true for Correct, false for Incorrect, or a verdict's name. The last one written counts."""
    name = correct if isinstance(correct, str) else "Correct" if correct else "Incorrect"
    if reward is None:
        reward = 1.0 if name == "Correct" else 0.0
    partial = os.path.join(GRADER, "verdict.json.part")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump({"verdict": name, "reward": reward, "message": message}, file)
    os.replace(partial, os.path.join(GRADER, "verdict.json"))


def answer() -> object:
    """The task's expected answer."""
    with open(os.path.join(GRADER, "answer.json"), encoding="utf-8") as file:
        return json.load(file)


def completion() -> str:
    """The agent's last reply."""
    with open(os.path.join(GRADER, "completion.txt"), encoding="utf-8") as file:
        return file.read()
