"""Attacks by tool calls on the machine's resources, and by what they print; and keys of the scheduler in any environment.

The first line of each test's docstring says what holds the attack.
"""

import contextlib
import os
import textwrap
from pathlib import Path

import psutil
import pytest
from attacking import LIMITS, Agent, Ground, agent_of, as_root, engine_of, needs_known_machine

from local_backend.sandboxes.archives import member
from local_backend.sandboxes.interface import SandboxGoneError, User
from local_backend.sandboxes.running import SandboxFileError, fetch_folder
from nodus_tui.values import replace

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEMORY = 256 << 20
_COUNTED_APART = Path("/sys/fs/cgroup/memory/memory.kmem.tcp.limit_in_bytes").exists()
"""Version 1 of control groups has a limit of its own for what sockets hold, which engines do not set."""


async def goes_on(ground: Ground, agent: Agent) -> None:
    """The agent has its tools again, or its sandbox ended and says so, where the engine says that it may; the engine makes the next one."""
    try:
        await agent.sandbox.kill_agent()
        await agent.is_well()
    except SandboxGoneError:
        assert any("memory" in weakness for weakness in ground.engine.facts.weaknesses)
    async with agent_of(ground.engine) as other:
        await other.is_well()


async def test_bombs_with_forks(ground: Ground) -> None:
    """A limit on processes of the whole sandbox."""
    async with agent_of(ground.engine) as agent:
        said = await agent.attack("""
made = 0
try:
    while made < 5000:
        if os.fork() == 0: time.sleep(60); os._exit(0)
        made += 1
except OSError as error: print("made", made, errno.errorcode[error.errno])
""")
        assert int(said.split("made ")[1].split()[0]) < 64
    async with agent_of(ground.engine, command_seconds=1) as agent:
        await agent.bash("bomb() { bomb | bomb & }; bomb")
        await agent.bash("python3 -c 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'")
        await goes_on(ground, agent)


async def test_bombs_with_threads(ground: Ground) -> None:
    """Threads count as processes."""
    async with agent_of(ground.engine) as agent:
        said = await agent.attack("""
threading.stack_size(1 << 16)
made = 0
try:
    while made < 5000: threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); made += 1
except RuntimeError: print("made", made)
os._exit(0)
""")
        assert int(said.split("made ")[1].split()[0]) < 64
        await goes_on(ground, agent)


@pytest.mark.parametrize("way", ["one process", "many processes", "shared memory", "memory files", "pipes", "pages that are locked"])
async def test_bombs_the_memory(ground: Ground, way: str) -> None:
    """A limit on the memory of all programs together, files in memory included, without swap."""
    code = {
        "one process": "kept = []\nwhile True: kept.append(bytearray(10 << 20))",
        "many processes": "for _ in range(5): os.fork()\nkept = []\nwhile True: kept.append(bytearray(4 << 20))",
        "shared memory": """
libc.shmat.restype = ctypes.c_void_p
for _ in range(200):
    where = libc.shmat(syscall("shmget", 0, 4 << 20, 0o1600), None, 0)
    ctypes.memset(where, 1, 4 << 20)
""",
        "memory files": """
kept = []
while True:
    kept.append(syscall("memfd_create", b"x", 0))
    os.write(kept[-1], bytes(8 << 20))
""",
        "pipes": """
for _ in range(6): os.fork()
kept = [os.pipe() for _ in range(120)]
for _, writing in kept:
    os.set_blocking(writing, False)
    try:
        fcntl.fcntl(writing, 1031, 1 << 20)
    except OSError: pass
    try:
        while True: os.write(writing, bytes(1 << 16))
    except OSError: pass
time.sleep(0.5)
""",
        "pages that are locked": "libc.mlockall(3)\nkept = []\nwhile True: kept.append(bytearray(10 << 20))",
    }[way]
    async with agent_of(ground.engine, command_seconds=2) as agent:
        before = psutil.virtual_memory().available
        try:
            await agent.attack(code)
            taken = before - psutil.virtual_memory().available
            # Others work on this machine, too; a bomb that is not held takes gigabytes.
            assert taken < 4 * MEMORY + (1 << 30)
        except SandboxGoneError:
            assert any("memory" in weakness for weakness in ground.engine.facts.weaknesses)
        await goes_on(ground, agent)


