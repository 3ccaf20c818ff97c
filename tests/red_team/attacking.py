"""What the red team's tests share: an agent with its tools, attacks that say what they got, the same attack on this machine, and graders.

An attack prints `GOT …` for what it reached and `held …` for what was refused. That it is a real one is shown by a control: the same code
succeeds on this machine, as root in the sandbox, or against a grader that protects itself less.
"""

import asyncio
import contextlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from local_backend.environments.interface import Workbench
from local_backend.environments.secret_tasks import Judgement, SecretTask
from local_backend.environments.trials import TaskFile, Trial, TrialLimits
from local_backend.grading.judging import Judge
from local_backend.models.wire import ToolCall
from local_backend.sandboxes.bubblewrap.engine import connect_bubblewrap
from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import Limits, Sandbox, SandboxEngine, SandboxError, SandboxRequest, User
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.pool import SandboxPool
from local_backend.sandboxes.running import run
from local_backend.tools.toolbox import Toolbox, ToolOutcome
from nodus_tui.contract.resources.agent import ToolName
from nodus_tui.contract.sandboxes import SandboxEngineFact
from nodus_tui.values import replace

ENGINES = ("bubblewrap", "docker")
LIMITS = Limits(cpus=1, memory_bytes=256 << 20, pids=64, disk_bytes=64 << 20, open_files=256)
TOOLS: tuple[ToolName, ...] = ("bash", "read", "write", "edit", "submit")
MACHINES = ("x86_64", "aarch64")

CALLS = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51), "clock_settime": (227, 112), "clone": (56, 220),
    "clone3": (435, 435), "finit_module": (313, 273), "fsopen": (430, 430), "init_module": (175, 105), "io_uring_setup": (425, 425),
    "kexec_load": (246, 104), "keyctl": (250, 219), "mount": (165, 40), "move_mount": (429, 429), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434), "pivot_root": (155, 41), "process_vm_readv": (310, 270), "ptrace": (101, 117), "reboot": (169, 142),
    "request_key": (249, 218), "sethostname": (170, 161), "setns": (308, 268), "settimeofday": (164, 170), "swapon": (167, 224),
    "syslog": (103, 116), "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "quotactl": (179, 60),
    "shmget": (29, 194),
    "socket": (41, 198), "ioctl": (16, 29), "kill": (62, 129), "capset": (126, 91), "prctl": (157, 167), "memfd_create": (319, 279),
}  # fmt: skip
"""Numbers of system calls on the two machines that the filters know."""

_PRELUDE = f"""
import ctypes, errno, fcntl, glob, os, platform, signal, socket, stat, struct, sys, threading, time
CALLS = {{name: numbers[{MACHINES!r}.index(platform.machine())] for name, numbers in {CALLS!r}.items()}}
libc = ctypes.CDLL(None, use_errno=True)
sys.stdout.reconfigure(line_buffering=True)
def syscall(name, *arguments):
    ctypes.set_errno(0)
    wide = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = libc.syscall(ctypes.c_long(CALLS[name]), *wide)
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def attempt(name, action):
    try: value = action()
    except Exception as error: print("held", name, type(error).__name__, getattr(error, "errno", ""))
    else: print("GOT", name, repr(value)[:300])
def in_child(action):
    def call():
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.close(reading)
            try: value = repr(action())
            except Exception as error: os._exit(1)
            os.write(writing, value.encode()[:300]); os._exit(0)
        os.close(writing)
        said = os.read(reading, 300).decode()
        os.close(reading)
        if os.wait()[1]: raise OSError("refused")
        return said
    return call
"""


def needs_known_machine() -> None:
    """Skip where the attacks' numbers are not known."""
    if platform.machine() not in MACHINES:
        pytest.skip(f"the attacks know the system calls of {' and '.join(MACHINES)}")


@asynccontextmanager
async def engine_of(name: str) -> AsyncIterator[SandboxEngine]:
    """An engine at full strength; skips where there is none, and fails with CI set."""
    problem = ""
    try:
        engine: SandboxEngine = await (connect_docker if name == "docker" else connect_bubblewrap)(os.environ)
    except SandboxError as error:
        problem = f"{error} (scripts/sandbox_engines runs a command with both engines)"
    else:
        if engine.facts.isolation != "full":
            await engine.aclose()
            problem = f"{name} isolates less here: {'; '.join(engine.facts.weaknesses)}"
    if problem:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have every engine that the tests need: {problem}")
        pytest.skip(problem)
    try:
        yield engine
    finally:
        await engine.aclose()


_SECONDS = 30.0


