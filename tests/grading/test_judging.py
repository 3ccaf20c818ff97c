"""Judging in real sandboxes: how an answer becomes a verdict, and every way in which a grader fails without becoming one."""

import asyncio
from pathlib import Path

import pytest
from grading_places import REFERENCE, Bench, archive, block, hidden, program

from local_backend.environments.interface import Workbench
from local_backend.environments.secret_tasks import SecretTask, failure
from local_backend.environments.trials import Reference, TaskFile, Trial, TrialLimits
from local_backend.grading import judging
from local_backend.grading.judging import Judge
from local_backend.sandboxes.interface import SandboxError
from nodus_tui.contract.phases import Verdict

ADD = "def add(a, b):\n    return a + b\n"
TESTS = """
import pytest

def test_small(solution):
    assert solution.add(1, 2) == 3

@pytest.mark.parametrize("expected", [4171])
def test_large(solution, expected):
    assert solution.add(4000, 171) == expected
"""


async def test_hidden_tests_give_verdict_reward_and_a_message_without_answers(place: Bench) -> None:
    right, half, wrong, broken = await asyncio.gather(
        place.judged(hidden(TESTS), block(ADD)),
        place.judged(hidden(TESTS), block("def add(a, b):\n    return 3")),
        place.judged(hidden(TESTS, partial_reward=False), block("def add(a, b):\n    return 3")),
        place.judged(hidden(TESTS), block("def add(:")),
    )
    assert (right.verdict, right.reward, right.message) == (Verdict.CORRECT, 1.0, "2 of 2 tests passed")
    assert (half.verdict, half.reward) == (Verdict.INCORRECT, 0.5)
    assert half.message == "1 of 2 tests passed; failed: test_large"
    assert (wrong.verdict, wrong.reward) == (Verdict.INCORRECT, 0.0)
    assert (broken.verdict, broken.reward) == (Verdict.INCORRECT, 0.0)


async def test_a_program_grader_has_the_answer_the_reply_and_the_solution(place: Bench) -> None:
    script = """
import nodus_grading as grading
done = grading.run(["python3", "solution.py"], stdin="3 4", timeout=5)
ok = done.text.strip() == grading.answer()["sum"] and "Here it is" in grading.completion()
grading.verdict(ok, reward=0.9 if ok else 0.1, message="looked at")
"""
    trial = program(script, answer={"sum": "7"})
    right, wrong = await asyncio.gather(
        place.judged(trial, block("print(sum(map(int, input().split())))")), place.judged(trial, block("print(8)"))
    )
    assert (right.verdict, right.reward, right.message) == (Verdict.CORRECT, 0.9, "looked at")
    assert (wrong.verdict, wrong.reward) == (Verdict.INCORRECT, 0.1)


async def test_an_agents_files_come_as_they_were_left(place: Bench, tmp_path: Path) -> None:
    script = """
import nodus_grading as grading, os
found = sorted(os.path.join(folder, name) for folder, _, names in os.walk(grading.WORK) for name in names)
owners = {os.stat(path).st_uid for path in found}
grading.verdict(grading.read("src/a.txt") == b"one" and owners == {1000}, message=repr(found))
"""
    files = archive(
        tmp_path / "run.tar", {"src/a.txt": b"one", "/etc/evil": b"x", "../up": b"x"}, links={"out": "/etc/passwd", "in": "src/a.txt"}
    )
    judgement = await place.judged(program(script, solution="files", solution_file=None), files=files, task_files={"never": "placed"})
    assert judgement.verdict is Verdict.CORRECT
    assert judgement.message == "['/task/in', '/task/src/a.txt']"


