"""What of an answer is judged: the agent's files, or the text of a completion; or what stands in for them. Pure."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import field

from local_backend.environments.protocol import clean_text
from local_backend.environments.sandbox_trials import DEFAULT_SOLUTION_FILE, decoded
from local_backend.environments.secret_tasks import Judgement, SecretTask, invalid, without_reference
from local_backend.environments.trials import Reference, TaskFile, Trial
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER, UNREADABLE_REPLY, WRONG_PLACEHOLDER
from nodus_tui.values import Quiet, replace

Use = Literal["answer", "reference", "empty"]
"""What is judged: an agent's answer, or in a gold check the task's own solution, or nothing at all."""

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)^(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE)


class Submission(Quiet, frozen=True):
    """What is put into the work folder before the grader comes."""

    files: Path | None = None
    """An untrusted archive of the whole work folder."""
    placed: Mapping[str, TaskFile] = field(default_factory=dict)
    """Without an archive: the files by path."""
    completion: str = ""
    """The agent's last reply."""
    script: Reference | None = None
    """A reference solution whose script solves the task first."""
    needs: str | None = None
    """A file that must be in the archive."""
    instead: str = ""
    """What is judged in place of what a simulated agent did, in words for people; empty where its own work is."""


def submission(task: SecretTask, trial: Trial, completion: str, files: Path | None, *, use: Use, simulated: bool) -> Submission | Judgement:
    """What is to be judged; or at once the judgement where there is nothing to judge."""
    instead = ""
    if simulated and use == "answer":
        if completion.strip() == UNREADABLE_REPLY:
            return invalid("a simulated reply that no grader can read")
        if REFERENCE_PLACEHOLDER in completion:
            use, instead = "reference", _instead("right: the task's reference solution", files)
        elif WRONG_PLACEHOLDER in completion:
            use, instead = "empty", _instead("wrong: a folder without a solution", files)
    given = decoded(task.workbench.files) if task.workbench is not None else {}
    if trial.solution == "either":
        trial = replace(trial, solution="completion" if use == "answer" and files is None else "files")
    match use:
        case "reference":
            found = _reference(trial, given)
            return replace(found, instead=instead) if isinstance(found, Submission) else found
        case "empty":
            # The untouched folder; but a solution file is there, so that it is the grader that finds nothing in it.
            untouched = trial.solution == "files" and (trial.solution_file is None or trial.solution_file in given)
            return Submission(placed=given if untouched else _with_text(trial, given, ""), instead=instead)
        case "answer":
            return _answer(trial, given, clean_text(completion), files)


def _instead(what: str, files: Path | None) -> str:
    own = "its reply" if files is None else "the files that it left"
    return f"the simulated model only said that it is {what} was judged, and not {own}"


def _answer(trial: Trial, given: Mapping[str, TaskFile], completion: str, files: Path | None) -> Submission | Judgement:
    if trial.solution == "files":
        if files is None:
            return invalid("the answer has no files: this environment judges what an agent with tools leaves in its work folder")
        return Submission(files=files, completion=completion, needs=trial.solution_file)
    text = code_block(completion) if trial.solution == "completion" else completion
    if text is None or (trial.solution == "text" and not text.strip()):
        return invalid("the answer has no code block" if text is None else "the answer is empty")
    return Submission(placed=_with_text(trial, given, text), completion=completion)


def _reference(trial: Trial, given: Mapping[str, TaskFile]) -> Submission | Judgement:
    reference = trial.reference
    if reference is None or (trial.solution != "files" and reference.text is None):
        return without_reference("this task has no reference solution")
    if trial.solution != "files":
        text = reference.text or ""
        return Submission(placed=_with_text(trial, given, text), completion=text)
    placed = {**given, **(reference.files or {})}
    return Submission(placed=placed, script=reference if reference.script else None)


def _with_text(trial: Trial, given: Mapping[str, TaskFile], text: str) -> dict[str, TaskFile]:
    return {**given, trial.solution_file or DEFAULT_SOLUTION_FILE: TaskFile.of(text.encode())}


def code_block(completion: str) -> str | None:
    """The content of the last fenced code block that is closed; None when there is none."""
    blocks = list(_FENCE.finditer(completion.replace("\r\n", "\n")))
    return blocks[-1]["code"] if blocks else None
