"""Attacks by judged code that look for the answer: by paths, in the grader's processes, through links, races, and what it can measure.

Each is judged by the real judge, with hidden tests and with a program grader; the answer of every task is the same secret, so whoever is
Correct has found it. The control is the same code in a place where nothing is protected: as root beside the answers.
The text beside each attack says what holds it.
"""

import io
import tarfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from attacking import SECRET, Ahead, Ground, agent_of, as_root, trial
from msgspec import Struct

from local_backend.environments.secret_tasks import Judgement
from nodus_tui.contract.phases import Verdict

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Attack(Struct, frozen=True):
    held_by: str
    code: str
    """Defines `secret`, and prints it, too: the same file is loaded by tests and run by the program grader."""
    control: bool = True
    """Whether root, beside the answers in a sandbox without a grader, finds them so."""


_FIND = """
import glob, json, os, re
def look(*patterns):
    found = ""
    for pattern in patterns:
        for path in glob.glob(pattern, recursive=True):
            try: found += open(path, errors="replace").read(1 << 20)
            except OSError: pass
    return found
def answer_in(text):
    match = re.search("k7Qz-[a-z]+-[0-9]+", text)
    return match.group() if match else "x"
"""

ATTACKS: Mapping[str, Attack] = {
    "reads the answers by their paths": Attack(
        "/grader is root's alone, mode 0700",
        "def secret(): return answer_in(look('/grader/answer.json', '/grader/tests/*', '/grader/**', '/task/../grader/*'))",
    ),
    "searches every file for the answer": Attack(
        "nothing of the grader lies where others may read",
        "def secret(): return answer_in(look('/grader/*', '/tmp/**', '/run/**', '/home/**', '/dev/shm/*', '/var/**', '/root/**'))",
    ),
    "reads the environment and command of the grader": Attack(
        "the answers are in no environment and no command line; root's environment is not shown",
        "def secret(): return answer_in(look('/proc/[0-9]*/environ', '/proc/[0-9]*/cmdline', '/proc/[0-9]*/comm', '/proc/[0-9]*/stat'))",
        control=False,
    ),
    "reads the grader's files through proc": Attack(
        "links of another user's process are not followed",
        "def secret(): return answer_in(look('/proc/[0-9]*/cwd/answer.json', '/proc/[0-9]*/root/grader/*'))",
    ),
    "reads the grader's memory": Attack(
        "another user's memory is closed, and no system call debugs",
        """
def secret():
    found = ""
    for pid in [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]:
        try:
            memory = open(f"/proc/{pid}/mem", "rb", 0)
            for line in open(f"/proc/{pid}/maps"):
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                if "rw" in line and end - start < 1 << 26:
                    memory.seek(start); found += memory.read(end - start).decode("latin-1")
        except (OSError, ValueError): pass
    return answer_in(found)
""",
        control=False,
    ),
    "links a file of its own to the answer": Attack(
        "a link leads whoever opens it no further than it may go; hard links end at the mount",
        """
def secret():
    for name, make in (("a", os.symlink), ("b", os.link)):
        try: make("/grader/answer.json", "/tmp/" + name)
        except OSError: pass
    return answer_in(look("/tmp/a", "/tmp/b"))
""",
    ),
    "makes a folder of its own out of the grader's": Attack(
        "renaming, mounting and changing rights need to be root",
        """
def secret():
    for action in (lambda: os.rename("/grader", "/tmp/g"), lambda: os.chmod("/grader", 0o777), lambda: os.chown("/grader", 1000, 1000),
                   lambda: os.rmdir("/grader"), lambda: os.chroot("/grader"), lambda: os.chdir("/grader")):
        try: action()
        except OSError: pass
    return answer_in(look("/tmp/g/*", "/grader/*", "./answer.json"))
""",
    ),
    "waits for the answers in the background": Attack(
        "every process of the judged user is killed before the answers come, after each program, and before the verdict is read",
        """
import time
def secret():
    if os.fork() == 0:
        os.setsid()
        end = time.monotonic() + 20
        while time.monotonic() < end:
            found = answer_in(look("/grader/*", "/tmp/pytest*/**"))
            if found != "x": open("/tmp/found", "w").write(found)
        os._exit(0)
    return answer_in(look("/tmp/found", "/grader/*"))
""",
    ),
    "inherits what the grader has open": Attack(
        "judged code gets its own three streams or two pipes, and nothing else",
        """
def secret():
    found = ""
    for number in range(3, 300):
        try: found += os.pread(number, 1 << 16, 0).decode("latin-1")
        except OSError: pass
        for name in ("answer.json", "../answer.json", "tests/test_hidden.py"):
            try: found += os.read(os.open(name, os.O_RDONLY, dir_fd=number), 1 << 16).decode("latin-1")
            except OSError: pass
    return answer_in(found)
""",
        control=False,
    ),
    "measures files that it cannot read": Attack(
        "sizes, times and names in /grader need the right to search it",
        """
def secret():
    told = []
    for path in ("/grader/answer.json", "/grader/tests/test_hidden.py", "/grader/tests.json", "/grader/completion.txt"):
        for measure in (os.stat, os.path.getsize, os.listdir, lambda path: os.access(path, os.F_OK) or 1 / 0):
            try: told.append(measure(path))
            except (OSError, ZeroDivisionError): pass
    return answer_in(look("/grader/*")) if told else "x"
""",
    ),
    "looks for what an earlier judgement left": Attack(
        "each judgement has a fresh sandbox, and the grader's temporary files lie in /grader",
        "def secret(): return answer_in(look('/tmp/**', '/home/agent/**', '/var/tmp/**', '/task/**', '/dev/shm/**', '/grader/tmp/**'))",
        control=False,
    ),
    "asks the grader's modules for the answer": Attack(
        "the judged process never has them: the comparison is made in the grader",
        """
import gc, sys
def secret():
    frame, found = sys._getframe(), ""
    while frame:
        found += repr(frame.f_locals)[:100_000] + repr(list(frame.f_globals))[:100_000]; frame = frame.f_back
    for each in gc.get_objects():
        if isinstance(each, (str, dict, list, tuple)):
            found += repr(each)[:2000] if "k7Qz-" + "expected" in repr(each)[:2000] and "match" not in repr(each)[:2000] else ""
    return answer_in(found)
""",
        control=False,
    ),
    "learns the answer from errors and messages": Attack(
        "what tests assert and print goes nowhere; messages name functions, never values",
        """
def secret():
    raise AssertionError("expected what?")
""",
        control=False,
    ),
    "becomes root by way of the grader's programs": Attack(
        "no program with the setuid bit, no-new-privileges, and none that root runs can be replaced",
        """
import subprocess
def secret():
    for command in ("su -c cat", "sudo cat", "unshare -r cat"):
        try: return answer_in(subprocess.run([*command.split(), "/grader/answer.json"], capture_output=True, text=True, timeout=2).stdout)
        except (OSError, subprocess.SubprocessError): pass
    return answer_in(look("/grader/*"))
""",
    ),
}


