"""The grader's process: `python -m local_backend.environments.worker`, JSON lines on stdin and stdout (see protocol.py).

It alone reads the answers. Whatever happens in it, no answer leaves: stdout carries the protocol's fields only, everything that a library
prints is dropped, and an unexpected exception is told by its type and place, never by its text. It ends when its stdin does.
"""

import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, BinaryIO, Self

from local_backend.environments.names import CODE_NAME
from local_backend.environments.protocol import GRADE_SECONDS, clean_text, hard_limit
from local_backend.environments.secret_tasks import (
    DescribedSource,
    Judgement,
    SecretTask,
    SourceError,
    TaskSource,
    batch_digest,
    failure,
    invalid,
)
from local_backend.handed_over import other_code
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER, UNREADABLE_REPLY, WRONG_PLACEHOLDER
from nodus_tui.values import fields_of

_MEMORY = 4 * 2**30
LOAD_CPU_SECONDS = 600.0
"""Processor time for making tasks; a process that takes longer is ended by SIGPROF."""


class _TimeUp(BaseException):
    """The time for one answer is over. Not an Exception: a grader's own handlers must not take it for one of theirs."""


class Contained:
    """Keeps an exception from leaving, and tells it without its text."""

    def __init__(self) -> None:
        self.told = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if kind is None or not issubclass(kind, Exception | SystemExit):
            return False
        self.told = told(kind, trace)
        return True


def told(kind: type[BaseException], trace: TracebackType | None) -> str:
    """An exception's type and where it was raised; never its text, which may hold an answer."""
    frames = traceback.extract_tb(trace)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{kind.__name__}{place}"


def make_source(environment: Mapping[str, Any]) -> TaskSource:
    """The source that a resolved environment names. Each is imported only when it is asked for. Raises SourceError."""
    match environment["source"]:
        case "catalogue" if environment["name"] == CODE_NAME:
            from local_backend.environments.code_source import CodeSource  # noqa: PLC0415

            return CodeSource()
        case "catalogue":
            from local_backend.environments.arithmetic import ArithmeticSource  # noqa: PLC0415

            return ArithmeticSource()
        case "reasoning-gym":
            from local_backend.environments.reasoning_gym_source import ReasoningGymSource  # noqa: PLC0415

            return ReasoningGymSource(str(environment["options"]["dataset"]))
        case "folder":
            from local_backend.environments.task_folders.source import TaskFolderSource  # noqa: PLC0415

            return TaskFolderSource(environment["options"])
        case "file":
            from local_backend.environments.task_file_source import TaskFileSource  # noqa: PLC0415

            return TaskFileSource(environment["options"])
        case _:
            raise SourceError("this kind of environment is not known to the grader")


