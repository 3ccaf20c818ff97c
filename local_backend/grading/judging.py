"""One judgement in a fresh sandbox: the answer is put in as the agent, then the grader's files as root, then the grader runs as root.

The verdict is read from a file that only root can write. Whatever goes wrong on the way is an infrastructure failure, never a verdict.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from local_backend.environments.interface import Workbench
from local_backend.environments.secret_tasks import Judgement, SecretTask, failure, invalid
from local_backend.environments.trials import Reference, TaskFile, Trial
from local_backend.grading.foreign import judge_foreign
from local_backend.grading.submissions import Submission, Use, submission
from local_backend.grading.verdicts import LARGEST_VERDICT, from_reward, from_verdict
from local_backend.sandboxes.archives import ArchiveLimitError, entries, pack
from local_backend.sandboxes.interface import (
    ENGINE_SECONDS,
    GRADER_FOLDER,
    Limits,
    Purpose,
    Sandbox,
    SandboxError,
    SandboxRequest,
    User,
)
from local_backend.sandboxes.pool import SandboxPool
from local_backend.sandboxes.running import FILES_SECONDS, put_archive, put_files, run
from nodus_tui.values import replace

START_UP_SECONDS = 2 * ENGINE_SECONDS + 3 * FILES_SECONDS
"""For the sandbox's start and the way of the files, beside the grader's own time."""

_SOLUTION_SHARE = 0.7
"""Of the grader's time, judged code may take this share in all: a slow solution is to be wrong, not a grader that did not finish."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_GRADER_TMP = f"{GRADER_FOLDER}/tmp"  # noqa: S108  # Below a folder that only root reaches.
_NO_FILE = 41
_PAGE = 4096
_INSIDE = Path(__file__).parent / "inside"
_REFERENCE_FOLDER = "/tmp/reference"  # noqa: S108  # In the sandbox, where nobody else is.
_RUN_TESTS = "import sys; sys.path.insert(0, '/grader'); from nodus_grading.testing import main; sys.exit(main())"


class Judged(Struct, frozen=True):
    """A judgement and what it took."""

    judgement: Judgement
    sandbox_seconds: float = 0
    image: str = ""
    """What the sandbox ran, with its digest."""


class Judge:
    """Judges answers in sandboxes of a pool. Safe for many at once, on one event loop."""

    def __init__(self, pool: SandboxPool) -> None:
        self._pool = pool
        self._library = {
            f"nodus_grading/{path.name}": TaskFile(path.read_bytes()) for path in sorted(_INSIDE.iterdir()) if path.suffix == ".py"
        }

    async def judge(
        self,
        task: SecretTask,
        completion: str,
        files: Path | None,
        *,
        use: Use = "answer",
        simulated: bool = False,
        began: Callable[[float], None] = lambda _: None,
    ) -> Judged:
        """Judge an answer. `began` is told, once the image is here, how many seconds the rest may take."""
        trial = task.trial
        if trial is None:
            return Judged(failure("this task is not judged in a sandbox"))
        given = submission(task, trial, completion, files, use=use, simulated=simulated)
        if isinstance(given, Judgement):
            return Judged(given)
        purpose: Purpose = "grading" if use == "answer" else "check"
        try:
            room = await asyncio.to_thread(_room, given.files)
            image = await self._image(trial, task.workbench)
            seconds = START_UP_SECONDS + trial.limits.seconds + (given.script.script_seconds if given.script is not None else 0)
            began(seconds)
            judged = await self._in_sandbox(task, trial, given, _request(task, trial, image, purpose, self._pool, seconds, room))
        except SandboxError as error:
            return Judged(_of_failed(error))
        if not given.instead:
            return judged
        told = "; ".join(filter(None, (judged.judgement.message, given.instead)))
        return replace(judged, judgement=replace(judged.judgement, message=told))

    async def _image(self, trial: Trial, bench: Workbench | None) -> str | None:
        named, folder = trial.image, trial.build
        if named is None and bench is not None:
            named, folder = bench.image, bench.build
        if named is not None and folder is not None:
            return await self._pool.build(folder, named, lambda _: None)
        prepared = await self._pool.prepare(named, lambda _: None)
        return None if named is None else prepared

    async def _in_sandbox(self, task: SecretTask, trial: Trial, given: Submission, request: SandboxRequest) -> Judged:
        """Raises SandboxError where there was no sandbox. One that failed is a judgement: its time is told as that of any other."""
        clock = asyncio.get_running_loop().time
        began = clock()
        sandbox = await self._pool.create(request)
        try:
            judgement = await _judged(sandbox, trial, given, self._grader_files(task, trial, given))
        except SandboxError as error:
            judgement = _of_failed(error)
        finally:
            await self._pool.dispose(sandbox)
        return Judged(judgement, clock() - began, sandbox.image)

    def _grader_files(self, task: SecretTask, trial: Trial, given: Submission) -> dict[str, TaskFile]:
        files = {"answer.json": TaskFile(json.dumps(trial.answer).encode()), "completion.txt": TaskFile(given.completion.encode())}
        if trial.kind == "pytest":
            settings = {"solutionFile": trial.solution_file, "partial": trial.partial_reward, "task": task.id}
            files["tests.json"] = TaskFile(json.dumps(settings).encode())
            return {**self._library, **{f"tests/{path}": file for path, file in trial.grader_files.items()}, **files}
        return {**self._library, **trial.grader_files, **files}