async def test_files_without_the_solution_file_are_invalid_output(place: Bench, tmp_path: Path) -> None:
    trial = program("raise SystemExit", solution="files", solution_file="main.py")
    for name, found in (("other.py", None), ("main.py/inner", None)):
        judgement = await place.judged(trial, files=archive(tmp_path / "run.tar", {name: b"x"}))
        assert judgement.verdict is Verdict.INVALID_OUTPUT, found
    linked = archive(tmp_path / "linked.tar", {"other.py": b"x"}, links={"main.py": "other.py"})
    assert (await place.judged(trial, files=linked)).verdict is Verdict.INVALID_OUTPUT


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("", "wrote no verdict (it ended with status 0)"),
        ("raise ValueError('the answer is 42')", "wrote no verdict (it ended with status 1)"),
        ('print(\'{"verdict": "Correct"}\')', "wrote no verdict"),
        ("open('verdict.json', 'w').write('{')", "is no JSON"),
        ("open('verdict.json', 'w').write('{\"verdict\": \"Perfect\"}')", "no verdict that is known"),
        ("open('reward.txt', 'w').write('2')", "not from 0 to 1"),
        ("import os; os.mkdir('verdict.json')", "wrote no verdict"),
        ("import os; os.kill(os.getpid(), 9)", "wrote no verdict (it ended with status 137)"),
        ("import time; time.sleep(60)", "did not finish within 2 seconds"),
        ("import nodus_grading as g; g.verdict(True); import time; time.sleep(60)", "did not finish within 2 seconds"),
        ("import nodus_grading as g; g.verdict('InfrastructureFailure', message='no data today')", "no data today"),
        ("x = []\nwhile True: x.append(bytearray(10_000_000))", "wrote no verdict"),
    ],
)
async def test_a_grader_that_fails_gives_no_verdict(place: Bench, script: str, message: str) -> None:
    judgement = await place.judged(program(script, seconds=2 if "sleep" in script else 20), block("x"))
    assert (judgement.verdict, judgement.reward) == (Verdict.INFRASTRUCTURE_FAILURE, None)
    assert message in judgement.message
    assert "42" not in judgement.message


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("def helper(): pass", "no hidden tests that run"),
        ("import pytest\n@pytest.mark.skip\ndef test_x(): pass", "no hidden tests that run"),
        ("import solution", "tests are broken: test_hidden.py"),
        ("def test_x(:", "tests are broken"),
        ("def test_x(solution):\n    solution.add(object())", "the grader failed: a object cannot be given"),
        ("def test_x():\n    import os; os._exit(0)", "wrote no verdict"),
        ("import pytest\ndef test_x(): pytest.exit('42')", "status 2"),
    ],
)
async def test_hidden_tests_that_are_broken_give_no_verdict(place: Bench, tests: str, message: str) -> None:
    judgement = await place.judged(hidden(tests), block(ADD))
    assert judgement.verdict is Verdict.INFRASTRUCTURE_FAILURE
    assert message in judgement.message
    assert "42" not in judgement.message


async def test_a_missing_command_and_an_unknown_image_are_failures(place: Bench) -> None:
    missing = await place.judged(program("", command=("no-such-program",)), block("x"))
    assert missing.verdict is Verdict.INFRASTRUCTURE_FAILURE
    assert "status 127" in missing.message
    if place.engine.facts.engine == "bubblewrap":
        image = await place.judged(program("", image="example.org/no/image:1"), block("x"))
        assert image.verdict is Verdict.INFRASTRUCTURE_FAILURE
        assert "install Docker" in image.message


async def test_a_sandbox_that_dies_is_a_failure(place: Bench) -> None:
    trial = program("import time; time.sleep(60)", seconds=60)
    judged = asyncio.create_task(place.judged(trial, block("x")))
    while not (found := [each for each in await place.engine.list() if each.owner == place.pool.owner]):
        await asyncio.sleep(0.01)
    await place.engine.remove(found[0])
    judgement = await judged
    assert judgement.verdict is Verdict.INFRASTRUCTURE_FAILURE
    assert "sandbox" in judgement.message


