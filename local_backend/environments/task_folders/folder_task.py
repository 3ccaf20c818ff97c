"""What both layouts come to: one task of a folder, with everything that grading it needs. The grader's process only."""

import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Literal

from msgspec import field

from local_backend.environments.interface import Workbench
from local_backend.environments.secret_tasks import SecretTask
from local_backend.environments.task_folders.outcomes import LOGS_FOLDER, OUTPUT_FILE, SOLUTION_FOLDER, TESTS_FOLDER, VERIFIER_FOLDER
from local_backend.environments.task_folders.trees import FolderFaultError
from local_backend.environments.trials import Reference, TaskFile, Trial, TrialLimits
from nodus_tui.values import Quiet

RESERVED = (TESTS_FOLDER, LOGS_FOLDER, SOLUTION_FOLDER)
_REFERENCE_FOLDER = "/tmp/reference"  # noqa: S108  # In the sandbox: there the grading room puts a solution's files.
_MIB = 2**20


class FolderTask(Quiet, frozen=True):
    """One task as its folder has it."""

    id: str
    layout: Literal["harbor", "terminal-bench"]
    prompt: str
    split: str
    metadata: Mapping[str, object]
    image: str
    build: str | None
    workdir: str
    agent_seconds: float | None
    tests: Mapping[str, TaskFile]
    """By path below `/tests`."""
    test_script: str
    """The one that is run, by path below `/tests`."""
    test_seconds: float
    environ: Mapping[str, str]
    solution: Mapping[str, TaskFile]
    """By path below `/solution`; empty when the task has none."""
    solution_script: str = ""
    solution_environ: Mapping[str, str] = field(default_factory=dict)
    cpus: float = 1
    memory_mib: int = 2048
    storage_mib: int = 2048


def secret_task(task: FolderTask, *, network: bool) -> SecretTask:
    """The task with its trial. `network` says whether its tests may reach the network. Raises FolderFaultError."""
    work = PurePosixPath(task.workdir)
    for each in map(PurePosixPath, RESERVED):
        if work == each or each in work.parents or work in each.parents:
            raise FolderFaultError(f"its work folder {task.workdir} is where its tests need folders of their own, or holds them")
    bench = Workbench(image=task.image, build=task.build, workdir=task.workdir, agent_seconds=task.agent_seconds)
    trial = Trial(
        kind=task.layout,
        command=("sh", "-c", _test_command(task)),
        environ=task.environ,
        image=task.image,
        build=task.build,
        limits=TrialLimits(task.test_seconds, task.cpus, task.memory_mib * _MIB, task.storage_mib * _MIB, 1024),
        network=network,
        extra_folders=RESERVED,
        root_files={f"{TESTS_FOLDER}/{path}": file for path, file in task.tests.items()},
        reference=_reference(task),
    )
    return SecretTask(id=task.id, prompts=(task.prompt,), metadata=task.metadata, secret=None, workbench=bench, trial=trial)


def _test_command(task: FolderTask) -> str:
    """A reward that a reference solution may have left is removed, as the formats have it."""
    script = f"{TESTS_FOLDER}/{task.test_script}"
    return (
        f"rm -rf {VERIFIER_FOLDER} && mkdir -p {VERIFIER_FOLDER} {LOGS_FOLDER}/agent {LOGS_FOLDER}/artifacts && "
        f"exec {_run(script, task.tests[task.test_script])} >{OUTPUT_FILE} 2>&1 </dev/null"
    )


def _run(path: str, file: TaskFile) -> str:
    """Scripts say by their first line what runs them; one that says nothing is for bash."""
    return shlex.quote(path) if file.executable and file.content.startswith(b"#!") else f"bash {shlex.quote(path)}"


def _reference(task: FolderTask) -> Reference | None:
    if not task.solution:
        return None
    script = f"{SOLUTION_FOLDER}/{task.solution_script}"
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in task.solution_environ.items())
    # Its status is not looked at: the formats let the tests alone say whether it solved the task.
    command = (
        f"cp -R {_REFERENCE_FOLDER}/. {SOLUTION_FOLDER}/ && "
        f"{{ env DEBIAN_FRONTEND=noninteractive {variables} {_run(script, task.solution[task.solution_script])} </dev/null || true; }}"
    )
    return Reference(script=("sh", "-c", command), script_files=task.solution, script_seconds=task.agent_seconds or 600)


def runnable(files: Mapping[str, TaskFile], name: str) -> dict[str, TaskFile]:
    """The files with one of them made executable, as the formats do it before they run it."""
    return {**files, name: TaskFile(files[name].content, executable=True)}


def without_canary(text: str) -> str:
    """A prompt without the leading lines that mark benchmark data; agents are not shown them."""
    lines = text.split("\n")
    while lines and (_is_canary(lines[0].strip()) or not lines[0].strip()):
        lines.pop(0)
    return "\n".join(lines).rstrip()


def _is_canary(line: str) -> bool:
    low = line.lower()
    return "canary" in low and (low.startswith("#") or (low.startswith("<!--") and low.endswith("-->")))