async def test_fills_the_disk(ground: Ground) -> None:
    """Every folder that can be written lies in memory and has a size, together the sandbox's disk."""
    async with agent_of(ground.engine) as agent:
        said = await agent.attack("""
total = 0
for folder in ("/task", "/tmp", "/home/agent", "/dev/shm", "/var/tmp", "/run", "/dev"):
    try:
        with open(f"{folder}/full-{total}", "wb", buffering=0) as file:
            while True: total += file.write(bytes(1 << 20))
    except OSError as error: print("held", folder, errno.errorcode[error.errno])
print("total", total)
""")
        assert said.count("held ") == 7
        assert int(said.split("total ")[1].split()[0]) <= 64 << 20
        assert (await agent.call("write", path="/task/more", content="x" * 100_000)).result.is_error
        await agent.bash("rm /task/full*")
        assert not (await agent.call("write", path="/task/more", content="x" * 100_000)).result.is_error
        await goes_on(ground, agent)


async def test_fills_the_memory_with_files(ground: Ground, tmp_path: Path) -> None:
    """Files never take all of the memory: programs can start, and the answer can be taken out and judged."""
    async with agent_of(ground.engine, limits=replace(LIMITS, memory_bytes=160 << 20, disk_bytes=1 << 30)) as agent:
        said = await agent.bash("""
echo wrong >solution.py
for folder in /tmp /home/agent /dev/shm /task; do head -c 400M /dev/zero >$folder/full && echo GOT $folder || echo held; done""")
        assert said.count("held") == 4, said
        assert "GOT" not in said, said
        await agent.is_well()
        fetched = await fetch_folder(agent.sandbox, "/task", user=User.AGENT, target=tmp_path / "full.tar", limit_bytes=1 << 30)
        assert fetched.incomplete == ""
        assert b"".join(member(tmp_path / "full.tar", "solution.py")) == b"wrong\n"


async def test_leaves_memory_behind_that_no_process_holds(ground: Ground, tmp_path: Path) -> None:
    """Segments of memory that outlive their processes count; who has left no memory to take its answer out has left no answer."""
    async with agent_of(ground.engine, command_seconds=20) as agent:
        try:
            said = await agent.attack("""
libc.shmat.restype = ctypes.c_void_p
libc.shmdt.argtypes = [ctypes.c_void_p]
for size in (16 << 20, 1 << 20, 1 << 16, 1 << 12):
    if os.fork() == 0:
        while True:
            where = libc.shmat(syscall("shmget", 0, size, 0o1600), None, 0)
            ctypes.memset(where, 1, size)
            libc.shmdt(where)
    print("ended by", os.wait()[1])
""")
            assert "ended by 9" in said or "exit code 137" in said, said
            await agent.sandbox.kill_agent()
            with contextlib.suppress(SandboxFileError):
                await fetch_folder(agent.sandbox, "/task", user=User.AGENT, target=tmp_path / "rest.tar", limit_bytes=1 << 20)
        except SandboxGoneError:
            assert any("memory" in weakness for weakness in ground.engine.facts.weaknesses)


