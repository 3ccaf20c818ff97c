"""Attacks by tool calls on processes: root's, this machine's, the agent's own shell; and programs that want to outlive their sandbox.

The first line of each test's docstring says what holds the attack.
"""

import asyncio
import contextlib
import subprocess
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from attacking import Agent, Ground, agent_of, here, needs_known_machine, processes_marked, until

from local_backend.sandboxes.interface import Process, User

pytestmark = pytest.mark.asyncio(loop_scope="module")


@asynccontextmanager
async def roots_program(agent: Agent) -> AsyncIterator[Process]:
    """A program of root's, as a grader is, that holds a secret and answers as long as it lives. Its pid is in /tmp/root.pid."""
    script = """
import os, sys
secret = bytearray(b"hidden" * 100)
with open("/tmp/root.pid.part", "w") as file: file.write(str(os.getpid()))
os.chmod("/tmp/root.pid.part", 0o644); os.rename("/tmp/root.pid.part", "/tmp/root.pid")
print("up", flush=True)
for line in sys.stdin: print("alive", flush=True)
"""
    process = await agent.sandbox.spawn(["python3", "-I", "-c", script], user=User.ROOT, cwd="/", environ={"SECRET": "hidden"})
    assert await process.read() == ("stdout", b"up\n")
    try:
        yield process
        await process.write(b"are you there\n")
        assert await process.read() == ("stdout", b"alive\n")
    finally:
        await process.aclose()


async def test_reads_a_program_of_root_with_ptrace(ground: Ground) -> None:
    """Another user's process, and no system call that debugs."""
    needs_known_machine()
    attack = """
attempt("attach", lambda: syscall("ptrace", 16, pid, 0, 0))
attempt("seize", lambda: syscall("ptrace", 0x4206, pid, 0, 0))
class Vector(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(64)
start = int(open(f"/proc/{pid if os.getuid() == 0 else 'self'}/maps").read().split("-")[0], 16)
ours, theirs = Vector(ctypes.addressof(buffer), 64), Vector(start, 64)
attempt("readv", lambda: syscall("process_vm_readv", pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0))
attempt("mem", lambda: os.pread(os.open(f"/proc/{pid}/mem", os.O_RDWR), 64, start))
attempt("getfd", lambda: syscall("pidfd_getfd", syscall("pidfd_open", pid, 0), 0, 0))
"""
    async with agent_of(ground.engine, purpose="grading") as agent, roots_program(agent):
        for pid in ("1", "int(open('/tmp/root.pid').read())"):
            await agent.held(f"pid = {pid}\n{attack}", at_least=5)
    sleeper = "import subprocess as s\nchild = s.Popen(['sleep', '60'], stdout=s.DEVNULL, stderr=s.DEVNULL); pid = child.pid\n"
    here(f"{sleeper}{attack}\nchild.kill()", "attach", "readv", "mem", "getfd")


async def test_debugs_its_neighbours_of_the_same_user(ground: Ground) -> None:
    """No system call that debugs: what runs for the agent is not turned against its tools."""
    needs_known_machine()
    attack = """
child = os.fork()
if child == 0: signal.pause()
attempt("attach", lambda: syscall("ptrace", 16, child, 0, 0))
os.kill(child, 9)
"""
    await ground.agent.held(attack)
    here(attack, "attach")


async def test_kills_and_stops_init(ground: Ground) -> None:
    """Init is root's, and the kernel keeps signals from inside away from it."""
    await ground.agent.held(
        """
for number in range(1, 65):
    attempt(number, lambda: os.kill(1, number))
""",
        at_least=64,
    )
    assert await ground.agent.sandbox.alive()


async def test_kills_stops_and_slows_a_program_of_root(ground: Ground) -> None:
    """Another user's process takes no signal, priority or limit from the agent."""
    async with agent_of(ground.engine, purpose="grading") as agent, roots_program(agent):
        await agent.held(
            """
import resource
pid = int(open("/tmp/root.pid").read())
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGTSTP, signal.SIGCONT):
    attempt(number, lambda: os.kill(pid, number))
attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
attempt("idle", lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)))
attempt("affinity", lambda: os.sched_setaffinity(pid, {0}))
attempt("limit", lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)))
attempt("oom", lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("1000"))
""",
            at_least=11,
        )
        await agent.bash("python3 -c 'import os; os.kill(-1, 9)'")  # Everything that it may kill, its own shell included.
        await agent.is_well()


