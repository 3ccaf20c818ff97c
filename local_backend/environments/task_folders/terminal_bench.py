"""A task folder in Terminal-Bench's layout: `task.yaml`, `Dockerfile`, `run-tests.sh`, `tests/`, `solution.sh`.

The whole folder is what the image is built from, tests and solution included; so a Dockerfile that copies the folder as a whole is refused.
`docker-compose.yaml` may say no more than that there is the one service `client`.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_backend.environments.task_folders.dockerfile import DEFAULT_WORKDIR, Dockerfile, parse_dockerfile
from local_backend.environments.task_folders.folder_task import FolderTask, runnable, without_canary
from local_backend.environments.task_folders.outcomes import TESTS_FOLDER
from local_backend.environments.task_folders.trees import FolderFaultError, context_digest, files_below, text_of
from local_backend.environments.trials import TaskFile

MARK = "task.yaml"
RUN_TESTS = "run-tests.sh"
_COMPOSE = "docker-compose.yaml"
_SECRET = re.compile(r"(?:tests|solution\.sh|solution\.yaml|run-tests\.sh|task\.yaml)(?:/|$)")
_SERVICE_KEYS = frozenset({"build", "image", "container_name", "command", "environment", "volumes", "stdin_open", "tty", "init"})
"""What a client service may say: nothing of it changes what is in the image."""

_Seconds = Annotated[float, Field(gt=0, le=7 * 86_400, allow_inf_nan=False)]


class _Task(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    instruction: Annotated[str, Field(min_length=1)]
    difficulty: str = "unknown"
    category: str = ""
    tags: list[str] = []
    parser_name: str = "pytest"
    max_agent_timeout_sec: _Seconds = 360
    max_test_timeout_sec: _Seconds = 60
    run_tests_in_same_shell: bool = False


def read_terminal_bench(folder: Path) -> FolderTask:
    """The task in a folder. Raises FolderFaultError with every fault, one on a line."""
    told = _told(folder)
    faults: list[str] = []
    if told.parser_name != "pytest":
        faults.append(f"{MARK}: parser_name {told.parser_name} is not supported: only pytest's output is read here")
    if told.run_tests_in_same_shell:
        faults.append(f"{MARK}: run_tests_in_same_shell is not supported: the agent's shell is gone when the tests run")
    faults += _compose_faults(folder)
    dockerfile = Dockerfile()
    try:
        dockerfile = parse_dockerfile(text_of(folder / "Dockerfile"))
        faults += _copied_secrets(dockerfile)
    except FolderFaultError as fault:
        faults.append(str(fault))
    if dockerfile.unresolved:
        faults.append(f"Dockerfile: WORKDIR uses {', '.join(dockerfile.unresolved)}, which it gives no value: write the path out")
    tests = files_below(folder / "tests")
    if RUN_TESTS in tests:
        faults.append(f"tests/ has a {RUN_TESTS} of its own, which would take the place of the task's")
    try:
        tests[RUN_TESTS] = TaskFile(text_of(folder / RUN_TESTS).encode(), executable=True)
    except FolderFaultError as fault:
        faults.append(str(fault))
    solution = _solution(folder)
    if faults:
        raise FolderFaultError("\n".join(faults))
    metadata: dict[str, object] = {"difficulty": told.difficulty}
    if told.category:
        metadata["category"] = told.category
    if told.tags:
        metadata["tags"] = list(told.tags)
    return FolderTask(
        id=folder.name,
        layout="terminal-bench",
        prompt=without_canary(told.instruction),
        split="test",
        metadata=metadata,
        image=f"nodus-task:{context_digest(folder, lambda path: _SECRET.match(path) is not None)[:32]}",
        build=str(folder),
        workdir=dockerfile.workdir or DEFAULT_WORKDIR,
        agent_seconds=told.max_agent_timeout_sec,
        tests=tests,
        test_script=RUN_TESTS,
        test_seconds=told.max_test_timeout_sec,
        environ={"TEST_DIR": TESTS_FOLDER},
        solution=solution,
        solution_script="solution.sh",
    )


def _told(folder: Path) -> _Task:
    try:
        return _Task.model_validate(_yaml(folder / MARK))
    except ValidationError as error:
        told = (
            f"{MARK}: {'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_input=False, include_url=False)
        )
        raise FolderFaultError("\n".join(told)) from None


def _yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(text_of(path))
    except yaml.MarkedYAMLError as error:
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise FolderFaultError(f"{path.name} is no valid YAML{line}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise FolderFaultError(f"{path.name} is no valid YAML") from None


def _compose_faults(folder: Path) -> Iterator[str]:
    if not (folder / _COMPOSE).exists():
        return
    told = _yaml(folder / _COMPOSE)
    services = told.get("services") if isinstance(told, dict) else None
    if not isinstance(services, dict) or list(services) != ["client"] or not isinstance(services["client"], dict):
        yield f"{_COMPOSE} has other services than the one client: a sandbox here is one container without services beside it"
        return
    more = sorted(map(str, set(services["client"]) - _SERVICE_KEYS))
    if more:
        yield f"{_COMPOSE}: the client's {', '.join(more)} is not supported here"
    build = services["client"].get("build")
    plain = build in (None, ".") or (
        isinstance(build, dict) and build.get("context", ".") == "." and build.get("dockerfile", "Dockerfile") == "Dockerfile"
    )
    if not plain or (isinstance(build, dict) and set(build) - {"context", "dockerfile"}):
        yield f"{_COMPOSE}: the client is built from something else than the folder's Dockerfile alone, which is not supported here"
    variables = services["client"].get("environment") or []
    names = variables if isinstance(variables, dict) else [str(each).partition("=")[0] for each in variables]
    foreign = sorted(str(name) for name in names if name != "TEST_DIR")
    if foreign:
        yield f"{_COMPOSE}: the client's environment is not read ({', '.join(foreign)}): set the variables in the Dockerfile (ENV)"


def _copied_secrets(dockerfile: Dockerfile) -> Iterator[str]:
    for source in dockerfile.sources:
        path = str(PurePosixPath(source.lstrip("/") or "."))
        if path == "." or path.startswith(("*", "?", "[", ".")) or _SECRET.match(path) or "$" in path:
            yield f"Dockerfile: what it copies ({source}) may take tests or solution into the agent's image: name files and folders"


def _solution(folder: Path) -> dict[str, TaskFile]:
    """A list of keystrokes (`solution.yaml`) is no solution that can be run here."""
    path = folder / "solution.sh"
    if not path.exists():
        return {}
    return runnable({"solution.sh": TaskFile.of(text_of(path).encode())}, "solution.sh")
