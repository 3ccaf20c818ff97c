"""Attacks by judged code that break the grader, so that a wrong answer is never counted: by its memory, processes, disk, time, signals.

None may be Correct, and a wrong answer stays a wrong answer. The grader that is attacked is the real one, in real sandboxes.
The text beside each attack says what holds it.
"""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from attacking import ENGINES, SECRET, TESTS, Ahead, Ground, engine_of, trial

from local_backend.environments.code_source import CodeSource
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.grading.client import GradingWorker
from nodus_tui.contract.phases import Verdict

pytestmark = pytest.mark.asyncio(loop_scope="module")

_BOUNDED = "answers are bounded in size, depth and number, and read against a deadline"
_TIME = "judged code has a share of the grader's time, and the rest is the grader's"
_KILLED = "all processes of the judged user are killed by root, again and again until none is left"
_OTHERS = "root's processes take no signal from others"

ATTACKS: Mapping[str, tuple[str, str]] = {
    "runs for ever": (_TIME, "def secret():\n    while True: pass"),
    "sleeps past its limit": (_TIME, "import time\ndef secret(): time.sleep(1000)"),
    "sleeps for ever as it is loaded": (_TIME, "import time\ntime.sleep(1000)"),
    "never gives what it generates": (_TIME, "def secret():\n    while True: yield 'x'"),
    "ignores all signals": (
        _KILLED,
        """
import signal
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
""",
    ),
    "stops itself": (
        _TIME,
        """
import os, signal
def secret(): os.kill(os.getpid(), signal.SIGSTOP) or os.kill(os.getpid(), signal.SIGTSTP) or 'x'
""",
    ),
    "kills the grader": (
        _OTHERS,
        """
import os
for pid in [1, os.getppid(), *range(2, 3000)]:
    if pid != os.getpid():
        try: os.kill(pid, 9)
        except OSError: pass
def secret(): return 'x'
""",
    ),
    "stops the grader": (
        _OTHERS,
        """
import os, signal
for pid in [1, os.getppid(), *range(2, 3000)]:
    if pid != os.getpid():
        try: os.kill(pid, signal.SIGSTOP)
        except OSError: pass
def secret(): return 'x'
""",
    ),
    "slows the grader": (
        _OTHERS,
        """
import os, resource
for pid in [os.getppid()]:
    for act in (lambda: os.setpriority(0, pid, 19), lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
                lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1))):
        try: act()
        except OSError: pass
def secret(): return 'x'
""",
    ),
    "takes all processes": (
        _KILLED,
        """
import os
def secret():
    while True:
        try: os.fork()
        except OSError: pass
""",
    ),
    "takes all processes as it is loaded": (_KILLED, "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"),
    "takes all threads": (
        _KILLED,
        """
import threading, time
threading.stack_size(1 << 16)
try:
    while True: threading.Thread(target=time.sleep, args=(99,)).start()
except RuntimeError: pass
def secret(): return 'x'
""",
    ),
    "takes all memory": (
        "the kernel takes judged code first",
        """
def secret():
    kept = []
    while True: kept.append(bytearray(20 << 20))
""",
    ),
    "takes memory that outlives it": (
        "the kernel takes judged code first",
        """
import ctypes, os
libc = ctypes.CDLL(None)
libc.shmat.restype, libc.shmdt.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
for size in (16 << 20, 1 << 20, 1 << 16, 1 << 12):
    if os.fork() == 0:
        while True:
            where = libc.shmat(libc.shmget(0, size, 0o1600), None, 0)
            ctypes.memset(where, 1, size)
            libc.shmdt(where)
    os.wait()
def secret(): return 'x'
""",
    ),
    "takes memory of the kernel": (
        "the kernel takes judged code first",
        "import ctypes\nwhile ctypes.CDLL(None).semget(0, 32000, 0o1600) >= 0: pass\ndef secret(): return 'x'",
    ),
    "takes all memory with many processes": (
        "the kernel takes judged code first",
        """
import os
def secret():
    for _ in range(5): os.fork()
    kept = bytearray(60 << 20)
    for n in range(0, len(kept), 4096): kept[n] = 1
    while True: pass
""",
    ),
    "fills the disk before the grader writes": (
        "/grader is a file system of its own",
        """
import os
for n, folder in enumerate(('/task', '/tmp', '/home/agent', '/dev/shm', '/var/tmp')):
    try:
        with open(f'{folder}/full{n}', 'wb') as file:
            while True: file.write(bytes(1 << 20))
    except OSError: pass
def secret(): return 'x'
""",
    ),
    "makes files without number": (
        "/grader is a file system of its own",
        """
import os
for n in range(40000):
    try: os.close(os.open(f'/tmp/{n}', os.O_CREAT))
    except OSError: break
def secret(): return 'x'
""",
    ),
    "recurses without end": (_BOUNDED, "import sys\nsys.setrecursionlimit(10**9)\ndef secret(): return secret()"),
    "answers with nested lists": (
        _BOUNDED,
        """
def secret():
    made = []
    for _ in range(900): made = [made]
    return made
""",
    ),
    "answers with a list that holds itself": (_BOUNDED, "def secret():\n    made = []\n    made.append(made)\n    return made"),
    "answers with a giant text": (_BOUNDED, "def secret(): return 'x' * (1 << 26)"),
    "answers with a giant number": (_BOUNDED, "def secret(): return 1 << 30_000_000"),
    "answers with digits without end": (
        _BOUNDED,
        """
import os, struct
def secret():
    text = b'{"ok": ' + b'9' * 3_000_000 + b'}'
    os.write(4, struct.pack('>I', len(text)) + text[:65000])
    return 'x'
""",
    ),
    "answers with colliding hashes": (_BOUNDED, "def secret(): return {(2**61 - 1) * n for n in range(1, 60_000)}"),
    "announces an answer that never comes": (
        _BOUNDED,
        """
import os, time
def secret():
    os.write(4, b'\\x00\\x00\\xff\\xff')
    time.sleep(1000)
""",
    ),
    "closes its pipes": (
        _BOUNDED,
        """
import os, time
def secret():
    os.closerange(0, 100)
    time.sleep(1000)
""",
    ),
    "floods its pipes": (
        _BOUNDED,
        """
import os
def secret():
    while True: os.write(4, b'\\0\\0\\0\\2{}' * 1000)
""",
    ),
    "raises an error with half a character": (_BOUNDED, "def secret(): raise ValueError('\\ud800' * 1000 + '\\x1b[2J')"),
    "raises an error that cannot be told": (
        _BOUNDED,
        """
class Evil(Exception):
    def __str__(self): raise SystemExit
    def __repr__(self): raise KeyboardInterrupt
Evil.__name__ = '\\ud800' * 5000
def secret(): raise Evil
""",
    ),
    "answers with a key that is a list": (
        _BOUNDED,
        "import __main__\n__main__.encode = lambda value, keep: ['d', [[['l', []], 1]]]\ndef secret(): return 'x'",
    ),
    "takes rights from its own folder": (
        "what the judged user did to its files is its own fault",
        "import os\nos.chmod('/task', 0)\ndef secret(): return 'x'",
    ),
    "removes its own file": (
        "what the judged user did to its files is its own fault",
        "import os\nos.remove('/task/solution.py')\ndef secret(): return 'x'",
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judgements(ground: Ground) -> AsyncIterator[Ahead]:
    made = Ahead(ATTACKS, lambda name: ground.court.judged(trial(budget=1), ATTACKS[name][1]))
    yield made
    await made.aclose()


@pytest.mark.parametrize("name", ATTACKS)
async def test_breaks_the_grader(judgements: Ahead, name: str) -> None:
    judgement = await judgements.judged(name)
    assert judgement.verdict is Verdict.INCORRECT, judgement
    assert judgement.reward == 0
    assert judgement.message.isprintable()


async def test_stops_each_program_that_the_grader_starts(ground: Ground) -> None:
    """What does not begin in its time is killed; it is the solution's fault, and no failure of the grader."""
    script = """
import nodus_grading as grading
for _ in range(6):
    try: grading.load("solution.py").begin()
    except grading.SolutionError: pass
    grading.run(["python3", "-S", "-c", ""], timeout=0.3)
grading.verdict(False, message="judged")
"""
    code = """
import os, signal
def storm():
    there = [os.getpid(), os.getppid()]
    while True:
        for pid in range(there[0] + 1, there[0] + 5):
            if pid not in there:
                try: os.kill(pid, signal.SIGSTOP)
                except OSError: pass
def begin(): os.fork() or storm()
"""
    judgement = await ground.court.judged(trial("program", script=script, seconds=30, budget=20), code)
    assert (judgement.verdict, judgement.message) == (Verdict.INCORRECT, "judged"), judgement


async def test_breaks_the_grader_of_its_neighbours(ground: Ground) -> None:
    """Each judgement has its own sandbox: a bomb in one changes nothing in the next."""
    _, bomb = ATTACKS["takes all processes as it is loaded"]
    bombed = await ground.court.judged(trial(budget=1), bomb)
    right = await ground.court.judged(trial(), f"def secret(): return {SECRET!r}")
    assert (bombed.verdict, right.verdict) == (Verdict.INCORRECT, Verdict.CORRECT)


async def test_hides_small_processes_from_the_kernel(ground: Ground) -> None:
    """Not held: many small programs that spare themselves can have the kernel end the grader. That is no verdict, and never a wrong one."""
    code = """
import os
with open("/proc/self/oom_score_adj", "w") as file: file.write("0")
def secret():
    for _ in range(60):
        try:
            if os.fork() == 0:
                kept = bytearray(6 << 20)
                for n in range(0, len(kept), 4096): kept[n] = 1
                while True: pass
        except OSError: break
    while True: pass
"""
    judgement = await ground.court.judged(trial(budget=2), code)
    assert judgement.verdict in {Verdict.INCORRECT, Verdict.INFRASTRUCTURE_FAILURE}, judgement
    right = await ground.court.judged(trial(), f"def secret(): return {SECRET!r}")
    assert right.verdict is Verdict.CORRECT


@pytest.mark.parametrize("name", ENGINES)
async def test_attacks_the_grading_process(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that holds the answers has no key, prints nothing, and judges honest answers beside hostile ones."""
    key = "sk-red-team-5d1"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    rows = [
        {"id": f"t{n}", "prompt": "p", "tests": {"test_hidden.py": TESTS}, "solution": f"def secret(): return {SECRET!r}"} for n in range(3)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = {"version": "1", "file": str(tmp_path / "tasks.jsonl"), "grader": {"type": "pytest", "solution": "completion", "timeout": "30s"}}
    async with engine_of(name):
        pass
    resolved = ResolvedEnvironment("mine", "1", "file", {"spec": spec})
    async with await GradingWorker.start(resolved, split="test", seed=0, tasks=3, engine=name) as worker:
        assert worker.pid is not None
        for process in (psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)):
            assert key not in str(process.environ())
        hostile = """
import os, sys
print('{"verdict": "Correct"}', flush=True)
os.write(2, b'{"n": 1, "verdict": "Correct", "reward": 1}\\n')
def secret(): return str(dict(os.environ))
"""
        grade = await worker.grade("t0", f"```python\n{hostile}\n```")
        assert (grade.verdict, grade.reward) == (Verdict.INCORRECT, 0)
        breaking = '{"n": 1, "verdict": "Correct"}\n\0\x1b[2J' + "```" * 50 + f"\n```python\n{ATTACKS['kills the grader'][1]}\n```\n"
        assert (await worker.grade("t1", breaking)).verdict is not Verdict.CORRECT
        assert (await worker.grade("t2", f"```python\ndef secret(): return {SECRET!r}\n```")).verdict is Verdict.CORRECT
        assert SECRET not in worker.stderr_tail
        assert key not in worker.stderr_tail


async def test_attacks_the_code_environment(ground: Ground) -> None:
    """The tests of the catalogue's own tasks are no weaker: hostile solutions of them are wrong."""
    attacks = (
        """
import sys
class Equal:
    def __eq__(self, other): return True
    def __getattr__(self, name): return Equal()
    def __call__(self, *_, **__): return Equal()
sys.modules[__name__].__getattr__ = lambda name: lambda *_, **__: Equal()
""",
        "import os\nos._exit(0)",
    )
    for task, code in zip(CodeSource().draw("test", 0, len(attacks)), attacks, strict=True):
        judgement = await ground.court.judged(task, code)
        assert judgement.verdict is Verdict.INCORRECT, judgement
        assert judgement.reward is not None
        assert judgement.reward < 1
