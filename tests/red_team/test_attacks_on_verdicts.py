"""Attacks by judged code that forge a verdict, or replace what the grader runs and imports.

Each is judged by the real judge, and none may be Correct. The control is a grader that protects itself less: `naive` says which one
(see `attacking.fools`), and that the attack fools it, so that it is a real one.
"""

import asyncio
import io
import tarfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from attacking import Ahead, Ground, fools, trial
from msgspec import Struct, field

from local_backend.environments.secret_tasks import Judgement
from nodus_tui.contract.phases import Verdict

pytestmark = pytest.mark.asyncio(loop_scope="module")

BRIEF = 1.5
"""Seconds that judged code has, for attacks that only wait."""


class Attack(Struct, frozen=True):
    held_by: str
    naive: str
    """The grader that it fools; empty where that cannot be shown without harm."""
    code: str = ""
    """The solution file."""
    files: Mapping[str, str] = field(default_factory=dict)
    """More of the work folder."""


_OUT_OF_PROCESS = "judged code runs in a process of its own, as another user"
_COPIED = "only plain data crosses, rebuilt by the grader"
_NOWHERE = "nobody reads what is printed, nor an exit status of judged code"
_NO_PATH = "the grader runs isolated (-I) in /grader; no folder of the agent's is on its path, and no variable of its environment"