def a_program_of_the_host() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "300"])


async def test_has_the_kernel_send_its_signals(ground: Ground) -> None:
    """The kernel asks of signals that it sends for somebody the same rights as of his own."""
    async with agent_of(ground.engine, purpose="grading") as agent, roots_program(agent):
        said = await agent.attack("""
set_signal = 10
def has_sent(target, number):
    mine, yours = socket.socketpair()
    try:
        fcntl.fcntl(mine, set_signal, number)
        fcntl.fcntl(mine, fcntl.F_SETOWN, target)
        fcntl.fcntl(mine, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        yours.send(b"now")
    except OSError: pass
root = int(open("/tmp/root.pid").read())
for target in (1, root, -root):
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGTSTP): has_sent(target, number)
child = os.fork()
while child == 0: signal.pause()
has_sent(child, signal.SIGKILL)
print("its own ended by", os.waitpid(child, 0)[1])
""")
        assert "its own ended by 9" in said, said
        await agent.is_well()


async def test_goes_before_others_on_the_processor(ground: Ground) -> None:
    """No CAP_SYS_NICE: no real-time policy, no deadline, no better niceness, no first place at the disk."""
    await ground.agent.held(
        """
for policy in (os.SCHED_FIFO, os.SCHED_RR): attempt(policy, lambda: os.sched_setscheduler(0, policy, os.sched_param(10)))
attempt("nice", lambda: os.nice(-5))
attempt("priority", lambda: os.setpriority(os.PRIO_PGRP, 0, -1))
deadline = struct.pack("IIQiIQQQ", 48, 6, 0, 0, 0, 10**6, 10**7, 10**7)
attempt("deadline", lambda: libc.syscall(ctypes.c_long({"x86_64": 314, "aarch64": 274}[platform.machine()]), 0, deadline, 0) == 0 or 1 / 0)
attempt("disk", lambda: libc.syscall(ctypes.c_long({"x86_64": 251, "aarch64": 30}[platform.machine()]), 1, 0, 1 << 13) == 0 or 1 / 0)
""",
        at_least=6,
    )


async def test_leaves_dead_processes_that_nobody_buries(ground: Ground) -> None:
    """Dead processes count as long as their parent does not take note of them, and are buried when it is killed."""
    async with agent_of(ground.engine) as agent:
        said = await agent.attack(
            """
made = 0
try:
    while made < 1000:
        if os.fork() == 0: os._exit(0)
        made += 1
except OSError: pass
print("made", made)
os.kill(os.getpid(), signal.SIGKILL)
"""
        )
        assert 8 < int(said.split("made ")[1].split()[0]) < 64
        await agent.sandbox.kill_agent()
        await agent.is_well()
        # Whoever was killed stands there until init has heard of it.
        while int((await agent.bash("ls -d /proc/[0-9]* | wc -l")).split()[0]) >= 12:
            pass


async def test_kills_programs_of_the_host(ground: Ground) -> None:
    """A PID namespace: no number inside names a process of this machine."""
    with a_program_of_the_host() as hosts:
        try:
            said = await ground.agent.attack(
                f"attempt('signal', lambda: os.kill({hosts.pid}, 9))\nprint(len([n for n in os.listdir('/proc') if n.isdigit()]))"
            )
            assert "held signal ProcessLookupError" in said
            assert int(said.splitlines()[-2]) < 20
            assert hosts.poll() is None
        finally:
            hosts.kill()


async def test_becomes_another_user(ground: Ground) -> None:
    """No CAP_SETUID and no-new-privileges for the agent's programs."""
    attack = """
for name, action in (("setuid", lambda: os.setuid(0)), ("setresuid", lambda: os.setresuid(0, 0, 0)), ("setgid", lambda: os.setgid(0)),
                     ("setgroups", lambda: os.setgroups([0])), ("setreuid", lambda: os.setreuid(0, 1000)),
                     ("nobody", lambda: os.setuid(65534))):
    attempt(name, in_child(action))
"""
    await ground.agent.held(attack, at_least=6)
    here(attack, "setuid", "setgroups", "nobody")


