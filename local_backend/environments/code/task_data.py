"""One task of the code environment as its YAML file has it, checked. The grader's process only.

A file has `family`, `difficulty`, `kind`, `prompt`, `reference` (files by name) and `tests` (pytest); a repair has `files`, those that the
agent finds. `shallow` holds a plausible wrong solution that the tests must fail: it is for the tests of the tasks, and judges nothing.
"""

import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

SOLUTION_FILE = "solution.py"
TESTS_FILE = "test_solution.py"

_SPLIT_KEY = "nodus/code-v1/split-34"
"""With the first number that puts equally many tasks, and some of each family, into both splits."""

_Text = Annotated[str, Field(min_length=1)]
_Files = Mapping[_Text, _Text]


class CodeTask(BaseModel):
    """A task with everything that belongs to it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: _Text
    family: Literal["strings", "parsing", "dates", "intervals", "graphs", "structures", "numeric", "formats", "machines", "programs"]
    difficulty: Literal["easy", "medium", "hard"]
    kind: Literal["function", "repair", "program"]
    """A function to write, broken files to repair, or a program that reads its standard input or files."""
    prompt: _Text
    files: _Files = {}
    reference: _Files = Field(repr=False)
    tests: _Text = Field(repr=False)
    shallow: _Files = Field(repr=False)

    @model_validator(mode="after")
    def _repairs_have_files(self) -> "CodeTask":
        if (self.kind == "repair") != bool(self.files) or SOLUTION_FILE not in self.reference:
            raise ValueError("a repair has files, other tasks have none, and every task has a reference")
        return self


def split_of(task_id: str) -> str:
    """The split that a task belongs to for ever, by a hash of its name."""
    return ("train", "test")[hashlib.sha256(f"{_SPLIT_KEY}:{task_id}".encode()).digest()[0] & 1]


def all_tasks() -> list[CodeTask]:
    """Every task, in the order of their names."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    folder = resources.files("local_backend.environments.code") / "tasks"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name)
    return [
        CodeTask(id=file.name.removesuffix(".yaml"), **yaml.load(file.read_text("utf-8"), Loader=loader))  # noqa: S506  # Safe loaders both.
        for file in files
    ]


def full_prompt(task: CodeTask) -> str:
    """What an agent is told: the task, where the answer goes, and the files as they are."""
    parts = [task.prompt.strip()]
    if task.files:
        for name, content in task.files.items():
            fence = "```" if "```" not in content else "`````"
            parts.append(f"`{name}` in your work folder:\n\n{fence}python\n{content.rstrip()}\n{fence}")
        parts.append(
            "Change the files in place. Without tools, end your answer with one fenced code block that holds the whole of "
            f"`{SOLUTION_FILE}`."
        )
    else:
        parts.append(
            f"Put it into the file `{SOLUTION_FILE}` in your work folder. Without tools, end your answer with one fenced code block that "
            "holds the whole file."
        )
    parts.append("It runs on Python 3.11 or later with the standard library alone.")
    return "\n\n".join(parts)
