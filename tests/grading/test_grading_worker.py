"""The grading process from outside: many answers at once, out of order; killed, silent, closed; and watched for leaks."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from grading_places import ENGINE, archive, block, connect

from local_backend.environments.interface import ResolvedEnvironment
from local_backend.grading.client import GradingWorker, grading_command, grading_environment, start_grader
from local_backend.sandboxes.interface import FoundSandbox
from local_backend.sandboxes.owner import owner_alive
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER, UNREADABLE_REPLY, WRONG_PLACEHOLDER

CANARY = "canary-5d20"
TESTS = "def test_it(solution):\n    assert solution.name() == {expected!r}\n"


def rows(count: int, *, solution: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "id": f"t{n}",
            "prompt": "Write name().",
            "tests": {"test_it.py": TESTS.format(expected=f"{CANARY}-{n}")},
            **({"solution": f"def name(): return '{CANARY}-{n}'\n"} if solution else {}),
        }
        for n in range(count)
    ]


def environment(folder: Path, tasks: list[dict[str, Any]], grader: dict[str, Any] | None = None) -> ResolvedEnvironment:
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in tasks))
    spec = {"version": "1", "file": str(path), "grader": grader or {"type": "pytest", "solution": "completion", "timeout": "30s"}}
    return ResolvedEnvironment("mine", "1", "file", {"spec": spec})


@asynccontextmanager
async def worker(resolved: ResolvedEnvironment, tasks: int, **how: Any) -> AsyncIterator[GradingWorker]:
    engine = await connect()
    await engine.aclose()
    made = await GradingWorker.start(resolved, split="test", seed=0, tasks=tasks, **{"engine": ENGINE, "workspace": "tests", **how})
    try:
        yield made
    finally:
        await made.aclose()


async def owned(pid: int) -> list[FoundSandbox]:
    engine = await connect()
    try:
        return [found for found in await engine.list() if found.owner.pid == pid]
    finally:
        await engine.aclose()


async def removed(pids: set[int]) -> None:
    """What dead processes left is the reaper's, which knows it by its owner; here it is removed likewise."""
    engine = await connect()
    try:
        for found in [each for each in await engine.list() if each.owner.pid in pids]:
            assert owner_alive(found.owner) is False
            await engine.remove(found)
    finally:
        await engine.aclose()


async def test_many_answers_at_once_each_get_their_own(tmp_path: Path) -> None:
    async with worker(environment(tmp_path, rows(8)), 8) as grader:
        answers = [block(f"def name(): return '{CANARY}-{n if n % 2 else 'x'}'") for n in range(8)]
        grades = await asyncio.gather(*(grader.grade(f"t{n}", answers[n]) for n in range(8)))
        assert [grade.verdict is Verdict.CORRECT for grade in grades] == [bool(n % 2) for n in range(8)]
        assert all(grade.sandbox_seconds > 0 for grade in grades)
        assert not any(CANARY in grade.message for grade in grades)
        pid = grader.pid or 0
    assert not psutil.pid_exists(pid)
    assert await owned(pid) == []


async def test_answers_come_out_of_order(tmp_path: Path) -> None:
    async with worker(environment(tmp_path, rows(2)), 2, places=2) as grader:
        slow = asyncio.create_task(grader.grade("t0", block("import time\ntime.sleep(3)\ndef name(): return 1")))
        quick = await grader.grade("t1", "no code at all")
        assert quick.verdict is Verdict.INVALID_OUTPUT
        assert not slow.done()
        assert (await slow).verdict is Verdict.INCORRECT


async def test_marks_files_and_unknown_tasks(tmp_path: Path) -> None:
    grader = {"type": "pytest", "solutionFile": "solution.py", "timeout": "30s"}
    files = archive(tmp_path / "run.tar", {"solution.py": f"def name(): return '{CANARY}-0'".encode()})
    async with worker(environment(tmp_path, rows(1), grader), 1) as made:
        assert (await made.grade("t0", "done", files=files)).verdict is Verdict.CORRECT
        assert (await made.grade("t0", "done")).verdict is Verdict.INVALID_OUTPUT
        marked = {
            mark: await made.grade("t0", mark, simulated=True) for mark in (REFERENCE_PLACEHOLDER, WRONG_PLACEHOLDER, UNREADABLE_REPLY)
        }
        assert marked[REFERENCE_PLACEHOLDER].verdict is Verdict.CORRECT
        assert marked[WRONG_PLACEHOLDER].verdict is Verdict.INCORRECT
        assert marked[UNREADABLE_REPLY].verdict is Verdict.INVALID_OUTPUT
        assert marked[REFERENCE_PLACEHOLDER].message == (
            "1 of 1 tests passed; the simulated model only said that it is right: "
            "the task's reference solution was judged, and not its reply"
        )
        assert (await made.grade("elsewhere", "x")).verdict is Verdict.INFRASTRUCTURE_FAILURE
        assert (await made.grade("t0", "done", files=tmp_path / "nothing.tar")).verdict is Verdict.INFRASTRUCTURE_FAILURE