async def test_spares_itself_when_memory_is_short(ground: Ground) -> None:
    """The agent's programs are the kernel's first choice when they start, and never get below root's."""
    said = await ground.agent.held(
        """
print("first", open("/proc/self/oom_score_adj").read())
fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
for value in (b"-1", b"-500", b"-1000"): attempt(value, lambda: os.write(fd, value))
""",
        at_least=3,
    )
    assert "first 1000\n" in said


async def test_stops_its_own_shell(ground: Ground) -> None:
    """A command's time limit is kept from outside; then everything of the agent's is killed."""
    async with agent_of(ground.engine, command_seconds=0.5) as agent:
        for command in ("kill -STOP $$; sleep 60", "exec sleep 60"):
            assert "was killed after" in await agent.bash(command), command
        await agent.is_well()


async def test_stops_programs_of_the_engine_that_become_the_agent(ground: Ground) -> None:
    """Under Docker no program can send SIGSTOP; under bubblewrap a program that was stopped as it began is given up and killed."""
    storm = """
import os, signal
def send(pid):
    try: os.kill(pid, signal.SIGSTOP)
    except OSError: pass
for _ in range(3): os.fork()
while True:
    for pid in range(2, 2000): pid != os.getpid() and send(pid)
"""
    async with agent_of(ground.engine) as agent:
        process = await agent.sandbox.spawn(["python3", "-I", "-c", storm])
        if ground.engine.facts.engine == "docker":
            for _ in range(5):
                assert not (await agent.call("write", path="/task/file", content="x")).result.is_error
        await process.aclose()
        await agent.sandbox.kill_agent()
        await agent.is_well()


@pytest.mark.parametrize("way", ["SIGKILL to all", "SIGSTOP to all", "forks and SIGSTOP", "hopping", "ignoring"])
async def test_kills_whatever_comes_to_kill_it(ground: Ground, way: str) -> None:
    """All of the agent's processes get SIGKILL in one call; under Docker also by root, which they cannot kill."""
    send = {"SIGKILL to all": "os.kill(-1, 9)", "SIGSTOP to all": "os.kill(-1, 19)"}
    code = f"""
import os, signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
print("up", flush=True)
while True:
    try:
        if {way == "forks and SIGSTOP"}: os.fork(); os.kill(-1, 19)
        if {way == "hopping"} and os.fork(): os._exit(0)
        {send.get(way, "pass")}
    except OSError: pass
"""
    async with agent_of(ground.engine) as agent:
        process = await agent.sandbox.spawn(["python3", "-I", "-c", code])
        assert await process.read() == ("stdout", b"up\n")
        await process.aclose()
        await agent.sandbox.kill_agent()
        await agent.is_well()
        # Init, in Docker its program, the shell that stays, and ls. Whoever was killed stands there until init has heard of it.
        while len((await agent.bash("ls -d /proc/[0-9]*")).splitlines()) > 5:
            pass


async def test_ignores_the_end_of_its_time(ground: Ground) -> None:
    """SIGKILL from outside, to everything of the agent's."""
    async with agent_of(ground.engine, command_seconds=0.5) as agent:
        commands = (
            "trap '' TERM INT HUP QUIT TSTP; while :; do sleep 60; done",
            "setsid nohup python3 -c 'import time; time.sleep(60)' & wait",
            "exec 0<&- 1>&- 2>&- 3<&-; while :; do :; done",
        )
        for command in commands:
            assert "was killed after" in await agent.bash(command), command
        assert (
            await agent.bash("while pgrep -u 1000 sleep || pgrep -u 1000 python; do :; done >/dev/null", timeoutSeconds=30)
            == "[exit code 0]"
        )
        await agent.is_well()


