"""The grader's process from outside: real processes, killed, stuck, silent, lying, and watched for leaks."""

import asyncio
import gc
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import psutil
import pytest
from environment_builders import MakeEnvironment, resolve

from local_backend.environments.client import EnvironmentWorker, check
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.environments.worker import told
from local_backend.environments.worker_process import WorkerProcess, clean_environment, worker_command
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER, UNREADABLE_REPLY, WRONG_PLACEHOLDER

ARITHMETIC = "nodus/arithmetic-v2@2.0.0"


async def arithmetic(tasks: int = 5, **settings: Any) -> EnvironmentWorker:
    return await EnvironmentWorker.start(resolve(ARITHMETIC), split="test", seed=0, tasks=tasks, **settings)


def rows(count: int, answer: str = "right") -> list[dict[str, Any]]:
    return [{"id": f"t{n}", "prompt": f"Question {n}?", "answer": answer} for n in range(count)]


async def test_the_same_tasks_in_every_process() -> None:
    async with await arithmetic(20) as first, await arithmetic(20) as second:
        assert first.batch == second.batch
        assert first.pid != second.pid
        assert len(first.batch.tasks) == 20


async def test_many_grades_at_once_each_get_their_own(make_environment: MakeEnvironment) -> None:
    environment = make_environment([{"id": f"t{n}", "prompt": "?", "answer": n} for n in range(100)], {"type": "numeric"})
    async with await EnvironmentWorker.start(environment, split="test", seed=3, tasks=100) as worker:
        grades = await asyncio.gather(*(worker.grade(f"t{n % 100}", str(n)) for n in range(1000)))
    assert [grade.verdict is Verdict.CORRECT for grade in grades] == [n < 100 for n in range(1000)]


async def test_marks_stand_for_answers_in_simulated_runs_only(make_environment: MakeEnvironment) -> None:
    environment = make_environment(rows(1), {"type": "exact", "answerPattern": "Answer: (.*)"})
    async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=1) as worker:

        async def verdict(completion: str, *, simulated: bool) -> Verdict:
            return (await worker.grade("t0", completion, simulated=simulated)).verdict

        assert await verdict(f"I say {REFERENCE_PLACEHOLDER}.", simulated=True) is Verdict.CORRECT
        assert await verdict(f"Answer: {WRONG_PLACEHOLDER}", simulated=True) is Verdict.INCORRECT
        assert await verdict(UNREADABLE_REPLY, simulated=True) is Verdict.INVALID_OUTPUT
        assert await verdict("Answer: right", simulated=True) is Verdict.CORRECT
        assert await verdict(f"Answer: {REFERENCE_PLACEHOLDER}", simulated=False) is Verdict.INCORRECT
        assert await verdict(f"I say {REFERENCE_PLACEHOLDER}.", simulated=False) is Verdict.INVALID_OUTPUT


async def test_long_and_broken_texts_are_graded() -> None:
    async with await arithmetic() as worker:
        task = worker.batch.tasks[0].id
        assert (await worker.grade(task, "word " * 600_000)).verdict is Verdict.INVALID_OUTPUT
        assert (await worker.grade(task, "\ud800 \x00 \n \u2028 no number")).verdict is Verdict.INVALID_OUTPUT
        assert (await worker.grade(task, "")).verdict is Verdict.INVALID_OUTPUT


async def test_a_task_of_another_batch_is_no_wrong_answer() -> None:
    async with await arithmetic() as worker:
        assert (await worker.grade("elsewhere", "5")).verdict is Verdict.INFRASTRUCTURE_FAILURE


CATASTROPHE = {"type": "exact", "answerPattern": "(a+)+$"}