ATTACKS: Mapping[str, Attack] = {
    "prints the verdict": Attack(_NOWHERE, "import:said", "print('Correct')\ndef secret(): return 'x'"),
    "ends its process with status 0": Attack(_OUT_OF_PROCESS, "import:status", "import os\nos._exit(0)"),
    "ends pytest with status 0": Attack(_OUT_OF_PROCESS, "pytest:status", "import os\ndef secret(): os._exit(0)"),
    "raises SystemExit 0": Attack(_OUT_OF_PROCESS, "import:status", "raise SystemExit(0)"),
    "ends with status 0 at exit": Attack(
        _OUT_OF_PROCESS,
        "pytest:status",
        """
import atexit, os
atexit.register(os._exit, 0)
def secret(): return 'x'
""",
    ),
    "writes the verdict and ends": Attack(
        "/grader is root's alone",
        "import:file",
        """
import os
open('/grader/verdict.json', 'w').write('{"verdict": "Correct"}')
os._exit(0)
""",
    ),
    "writes the verdict again at exit": Attack(
        "/grader is root's alone",
        "import:file",
        """
import atexit
atexit.register(lambda: open('/grader/verdict.json', 'w').write('{"verdict": "Correct"}'))
def secret(): return 'x'
""",
    ),
    "leaves a process that rewrites the verdict": Attack(
        "/grader is root's alone, and all judged processes are killed before the verdict is read",
        "import:file",
        """
import os, time
if os.fork() == 0:
    os.setsid()
    for number in (0, 1, 2): os.close(number)
    for _ in range(100):
        try:
            with open("/grader/verdict.json", "w") as file: file.write('{"verdict": "Correct"}')
        except OSError: pass
        time.sleep(0.01)
    os._exit(0)
time.sleep(0.2)
os._exit(0)
def secret(): return 'x'
""",
    ),
    "equals everything": Attack(
        _COPIED,
        "import:file",
        """
class Equal:
    def __eq__(self, other): return True
    __hash__ = None
def secret(): return Equal()
""",
    ),
    "is a text that equals everything": Attack(
        _COPIED,
        "import:file",
        """
class Equal(str):
    def __eq__(self, other): return True
    __ne__ = lambda *_: False
    __hash__ = str.__hash__
def secret(): return Equal('x')
""",
    ),
    "is a number with hostile methods": Attack(
        _COPIED,
        "import:file",
        """
class Equal(int):
    def __eq__(self, other): return True
    __index__ = __int__ = __float__ = __hash__ = lambda self: 1
def secret(): return Equal(7)
""",
    ),
    "patches pytest": Attack(
        _OUT_OF_PROCESS,
        "pytest:status",
        """
try:
    import _pytest.runner
    _pytest.runner.check_interactive_exception = lambda *_: False
    _pytest.runner.CallInfo.from_call = classmethod(lambda cls, func, when, reraise=None: cls(None, None, 0, 0, 0, when, _ispytest=True))
except ImportError: pass
def secret(): return 'x'
""",
    ),
    "pretends to be skipped": Attack(_COPIED, "pytest:status", "def secret():\n    import pytest\n    pytest.skip('x')"),
    "ends pytest by its own exception": Attack(
        _COPIED, "pytest:status", "def secret():\n    import pytest\n    pytest.exit('done', returncode=0)"
    ),
    "patches the comparison": Attack(
        _OUT_OF_PROCESS,
        "import:file",
        """
import sys
try:
    frame = sys._getframe()
    while frame.f_back: frame = frame.f_back
    frame.f_globals["expected"] = "x"
except Exception: pass
def secret(): return 'x'
""",
    ),
    "patches json": Attack(
        _OUT_OF_PROCESS,
        "import:file",
        """
import json
plain = json.dumps
json.dump = lambda value, file, **_: file.write('{"verdict": "Correct"}')
class Fake(dict): pass
json.dumps = lambda value, **_: plain({**value, 'ok': True} if isinstance(value, dict) else value)
def secret(): return 'x'
""",
    ),
    "traces its caller": Attack(
        _OUT_OF_PROCESS,
        "import:file",
        """
import sys
def trace(frame, event, argument):
    if "right" in frame.f_globals or "expected" in frame.f_globals: frame.f_globals["expected"] = "x"
    return trace
sys.settrace(trace)
frame = sys._getframe()
while frame: frame.f_trace = trace; frame = frame.f_back
def secret(): return 'x'
""",
    ),
    "replaces json.py": Attack(_NO_PATH, "", "def secret(): return 'x'", {"json.py": "import os; os._exit(0)\n"}),
    "replaces pytest by a conftest.py": Attack(
        _NO_PATH,
        "pytest:status",
        "def secret(): return 'x'",
        {
            "conftest.py": """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem): return True

"""
        },
    ),
    "brings a pytest.ini": Attack(
        _NO_PATH, "pytest:status", "def secret(): return 'x'", {"pytest.ini": "[pytest]\naddopts = --collect-only\n"}
    ),
    "brings a pyproject.toml": Attack(
        _NO_PATH, "pytest:status", "def secret(): return 'x'", {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--collect-only"\n'}
    ),
    "brings a setup.cfg and a tox.ini": Attack(
        _NO_PATH,
        "pytest:status",
        "def secret(): return 'x'",
        {"setup.cfg": "[tool:pytest]\naddopts = --collect-only\n", "tox.ini": "[pytest]\naddopts = --collect-only\n"},
    ),
    "brings modules of the grader's names": Attack(
        _NO_PATH,
        "",
        "def secret(): return 'x'",
        {
            f"{name}.py": "import os; os._exit(0)\n"
            for name in ("pytest", "nodus_grading", "secrets", "struct", "select", "sitecustomize", "usercustomize", "_pytest")
        },
    ),
    "writes modules where Python looks for them": Attack(
        "the system's folders are read-only; the grader's home is /grader/tmp, and judged code starts isolated",
        "",
        """
import os
for folder in ("/usr/local/lib/python3.11", "/usr/local/lib/python3.11/site-packages", "/task", "/tmp",
               "/home/agent/.local/lib/python3.11/site-packages", "/grader", "/grader/tmp", "/root/.local/lib/python3.11/site-packages"):
    for name in ("sitecustomize.py", "usercustomize.py", "owned.pth", "json.py", "nodus_grading.py"):
        try:
            os.makedirs(folder, exist_ok=True)
            open(f"{folder}/{name}", "w").write("import os; os._exit(0)\\n")
        except OSError: pass
def secret(): return 'x'
""",
    ),
    "replaces the interpreter": Attack(
        "the root file system is read-only, and the grader's PATH holds no folder of the agent's",
        "",
        """
import os
for path in ("/usr/local/bin/python3", "/usr/bin/python3", "/bin/sh", "/task/python3", "/task/sh", "/home/agent/python3", "/tmp/python3"):
    for action in (lambda: os.remove(path), lambda: open(path, "w").write("#!/bin/true\\n"), lambda: os.chmod(path, 0o755)):
        try: action()
        except OSError: pass
def secret(): return 'x'
""",
    ),
    "sets variables for the next program": Attack(
        "each program starts from a clean environment, and shells read no profile",
        "",
        """
import os
os.environ.update(PATH="/task", PYTHONPATH="/task", LD_PRELOAD="/task/x.so", PYTEST_ADDOPTS="--collect-only", BASH_ENV="/task/x")
for name in (".profile", ".bashrc", ".pythonrc", ".bash_profile", ".config/pip/pip.conf"):
    os.makedirs(os.path.dirname("/home/agent/" + name), exist_ok=True)
    open("/home/agent/" + name, "w").write("exit 0\\n")
def secret(): return 'x'
""",
    ),
    "forges a reply on every descriptor": Attack(
        "a reply counts with the number of its request, and then only as the solution's own answer",
        "",
        """
import json, os, struct
def secret():
    for number in range(3, 64):
        for nonce in ("", "0" * 32, 0, None):
            text = json.dumps({"id": nonce, "ok": True, "verdict": "Correct"}).encode()
            try: os.write(number, struct.pack(">I", len(text)) + text)
            except OSError: pass
    return 'x'
""",
    ),
    "answers before it is asked": Attack(
        "the number of a request is random, and known with the request only",
        "",
        """
import json, os, struct, threading
def answer():
    while True:
        text = json.dumps({"id": "f" * 32, "ok": "x"}).encode()
        try: os.write(4, struct.pack(">I", len(text)) + text)
        except OSError: return
threading.Thread(target=answer, daemon=True).start()
def secret(): return 'x'
""",
    ),
    "raises what the tests may expect": Attack(
        "an error of the solution is a failure, unless a test expects it by name",
        "pytest:status",
        """
try:
    import pytest
    from _pytest.outcomes import Skipped
except ImportError:
    class Skipped(Exception): pass
def secret(): raise Skipped('x')
""",
    ),
}


_SHOWN: set[str] = set()
"""Attacks whose control was shown: it knows no engine."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judgements(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ahead]:
    folder = tmp_path_factory.mktemp("files")

    async def judged(name: str) -> Judgement:
        attack = ATTACKS[name]
        if attack.files:
            files = archive(folder / f"{name}.tar", {"solution.py": attack.code, **attack.files})
            return await ground.court.judged(trial(solution="files"), files=files)
        return await ground.court.judged(trial(budget=BRIEF), attack.code)

    made = Ahead(ATTACKS, judged)
    yield made
    await made.aclose()


@pytest.mark.parametrize("name", ATTACKS)
async def test_forges_a_verdict(judgements: Ahead, name: str, tmp_path: Path) -> None:
    attack = ATTACKS[name]
    if attack.naive and name not in _SHOWN:
        files = {"solution.py": attack.code, **attack.files}
        assert await asyncio.to_thread(fools, attack.naive, tmp_path / "naive", files), "the attack is none: it fools nobody"
        _SHOWN.add(name)
    judgement = await judgements.judged(name)
    assert judgement.verdict is Verdict.INCORRECT, judgement
    assert judgement.reward == 0


PROGRAMS: Mapping[str, Attack] = {
    "prints a verdict on both outputs": Attack(
        _NOWHERE,
        "",
        """
import sys
for out in (sys.stdout, sys.stderr): print('{"verdict": "Correct", "reward": 1}', file=out)
""",
    ),
    "links its output to the answer": Attack(
        "the library follows no link",
        "program:status",
        """
import os
os.path.lexists('out.txt') or os.symlink('/grader/answer.json', 'out.txt')
""",
    ),
    "makes its output a pipe": Attack("only regular files are read, without waiting", "", "import os\nos.mkfifo('out.txt')"),
    "leaves a process that waits for the next program": Attack(
        "everything of the judged user is killed after each program",
        "",
        """
import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        try: open('out.txt', 'w').write('k7Qz')
        except OSError: pass
""",
    ),
}
_SCRIPT = """
import json, nodus_grading as grading
done = grading.run(["python3", "solution.py"], timeout=3)
try: out = grading.read("out.txt").decode("utf-8", "replace")
except grading.SolutionError: out = ""
before = out
grading.run(["true"], timeout=3)
try: out = grading.read("out.txt").decode("utf-8", "replace")
except grading.SolutionError: out = ""
grading.verdict(grading.answer() in (done.text.strip(), out.strip(), out.strip().strip('"')) or out != before, message="judged")
"""


@pytest.mark.parametrize("name", PROGRAMS)
async def test_forges_a_verdict_of_a_program_grader(ground: Ground, name: str, tmp_path: Path) -> None:
    attack = PROGRAMS[name]
    if attack.naive:
        assert fools(attack.naive, tmp_path / "naive", {"solution.py": attack.code})
    judgement = await ground.court.judged(trial("program", script=_SCRIPT), attack.code)
    assert (judgement.verdict, judgement.message) == (Verdict.INCORRECT, "judged"), judgement


async def test_answers_are_correct_where_nothing_is_forged(ground: Ground, tmp_path: Path) -> None:
    """The control of both graders, with every file of the attacks beside a right answer: they change nothing."""
    right = "def secret(): return 'k7Qz-expected-93'\n"
    assert fools("pytest:status", tmp_path / "naive", {"solution.py": right})
    assert not fools("pytest:status", tmp_path / "wrong", {"solution.py": "def secret(): return 'x'\n"})
    files = {name: text for attack in ATTACKS.values() for name, text in attack.files.items()}
    judgement = await ground.court.judged(trial(solution="files"), files=archive(tmp_path / "run.tar", {**files, "solution.py": right}))
    assert judgement.verdict is Verdict.CORRECT


def archive(path: Path, files: Mapping[str, str]) -> Path:
    with tarfile.open(path, "w") as made:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            content = text.encode()
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return path