async def test_a_killed_process_is_replaced_and_its_answers_are_tried_again(tmp_path: Path) -> None:
    async with worker(environment(tmp_path, rows(2)), 2, places=2) as grader:
        first = grader.pid or 0
        answer = block("import time\ntime.sleep(1)\ndef name(): return '" + CANARY + "-0'")
        grading = [asyncio.create_task(grader.grade("t0", answer)), asyncio.create_task(grader.grade("t1", answer))]
        while not await owned(first):
            await asyncio.sleep(0.01)
        os.kill(first, signal.SIGKILL)
        grades = [await each for each in grading]
        assert [grade.verdict for grade in grades] == [Verdict.CORRECT, Verdict.INCORRECT]
        assert grader.pid not in {None, first}
        await removed({first})


async def test_an_answer_whose_process_dies_twice_is_a_failure(tmp_path: Path) -> None:
    async with worker(environment(tmp_path, rows(1)), 1) as grader:
        grading = asyncio.create_task(grader.grade("t0", block("import time\ntime.sleep(20)")))
        killed: set[int] = set()
        while len(killed) < 2:
            pid = grader.pid
            if pid is not None and pid not in killed and await owned(pid):
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.01)
        grade = await grading
        await removed(killed)
        assert grade.verdict is Verdict.INFRASTRUCTURE_FAILURE
        assert "broke twice" in grade.message
        assert grade.sandbox_seconds is None
        assert (await grader.grade("t0", block(f"def name(): return '{CANARY}-0'"))).verdict is Verdict.CORRECT


async def test_a_grade_that_is_cancelled_ends_its_sandbox_and_no_other(tmp_path: Path) -> None:
    async with worker(environment(tmp_path, rows(1)), 1) as grader:
        grading = asyncio.create_task(grader.grade("t0", block("import time\ntime.sleep(20)")))
        while not await owned(grader.pid or 0):
            await asyncio.sleep(0.01)
        grading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await grading
        while await owned(grader.pid or 0):
            await asyncio.sleep(0.01)
        assert (await grader.grade("t0", block(f"def name(): return '{CANARY}-0'"))).verdict is Verdict.CORRECT


async def test_closing_ends_what_is_under_way(tmp_path: Path) -> None:
    async with worker(environment(tmp_path, rows(1)), 1) as grader:
        pid = grader.pid or 0
        grading = asyncio.create_task(grader.grade("t0", block("import time\ntime.sleep(20)")))
        while not await owned(pid):
            await asyncio.sleep(0.01)
        await grader.aclose()
        with pytest.raises(NodusError, match="was closed"):
            await grading
        with pytest.raises(NodusError, match="was closed"):
            await grader.grade("t0", "x")
    assert not psutil.pid_exists(pid)
    assert await owned(pid) == []


async def test_a_process_whose_scheduler_is_gone_ends_with_its_sandboxes(tmp_path: Path) -> None:
    engine = await connect()
    await engine.aclose()
    request = {
        "op": "load",
        "environment": {"name": "mine", "version": "1", "source": "file", "options": dict(environment(tmp_path, rows(1)).options)},
    }
    request |= {"split": "test", "seed": 0, "tasks": 1, "engine": ENGINE, "workspace": ""}
    grade = {
        "op": "grade",
        "n": 1,
        "task": "t0",
        "completion": block("import time\ntime.sleep(60)"),
        "files": None,
        "use": "answer",
        "simulated": False,
    }
    process = await asyncio.create_subprocess_exec(
        *grading_command(), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=grading_environment(), cwd="/"
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request).encode() + b"\n" + json.dumps(grade).encode() + b"\n")
    assert json.loads(await process.stdout.readline())["ok"] is True
    assert json.loads(await process.stdout.readline())["began"] > 0
    while not await owned(process.pid):
        await asyncio.sleep(0.01)
    process.stdin.close()
    assert await process.wait() == 0
    assert await owned(process.pid) == []