async def test_a_pattern_that_backtracks_for_ever_fails_its_own_grade_only(make_environment: MakeEnvironment) -> None:
    environment = make_environment(rows(2), {"type": "regex", "answerPattern": "(?:a+)+b|right"})
    async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=2, grade_seconds=3) as worker:
        pid = worker.pid
        stuck, fine = await asyncio.gather(worker.grade("t0", "a" * 200), worker.grade("t1", "right"))
        assert worker.pid == pid
    assert stuck.verdict is Verdict.INFRASTRUCTURE_FAILURE
    assert "3 seconds" in stuck.message
    assert stuck.reward is None
    assert fine.verdict is Verdict.CORRECT


async def test_an_expected_pattern_may_be_the_one_that_backtracks(make_environment: MakeEnvironment) -> None:
    environment = make_environment(rows(1, "(a|aa)+$"), {"type": "regex"})
    async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=1, grade_seconds=0.2) as worker:
        assert (await worker.grade("t0", "a" * 200 + "b")).verdict is Verdict.INFRASTRUCTURE_FAILURE


async def test_a_process_killed_while_grading_fails_that_grade_and_is_replaced(make_environment: MakeEnvironment) -> None:
    environment = make_environment(rows(3), {"type": "regex", "answerPattern": "(?:a+)+b|right"})
    async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=3, grade_seconds=60) as worker:
        first = worker.pid
        assert first is not None
        stuck = asyncio.create_task(worker.grade("t0", "a" * 200))
        others = [asyncio.create_task(worker.grade("t1", "right")), asyncio.create_task(worker.grade("t2", "wrong right"))]
        await asyncio.wait([stuck, *others], timeout=0)
        os.kill(first, signal.SIGKILL)
        grade = await stuck
        assert grade.verdict is Verdict.INFRASTRUCTURE_FAILURE
        assert "SIGKILL" in grade.message
        assert [(await other).verdict for other in others] == [Verdict.CORRECT, Verdict.CORRECT]
        assert worker.pid not in {None, first}
        assert not psutil.pid_exists(first)


async def test_an_idle_process_that_was_killed_is_replaced_at_the_next_grade() -> None:
    async with await arithmetic() as worker:
        task = worker.batch.tasks[0].id
        await worker.grade(task, "1")
        session = worker._session
        assert session is not None
        assert session.process is not None
        os.kill(session.process.pid, signal.SIGKILL)
        await session.process.gone()
        assert worker.pid is None
        assert (await worker.grade(task, "none")).verdict is Verdict.INVALID_OUTPUT


async def test_a_file_that_changed_is_told_and_never_graded_by(make_environment: MakeEnvironment) -> None:
    environment = make_environment(rows(2), {"type": "exact"})
    async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=2) as worker:
        digest = worker.batch.digest
        make_environment(rows(2, "other"), {"type": "exact"})
        os.kill(worker.pid or 0, signal.SIGKILL)
        grades = await asyncio.gather(worker.grade("t0", "right"), worker.grade("t1", "right"))
        assert {grade.verdict for grade in grades} == {Verdict.INFRASTRUCTURE_FAILURE}
        assert "changed" in grades[1].message
    with pytest.raises(NodusError, match="changed") as caught:
        await EnvironmentWorker.start(environment, split="test", seed=0, tasks=2, expect_digest=digest)
    assert caught.value.code is ErrorCode.CONFLICT
    make_environment(rows(2), {"type": "exact"})
    async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=2, expect_digest=digest) as worker:
        assert worker.batch.digest == digest