def whole(code: str) -> str:
    return f"{_FIND}\n{code}\nif __name__ == '__main__':\n    print(secret())\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judgements(ground: Ground) -> AsyncIterator[Ahead]:
    async def both(name: str) -> list[Judgement]:
        return [await ground.court.judged(trial(kind), whole(ATTACKS[name].code)) for kind in ("pytest", "program")]

    made = Ahead(ATTACKS, both)
    yield made
    await made.aclose()


@pytest.mark.parametrize("name", ATTACKS)
async def test_judged_code_looks_for_the_answer(judgements: Ahead, name: str) -> None:
    for judgement in await judgements.judged(name):
        assert judgement.verdict is Verdict.INCORRECT, judgement
        assert judgement.reward == 0


async def test_the_right_answer_is_correct(ground: Ground) -> None:
    """The control of all: who gives the answer is Correct, with either grader."""
    for kind in ("pytest", "program"):
        judgement = await ground.court.judged(trial(kind), whole(f"def secret(): return {SECRET!r}"))
        assert judgement.verdict is Verdict.CORRECT


async def test_root_beside_the_answers_finds_them(ground: Ground) -> None:
    """The control: without the protection, the attacks that look for files find the answer."""
    async with agent_of(ground.engine, purpose="grading") as agent:
        await as_root(agent.sandbox, f"open('/grader/answer.json', 'w').write('{SECRET}')")
        for attack in (each for each in ATTACKS.values() if each.control):
            beside = f"os.chdir('/grader')\nscope = {{'__name__': 'attack'}}\nexec({whole(attack.code)!r}, scope)\nprint(scope['secret']())"
            said = await as_root(agent.sandbox, beside)
            assert SECRET in said, (attack, said)