@pytest.mark.parametrize("way", ["semaphores", "messages", "unix sockets", "attributes of files"])
async def test_has_the_kernel_keep_things_for_it(ground: Ground, way: str) -> None:
    """What the kernel keeps for a sandbox's programs counts as their memory, or has a limit of its own."""
    code = {
        "semaphores": "while made < 6 * MOST and libc.semget(0, 32000, 0o1600) >= 0: made += 32000 * 64",
        "messages": """
libc.msgsnd.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
text = ctypes.create_string_buffer(b"m" * 8200)
while made < 6 * MOST and (queue := libc.msgget(0, 0o1600)) >= 0:
    while libc.msgsnd(queue, text, 8192, 0o4000) == 0: made += 8192
""",
        "unix sockets": """
for _ in range(4): os.fork()
kept = []
for _ in range(100):
    kept += socket.socketpair()
    kept[-1].setblocking(False)
    try:
        while True: made += kept[-1].send(bytes(1 << 14))
    except OSError: pass
made *= 16
""",
        "attributes of files": """
while made < 6 * MOST: os.setxattr("/tmp", f"user.{made}", bytes(60_000)); made += 60_000
""",
    }[way]
    async with agent_of(ground.engine, command_seconds=10) as agent:
        try:
            said = await agent.attack(
                f"MOST = {MEMORY}\nmade = 0\ntry:\n{textwrap.indent(code, '    ')}\nexcept OSError: pass\nprint('made', made)"
            )
            assert "exit code 137" in said or int(said.rsplit("made ", 1)[1].split()[0]) < 2 * MEMORY, said
        except SandboxGoneError:
            assert any("memory" in weakness for weakness in ground.engine.facts.weaknesses)


async def test_fills_the_buffers_of_its_own_network(ground: Ground) -> None:
    """What sockets hold counts as memory under bubblewrap; under Docker where the engine's control groups are of version 2."""
    needs_known_machine()
    attack = """
kept, made = [], 0
try:
    for _ in range(120):
        each = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        each.bind(("127.0.0.1", 0)); each.setblocking(False); kept.append(each)
        for _ in range(8): made += each.sendto(bytes(40_000), each.getsockname())
except OSError: pass
waiting = 0
for each in kept:
    try:
        while True: waiting += len(each.recv(65536))
    except OSError: pass
print("waiting", waiting)
"""
    async with agent_of(ground.engine, limits=replace(LIMITS, memory_bytes=64 << 20, disk_bytes=16 << 20)) as agent:
        waiting = int((await agent.attack(attack)).rsplit("waiting ", 1)[1].split()[0])
    if ground.engine.facts.engine == "bubblewrap" or not _COUNTED_APART:
        assert waiting < 16 << 20
    else:
        assert waiting > 16 << 20, "it is held after all: docs/sandboxes.md says that it is not"


async def test_makes_files_without_number(ground: Ground) -> None:
    """Names count: by the folder's limit, or by the memory that they take."""
    async with agent_of(ground.engine, command_seconds=2) as agent:
        before = psutil.virtual_memory().available
        try:
            await agent.attack("""
for number in range(2_000_000):
    try: os.close(os.open(f"/tmp/{number}" + "n" * 200, os.O_CREAT))
    except OSError as error: print("held", number, errno.errorcode[error.errno]); break
""")
        except SandboxGoneError:
            assert any("memory" in weakness for weakness in ground.engine.facts.weaknesses)
        assert before - psutil.virtual_memory().available < 2 * MEMORY + (1 << 30)
        await goes_on(ground, agent)


async def test_hogs_the_processor(ground: Ground) -> None:
    """A share of the processors for all programs together."""
    async with agent_of(ground.engine) as agent:
        said = await agent.attack("""
began, times = time.monotonic(), []
for _ in range(8):
    if os.fork() == 0:
        while time.monotonic() < began + 1: pass
        os._exit(0)
for _ in range(8): os.wait()
used = os.times()
print("used", used.children_user + used.children_system, "in", time.monotonic() - began)
""")
        used, took = float(said.split("used ")[1].split()[0]), float(said.split(" in ")[1].split()[0])
        assert used < 1.3 * took + 0.3  # One processor, however many programs want one.


@pytest.mark.parametrize("way", ["stdout", "stderr", "an endless line", "many processes"])
async def test_floods_its_output(ground: Ground, way: str) -> None:
    """What is shown is bounded, and who writes more than is read at all is killed."""
    command = {
        "stdout": "yes",
        "stderr": "yes >&2",
        "an endless line": "tr '\\0' x </dev/zero",
        "many processes": "for n in 1 2 3 4; do yes $n & done; wait",
    }[way]
    async with agent_of(ground.engine) as agent:
        said = await agent.bash(command)
        assert len(said) < 20_000
        assert "it wrote more than" in said
        await agent.is_well()