def impostor(folder: Path, body: str) -> list[str]:
    """A process that makes tasks as the real one does and then grades in its own way."""
    script = folder / "impostor.py"
    loaded = {"ok": True, "tasks": [{"id": "t0", "prompts": ["?"], "metadata": {}}], "digest": "sha256:0"}
    script.write_text(
        f"import json, sys, time\nsys.stdin.readline()\nprint({json.dumps(json.dumps(loaded))}, flush=True)\n{textwrap.dedent(body)}"
    )
    return [sys.executable, str(script)]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.stdin.readline(); print('garbage', flush=True); time.sleep(99)", "no answer"),
        ("sys.stdin.readline(); print('[1]', flush=True); time.sleep(99)", "no answer"),
        (
            'sys.stdin.readline(); print(\'{"n": 99, "verdict": "Correct", "reward": 1, "message": ""}\', flush=True); time.sleep(99)',
            "no answer",
        ),
        (
            'sys.stdin.readline(); print(\'{"n": 1, "verdict": "Perfect", "reward": 1, "message": ""}\', flush=True); time.sleep(99)',
            "no answer",
        ),
        ("sys.stdin.readline(); sys.exit(3)", "status 3"),
        ("time.sleep(99)", "did not answer within"),
    ],
)
async def test_a_grader_that_lies_dies_or_hangs_never_gives_a_verdict(tmp_path: Path, body: str, words: str) -> None:
    command = impostor(tmp_path, body)
    worker = await EnvironmentWorker.start(resolve(ARITHMETIC), split="test", seed=0, tasks=1, command=command, grade_seconds=0.05)
    async with worker:
        grade = await worker.grade("t0", "5")
    assert grade.verdict is Verdict.INFRASTRUCTURE_FAILURE
    assert words in grade.message


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([sys.executable, "-c", "raise SystemExit(7)"], "status 7"),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "SIGKILL"),
        ([sys.executable, "-c", "print('{\"ok\": true}'); input()"], "no answer"),
        ([sys.executable, "-c", 'print(\'{"ok": true, "tasks": [5], "digest": ""}\'); input()'], "no answer"),
        ([sys.executable, "-c", "print('hello'); input()"], "no answer"),
        (["/nonexistent/python"], "could not be started"),
    ],
)
async def test_a_process_that_makes_no_tasks_is_told(command: list[str], words: str) -> None:
    with pytest.raises(NodusError, match=words) as caught:
        await arithmetic(command=command)
    assert caught.value.code is ErrorCode.UNAVAILABLE


async def test_closing_ends_the_process_and_the_grades_under_way(make_environment: MakeEnvironment) -> None:
    environment = make_environment(rows(1), CATASTROPHE)
    worker = await EnvironmentWorker.start(environment, split="test", seed=0, tasks=1, grade_seconds=60)
    pid = worker.pid
    assert pid is not None
    stuck = asyncio.create_task(worker.grade("t0", "a" * 200 + "b"))
    await asyncio.wait([stuck], timeout=0)
    await worker.aclose()
    with pytest.raises(NodusError, match="closed"):
        await stuck
    assert not psutil.pid_exists(pid)
    with pytest.raises(NodusError, match="closed"):
        await worker.grade("t0", "x")
    await worker.aclose()