def described(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer that tells what there is of an environment with an end. Raises SourceError."""
    source = make_source(request["environment"])
    if not isinstance(source, DescribedSource):
        raise SourceError("only the tasks of files and folders can be counted")
    counts, whole = source.describe()
    return {"ok": True, "tasks": counts, "digest": whole}


def drawn(source: TaskSource, request: Mapping[str, Any]) -> list[SecretTask]:
    """The tasks of a request: so many of the seed's order, after those that it skips. Raises SourceError."""
    skipped = int(request.get("skip", 0))
    return source.draw(request["split"], request["seed"], skipped + request["tasks"])[skipped:]


def loaded(source: TaskSource, tasks: Sequence[SecretTask]) -> dict[str, Any]:
    """The answer that hands out tasks: what agents may see of them, and the digest."""
    cards = [
        {
            "id": task.id,
            "prompts": task.prompts,
            "metadata": task.metadata,
            "workbench": fields_of(task.workbench) if task.workbench else None,
        }
        for task in tasks
    ]
    return {"ok": True, "tasks": cards, "digest": batch_digest(source, tasks)}


def unmade(contained: Contained, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request for tasks that broke."""
    return {"ok": False, "message": broke(f"the tasks could not be made: {contained.told}", other_code(request)), "faults": []}


def broke(what: str, other: str) -> str:
    """What broke, as a sentence; `other` is what `other_code` says of who asked."""
    return f"{what}; {other}" if other else what


def judged(judgement: Judgement) -> dict[str, Any]:
    """The answer that tells a judgement."""
    return {
        "verdict": judgement.verdict,
        "reward": judgement.reward,
        "message": judgement.message,
        "noReference": judgement.no_reference,
    }


class Worker:
    """Answers requests one after the other."""

    def __init__(self) -> None:
        self._source: TaskSource | None = None
        self._tasks: dict[str, SecretTask] = {}
        self._seconds = GRADE_SECONDS
        self._other_code = ""
        """What to tell of a request that is not understood, where other code asks."""
        self._time_is_up = False

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        if request["op"] == "grade":
            judgement = self._graded(request)
            return {"n": request["n"], **judged(judgement)}
        contained = Contained()
        with contained:
            signal.setitimer(signal.ITIMER_PROF, LOAD_CPU_SECONDS)
            try:
                return described(request) if request["op"] == "describe" else self._loaded(request)
            except SourceError as error:
                return {"ok": False, "message": error.sentence, "faults": error.faults}
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        return unmade(contained, request)

    def _loaded(self, request: Mapping[str, Any]) -> dict[str, Any]:
        source = make_source(request["environment"])
        tasks = drawn(source, request)
        self._source, self._tasks = source, {task.id: task for task in tasks}
        self._other_code = other_code(request)
        self._seconds = float(request["gradeSeconds"])
        signal.signal(signal.SIGALRM, self._ring)
        return loaded(source, tasks)

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        self._time_is_up = True
        raise _TimeUp

    def _graded(self, request: Mapping[str, Any]) -> Judgement:
        task = self._tasks.get(request["task"])
        if task is None or self._source is None:
            return failure("the grader has no task of this name")
        self._time_is_up = False
        late = failure(f"the grader did not finish within {self._seconds:g} seconds")
        contained = Contained()
        try:
            with contained:
                # Code that cannot be interrupted ends with the process: SIGPROF keeps its default action.
                signal.setitimer(signal.ITIMER_PROF, hard_limit(self._seconds))
                signal.setitimer(signal.ITIMER_REAL, self._seconds)
                try:
                    judgement = self._judged(self._source, task, request["completion"], simulated=request["simulated"])
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    signal.setitimer(signal.ITIMER_PROF, 0)
                # A bare `except` in a dataset may have swallowed the alarm.
                return late if self._time_is_up else judgement
        except _TimeUp:
            return late
        return late if self._time_is_up else failure(broke(f"the grader failed: {contained.told}", self._other_code))

    @staticmethod
    def _judged(source: TaskSource, task: SecretTask, completion: str, *, simulated: bool) -> Judgement:
        if simulated:
            if REFERENCE_PLACEHOLDER in completion:
                return source.grade_stand_in(task, right=True)
            if WRONG_PLACEHOLDER in completion:
                return source.grade_stand_in(task, right=False)
            if completion.strip() == UNREADABLE_REPLY:
                return invalid("a simulated reply that no grader can read")
        return source.grade(task, clean_text(completion))


def _limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # A core file would hold the answers.
    if sys.platform == "linux":
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most), most))


def serve(requests: BinaryIO, answers: int) -> None:
    """Answer every line until the last; `answers` is a file descriptor."""
    worker = Worker()
    for line in requests:
        rest = memoryview(json.dumps(worker.answer(json.loads(line))).encode() + b"\n")
        while rest:
            rest = rest[os.write(answers, rest) :]


def main() -> int:
    """Serve on stdin and stdout."""
    answers, diagnosis = os.dup(1), os.dup(2)
    # Libraries print to the standard streams; what they print may be an answer.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    _limit_resources()

    def tell(kind: type[BaseException], _: BaseException, trace: TracebackType | None) -> None:
        os.write(diagnosis, f"the grader's process stopped: {told(kind, trace)}\n".encode())

    sys.excepthook = tell
    serve(sys.stdin.buffer, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
