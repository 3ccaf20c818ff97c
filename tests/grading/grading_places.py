"""Judging in real sandboxes for the tests. A machine without a fully isolated engine skips them by name; with CI set they fail instead."""

import io
import os
import tarfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from local_backend.environments.interface import Workbench
from local_backend.environments.secret_tasks import Judgement, SecretTask
from local_backend.environments.trials import Reference, TaskFile, Trial, TrialLimits
from local_backend.grading.judging import Judge
from local_backend.sandboxes.bubblewrap.engine import connect_bubblewrap
from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import SandboxEngine, SandboxError
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.pool import SandboxPool
from nodus_tui.contract.sandboxes import SandboxEngineFact

ENGINE = os.environ.get("NODUS_TEST_ENGINE", "bubblewrap")
"""The engine that the tests of grading use."""


def need(problem: str) -> None:
    """Skip, or fail in CI, when there is a problem."""
    if problem and os.environ.get("CI"):
        pytest.fail(f"CI must have every engine that the tests need: {problem}")
    if problem:
        pytest.skip(problem)


async def connect() -> SandboxEngine:
    """The engine; skips where there is none that is strong enough."""
    try:
        engine: SandboxEngine = await (connect_docker if ENGINE == "docker" else connect_bubblewrap)(os.environ)
    except SandboxError as error:
        need(str(error))
        raise
    need("" if engine.facts.isolation == "full" else f"{ENGINE} isolates less here: {'; '.join(engine.facts.weaknesses)}")
    return engine


class Bench:
    """Judges answers, and remembers the engine to look for leftovers."""

    def __init__(self, engine: SandboxEngine, pool: SandboxPool) -> None:
        self.engine = engine
        self.pool = pool
        self.judge = Judge(pool)

    async def judged(
        self, trial: Trial, completion: str = "", *, files: Path | None = None, task_files: Any = None, **how: Any
    ) -> Judgement:
        """The judgement of an answer to a task with this trial."""
        task = SecretTask("task", ("p",), {}, None, Workbench(files=task_files or {}), trial)
        return (await self.judge.judge(task, completion, files, **how)).judgement

    async def left(self) -> list[str]:
        """Sandboxes that this process still has."""
        return [found.id for found in await self.engine.list() if found.owner == self.pool.owner]


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """A place to judge in; nothing may be left behind."""
    engine = await connect()

    async def choose() -> tuple[SandboxEngine, SandboxEngineFact]:
        return engine, SandboxEngineFact(engine="bubblewrap", isolation="full", reason="a test")

    pool = SandboxPool(choose, this_process("tests of grading"), None)
    made = Bench(engine, pool)
    try:
        yield made
        assert await made.left() == []
    finally:
        await pool.aclose()
        await engine.aclose()  # The pool closes the one that it has chosen, and it chooses late.


def program(script: str, *, seconds: float = 20, **more: Any) -> Trial:
    """A trial whose grader is a Python script."""
    return Trial(
        **{
            "kind": "program",
            "command": ("python3", "grade.py"),
            "grader_files": {"grade.py": TaskFile(script.encode())},
            "solution": "completion",
            "solution_file": "solution.py",
            "limits": TrialLimits(seconds=seconds, disk_bytes=64 << 20, memory_bytes=512 << 20, pids=96),
            **more,
        }
    )


def hidden(tests: str, *, seconds: float = 20, **more: Any) -> Trial:
    """A trial whose grader is a file of hidden tests."""
    return Trial(
        **{
            "kind": "pytest",
            "grader_files": {"test_hidden.py": TaskFile(tests.encode())},
            "solution": "completion",
            "solution_file": "solution.py",
            "limits": TrialLimits(seconds=seconds, disk_bytes=64 << 20, memory_bytes=512 << 20, pids=96),
            **more,
        }
    )


def block(code: str) -> str:
    """A reply with this code."""
    return f"Here it is:\n```python\n{code}\n```\n"


def archive(path: Path, files: Mapping[str, bytes], *, links: Mapping[str, str] | None = None) -> Path:
    """An archive of a work folder as an agent may have left it."""
    with tarfile.open(path, "w") as made:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            made.addfile(info)
    return path


REFERENCE = Reference(text="def add(a, b):\n    return a + b\n")