class Agent:
    """An agent with all tools, in an episode's sandbox."""

    def __init__(self, sandbox: Sandbox, *, command_seconds: float = _SECONDS) -> None:
        """`command_seconds` is what a command has that asks for no other time."""
        self.sandbox = sandbox
        self._tools = Toolbox(sandbox, TOOLS, command_seconds=_SECONDS)
        self._command_seconds = command_seconds
        self._calls = 0

    async def call(self, tool: ToolName, **arguments: Any) -> ToolOutcome:
        """One tool call."""
        self._calls += 1
        return await self._tools.call(ToolCall(f"call-{self._calls}", tool, json.dumps(arguments)))

    async def bash(self, command: str, **more: Any) -> str:
        """What the model is told of a command."""
        return (await self.call("bash", command=command, **{"timeoutSeconds": self._command_seconds, **more})).result.text

    async def attack(self, code: str, **more: Any) -> str:
        """What a Python program printed, whose attempts it begins with are known."""
        return await self.bash(f"python3 -I - <<'CODE'\n{_PRELUDE}{code}\nCODE", **more)

    async def held(self, code: str, *, at_least: int = 1) -> str:
        """Attack, and see that every attempt was refused."""
        said = await self.attack(code)
        assert said.endswith("[exit code 0]"), said
        assert "GOT" not in said, said
        assert said.count("held ") >= at_least, said
        return said

    async def is_well(self) -> None:
        """Its sandbox and its shell go on, however slowly."""
        said = await self.bash("echo well", timeoutSeconds=_SECONDS)
        if "shell" in said:  # Its last one was killed.
            said = await self.bash("echo well", timeoutSeconds=_SECONDS)
        assert said.endswith("well\n[exit code 0]"), said

    async def aclose(self) -> None:
        """Let go of its tools."""
        await self._tools.aclose()


def request(name: str = "red-team", **options: Any) -> SandboxRequest:
    """A small sandbox of this process."""
    made = SandboxRequest(run=name, purpose="episode", owner=this_process(), lifetime_seconds=200, limits=LIMITS)
    return replace(made, **options)


@asynccontextmanager
async def agent_of(engine: SandboxEngine, *, command_seconds: float = _SECONDS, **options: Any) -> AsyncIterator[Agent]:
    """An agent in a sandbox of its own. Afterwards the sandbox is gone, and the engine makes the next one."""
    sandbox = await engine.create(request(**options))
    agent = Agent(sandbox, command_seconds=command_seconds)
    try:
        yield agent
    finally:
        await agent.aclose()
        await sandbox.aclose()
    assert sandbox.id not in {each.id for each in await engine.list()}


async def as_root(sandbox: Sandbox, code: str) -> str:
    """The same program as uid 0 in the sandbox."""
    done = await run(sandbox, ("python3", "-I", "-c", _PRELUDE + code), user=User.ROOT, timeout=30, cwd="/")
    return done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")


def here(code: str, *names: str) -> None:
    """The control on this machine: the same attempts succeed. Only root can show most of them."""
    if os.geteuid() != 0:
        return
    done = subprocess.run([sys.executable, "-I", "-c", _PRELUDE + code], capture_output=True, text=True, timeout=30, check=True)
    got = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("GOT ")}
    assert set(names) <= got, done.stdout


def processes_marked(marker: str) -> list[psutil.Process]:
    """Living processes of this machine, those in sandboxes included, with a word in their command line."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if marker in " ".join(process.info["cmdline"] or [])
        and process.info["status"] != psutil.STATUS_ZOMBIE
        and process.pid != os.getpid()
    ]


async def until(condition: Any, seconds: float = 30) -> None:
    """Wait until something that is asked again and again holds; fail when it does not."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


# Graders.

_AT_ONCE = 4

SECRET = "k7Qz-expected-93"
"""The answer of every task: who is Correct without knowing it has read it, or forged a verdict."""

TESTS = f"""
def test_secret(solution):
    assert solution.secret() == {SECRET!r}
"""
PROGRAM = """
import nodus_grading as grading
done = grading.run(["python3", "solution.py"], timeout=4)
grading.verdict(done.text.strip() == grading.answer(), message="judged")
"""


class Court:
    """Judges answers on one engine, by the real judge in real sandboxes."""

    def __init__(self, engine: SandboxEngine) -> None:
        async def choose() -> tuple[SandboxEngine, SandboxEngineFact]:
            return engine, SandboxEngineFact(engine="bubblewrap", isolation="full", reason="a test")

        self.engine = engine
        self._pool = SandboxPool(choose, this_process(), None)
        self._judge = Judge(self._pool)

    async def judged(self, trial: Trial | SecretTask, code: str = "", *, files: Path | None = None) -> Judgement:
        """The judgement of a reply with this code, or of files."""
        task = trial if isinstance(trial, SecretTask) else SecretTask("task", ("p",), {}, None, Workbench(), trial)
        judgement = (await self._judge.judge(task, f"```python\n{code}\n```\n", files)).judgement
        assert SECRET not in judgement.message
        return judgement


