"""GradingWorker: the scheduler's side of a grading process. It hands out tasks and grades, and never sees an answer.

Many grades are under way at once. When the process dies, each of them is tried once more in a fresh one, those one after the other, so that
an answer that kills the process takes no other with it; what fails twice is an infrastructure failure.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

from msgspec import Struct

from local_backend.environments.client import (
    LOAD_SECONDS,
    EnvironmentWorker,
    batch_of,
    broken,
    changed,
    environment_request,
    grade_of,
    line_of,
    reference_of,
)
from local_backend.environments.interface import Began, Grade, ResolvedEnvironment, TaskBatch
from local_backend.environments.protocol import clean_text
from local_backend.environments.worker_process import WorkerProcess, clean_environment
from local_backend.grading.submissions import Use
from local_backend.handed_over import SPOKEN
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Verdict

PREPARE_SECONDS = 1800.0
"""Until a grader's image is here, at most."""

_MARGIN_SECONDS = 30.0
_CLOSE_SECONDS = 10.0
"""For ending its sandboxes when it is closed."""
_LOADING = 0
"""The number of the request that makes the tasks."""
_ENGINE_VARIABLES = (
    *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY"),
    *("HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "NODUS_CACHE"),
)


def grading_environment(ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that a grading process gets: those it needs to run and to find the engine, and no key of ours."""
    ours = os.environ if ours is None else ours
    return {**clean_environment(ours), **{name: ours[name] for name in _ENGINE_VARIABLES if name in ours}}


def grading_command() -> list[str]:
    """How a grading process is started: without the current folder on its path, and without warnings, which quote source text."""
    return [sys.executable, "-P", "-W", "ignore", "-m", "local_backend.grading.process"]


def default_places() -> int:
    """Answers that are judged at once: one for each processor, and at least two."""
    return max(2, os.cpu_count() or 1)


class _DiedError(Exception):
    """The process ended before it answered; the text says how."""


class _LateError(Exception):
    """The process did not answer in its time."""


class _Waiting(Struct):
    answer: asyncio.Future[dict[str, Any]]
    limit: asyncio.Timeout | None = None
    began: Began | None = None


class _Line:
    """One process, and who waits for its answers."""

    def __init__(self) -> None:
        self.process: WorkerProcess | None = None
        self._waiting: dict[int, _Waiting] = {}
        self.ended = ""
        """How the process ended; empty until then."""

    @classmethod
    async def start(cls, command: Sequence[str], environ: Mapping[str, str]) -> "_Line":
        """Start the process. Raises _DiedError."""
        line = cls()
        try:
            line.process = await WorkerProcess.start(command, line._on_answer, line._on_end, environ=environ)
        except OSError as error:
            raise _DiedError(f"it could not be started: {error.strerror}") from None
        return line

    async def ask(self, number: int, request: Mapping[str, object], seconds: float, began: Began | None = None) -> dict[str, Any]:
        """Send a request and wait for its answer. Raises _DiedError, _LateError."""
        process = cast("WorkerProcess", self.process)
        if self.ended:
            raise _DiedError(self.ended)
        waiting = self._waiting[number] = _Waiting(asyncio.get_running_loop().create_future(), began=began)
        process.send(line_of(request))
        try:
            async with asyncio.timeout(seconds) as waiting.limit:
                return await waiting.answer
        except TimeoutError:
            process.kill("it did not answer in its time")
            raise _LateError from None
        except asyncio.CancelledError:
            process.send(line_of({"op": "cancel", "n": number}))
            raise
        finally:
            del self._waiting[number]

    async def close(self) -> None:
        """Let it end its sandboxes and itself; kill it when it does not."""
        process = cast("WorkerProcess", self.process)
        process.end_input()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await process.gone()
        except TimeoutError:
            await self.kill("it was closed")

    async def kill(self, why: str) -> None:
        """End it at once."""
        process = cast("WorkerProcess", self.process)
        process.kill(why)
        await process.gone()

    def _on_answer(self, answer: dict[str, Any]) -> None:
        number = answer.get("n", _LOADING)
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is None or waiting.answer.done():
            return  # Who asked has gone.
        if "began" in answer:
            # One whose time has just run out is on its way to be told so.
            if waiting.limit is not None and not waiting.limit.expired() and isinstance(answer["began"], int | float):
                waiting.limit.reschedule(asyncio.get_running_loop().time() + answer["began"] + _MARGIN_SECONDS)
                if waiting.began is not None:
                    waiting.began(float(answer["began"]))
            return
        waiting.answer.set_result(answer)

    def _on_end(self, how: str) -> None:
        self.ended = how
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(_DiedError(how))


class GradingWorker:
    """The tasks of one evaluation and their grader. Make it with `start`; safe for many grades at once, on one event loop."""

    def __init__(
        self, resolved: ResolvedEnvironment, request: Mapping[str, object], command: Sequence[str], environ: Mapping[str, str], places: int
    ) -> None:
        self._resolved = resolved
        self._request = request
        self._command = command
        self._environ = environ
        self._places = asyncio.Semaphore(places)
        self._again = asyncio.Lock()
        """Second tries go one at a time."""
        self._starting = asyncio.Lock()
        self._line: _Line | None = None
        self._batch: TaskBatch | None = None
        self._sent = _LOADING
        self._asking: set[asyncio.Task[Any]] = set()
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
        engine: str,
        workspace: str = "",
        expect_digest: str | None = None,
        environ: Mapping[str, str] | None = None,
        places: int | None = None,
        command: Sequence[str] | None = None,
    ) -> "GradingWorker":
        """Start the process and make `tasks` tasks of the seed's order: its first, or those after the `skip` first.

        `engine` is the name of the one that makes the sandboxes, `workspace` goes into their labels, `environ` is the scheduler's own, of
        which the process gets what it needs; `places` is how many answers are judged at once, `command` how the process is started. Raises
        NodusError: InvalidSpec with every fault of a task file, Conflict when the digest differs from `expect_digest`, Unavailable when the
        process cannot make the tasks, or the engine is not there or not strong enough.
        """
        request = {
            **SPOKEN,
            "op": "load",
            "environment": environment_request(resolved),
            "split": split,
            "seed": seed,
            "skip": skip,
            "tasks": tasks,
            "engine": engine,
            "workspace": workspace,
        }
        worker = cls(resolved, request, command or grading_command(), grading_environment(environ), places or default_places())
        worker._line, worker._batch = await worker._load(expect_digest)
        return worker

    @property
    def batch(self) -> TaskBatch:
        """The tasks, in their fixed order."""
        return cast("TaskBatch", self._batch)

    @property
    def pid(self) -> int | None:
        """The process's id; None while there is none."""
        return self._line.process.pid if self._line and self._line.process and not self._line.ended else None

    @property
    def stderr_tail(self) -> str:
        """The last few kilobytes that the process wrote to stderr."""
        return self._line.process.stderr_tail if self._line and self._line.process else ""

    async def grade(
        self, task_id: str, completion: str, *, simulated: bool = False, files: Path | None = None, began: Began | None = None
    ) -> Grade:
        """Grade an answer: a completion, and the archive of the agent's files where it had a sandbox.

        A grader that breaks gives Verdict.INFRASTRUCTURE_FAILURE; NodusError (Unavailable) only after `aclose`. `simulated` says that the
        run's model is simulated: then, and only then, the marks of the contract's simulation stand for the reference solution. The archive
        must lie there until this returns. `began` is told when the sandbox is about to be made, for each try.
        """
        return await self._graded(task_id, completion, files, simulated=simulated, use="answer", began=began)

    async def check(self, task_id: str, use: Use) -> Grade:
        """Grade a task's own solution, or nothing at all, in place of an answer."""
        return await self._graded(task_id, "", None, simulated=False, use=use, began=None)

    async def aclose(self) -> None:
        """End the process with its sandboxes. Grades still under way raise NodusError (Unavailable). May be called twice."""
        self._closed = True
        for task in tuple(self._asking):
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        line, self._line = self._line, None
        if line is not None:
            await line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def _graded(self, task_id: str, completion: str, files: Path | None, *, simulated: bool, use: Use, began: Began | None) -> Grade:
        request = {
            "op": "grade",
            "task": task_id,
            "completion": clean_text(completion),
            "files": _absolute(files),
            "simulated": simulated,
            "use": use,
        }
        if self._closed:
            raise self._closed_error()
        asking = asyncio.create_task(self._ask_twice(request, began))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        try:
            await asyncio.wait({asking})
        except asyncio.CancelledError:
            asking.cancel()
            raise
        if asking.cancelled():
            raise self._closed_error()
        return asking.result()

    def _closed_error(self) -> NodusError:
        return NodusError(ErrorCode.UNAVAILABLE, f"the grader of {reference_of(self._resolved)} was closed before it graded this answer")

    async def _ask_twice(self, request: Mapping[str, object], began: Began | None) -> Grade:
        try:
            async with self._places:
                try:
                    return await self._ask(request, began)
                except _DiedError:
                    async with self._again:
                        return await self._ask(request, began)
        except _DiedError as died:
            return _failed(f"the grading process broke twice while it graded this answer: {died}")
        except _LateError:
            return _failed("the grading process did not answer in its time")
        except NodusError as error:
            return _failed(error.detail)

    async def _ask(self, request: Mapping[str, object], began: Began | None) -> Grade:
        async with self._starting:
            if self._line is None or self._line.ended:
                self._line, _ = await self._load(self.batch.digest)
            line = self._line
        self._sent += 1
        answer = await line.ask(self._sent, {**request, "n": self._sent}, PREPARE_SECONDS, began)
        grade = grade_of(answer)
        if grade is None:
            await line.kill("it answered something that is no answer")
            raise _DiedError("it answered something that is no answer")
        return grade

    async def _load(self, expect_digest: str | None) -> tuple[_Line, TaskBatch]:
        try:
            line = await _Line.start(self._command, self._environ)
        except _DiedError as died:
            raise broken(self._resolved, str(died)) from None
        try:
            batch = self._batch_in(await line.ask(_LOADING, self._request, LOAD_SECONDS), expect_digest)
        except _DiedError as died:
            raise broken(self._resolved, str(died)) from None
        except _LateError:
            await line.kill("it was late")
            raise broken(self._resolved, f"it did not make the tasks within {LOAD_SECONDS:g} seconds") from None
        except BaseException:
            await line.kill("its tasks are not usable")
            raise
        return line, batch

    def _batch_in(self, answer: Mapping[str, Any], expect_digest: str | None) -> TaskBatch:
        if answer.get("unavailable") is True:
            raise NodusError(ErrorCode.UNAVAILABLE, f"{reference_of(self._resolved)} cannot be graded here: {answer.get('message')}")
        batch = batch_of(self._resolved, answer)
        if expect_digest is not None and batch.digest != expect_digest:
            raise changed(self._resolved)
        return batch


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def _failed(message: str) -> Grade:
    return Grade(Verdict.INFRASTRUCTURE_FAILURE, None, message, sandbox_seconds=None)


async def start_grader(
    resolved: ResolvedEnvironment,
    *,
    split: str,
    seed: int,
    tasks: int,
    skip: int = 0,
    expect_digest: str | None = None,
    engine: str | None,
    workspace: str = "",
    environ: Mapping[str, str] | None = None,
) -> EnvironmentWorker | GradingWorker:
    """The worker that an environment needs: for words, or for judging in sandboxes of the named engine. Raises NodusError."""
    if not resolved.in_sandbox:
        return await EnvironmentWorker.start(resolved, split=split, seed=seed, tasks=tasks, skip=skip, expect_digest=expect_digest)
    if engine is None:
        raise NodusError(ErrorCode.UNAVAILABLE, f"{reference_of(resolved)} is graded in sandboxes, and no engine makes any here")
    return await GradingWorker.start(
        resolved,
        split=split,
        seed=seed,
        tasks=tasks,
        skip=skip,
        expect_digest=expect_digest,
        engine=engine,
        workspace=workspace,
        environ=environ,
    )