@pytest.mark.parametrize("way", ["nohup", "setsid", "double fork", "a stopped child", "an unlinked program"])
async def test_outlives_its_sandbox(ground: Ground, way: str) -> None:
    """The kernel ends a PID namespace with its init: nothing of it goes on on this machine."""
    marker = f"outlive-{uuid.uuid4().hex}"
    sleeper = f"python3 -c 'import time; time.sleep(600)' {marker}"
    begun = f"until grep -q {marker} /proc/$!/cmdline; do :; done"
    started = {
        "nohup": f"nohup {sleeper} >/dev/null 2>&1 &",
        "setsid": f"setsid {sleeper} </dev/null >/dev/null 2>&1 &",
        "double fork": f"( ( trap '' TERM HUP; {sleeper} </dev/null >/dev/null 2>&1 & ) & )",
        "a stopped child": f"{sleeper} >/dev/null 2>&1 & {begun}; kill -STOP $! || true",
        "an unlinked program": f"cp /usr/bin/sleep /tmp/{marker}; /tmp/{marker} 600 >/dev/null 2>&1 & {begun}; rm /tmp/{marker}",
    }
    async with agent_of(ground.engine) as agent:
        await agent.bash(started[way])
        await until(lambda: processes_marked(marker))  # The control: it runs, and can be seen from here.
        await agent.is_well()
    assert processes_marked(marker) == []


async def test_reaches_a_terminal(ground: Ground) -> None:
    """No program has a terminal, and none writes into the input of one."""
    attack = """
attempt("tty", lambda: os.open("/dev/tty", os.O_RDWR))
for fd in (0, 1, 2): attempt(f"TIOCSTI {fd}", lambda: fcntl.ioctl(fd, 0x5412, b"x"))
attempt("TIOCLINUX", lambda: fcntl.ioctl(0, 0x541C, b"\\x02"))
import pty
def own():
    if pty.fork()[0] == 0:
        try: fcntl.ioctl(0, 0x5412, b"x")
        except OSError: os._exit(1)
        os._exit(0)
    if os.wait()[1]: raise OSError("refused")
attempt("TIOCSTI of its own", own)
print([os.isatty(fd) for fd in (0, 1, 2)])
"""
    said = await ground.agent.held(attack, at_least=6)
    assert "[False, False, False]" in said


async def test_leaves_a_core_dump(ground: Ground) -> None:
    """The limit on core files is 0, for good."""
    said = await ground.agent.attack("""
import resource
attempt("raise", lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20)))
os.chdir("/task")
child = os.fork()
if child == 0: os.abort()
print(os.WCOREDUMP(os.waitpid(child, 0)[1]), [name for name in os.listdir(".") if "core" in name])
""")
    assert "held raise" in said
    assert "False []" in said


async def test_takes_all_descriptors_and_fills_pipes(ground: Ground) -> None:
    """Open files are limited for each process, and nothing waits for a pipe of the agent's."""
    async with agent_of(ground.engine, command_seconds=10) as agent:
        said = await agent.attack("""
kept = []
try:
    while True: kept.append(os.pipe())
except OSError as error: print("full at", len(kept), errno.errorcode[error.errno])
for _, writing in kept:
    os.set_blocking(writing, False)
    try:
        while True: os.write(writing, bytes(65536))
    except OSError: pass
print("filled")
""")
        assert "EMFILE" in said
        assert int(said.split("full at ")[1].split()[0]) < 256
        await agent.bash('for n in $(seq 3 200); do eval "exec $n</dev/null" 2>/dev/null || break; done; true')
        assert not (await agent.call("write", path="/task/file", content="x")).result.is_error
        await agent.is_well()


async def test_ends_the_sandbox_from_inside(ground: Ground) -> None:
    """Ending its own shell, all its programs and its standard streams leaves the sandbox as it is."""
    for command in ("exit 0", "kill -9 $$", "kill -9 -1", "exec true", "exec >&- 2>&-", "pkill -9 .; true", "kill -9 1; kill 0"):
        with contextlib.suppress(asyncio.TimeoutError):
            await ground.agent.bash(command, timeoutSeconds=5)
        await ground.agent.is_well()
    assert await ground.agent.sandbox.alive()