async def test_the_time_of_a_sandbox_that_failed_is_told(place: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    died = "the disk with it failed"

    async def dies(*_: object, **__: object) -> None:
        raise SandboxError(died)

    monkeypatch.setattr(judging, "put_files", dies)
    task = SecretTask("task", ("p",), {}, None, Workbench(files={}), program("raise SystemExit"))
    judged = await place.judge.judge(task, block("x"), None)
    assert judged.judgement == failure(f"the grading sandbox failed: {died}")
    assert judged.sandbox_seconds > 0
    assert judged.image


async def test_a_judgement_that_is_cancelled_leaves_no_sandbox(place: Bench) -> None:
    judged = asyncio.create_task(place.judged(program("import time; time.sleep(60)", seconds=60), block("x")))
    while not await place.left():
        await asyncio.sleep(0.01)
    judged.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judged
    assert await place.left() == []


async def test_reference_solutions_of_each_kind(place: Bench) -> None:
    text = hidden(TESTS, reference=REFERENCE)
    files = hidden(TESTS, solution="files", reference=Reference(files={"solution.py": TaskFile(ADD.encode())}))
    script = Reference(
        script=("sh", "/tmp/reference/solve.sh"),
        script_files={"solve.sh": TaskFile(b"id -u > who; cp base.py solution.py\n")},
        script_seconds=10,
    )
    solved = hidden(TESTS, solution="files", reference=script)
    base = {"base.py": ADD, "solution.py": "def add(a, b):\n    return 0\n"}
    right = await asyncio.gather(*(place.judged(trial, task_files=base, use="reference") for trial in (text, files, solved)))
    wrong = await asyncio.gather(*(place.judged(trial, task_files=base, use="empty") for trial in (text, files, solved)))
    assert [each.verdict for each in right] == [Verdict.CORRECT] * 3
    assert [each.verdict for each in wrong] == [Verdict.INCORRECT] * 3
    failing = Reference(script=("sh", "-c", "exit 3"))
    judgement = await place.judged(hidden(TESTS, solution="files", reference=failing), use="reference")
    assert (judgement.verdict, judgement.message) == (
        Verdict.INFRASTRUCTURE_FAILURE,
        "the reference solution's script ended with status 3",
    )


async def test_a_solution_that_is_slow_everywhere_is_wrong_and_no_failure(place: Bench) -> None:
    tests = "import pytest\n@pytest.mark.parametrize('n', range(40))\ndef test_x(solution, n): assert solution.add(n, 1) == n + 1\n"
    slow = "import time\ndef add(a, b):\n    time.sleep(2)\n    return a + b\n"
    judgement = await place.judged(hidden(tests, seconds=16), block(slow))
    assert judgement.verdict is Verdict.INCORRECT


async def test_objects_of_the_solution_stay_there_and_are_asked(place: Bench) -> None:
    tests = """
import pytest

def test_stack(solution):
    stack = solution.Stack()
    stack.push(1)
    stack.push((2, "x"))
    assert len(stack) == 2
    assert stack.pop() == (2, "x")
    with pytest.raises(IndexError):
        stack.pop(), stack.pop()
    assert list(solution.count(3)) == [0, 1, 2]
    assert solution.adder(2)(3) == 5
    assert solution.get("NAME") == "n"
    assert solution.mutated("reverse", [1, 2]) == (None, ([2, 1],))
"""
    code = """
NAME = "n"
class Stack:
    def __init__(self): self.items = []
    def push(self, item): self.items.append(item)
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
def count(n): yield from range(n)
def adder(n): return lambda m: n + m
def reverse(items): items.reverse()
"""
    judgement = await place.judged(hidden(tests), block(code))
    assert judgement.verdict is Verdict.CORRECT, judgement.message


async def test_programs_and_files_of_the_solution(place: Bench) -> None:
    tests = """
def test_program(run, read, write):
    write("in/numbers.txt", "1 2 3")
    done = run(["python3", "solution.py", "in/numbers.txt"], timeout=5)
    assert done.returncode == 0
    assert read("out.txt") == b"6"
    assert run(["sleep", "60"], timeout=0.2).timed_out
    assert run(["no-such-program"]).returncode == 127
"""
    code = "import sys\nopen('out.txt', 'w').write(str(sum(map(int, open(sys.argv[1]).read().split()))))\n"
    judgement = await place.judged(hidden(tests), block(code))
    assert judgement.verdict is Verdict.CORRECT, judgement.message


async def test_a_task_without_a_trial_is_no_wrong_answer(place: Bench) -> None:
    assert isinstance(place.judge, Judge)
    empty = Trial("program", ("true",), limits=TrialLimits(seconds=5))
    assert (await place.judged(empty, files=None)).verdict is Verdict.INVALID_OUTPUT


async def test_large_and_many_files_of_an_agent_have_room_or_are_its_own_fault(place: Bench, tmp_path: Path) -> None:
    script = """
import nodus_grading as grading
grading.verdict(len(grading.read("large.bin", 2**27)) == 60_000_000 and len(grading.read("f/1999")) == 1)
"""
    trial = program(script, solution="files", solution_file=None)
    full = archive(tmp_path / "full.tar", {"large.bin": bytes(60_000_000), **{f"f/{n}": b"x" for n in range(2000)}})
    assert (await place.judged(trial, files=full)).verdict is Verdict.CORRECT
    many = archive(tmp_path / "many.tar", {f"{n}": b"" for n in range(20_001)})
    judgement = await place.judged(trial, files=many)
    assert judgement.verdict is Verdict.INVALID_OUTPUT
    assert "too many files" in judgement.message