class Ahead:
    """Judges the attacks of a file a few at a time, some before their tests ask: judging one is mostly waiting."""

    def __init__(self, names: Iterable[str], judge: Callable[[str], Coroutine[Any, Any, Any]]) -> None:
        self._names = list(names)
        self._judge = judge
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    async def judged(self, name: str) -> Any:
        """What became of one."""
        place = self._names.index(name)
        for each in self._names[place : place + _AT_ONCE]:
            if each not in self._tasks:
                self._tasks[each] = asyncio.create_task(self._judge(each))
        return await self._tasks[name]

    async def aclose(self) -> None:
        """End what no test asked for."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


def trial(kind: str = "pytest", *, tests: str = TESTS, script: str = PROGRAM, seconds: float = 45, budget: float = 3, **more: Any) -> Trial:
    """A task whose answer is SECRET, judged by hidden tests or by a program; judged code has `budget` seconds in all."""
    files = {"test_hidden.py": tests} if kind == "pytest" else {"grade.py": script}
    options: dict[str, Any] = {
        "kind": kind,
        "command": ("python3", "grade.py"),
        "grader_files": {name: TaskFile(text.encode()) for name, text in files.items()},
        "answer": SECRET,
        "solution": "completion",
        "solution_file": "solution.py",
        "limits": TrialLimits(seconds=seconds, disk_bytes=64 << 20, memory_bytes=256 << 20, pids=64),
        "environ": {"NODUS_SOLUTION_SECONDS": f"{budget:g}"},
    }
    return Trial(**{**options, **more})


@dataclass
class Ground:
    """Where attacks happen."""

    engine: SandboxEngine
    agent: Agent
    """Shared by the attacks of a file."""
    court: Court


_NAIVE = {
    "import": """
import json, sys
sys.path.insert(0, "/task")
expected = json.load(open("/grader/answer.json"))
import solution
right = solution.secret() == expected
json.dump({"verdict": "Correct" if right else "Incorrect"}, open("/grader/verdict.json", "w"))
print("Correct" if right else "Incorrect")
sys.exit(0 if right else 1)
""",
    "program": """
import json, subprocess, sys
expected = json.load(open("/grader/answer.json"))
done = subprocess.run([sys.executable, "solution.py"], cwd="/task", capture_output=True, text=True, timeout=20)
try: out = open("/task/out.txt").read()
except OSError: out = ""
right = expected in (done.stdout.strip(), out.strip(), json.loads(out) if out.startswith('"') else None)
print("Correct" if right else "Incorrect")
sys.exit(0 if right else 1)
""",
    "pytest": "import pytest, sys; sys.exit(pytest.main(['-p', 'no:cacheprovider', '-q', '/task/test_hidden.py']))",
}
_NAIVE_TESTS = f"from solution import secret\ndef test_secret(): assert secret() == {SECRET!r}\n"


def _forged(verdict: Path, task: Path) -> bool:
    """Whether the verdict's file says Correct; read again while a process that the attack left may be amid writing it."""
    while True:
        written_on = _at_work_in(task)
        try:
            return json.loads(verdict.read_text())["verdict"] == "Correct"
        except FileNotFoundError:
            return False
        except json.JSONDecodeError:
            if not written_on:
                raise


def _at_work_in(folder: Path) -> bool:
    """Whether any process works in this folder."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == folder:
                return True
    return False


def fools(naive: str, folder: Path, files: Mapping[str, str]) -> bool:
    """The control for an attack on a verdict: whether it fools a grader that runs judged code in its own process, or as its own user.

    `naive` names the grader and, after a colon, what is believed: its exit `status`, what it `said` on stdout, or its `file`.
    """
    kind, _, believed = naive.partition(":")
    for name in ("task", "grader"):
        (folder / name).mkdir(parents=True)

    def moved(text: str) -> str:
        return text.replace("/grader", str(folder / "grader")).replace("/task", str(folder / "task"))

    (folder / "grader/answer.json").write_text(json.dumps(SECRET))
    (folder / "task/test_hidden.py").write_text(_NAIVE_TESTS)
    for name, text in files.items():
        (folder / "task" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "task" / name).write_text(moved(text))
    done = subprocess.run(
        [sys.executable, "-c", moved(_NAIVE[kind])],
        cwd=folder / "task",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        stdin=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    verdict = folder / "grader/verdict.json"
    match believed:
        case "status":
            return done.returncode == 0
        case "said":
            return "Correct" in done.stdout.replace("Incorrect", "")
        case _:
            return _forged(verdict, folder / "task")