def _of_failed(error: SandboxError) -> Judgement:
    if isinstance(error, ArchiveLimitError):
        return invalid(f"the answer has too many files: {error}")
    return failure(f"the grading sandbox failed: {error}")


def _room(files: Path | None) -> int:
    """Bytes of memory that an agent's files take. Blocks. Raises ArchiveError."""
    if files is None:
        return 0
    return sum(_PAGE + -(-entry.size // _PAGE) * _PAGE for entry in entries(files))


def _request(
    task: SecretTask, trial: Trial, image: str | None, purpose: Purpose, pool: SandboxPool, seconds: float, room: int
) -> SandboxRequest:
    limits = trial.limits
    # The work folder gets half of the disk: there is room for the agent's files and, beside them, for what judged code writes.
    disk = limits.disk_bytes + 2 * room
    bench = task.workbench or Workbench()
    return SandboxRequest(
        run=task.id,
        purpose=purpose,
        owner=pool.owner,
        lifetime_seconds=seconds,
        # Files lie in memory: judged code that fills the disk must not take the grader's.
        limits=Limits(limits.cpus, limits.memory_bytes + disk, limits.pids, disk),
        network=trial.network,
        image=image,
        workdir=bench.workdir,
        extra_folders=trial.extra_folders,
    )


async def _judged(sandbox: Sandbox, trial: Trial, given: Submission, grader_files: Mapping[str, TaskFile]) -> Judgement:
    wrong = await _place_answer(sandbox, given)
    if wrong is not None:
        return wrong
    # Nothing of the judged user lives on when the answers come.
    await sandbox.kill_agent()
    if trial.kind in {"program", "pytest"}:
        await _place(sandbox, grader_files, user=User.ROOT, folder=GRADER_FOLDER)
    for folder in sorted({path.rpartition("/")[0] for path in trial.root_files}):
        there = {path.rpartition("/")[2]: file for path, file in trial.root_files.items() if path.rpartition("/")[0] == folder}
        await _place(sandbox, there, user=User.ROOT, folder=folder)
    if trial.kind in {"harbor", "terminal-bench"}:
        return await judge_foreign(sandbox, trial)
    ended = await run(
        sandbox,
        # What a grader prints may be an answer: nobody reads it.
        ("sh", "-c", 'mkdir -p tmp && exec "$@" >/dev/null 2>&1 </dev/null', "sh", *_command(trial)),
        timeout=trial.limits.seconds,
        user=User.ROOT,
        cwd=GRADER_FOLDER,
        environ=_environ(sandbox, trial),
    )
    if ended.timed_out:
        return failure(f"the grader did not finish within {trial.limits.seconds:g} seconds")
    await sandbox.kill_agent()
    return await _verdict(sandbox, trial, ended.exit_code)


async def _place_answer(sandbox: Sandbox, given: Submission) -> Judgement | None:
    """Put the answer into the work folder, as the agent; the judgement where it turns out that it cannot be judged."""
    if given.files is not None:
        # What an image has there is in the archive, as the agent left it.
        await run(sandbox, ("sh", "-c", "rm -rf -- ./* ./.[!.]* ./..?*"), timeout=FILES_SECONDS, cwd=sandbox.workdir)
        found = await put_archive(sandbox, given.files, user=User.AGENT, folder=sandbox.workdir)
        kinds = {entry.path: entry.kind for entry in found.entries} if found is not None else {}
        if given.needs is not None and kinds.get(given.needs) != "file":
            return invalid(f"there is no file {given.needs}")
        return None
    await _place(sandbox, given.placed, user=User.AGENT, folder=sandbox.workdir)
    if given.script is not None:
        return await _solve(sandbox, given.script)
    return None


async def _solve(sandbox: Sandbox, reference: Reference) -> Judgement | None:
    await _place(sandbox, reference.script_files, user=User.AGENT, folder=_REFERENCE_FOLDER)
    # With the image's own variables, as an agent would work.
    solved = await run(sandbox, reference.script, timeout=reference.script_seconds, user=User.AGENT, cwd=sandbox.workdir)
    if solved.timed_out:
        return failure(f"the reference solution's script did not finish within {reference.script_seconds:g} seconds")
    if solved.exit_code != 0:
        return failure(f"the reference solution's script ended with status {solved.exit_code}")
    return None


async def _place(sandbox: Sandbox, files: Mapping[str, TaskFile], *, user: User, folder: str) -> None:
    owner = int(user.value)
    for executable in (False, True):
        chosen = {path: file.content for path, file in files.items() if file.executable is executable}
        if chosen:
            archive = await asyncio.to_thread(pack, chosen, uid=owner, gid=owner, mode=0o755 if executable else 0o644)
            await put_files(sandbox, archive, user=user, folder=folder)


def _command(trial: Trial) -> tuple[str, ...]:
    # -I: no folder of the agent's, and no variable, has a say in what this Python imports.
    return ("python3", "-I", "-c", _RUN_TESTS) if trial.kind == "pytest" else trial.command


def _environ(sandbox: Sandbox, trial: Trial) -> dict[str, str]:
    return {
        "PATH": _PATH,
        "HOME": _GRADER_TMP,
        "TMPDIR": _GRADER_TMP,
        "LANG": "C.UTF-8",
        "PYTHONPATH": GRADER_FOLDER,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "NODUS_GRADER": GRADER_FOLDER,
        "NODUS_WORKDIR": sandbox.workdir,
        "NODUS_SOLUTION_SECONDS": f"{_SOLUTION_SHARE * trial.limits.seconds:g}",
        **trial.environ,
    }


async def _verdict(sandbox: Sandbox, trial: Trial, exit_code: int | None) -> Judgement:
    told = await _read(sandbox, "verdict.json")
    if told is not None:
        return from_verdict(told)
    for path in trial.reward_files:
        reward = await _read(sandbox, path)
        if reward is not None:
            return from_reward(reward, trial.threshold)
    return failure(f"the grader wrote no verdict (it ended with status {exit_code})")


async def _read(sandbox: Sandbox, path: str) -> bytes | None:
    """The start of a regular file of the grader's; None when there is none."""
    script = f'test -f "$1" || exit {_NO_FILE}; exec head -c {LARGEST_VERDICT + 1} -- "$1"'
    # In a folder of root's: judged code may have taken the rights to its own away.
    done = await run(
        sandbox, ("sh", "-c", script, "sh", path), timeout=FILES_SECONDS, user=User.ROOT, cwd=GRADER_FOLDER, keep=2 * LARGEST_VERDICT + 2
    )
    if done.exit_code == _NO_FILE:
        return None
    if done.exit_code != 0:
        raise SandboxError(f"the verdict cannot be read (status {done.exit_code})")
    return done.stdout
