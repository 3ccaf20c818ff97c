"""The grading process: `python -m local_backend.grading.process`, JSON lines on stdin and stdout. It holds tasks and answers.

Like the process of `environments/worker.py` it lets no answer out, and it ends when its stdin does. Unlike that one it judges many answers
at once, each in a sandbox that it makes itself, and answers out of order. It chooses nothing: the engine is named to it.

Requests: `load` as there, with `engine` and `workspace`; `{"op": "grade", "n", "task", "completion", "files", "use", "simulated"}`, where
`files` is the path of an archive or null; `{"op": "cancel", "n"}`. Answers to a grade: `{"n", "began": seconds}` when the image is here and
the rest takes so long at most, then `{"n", "verdict", "reward", "message", "noReference", "sandboxSeconds", "image"}`.
"""

import asyncio
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from local_backend.environments.secret_tasks import SecretTask, SourceError, failure
from local_backend.environments.worker import LOAD_CPU_SECONDS, Contained, broke, drawn, judged, loaded, make_source, told, unmade
from local_backend.grading.judging import Judge, Judged
from local_backend.handed_over import other_code
from local_backend.sandboxes.choosing import choose_engine
from local_backend.sandboxes.interface import SandboxError
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.pool import SandboxPool
from nodus_tui.contract.configuration import SandboxSettings

_LONGEST_LINE = 2**30

Answer = Callable[[Mapping[str, Any]], None]


class Grading:
    """Serves the requests of one evaluation."""

    def __init__(self, answer: Answer, environ: Mapping[str, str]) -> None:
        self._answer = answer
        self._environ = environ
        self._tasks: dict[str, SecretTask] = {}
        self._pool: SandboxPool | None = None
        self._judge: Judge | None = None
        self._going: dict[int, asyncio.Task[None]] = {}
        self._other_code = ""
        """What to tell of a request that is not understood, where other code asks."""

    async def serve(self, lines: asyncio.StreamReader) -> None:
        """Serve until the requests end; then end what is being judged, and its sandboxes."""
        try:
            while line := await lines.readline():
                await self._take(json.loads(line))
        finally:
            going = list(self._going.values())
            for task in going:
                if not task.cancelling():  # A second time would disturb it in taking down what it made.
                    task.cancel()
            await asyncio.gather(*going, return_exceptions=True)
            if self._pool is not None:
                await self._pool.aclose()

    async def _take(self, request: Mapping[str, Any]) -> None:
        if request["op"] == "load":
            self._answer(await self._loaded(request))
        elif request["op"] == "grade":
            number = int(request["n"])
            self._going[number] = asyncio.create_task(self._grade(number, request))
        elif request["op"] == "cancel" and (task := self._going.get(int(request["n"]))) is not None:
            task.cancel()

    async def _loaded(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._other_code = other_code(request)
        contained = Contained()
        with contained:
            weak = await self._opened(str(request["engine"]), str(request["workspace"]))
            if weak:
                return {"ok": False, "unavailable": True, "message": weak, "faults": []}
            signal.setitimer(signal.ITIMER_PROF, LOAD_CPU_SECONDS)
            try:
                source = make_source(request["environment"])
                tasks = drawn(source, request)
                self._tasks = {task.id: task for task in tasks}
                return loaded(source, tasks)
            except SourceError as error:
                return {"ok": False, "message": error.sentence, "faults": error.faults}
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        return unmade(contained, request)

    async def _opened(self, engine: str, workspace: str) -> str:
        """Open the engine; why it cannot be used for grading, or nothing."""
        settings = SandboxSettings.model_validate({"engine": engine})
        pool = SandboxPool(lambda: choose_engine(settings, self._environ), this_process(workspace), None)
        self._pool, self._judge = pool, Judge(pool)
        try:
            facts = await pool.facts()
        except SandboxError as error:
            return str(error)
        if facts.isolation != "full":
            return f"answers are judged in fully isolated sandboxes only, and {facts.engine} gives less here: {'; '.join(facts.weaknesses)}"
        return ""

    async def _grade(self, number: int, request: Mapping[str, Any]) -> None:
        contained = Contained()
        outcome = Judged(failure(""))
        try:
            with contained:
                outcome = await self._judged(request, lambda seconds: self._answer({"n": number, "began": seconds}))
        finally:
            del self._going[number]
        if contained.told:
            outcome = Judged(failure(broke(f"the grader failed: {contained.told}", self._other_code)))
        self._answer({"n": number, **judged(outcome.judgement), "sandboxSeconds": outcome.sandbox_seconds, "image": outcome.image})

    async def _judged(self, request: Mapping[str, Any], began: Callable[[float], None]) -> Judged:
        task = self._tasks.get(request["task"])
        if task is None or self._judge is None:
            return Judged(failure("the grader has no task of this name"))
        files = None if request["files"] is None else Path(request["files"])
        return await self._judge.judge(task, request["completion"], files, use=request["use"], simulated=request["simulated"], began=began)


async def _main(answers: int) -> None:
    def answer(content: Mapping[str, Any]) -> None:
        rest = memoryview(json.dumps(content).encode() + b"\n")
        while rest:
            rest = rest[os.write(answers, rest) :]

    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=_LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin.buffer)
    await Grading(answer, dict(os.environ)).serve(lines)


def main() -> int:
    """Serve on stdin and stdout."""
    answers, diagnosis = os.dup(1), os.dup(2)
    # Libraries print to the standard streams; what they print may be an answer.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # A core file would hold the answers.

    def tell(kind: type[BaseException], _: BaseException, trace: TracebackType | None) -> None:
        os.write(diagnosis, f"the grading process stopped: {told(kind, trace)}\n".encode())

    sys.excepthook = tell
    asyncio.run(_main(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