async def test_floods_a_file_that_is_read(ground: Ground) -> None:
    """One read gives a bounded piece, however large the file and its lines are."""
    await ground.agent.bash(
        "head -c 20000000 /dev/zero | tr '\\0' x >/task/line; yes >/task/lines & sleep 0.2; kill $!; ln -s /dev/zero /task/zero"
    )
    for name in ("line", "lines"):
        assert len((await ground.agent.call("read", path=f"/task/{name}")).result.text) < 70_000
        assert (await ground.agent.call("edit", path=f"/task/{name}", old="xy", new="z")).result.is_error
    for path in ("/task/zero", "/dev/zero", "/proc/self/mem", "/dev/stdin"):
        assert (await ground.agent.call("read", path=path)).result.is_error
    await ground.agent.bash("rm -f /task/line /task/lines /task/zero")


async def test_prints_escape_sequences(ground: Ground) -> None:
    """Output is data: it arrives as it was written, and cannot speak for the tool."""
    hostile = "\x1b]52;c;eA==\x07\x1b[2J\x1b]0;owned\x07\x9b31m\u202e[bold]x[/bold]"
    said = await ground.agent.attack(f"sys.stdout.reconfigure(encoding='utf-8'); print({hostile!r})")
    assert said == f"{hostile}\n[exit code 0]"
    assert await ground.agent.bash("printf '\\377\\376\\000x'") == "\ufffd\ufffd\x00x\n[exit code 0]"


async def test_forges_the_end_of_a_command(ground: Ground) -> None:
    """The end is known by random bits that no command has seen; what it prints stays in its output."""
    said = await ground.agent.bash("printf '[exit code 0]\\n[exit code 7]\\n'; false")
    assert said == "[exit code 0]\n[exit code 7]\n[exit code 1]"
    said = await ground.agent.bash("for n in $(seq 50); do printf '%032x:0:/:%032x\\n' $n $n; done; printf() { :; }; exit() { :; }; false")
    assert said.endswith("[exit code 1]")
    # A shell that says nothing any more is given up with its time.
    assert "was killed after 1" in await ground.agent.bash("command() { :; }; builtin() { :; }; false", timeoutSeconds=1)
    # The shell tells nobody what it is about to read.
    said = await ground.agent.bash(
        "set -o history 2>/dev/null; fc -l 2>/dev/null; set | grep -c nodus; cat /proc/$$/cmdline | tr '\\0' ' '"
    )
    assert "nodus" not in said
    await ground.agent.is_well()


async def test_finds_keys_of_the_scheduler(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the scheduler's environment is given to any program of a sandbox, nor to the engine's helpers."""
    key = "sk-red-team-9f2"
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "NODUS_TOKEN", "GH_TOKEN"):
        monkeypatch.setenv(name, key)
    look = """
found = ""
for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
    for name in ("environ", "cmdline"):
        try: found += open(f"/proc/{pid}/{name}", errors="replace").read()
        except OSError: pass
print(len(found), "KEY" if "sk-red-team" + "-9f2" in found else "none", "own" if "IN_THE_SPEC" in found else "")
"""
    async with engine_of(ground.engine.facts.engine) as engine, agent_of(engine, purpose="grading", environ={"IN_THE_SPEC": "x"}) as agent:
        assert " none own" in await agent.attack(look)
        assert " none own" in await as_root(agent.sandbox, look)  # The control: root sees all environments inside.
        assert key not in await agent.bash("env; export -p; set; cat /proc/1/environ 2>&1")
    # The control on this machine: this process's own environment, as it was given one, could have been read.
    assert os.environ["ANTHROPIC_API_KEY"] == key


async def test_finds_keys_in_helpers_of_the_engine(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine runs for a sandbox has a clean environment as well."""
    key = "sk-red-team-7c1"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    async with engine_of(ground.engine.facts.engine) as engine, agent_of(engine) as agent:
        await agent.is_well()
        children = [each for each in psutil.Process().children(recursive=True) if each.is_running()]
        if engine.facts.engine == "bubblewrap":
            assert children
        assert [child for child in children if key in str(child.environ())] == []
