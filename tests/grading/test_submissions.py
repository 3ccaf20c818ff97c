"""What of an answer is judged, and what stands in for it in simulated runs and gold checks."""

from pathlib import Path
from typing import Any

import pytest

from local_backend.environments.interface import Workbench
from local_backend.environments.secret_tasks import Judgement, SecretTask
from local_backend.environments.trials import Reference, TaskFile, Trial
from local_backend.grading.submissions import Submission, code_block, submission
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER, UNREADABLE_REPLY, WRONG_PLACEHOLDER

ARCHIVE = Path("/nowhere/run.tar")


def made(trial: Trial, completion: str = "", files: Path | None = None, **how: Any) -> Submission | Judgement:
    task = SecretTask("t", ("p",), {}, None, Workbench(files={"solution.py": "broken", "data.txt": "1"}), trial)
    return submission(task, trial, completion, files, **{"use": "answer", "simulated": False, **how})


def content(found: Submission | Judgement) -> dict[str, bytes]:
    assert isinstance(found, Submission)
    return {path: file.content for path, file in found.placed.items()}


FILES = Trial("pytest", reference=Reference(files={"solution.py": TaskFile(b"fixed")}))
COMPLETION = Trial("program", ("true",), solution="completion", solution_file="main.py", reference=Reference(text="fixed"))
TEXT = Trial("program", ("true",), solution="text", solution_file="reply.txt")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nx = 1\n```", "x = 1\n"),
        ("first\n```\na\n```\nthen\n```py\nb\n```\nend", "b\n"),
        ("```\na\n```\n```python\nnever closed", "a\n"),
        ("~~~\na\n~~~", "a\n"),
        ("````\n```\ninner\n```\n````", "```\ninner\n```\n"),
        ("```\r\na\r\n```\r\n", "a\n"),
        ("```\n```", ""),
        ("no block", None),
        ("`inline`", None),
        ("```python never closed", None),
        ("", None),
    ],
)
def test_the_last_closed_code_block_counts(text: str, code: str | None) -> None:
    assert code_block(text) == code


def test_an_agents_files_are_judged_as_they_are() -> None:
    found = made(FILES, "done", ARCHIVE)
    assert isinstance(found, Submission)
    assert (found.files, found.completion, found.placed) == (ARCHIVE, "done", {})


def test_a_completion_is_put_beside_the_tasks_files() -> None:
    assert content(made(COMPLETION, "```\nmine\n```")) == {"solution.py": b"broken", "data.txt": b"1", "main.py": b"mine\n"}
    assert content(made(TEXT, "all of it"))["reply.txt"] == b"all of it"


@pytest.mark.parametrize(
    ("trial", "completion", "message"), [(FILES, "text", "no files"), (COMPLETION, "text", "no code block"), (TEXT, " \n", "is empty")]
)
def test_what_cannot_be_read_is_invalid_output(trial: Trial, completion: str, message: str) -> None:
    found = made(trial, completion)
    assert isinstance(found, Judgement)
    assert found.verdict is Verdict.INVALID_OUTPUT
    assert message in found.message


@pytest.mark.parametrize("trial", [FILES, COMPLETION])
def test_marks_stand_for_solutions_in_simulated_runs_only(trial: Trial) -> None:
    right = content(made(trial, f"here: {REFERENCE_PLACEHOLDER}", ARCHIVE, simulated=True))
    wrong = content(made(trial, f"here: {WRONG_PLACEHOLDER}", ARCHIVE, simulated=True))
    assert b"fixed" in right.values()
    assert b"fixed" not in wrong.values()
    for mark, judged in ((REFERENCE_PLACEHOLDER, "the task's reference solution"), (WRONG_PLACEHOLDER, "a folder without a solution")):
        found = made(trial, mark, ARCHIVE, simulated=True)
        assert isinstance(found, Submission)
        assert f"{judged} was judged, and not the files that it left" in found.instead
    own = made(trial, "```\nmine\n```", ARCHIVE, simulated=True)
    assert isinstance(own, Submission)
    assert own.instead == ""
    unreadable = made(trial, UNREADABLE_REPLY, ARCHIVE, simulated=True)
    assert isinstance(unreadable, Judgement)
    assert unreadable.verdict is Verdict.INVALID_OUTPUT
    for mark in (REFERENCE_PLACEHOLDER, WRONG_PLACEHOLDER):
        plain = made(trial, f"```\n{mark}\n```", ARCHIVE)
        assert isinstance(plain, Submission)
        assert b"fixed" not in content(plain).values()


def test_a_task_without_a_solution_says_so() -> None:
    for how in ({"use": "reference"}, {"simulated": True, "completion": REFERENCE_PLACEHOLDER}):
        found = made(TEXT, **how)
        assert isinstance(found, Judgement)
        assert found.no_reference


def test_nothing_at_all_is_the_untouched_folder_or_an_empty_file() -> None:
    assert content(made(FILES, use="empty")) == {"solution.py": b"broken", "data.txt": b"1"}
    assert content(made(COMPLETION, use="empty"))["main.py"] == b""