async def test_no_answer_leaves_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "sk-of-the-scheduler")
    assert "sk-of-the-scheduler" not in grading_environment().values()
    script = """
import sys
answer = open("answer.json").read()
print(answer)
print(answer, file=sys.stderr)
raise ValueError(answer)
"""
    folder = tmp_path / "grader"
    folder.mkdir()
    (folder / "grade.py").write_text(script)
    grader = {"type": "program", "command": ["python3", "grade.py"], "files": str(folder), "solution": "text"}
    async with worker(environment(tmp_path, [{"id": "t0", "prompt": "p", "answer": CANARY}], grader), 1) as made:
        assert CANARY not in repr(made.batch)
        grade = await made.grade("t0", "hello")
        assert grade.verdict is Verdict.INFRASTRUCTURE_FAILURE
        assert CANARY not in grade.message + made.stderr_tail
        assert "sk-of-the-scheduler" not in psutil.Process(made.pid).environ().values()


async def test_a_file_that_changed_is_never_graded_by(tmp_path: Path) -> None:
    resolved = environment(tmp_path, rows(1))
    async with worker(resolved, 1) as grader:
        digest = grader.batch.digest
        environment(tmp_path, [{**rows(1)[0], "tests": {"test_it.py": "def test_x(): pass"}}])
        os.kill(grader.pid or 0, signal.SIGKILL)
        grade = await grader.grade("t0", block("x = 1"))
        assert grade.verdict is Verdict.INFRASTRUCTURE_FAILURE
        assert "changed" in grade.message
    with pytest.raises(NodusError, match="changed") as caught:
        async with worker(resolved, 1, expect_digest=digest):
            pass
    assert caught.value.code is ErrorCode.CONFLICT


async def test_faults_of_the_file_and_an_engine_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NodusError) as caught:
        async with worker(environment(tmp_path, [{**rows(1)[0], "tests": 5}]), 1):
            pass
    assert [(fault.line, fault.file) for fault in caught.value.faults] == [(1, str(tmp_path / "tasks.jsonl"))]
    with pytest.raises(NodusError, match="no engine makes any here") as missing:
        await start_grader(environment(tmp_path, rows(1)), split="test", seed=0, tasks=1, engine=None)
    assert missing.value.code is ErrorCode.UNAVAILABLE
    silent = {"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock", "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with pytest.raises(NodusError, match="cannot be graded here") as unavailable:
        await GradingWorker.start(environment(tmp_path, rows(1)), split="test", seed=0, tasks=1, engine="docker", environ=silent)
    assert unavailable.value.code is ErrorCode.UNAVAILABLE


LOADED = {"ok": True, "tasks": [{"id": "t0", "prompts": ["?"], "metadata": {}}], "digest": "sha256:0"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit(3)", "broke twice while it graded this answer: it left with status 3"),
        ("print('garbage', flush=True)", "something that is no answer"),
        ("print(json.dumps({'n': n, 'verdict': 'Perfect'}), flush=True)", "something that is no answer"),
        ("print(json.dumps({'n': n, 'verdict': [], 'message': ''}), flush=True)", "something that is no answer"),
        (
            "print(json.dumps({'n': n, 'verdict': 'Correct', 'message': '', 'sandboxSeconds': None}), flush=True)",
            "something that is no answer",
        ),
        ("print(json.dumps({'n': n, 'began': -29.9}), flush=True)", "did not answer in its time"),
    ],
)
async def test_a_process_that_lies_dies_or_hangs_gives_no_verdict(tmp_path: Path, body: str, message: str) -> None:
    script = f"""
import json, sys
sys.stdin.readline(); print(json.dumps({LOADED!r}), flush=True)
for line in sys.stdin:
    n = json.loads(line)['n']
    {body}
"""
    started = await GradingWorker.start(
        environment(tmp_path, rows(1)), split="test", seed=0, tasks=1, engine=ENGINE, command=[sys.executable, "-c", script]
    )
    async with started as grader:
        grade = await grader.grade("t0", "x")
        assert grade.verdict is Verdict.INFRASTRUCTURE_FAILURE
        assert message in grade.message
