"""EnvironmentWorker: the scheduler's side of a grader's process. It hands out tasks and grades, and never sees an answer.

The process answers in the order of the requests. So when it dies, the oldest request without an answer is the one it died of: that grade
is an infrastructure failure, and a fresh process takes the others.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

from msgspec import Struct

from local_backend.environments.hashing import digest
from local_backend.environments.interface import Began, Grade, ResolvedEnvironment, TaskBatch, TaskCard, Workbench
from local_backend.environments.names import ARITHMETIC_MOST
from local_backend.environments.protocol import GRADE_SECONDS, clean_text, hard_limit
from local_backend.environments.reasoning_gym_names import SIZE
from local_backend.environments.worker_process import WorkerProcess, worker_command
from local_backend.handed_over import SPOKEN
from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.phases import Verdict

LOAD_SECONDS = 120.0
"""Time for making the tasks of a batch, in seconds."""


class EnvironmentFacts(Struct, frozen=True):
    """What is known of a whole environment."""

    tasks: Mapping[str, int]
    """How many, by split; empty where a split has no end."""
    digest: str
    """`sha256:…` over all tasks and the grader of a task file; over the name and the version of what this program brings along."""
    most: int | None = None
    """How many tasks of one seed it makes at most, where a split has no end."""


class _DiedError(Exception):
    """The process ended before it answered; the text says how."""


class _Session:
    """One process and its first request, which makes the tasks."""

    def __init__(self, owner: "EnvironmentWorker | None" = None) -> None:
        self._owner = owner
        self._first: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        # Who asks may be told twice to stop, and be gone before the process is: its end is then nobody's error.
        self._first.add_done_callback(_seen)
        self.process: WorkerProcess | None = None
        self.ended = ""
        """How the process ended; empty until then."""

    async def ask(self, command: Sequence[str], request: Mapping[str, object], seconds: float) -> dict[str, Any]:
        """Start the process and ask it the first question. Raises _DiedError; whatever it raises, the process is gone."""
        try:
            self.process = await WorkerProcess.start(command, self._on_answer, self._on_end)
            self.process.send(line_of(request))
            async with asyncio.timeout(seconds):
                return await asyncio.shield(self._first)
        except TimeoutError:
            await self.close(f"it did not make the tasks within {seconds:g} seconds")
            raise _DiedError(f"it did not make the tasks within {seconds:g} seconds") from None
        except OSError as error:
            raise _DiedError(f"it could not be started: {error.strerror}") from None
        except BaseException:
            await self.close("it was stopped")
            raise

    async def close(self, why: str) -> None:
        """Kill the process and wait for its end."""
        self._owner = None
        if self.process is not None:
            self.process.kill(why)
            await self.process.gone()
        self._first.cancel()

    def _on_answer(self, answer: dict[str, Any]) -> None:
        if not self._first.done():
            self._first.set_result(answer)
        elif self._owner is not None:
            self._owner.take_answer(self, answer)

    def _on_end(self, how: str) -> None:
        self.ended = how
        if not self._first.done():
            self._first.set_exception(_DiedError(how))
        elif self._owner is not None:
            self._owner.take_end(self, how)


def _seen(first: asyncio.Future[dict[str, Any]]) -> None:
    """Have the event loop take the error of a first answer as known, also where nobody waits for it any more."""
    if not first.cancelled():
        first.exception()


class _Request(Struct, frozen=True):
    line: bytes
    grade: asyncio.Future[Grade]


class EnvironmentWorker:
    """The tasks of one evaluation and their grader. Make it with `start`; safe for many grades at once, on one event loop."""

    def __init__(self, resolved: ResolvedEnvironment, request: Mapping[str, object], command: Sequence[str], grade_seconds: float) -> None:
        self._resolved = resolved
        self._load_request = request
        self._command = command
        self._patience = hard_limit(grade_seconds) + 1
        self._session: _Session | None = None
        self._batch: TaskBatch | None = None
        self._requests: OrderedDict[int, _Request] = OrderedDict()
        self._sent = 0
        self._watchdog: asyncio.TimerHandle | None = None
        self._restarting: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    async def start(
        cls,
        resolved: ResolvedEnvironment,
        *,
        split: str,
        seed: int,
        tasks: int,
        skip: int = 0,
        expect_digest: str | None = None,
        grade_seconds: float = GRADE_SECONDS,
        command: Sequence[str] | None = None,
    ) -> "EnvironmentWorker":
        """Start the process and make `tasks` tasks of the seed's order: its first, or those after the `skip` first.

        `grade_seconds` is the time for one answer, `command` how the process is started. Raises NodusError: InvalidSpec with every fault
        of a task file, Conflict when the digest differs from `expect_digest`, Unavailable when the process cannot make the tasks.
        """
        request = {
            **SPOKEN,
            "op": "load",
            "environment": environment_request(resolved),
            "split": split,
            "seed": seed,
            "skip": skip,
            "tasks": tasks,
            "gradeSeconds": grade_seconds,
        }
        worker = cls(resolved, request, command or worker_command(), grade_seconds)
        worker._batch = await worker._load(expect_digest)
        return worker

    @property
    def batch(self) -> TaskBatch:
        """The tasks, in their fixed order."""
        return cast("TaskBatch", self._batch)

    @property
    def pid(self) -> int | None:
        """The process's id; None while there is none."""
        return self._session.process.pid if self._session and self._session.process else None

    @property
    def stderr_tail(self) -> str:
        """The last few kilobytes that the process wrote to stderr."""
        return self._session.process.stderr_tail if self._session and self._session.process else ""

    async def grade(
        self, task_id: str, completion: str, *, simulated: bool = False, files: Path | None = None, began: Began | None = None
    ) -> Grade:
        """Grade a completion. A grader that breaks gives Verdict.INFRASTRUCTURE_FAILURE; NodusError (Unavailable) only after `aclose`.

        `simulated` says that the run's model is simulated: then, and only then, the marks of the contract's simulation stand for answers.
        `files` is not looked at: graders of words judge the completion alone. Nor is `began` told anything: they use no sandbox.
        """
        del files, began
        self._check_open()
        self._sent += 1
        number = self._sent
        line = line_of({"op": "grade", "n": number, "task": task_id, "completion": clean_text(completion), "simulated": simulated})
        request = _Request(line, asyncio.get_running_loop().create_future())
        self._requests[number] = request
        if self._session is not None and self._session.process is not None:
            self._session.process.send(line)
            self._watch(again=False)
        else:
            self._restart()
        return await request.grade

    async def aclose(self) -> None:
        """Kill the process and wait for its end. Grades still under way raise NodusError (Unavailable). May be called twice."""
        self._closed = True
        self._stop_watching()
        if self._restarting is not None:
            self._restarting.cancel()
            await asyncio.gather(self._restarting, return_exceptions=True)
        session, self._session = self._session, None
        if session is not None:
            await session.close("it was closed")
        for request in self._requests.values():
            if not request.grade.done():
                request.grade.set_exception(self._closed_error())
        self._requests.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def _closed_error(self) -> NodusError:
        return NodusError(ErrorCode.UNAVAILABLE, f"the grader of {reference_of(self._resolved)} was closed before it graded this answer")

    def _check_open(self) -> None:
        if self._closed:
            raise self._closed_error()

    async def _load(self, expect_digest: str | None) -> TaskBatch:
        session = _Session(self)
        try:
            answer = await session.ask(self._command, self._load_request, LOAD_SECONDS)
        except _DiedError as died:
            raise broken(self._resolved, str(died)) from None
        try:
            batch = batch_of(self._resolved, answer)
            if expect_digest is not None and batch.digest != expect_digest:
                raise changed(self._resolved)
        except NodusError:
            await session.close("its tasks are not usable")
            raise
        if session.ended:
            raise broken(self._resolved, session.ended)
        self._session = session
        return batch

    def take_answer(self, session: _Session, answer: dict[str, Any]) -> None:
        """The session's process answered a grade."""
        if session is not self._session:
            return
        oldest = next(iter(self._requests), None)
        grade = grade_of(answer)
        if oldest is None or answer.get("n") != oldest or grade is None:
            if session.process is not None:
                session.process.kill("it answered something that is no answer")
            return
        self._finish(oldest, grade)
        self._watch(again=True)

    def take_end(self, session: _Session, how: str) -> None:
        """The session's process ended."""
        if session is not self._session:
            return
        self._session = None
        self._stop_watching()
        oldest = next(iter(self._requests), None)
        if oldest is not None:
            self._finish(
                oldest, Grade(Verdict.INFRASTRUCTURE_FAILURE, None, f"the grader's process broke while it graded this answer: {how}")
            )
        if self._requests:
            self._restart()

    def _finish(self, number: int, grade: Grade) -> None:
        request = self._requests.pop(number)
        if not request.grade.done():
            request.grade.set_result(grade)

    def _restart(self) -> None:
        if self._restarting is None and not self._closed:
            self._restarting = asyncio.create_task(self._start_again())

    async def _start_again(self) -> None:
        try:
            await self._load(self.batch.digest)
        except NodusError as error:
            for number in list(self._requests):
                self._finish(number, Grade(Verdict.INFRASTRUCTURE_FAILURE, None, error.detail))
        finally:
            self._restarting = None
        if self._session is not None and self._session.process is not None:
            for request in self._requests.values():
                self._session.process.send(request.line)
            self._watch(again=True)

    def _watch(self, *, again: bool) -> None:
        """Time the oldest request: from now if the last was just answered, else from when it became the oldest."""
        if again:
            self._stop_watching()
        if self._watchdog is None and self._requests:
            self._watchdog = asyncio.get_running_loop().call_later(self._patience, self._lose_patience)

    def _stop_watching(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None

    def _lose_patience(self) -> None:
        self._watchdog = None
        if self._session is not None and self._session.process is not None:
            self._session.process.kill(f"it did not answer within {self._patience:g} seconds")


async def check(resolved: ResolvedEnvironment) -> EnvironmentFacts:
    """What there is to know of an environment; a task file is read whole, in a grader's process.

    Raises NodusError: InvalidSpec with every fault of the file, or Unavailable.
    """
    if resolved.source not in {"file", "folder"} and not resolved.in_sandbox:
        endless = resolved.source == "catalogue"
        size = {} if endless else {"train": SIZE, "test": SIZE}
        return EnvironmentFacts(size, digest([resolved.name, resolved.version]), ARITHMETIC_MOST if endless else None)
    session = _Session()
    try:
        answer = await session.ask(
            worker_command(), {**SPOKEN, "op": "describe", "environment": environment_request(resolved)}, LOAD_SECONDS
        )
    except _DiedError as died:
        raise broken(resolved, str(died)) from None
    await session.close("it has answered")
    _refused(resolved, answer)
    counts, whole = answer.get("tasks"), answer.get("digest")
    if not isinstance(counts, dict) or not isinstance(whole, str):
        raise broken(resolved, "it answered something that is no answer")
    return EnvironmentFacts({str(split): int(count) for split, count in counts.items()}, whole)


def line_of(request: Mapping[str, object]) -> bytes:
    """A request as it is sent."""
    return json.dumps(request).encode() + b"\n"


def reference_of(resolved: ResolvedEnvironment) -> str:
    """The environment as groups name it."""
    return f"{resolved.name}@{resolved.version}"


def environment_request(resolved: ResolvedEnvironment) -> dict[str, object]:
    """The environment as requests name it."""
    return {"name": resolved.name, "version": resolved.version, "source": resolved.source, "options": dict(resolved.options)}


def task_file(resolved: ResolvedEnvironment) -> str:
    """The path of the environment's task file, or of its folder of tasks; empty when it has none."""
    spec = resolved.options.get("spec")
    return str(spec.get("file") or spec.get("folder") or "") if isinstance(spec, dict) else ""


def broken(resolved: ResolvedEnvironment, how: str) -> NodusError:
    """The grader's process ended or answered nonsense."""
    return NodusError(ErrorCode.UNAVAILABLE, f"the grader's process of {reference_of(resolved)} broke: {how}")


def changed(resolved: ResolvedEnvironment) -> NodusError:
    """The tasks are not those that were expected."""
    file = task_file(resolved)
    what = f"{file} or its grader" if file else "the environment"
    return NodusError(
        ErrorCode.CONFLICT,
        f"{what} changed: {reference_of(resolved)} no longer gives the tasks that this evaluation was created with; "
        "bring the old state back, or give the new one a new version and create a new group",
    )


def _refused(resolved: ResolvedEnvironment, answer: Mapping[str, Any]) -> None:
    if answer.get("ok") is True:
        return
    file = task_file(resolved)
    message = str(answer.get("message") or "it answered something that is no answer")
    if not file:
        raise NodusError(ErrorCode.UNAVAILABLE, f"{reference_of(resolved)}: {message}")
    faults = tuple(Fault(message=str(text), file=file, line=int(line)) for line, text in answer.get("faults") or ())
    raise NodusError(
        ErrorCode.INVALID_SPEC, f"{reference_of(resolved)}: {message} ({file})", faults or (Fault(message=message, file=file),)
    )


def batch_of(resolved: ResolvedEnvironment, answer: Mapping[str, Any]) -> TaskBatch:
    """The tasks that a grader's process answered with. Raises NodusError."""
    _refused(resolved, answer)
    try:
        return TaskBatch(tuple(_card(card) for card in answer["tasks"]), str(answer["digest"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise broken(resolved, "it answered something that is no answer") from None


def _card(card: Mapping[str, Any]) -> TaskCard:
    bench = card.get("workbench")
    return TaskCard(str(card["id"]), tuple(card["prompts"]), dict(card["metadata"]), None if bench is None else Workbench(**bench))


def grade_of(answer: Mapping[str, Any]) -> Grade | None:
    """The grade that a grader's process answered; None when it is none."""
    verdict, reward, message = answer.get("verdict"), answer.get("reward"), answer.get("message")
    seconds, image = answer.get("sandboxSeconds", 0), str(answer.get("image") or "")
    if not isinstance(verdict, str) or verdict not in set(Verdict) or not isinstance(message, str):
        return None
    if not isinstance(reward, int | float | None) or not isinstance(seconds, int | float):
        return None
    bounded = None if reward is None else float(min(max(reward, 0.0), 1.0))
    return Grade(Verdict(verdict), bounded, message, float(seconds), image, no_reference=answer.get("noReference") is True)