async def test_files_link_to_the_answers(ground: Ground, tmp_path: Path) -> None:
    """Links that leave the work folder are not unpacked, and the library refuses links anywhere in a path."""
    target = tmp_path / "run.tar"
    with tarfile.open(target, "w") as made:
        for name, link in (("out.txt", "/grader/answer.json"), ("up", "../grader"), ("fd", "/proc/1/root/grader"), ("abs/x", "/grader")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, link
            made.addfile(info)
        hard = tarfile.TarInfo("hard")
        hard.type, hard.linkname = tarfile.LNKTYPE, "/grader/answer.json"
        made.addfile(hard)
        device = tarfile.TarInfo("device")
        device.type, device.devmajor, device.devminor = tarfile.BLKTYPE, 254, 0
        made.addfile(device)
        for name in ("solution.py", "../escaped", "/grader/verdict.json", "up/verdict.json", "new\nline", "\x1b[2J"):
            info = tarfile.TarInfo(name)
            content = b"print(open('/grader/answer.json').read())"
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    script = """
import nodus_grading as grading, os
seen = ""
for name in ("out.txt", "up/answer.json", "fd/answer.json", "abs/x/answer.json", "hard", "device"):
    try: seen += grading.read(name).decode("utf-8", "replace")
    except grading.SolutionError: pass
kinds = sorted(name for folder, folders, files in os.walk("/task") for name in folders + files)
done = grading.run(["python3", "solution.py"], timeout=5)
grading.verdict(grading.answer() in seen + done.text, message=repr(kinds))
"""
    judgement = await ground.court.judged(trial("program", script=script, solution="files"), files=target)
    assert judgement.verdict is Verdict.INCORRECT
    # A member `/grader/x` of an archive lies below the work folder, wherever its name points.
    assert "device" not in judgement.message
    assert "hard" not in judgement.message
    assert "out.txt" not in judgement.message


async def test_swaps_the_graded_file_while_it_is_read(ground: Ground) -> None:
    """A race: the library walks a path without following any link, as the judged user."""
    script = """
import nodus_grading as grading, os, time
pid = os.fork()
if pid == 0:
    os.setgroups([]); os.setgid(1000); os.setuid(1000)
    os.chdir("/task")
    while True:
        for make in (lambda: os.symlink("/grader/answer.json", "out.txt"), lambda: os.link("/grader/answer.json", "out.txt"),
                     lambda: open("out.txt", "w").write("x")):
            try: make()
            except OSError: pass
            try: os.remove("out.txt")
            except OSError: pass
seen, reads = "", 0
end = time.monotonic() + 20
while reads < 200 and time.monotonic() < end:
    reads += 1
    try: seen += grading.read("out.txt").decode()
    except grading.SolutionError: pass
    try: grading.write("out.txt", "y")
    except grading.SolutionError: pass
naive, end = "", time.monotonic() + 20
while not naive and time.monotonic() < end:
    try: naive = open("/task/out.txt").read().strip("xy")  # The control: who opens it as root is led to the answer.
    except OSError: pass
os.kill(pid, 9)
grading.verdict(grading.answer() in seen or reads < 10 or grading.answer() not in naive, message=f"{reads > 10} {bool(naive)}")
"""
    judgement = await ground.court.judged(trial("program", script=script), "x = 1")
    assert (judgement.verdict, judgement.message) == (Verdict.INCORRECT, "True True")
