"""Task files for sandbox graders: files, hidden tests and solutions, what is public of them, and every fault by its line."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from environment_builders import MakeEnvironment, environment_of

from local_backend.environments.catalogue import own_environment
from local_backend.environments.client import EnvironmentWorker, check
from local_backend.environments.secret_tasks import SourceError, batch_digest
from local_backend.environments.task_contents import LARGEST_GRADER, LARGEST_TASK
from local_backend.environments.task_file_source import TaskFileSource
from local_backend.environments.trials import TaskFile
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.resources.environment import EnvironmentSpec

CANARY = "canary-91be"
PYTEST = {"type": "pytest"}
ROW = {
    "id": "a",
    "prompt": "p",
    "files": {"solution.py": "x = 1\n", "bin/tool": "#!/bin/sh\n", "data.bin": "base64:" + base64.b64encode(b"\0\xff").decode()},
    "tests": {"test_it.py": f"# {CANARY}"},
    "solution": {"solution.py": f"x = 2  # {CANARY}\n"},
}


def source(folder: Path, rows: list[dict[str, Any]], grader: dict[str, Any] | None = None, **spec: Any) -> TaskFileSource:
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = EnvironmentSpec.model_validate({"version": "1", "file": str(path), "grader": grader or PYTEST, **spec})
    return TaskFileSource({"spec": made.to_document()})


def faults(folder: Path, row: dict[str, Any], grader: dict[str, Any] | None = None) -> list[str]:
    with pytest.raises(SourceError) as caught:
        source(folder, [ROW, {**row, "id": "b"}], grader)
    told = [caught.value.sentence, *(text for _, text in caught.value.faults)]
    assert not any(CANARY in text for text in told)
    assert {line for line, _ in caught.value.faults} <= {2}
    return told


def test_files_are_public_and_tests_and_solutions_are_not(tmp_path: Path) -> None:
    task = source(tmp_path, [ROW]).draw("test", 0, 1)[0]
    assert task.workbench is not None
    assert task.workbench.files == ROW["files"]
    assert task.trial is not None
    assert task.trial.grader_files == {"test_it.py": TaskFile(f"# {CANARY}".encode())}
    assert task.trial.reference is not None
    assert task.trial.reference.files == {"solution.py": TaskFile(f"x = 2  # {CANARY}\n".encode())}
    assert CANARY not in repr(task)
    assert CANARY not in repr(task.trial)


async def test_no_secret_leaves_the_process_and_words_are_not_graded_there(make_environment: MakeEnvironment) -> None:
    environment = make_environment([ROW], PYTEST)
    assert environment.in_sandbox
    async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=1) as worker:
        card = worker.batch.tasks[0]
        assert card.workbench is not None
        assert card.workbench.files == ROW["files"]
        assert CANARY not in repr(card)
        assert (await worker.grade("a", "anything")).verdict is Verdict.INFRASTRUCTURE_FAILURE
    assert (await check(environment)).tasks == {"train": 0, "test": 1}


async def test_files_of_a_task_that_is_answered_in_words(make_environment: MakeEnvironment) -> None:
    environment = make_environment(
        [{"id": "a", "prompt": "How many?", "answer": 3, "files": {"list.txt": "1\n2\n3\n"}}], {"type": "numeric"}
    )
    assert not environment.in_sandbox
    async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=1) as worker:
        bench = worker.batch.tasks[0].workbench
        assert bench is not None
        assert bench.files == {"list.txt": "1\n2\n3\n"}
        assert (await worker.grade("a", "3")).verdict is Verdict.CORRECT


def test_csv_cells_are_json_and_a_solution_may_be_a_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    tests = json.dumps({"test_it.py": "x"}).replace('"', '""')
    path.write_text(f'id,prompt,tests,solution\na,p,"{tests}",x = 1\nb,p,"{tests}","{{""s.py"": ""y""}}"\n')
    spec = EnvironmentSpec.model_validate({"version": "1", "file": str(path), "grader": PYTEST})
    tasks = {task.id: task for task in TaskFileSource({"spec": spec.to_document()}).draw("test", 0, 2)}
    found = {name: task.trial.reference.files for name, task in tasks.items() if task.trial and task.trial.reference}
    assert found == {"a": {"solution.py": TaskFile(b"x = 1")}, "b": {"s.py": TaskFile(b"y")}}


def test_the_digest_covers_files_tests_and_the_grader_and_not_the_solution(tmp_path: Path) -> None:
    def digest(row: dict[str, Any], **grader: Any) -> str:
        made = source(tmp_path, [row], {**PYTEST, **grader})
        return batch_digest(made, made.draw("test", 0, 1))

    whole = digest(ROW)
    assert digest({**ROW, "solution": {"solution.py": "other"}}) == whole
    others = [
        digest({**ROW, "files": {"solution.py": "x = 3\n"}}),
        digest({**ROW, "tests": {"test_it.py": "other"}}),
        digest({**ROW, "tests": {"test_other.py": f"# {CANARY}"}}),
        digest(ROW, timeout="2m"),
        digest(ROW, reward="all"),
    ]
    assert len({whole, *others}) == 6


def test_the_digest_covers_the_graders_folder_wherever_it_lies(tmp_path: Path) -> None:
    def digest(name: str, content: str, mode: int = 0o644) -> str:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "grade.py").write_text(content)
        (folder / "grade.py").chmod(mode)
        made = source(tmp_path, [{"id": "a", "prompt": "p"}], {"type": "program", "command": ["python3", "grade.py"], "files": str(folder)})
        return made.describe()[1]

    assert digest("one", "x") == digest("two", "x")
    assert len({digest("one", "x"), digest("one", "y"), digest("one", "y", 0o755)}) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tests": None}, "tests is empty"),
        ({"tests": {}}, "tests is empty"),
        ({"tests": "def test(): pass"}, "tests is no mapping of paths to texts"),
        ({"tests": {"test.py": 5}}, "tests has a value that is not a text"),
        ({"files": [CANARY]}, "files is no mapping"),
        ({"files": {"/etc/passwd": CANARY}}, "files has a path"),
        ({"files": {"../x": CANARY}}, "files has a path"),
        ({"files": {"a/../../x": CANARY}}, "files has a path"),
        ({"files": {"a//b": CANARY}}, "files has a path"),
        ({"files": {"": CANARY}}, "files has a path"),
        ({"files": {"a\n": CANARY}}, "files has a path"),
        ({"files": {"a": "x", "a/b": CANARY}}, "a file and a folder of the same name"),
        ({"files": {str(n): "" for n in range(1001)}}, "more than 1000 entries"),
        ({"files": {"a": "base64:" + CANARY}}, "no base64"),
        ({"files": {"a": "x" * (LARGEST_TASK + 1)}}, "more than 1 MiB together"),
        ({"solution": {"a": "x" * LARGEST_TASK}}, "more than 1 MiB together"),
        ({"solution": 5}, "solution is no mapping"),
    ],
)
def test_a_faulty_row_is_told_by_its_line(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    assert any(message in text for text in faults(tmp_path, {**ROW, **changes}))


def test_a_solution_for_a_completion_is_one_text(tmp_path: Path) -> None:
    grader = {"type": "pytest", "solution": "completion", "solutionFile": "solution.py"}
    assert any("what this grader judges" in text for text in faults(tmp_path, {**ROW, "solution": {"other.py": "x"}}, grader))
    tasks = source(tmp_path, [{**ROW, "solution": "x = 2"}], grader).draw("test", 0, 1)
    assert tasks[0].trial is not None
    assert tasks[0].trial.reference is not None
    assert tasks[0].trial.reference.text == "x = 2"


def test_a_missing_column_of_tests(tmp_path: Path) -> None:
    row = {name: value for name, value in ROW.items() if name != "tests"}
    assert any('there is no field "tests"' in text for text in faults(tmp_path, row))


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda folder: None, "does not exist"),
        (lambda folder: folder.write_text("x"), "is no folder"),
        (lambda folder: folder.mkdir(), "holds no files"),
        (lambda folder: (folder.mkdir(), (folder / "link").symlink_to("/etc/passwd")), "holds a link"),
        (lambda folder: (folder.mkdir(), (folder / "answer.json").write_text("x")), "answer.json, which is put there"),
        (
            lambda folder: (folder.mkdir(), (folder / "nodus_grading").mkdir(), (folder / "nodus_grading" / "x").write_text("x")),
            "nodus_grading",
        ),
        (lambda folder: (folder.mkdir(), (folder / "large").write_bytes(b"x" * (LARGEST_GRADER + 1))), "more than 16 MiB"),
    ],
)
def test_a_graders_folder_that_cannot_be_used(tmp_path: Path, prepare: Any, message: str) -> None:
    folder = tmp_path / "grader"
    prepare(folder)
    with pytest.raises(SourceError, match=message):
        source(tmp_path, [{"id": "a", "prompt": "p"}], {"type": "program", "command": ["true"], "files": str(folder)})


def test_relative_paths_of_an_environment_are_refused(tmp_path: Path) -> None:
    grader = {"type": "program", "command": ["true"], "files": "grader"}
    with pytest.raises(NodusError, match=r"grader\.files of environment") as caught:
        own_environment(environment_of(tmp_path / "t.jsonl", grader))
    assert caught.value.code is ErrorCode.INVALID_SPEC