async def test_cancelling_a_start_leaves_no_process(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    tells_its_pid = f"import os, time; open({str(pipe)!r}, 'w').write(str(os.getpid())); time.sleep(99)"
    start = asyncio.create_task(arithmetic(command=[sys.executable, "-c", tells_its_pid]))
    pid = int(await asyncio.to_thread(pipe.read_text))
    assert psutil.pid_exists(pid)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("busy", [False, True])
def test_the_process_ends_when_its_parent_is_killed(tmp_path: Path, busy: bool) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps(rows(1)[0]) + "\n")
    parent_script = f"""
        import asyncio, sys
        from local_backend.environments.client import EnvironmentWorker
        from local_backend.environments.interface import ResolvedEnvironment

        async def main():
            spec = {{"version": "1", "file": {str(tmp_path / "t.jsonl")!r}, "grader": {CATASTROPHE!r}}}
            environment = ResolvedEnvironment("mine", "1", "file", {{"spec": spec}})
            worker = await EnvironmentWorker.start(environment, split="test", seed=0, tasks=1, grade_seconds=0.5)
            print(worker.pid, flush=True)
            if {busy}:
                await worker.grade("t0", "a" * 200 + "b")
            await asyncio.Event().wait()

        asyncio.run(main())
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(parent_script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    process.wait(timeout=30)


async def test_no_key_of_ours_reaches_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_TEST_API_KEY", "sk-secret")
    async with await arithmetic() as worker:
        assert worker.pid is not None
        process = psutil.Process(worker.pid)
        variables = process.environ()
        assert os.getpgid(worker.pid) == worker.pid
        assert process.cwd() == "/"
    assert "NODUS_TEST_API_KEY" not in variables
    assert variables["PYTHONHASHSEED"] == "0"
    assert set(variables) <= set(clean_environment()) | {"LC_CTYPE", "PWD", "SHLVL", "_"}


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        ({"type": "exact"}, "{canary}"),
        ({"type": "exact", "answerPattern": "Answer: (.*)"}, "{canary}"),
        ({"type": "choice", "choices": ["other", "{canary}"]}, "{canary}"),
        ({"type": "regex"}, "{canary}.*"),
        ({"type": "json"}, {"key": "{canary}"}),
        ({"type": "numeric"}, "{number}"),
    ],
)
async def test_no_answer_ever_leaves_the_process(make_environment: MakeEnvironment, settings: dict[str, Any], answer: object) -> None:
    """Whatever happens, a random canary answer is in nothing that the scheduler's side gets to see."""
    canary, number = f"canary{secrets.token_hex(8)}", str(10**15 + secrets.randbelow(10**15))

    def filled(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("{canary}", canary).replace("{number}", number))

    content = [{"id": f"t{n}", "prompt": "?", "answer": filled(answer), "notes": canary} for n in range(3)]
    environment = make_environment(content, filled(settings))
    seen: list[object] = [await check(environment)]
    async with await EnvironmentWorker.start(environment, split="test", seed=0, tasks=3) as worker:
        seen.append(worker.batch)
        for completion in (f"x {REFERENCE_PLACEHOLDER}", WRONG_PLACEHOLDER, UNREADABLE_REPLY, "", "Answer: 5", '{"a": 1}', "other"):
            seen += [await worker.grade(f"t{n}", completion, simulated=simulated) for n in range(3) for simulated in (True, False)]
        os.kill(worker.pid or 0, signal.SIGABRT)
        seen += await asyncio.gather(*(worker.grade(f"t{n}", REFERENCE_PLACEHOLDER, simulated=True) for n in range(3)))
        seen.append(worker.stderr_tail)
    for broken in (content[:1] * 2, [{"id": "t0", "prompt": "?", "answer": {"deep": [canary]}, "split": canary}]):
        with pytest.raises(NodusError) as caught:
            await check(make_environment(broken, filled({**settings, "choices": ["a", "b"]} if settings["type"] == "choice" else settings)))
        seen += [caught.value.detail, caught.value.faults, repr(caught.value.problem())]
    with pytest.raises(NodusError) as caught:
        await check(make_environment(f"id,prompt,answer\nt0,?,{canary}{number},\n", filled({"type": "exact"}), name="t.csv"))
    seen += [caught.value.detail, caught.value.faults]
    text = repr(seen)
    assert Verdict.CORRECT.value in text
    assert canary not in text
    assert number not in text


async def test_an_unexpected_exception_is_told_without_its_text(tmp_path: Path) -> None:
    """A grader that raises with the answer in its message: type and place come out, the message does not."""
    script = tmp_path / "raising.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            from local_backend.environments import arithmetic, worker

            class Raising(arithmetic.ArithmeticSource):
                def grade(self, task, completion):
                    print("the answer is", task.secret)
                    print("the answer is", task.secret, file=sys.stderr)
                    raise (SystemExit if completion == "exit" else ValueError)(f"canary {task.secret}")

            worker.make_source = lambda _: Raising()
            sys.exit(worker.main())
            """
        )
    )
    command = [*worker_command()[:-2], str(script)]
    async with await arithmetic(command=command) as worker:
        grades = [await worker.grade(worker.batch.tasks[0].id, text) for text in ("5", "exit")]
        assert worker.stderr_tail == ""
    assert [grade.verdict for grade in grades] == [Verdict.INFRASTRUCTURE_FAILURE] * 2
    assert [re.sub(r"\d+", "N", grade.message) for grade in grades] == [
        "the grader failed: ValueError at raising.py:N",
        "the grader failed: SystemExit at raising.py:N",
    ]
    assert told(ValueError, None) == "ValueError"


async def test_a_grader_that_cannot_be_interrupted_is_killed_by_its_own_timer(tmp_path: Path) -> None:
    script = tmp_path / "uninterruptible.py"
    script.write_text(
        textwrap.dedent(
            """
            import itertools, sys
            from local_backend.environments import arithmetic, worker

            class Stuck(arithmetic.ArithmeticSource):
                def grade(self, task, completion):
                    return sum(itertools.repeat(1)) if completion == "stuck" else super().grade(task, completion)

            worker.make_source = lambda _: Stuck()
            sys.exit(worker.main())
            """
        )
    )
    async with await arithmetic(command=[*worker_command()[:-2], str(script)], grade_seconds=0.05) as worker:
        task = worker.batch.tasks[0].id
        # The scheduler's side would wait for ever here: the process must end by itself, as it must when its parent is gone.
        worker._patience = 1e6
        stuck, fine = await asyncio.gather(worker.grade(task, "stuck"), worker.grade(task, "nothing"))
    assert stuck.verdict is Verdict.INFRASTRUCTURE_FAILURE
    assert "SIGPROF" in stuck.message
    assert fine.verdict is Verdict.INVALID_OUTPUT


async def test_a_process_that_breaks_outside_of_a_grade_says_where_and_no_more() -> None:
    process = await asyncio.create_subprocess_exec(
        *worker_command(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=clean_environment(),
    )
    out, err = await process.communicate(b'{"op": "canary"\n')
    assert process.returncode == 1
    assert out == b""
    assert re.fullmatch(rb"the grader's process stopped: JSONDecodeError at decoder.py:\d+\n", err)


async def test_checking_a_file_counts_its_tasks(make_environment: MakeEnvironment) -> None:
    content = [*rows(3), {"id": "x", "prompt": "?", "answer": "y", "split": "train"}]
    facts = await check(make_environment(content, {"type": "exact"}))
    assert facts.tasks == {"train": 1, "test": 3}
    assert facts.digest.startswith("sha256:")


async def test_checking_a_broken_file_gives_its_faults_with_file_and_line(make_environment: MakeEnvironment, tmp_path: Path) -> None:
    with pytest.raises(NodusError) as caught:
        await check(
            make_environment(
                [{"id": "a"}, {"id": "b", "prompt": "?", "answer": "x"}, {"id": "b", "prompt": "?", "answer": "x"}], {"type": "exact"}
            )
        )
    error = caught.value
    assert error.code is ErrorCode.INVALID_SPEC
    assert [(fault.file, fault.line) for fault in error.faults] == [(str(tmp_path / "tasks.jsonl"), 1), (str(tmp_path / "tasks.jsonl"), 3)]


async def test_checking_what_comes_with_the_program_needs_no_process() -> None:
    assert (await check(resolve(ARITHMETIC))).tasks == {}
    assert (await check(ResolvedEnvironment("reasoning-gym/x", "0.1.25", "reasoning-gym", {}))).tasks == {"train": 500, "test": 500}


async def test_who_is_told_twice_to_stop_leaves_no_error_that_nobody_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
    started: asyncio.Queue[WorkerProcess] = asyncio.Queue()
    start = WorkerProcess.start

    async def seen(*arguments: Any, **options: Any) -> WorkerProcess:
        started.put_nowait(process := await start(*arguments, **options))
        return process

    monkeypatch.setattr(WorkerProcess, "start", seen)
    asking = asyncio.create_task(arithmetic(command=[sys.executable, "-c", "import time; time.sleep(60)"]))
    process = await started.get()
    asking.cancel()
    await asyncio.sleep(0)  # Told once, it waits for the end of the process.
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await process.gone()
    del asking, process
    gc.collect()
    assert told == []
