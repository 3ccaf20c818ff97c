"""Engine suite: what a sandbox keeps apart (users, files, network, environment), and the limits that it keeps."""

import asyncio
import os

import pytest
from engine_suite import LIMITS, needs_groups, python, request, said, sandbox_of, secret_environ, shell, until

from local_backend.sandboxes.interface import Limits, SandboxEngine, SandboxGoneError, SandboxRefusedError, User

SHARED_MEMORY = 64 << 20


async def test_there_are_two_users(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "users", purpose="grading") as sandbox:
        assert await said(sandbox, "id -u; id -g; id -G") == "1000\n1000\n1000\n"
        assert await said(sandbox, "id -u; id -g", user=User.ROOT) == "0\n0\n"


async def test_the_agent_has_no_capabilities_and_gains_none(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "capabilities", purpose="grading") as sandbox:
        fields = dict(line.split(":\t", 1) for line in (await said(sandbox, "cat /proc/self/status")).splitlines() if ":\t" in line)
        assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == int(fields["CapAmb"], 16) == 0
        assert fields["NoNewPrivs"] == "1"
        assert fields["Seccomp"] == "2"


async def test_root_can_be_the_agent_and_end_it(engine: SandboxEngine) -> None:
    script = """
import os, signal, subprocess, sys
child = subprocess.Popen(["sleep", "900"], user=1000, group=1000, extra_groups=[])
print(os.stat(f"/proc/{child.pid}").st_uid)
child.kill()
print(child.wait())
"""
    async with sandbox_of(engine, "grader", purpose="grading") as sandbox:
        done = await python(sandbox, script, user=User.ROOT)
        assert done.stdout.split() == [b"1000", b"-9"], done


async def test_the_agent_cannot_reach_root(engine: SandboxEngine) -> None:
    attack = """
import ctypes, os, signal
pid = int(open("/tmp/root.pid").read())
def tried(name, call):
    try:
        call()
    except OSError:
        return
    print(name)
tried("list", lambda: os.listdir("/grader"))
tried("read", lambda: open("/grader/answers").read())
tried("chmod", lambda: os.chmod("/grader", 0o777))
tried("rename", lambda: os.rename("/grader", "/tmp/g"))
tried("link", lambda: os.link("/grader/answers", "/tmp/a"))
tried("signal", lambda: os.kill(pid, signal.SIGTERM))
tried("signal init", lambda: os.kill(1, signal.SIGKILL))
for name in ("environ", "mem", "maps", "fd", "cwd", "root", "exe"):
    for each in (pid, 1):
        path = f"/proc/{each}/{name}"
        tried(path, lambda: os.listdir(path) if name in ("fd", "cwd", "root") else open(path, "rb").read(1))
libc = ctypes.CDLL(None, use_errno=True)
for each in (pid, 1):
    if libc.ptrace(16, each, 0, 0) == 0: print("ptrace", each)
tried("setuid", lambda: os.setuid(0))
tried("setgid", lambda: os.setgid(0))
tried("setgroups", lambda: os.setgroups([0]))
"""
    async with sandbox_of(engine, "reach", purpose="grading") as sandbox:
        await said(sandbox, "umask 022; echo secret >/grader/answers; chmod 644 /grader/answers", user=User.ROOT)
        roots = await sandbox.spawn(
            ["sh", "-c", "umask 022; echo $$ >/tmp/root.pid; read line; echo $line"], user=User.ROOT, environ={"SECRET": "secret"}
        )
        await until(lambda: _is_there(sandbox))
        done = await python(sandbox, attack)
        assert (done.exit_code, done.stdout) == (0, b""), done
        await roots.write(b"lives\n")
        assert await roots.read() == ("stdout", b"lives\n")
        await roots.aclose()


async def _is_there(sandbox: object) -> bool:
    return (await shell(sandbox, "test -s /tmp/root.pid")).exit_code == 0  # type: ignore[arg-type]


async def test_only_the_folders_for_it_are_writable(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "read-only", purpose="grading", extra_folders=("/tests",)) as sandbox:
        for folder in ("/task", "/tmp", "/home/agent", "/tests", "/dev/shm"):
            await said(sandbox, f"echo x >{folder}/file && rm {folder}/file")
        for folder in (
            "/",
            "/usr",
            "/usr/local/bin",
            "/etc",
            "/var",
            "/root",
            "/proc",
            "/proc/sys/kernel",
            "/dev",
            "/opt",
            "/run",
            "/grader",
        ):
            # /grader is root's own; what root does in /dev is no matter, for no agent is root.
            for user in (User.AGENT, User.ROOT) if folder not in {"/grader", "/dev"} else (User.AGENT,):
                assert (await shell(sandbox, f"echo x >{folder}/file", user=user)).exit_code != 0, (folder, user)
        for command in (
            "mv /usr/bin/env /tmp",
            "rm -f /usr/bin/env",
            "chmod 777 /etc/passwd",
            "mount -t tmpfs x /task",
            "mknod /tmp/d b 8 0",
        ):
            assert (await shell(sandbox, command, user=User.ROOT)).exit_code != 0, command


async def test_the_folders_of_the_agent_are_its_own(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "owners", workdir="/app") as sandbox:
        assert sandbox.workdir == "/app"
        assert await said(sandbox, "pwd; stat -c '%u %a' /app /home/agent; stat -c %a /tmp") == "/app\n1000 755\n1000 755\n1777\n"
        assert await said(sandbox, "git init -q . && git status --porcelain && echo fine") == "fine\n"


async def test_there_is_no_network(engine: SandboxEngine) -> None:
    attack = """
import socket
def tried(name, call):
    try: call()
    except OSError: return
    print(name)
tried("tcp", lambda: socket.create_connection(("192.0.2.1", 80), 2))
tried("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)))
tried("dns", lambda: socket.getaddrinfo("example.org", 80))
tried("vsock", lambda: socket.socket(40, socket.SOCK_STREAM).connect((2, 1)))
tried("packet", lambda: socket.socket(17, socket.SOCK_RAW))
print(sorted(name for _, name in socket.if_nameindex()))
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), 2).close()
print("loopback works")
"""
    async with sandbox_of(engine, "no-network") as sandbox:
        done = await python(sandbox, attack)
        assert done.stdout.decode() == "['lo']\nloopback works\n", done


async def test_the_hosts_sockets_are_not_reached(engine: SandboxEngine) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    abstract = await asyncio.start_unix_server(answer, f"\0nodus-test-{os.getpid()}")
    async with server, abstract, sandbox_of(engine, "host-sockets") as sandbox:
        port = server.sockets[0].getsockname()[1]
        attack = f"""
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_UNIX, "\\0nodus-test-{os.getpid()}")):
    try: socket.socket(family).connect(address)
    except OSError as error: print(type(error).__name__)
    else: print("reached", address)
"""
        done = await python(sandbox, attack)
        assert done.stdout.split() == [b"ConnectionRefusedError", b"ConnectionRefusedError"], done


async def test_nothing_of_the_schedulers_environment_is_inside(engine: SandboxEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in secret_environ().items():
        monkeypatch.setenv(name, value)
    async with sandbox_of(engine, "environment", purpose="grading") as sandbox:
        for user in User:
            text = await said(
                sandbox, "env; cat /proc/self/environ; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null || true", user=user
            )
            assert "sk-secret" not in text
        names = {line.split("=", 1)[0] for line in (await said(sandbox, "env")).splitlines()}
        assert names <= {
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "LANG",
            "PWD",
            "SHLVL",
            "OLDPWD",
            "_",
            "HOSTNAME",
            "LD_LIBRARY_PATH",
            "NVIDIA_VISIBLE_DEVICES",
        }


async def test_no_descriptor_of_the_host_is_inside(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "descriptors") as sandbox:
        done = await python(sandbox, "import os\nprint(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))")
        assert done.stdout.strip() == b"[0, 1, 2, 3]"  # The last one is the listing's own.


async def test_kernel_doors_are_closed(engine: SandboxEngine) -> None:
    script = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
calls = {"unshare user": (272, 0x10000000), "keyctl": (250, 0, -3), "bpf": (321, 0, 0, 0), "perf": (298, 0, 0, -1, -1, 0),
         "mount": (165, 0, 0, 0, 0, 0), "userfaultfd": (323, 0)}
for name, numbers in calls.items():
    if libc.syscall(*numbers) >= 0: print(name)
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers are those of x86_64")
    async with sandbox_of(engine, "doors") as sandbox:
        done = await python(sandbox, script)
        assert (done.exit_code, done.stdout) == (0, b""), done
        assert (await shell(sandbox, "ls /sys/kernel/debug /proc/kcore 2>/dev/null; cat /proc/kcore")).exit_code != 0


async def test_memory_is_limited_for_all_programs_together(engine: SandboxEngine) -> None:
    one = "x = [bytearray(1 << 20) for _ in range(400)]\nprint('no limit')"
    many = """
import os, time
for number in range(8):
    if os.fork() == 0:
        x = [bytearray(1 << 20) for _ in range(80)]
        time.sleep(3)
        print("kept", flush=True)
        os._exit(0)
for _ in range(8): os.wait()
"""
    needs_groups(engine)
    async with sandbox_of(engine, "memory") as sandbox:
        done = await python(sandbox, one)
        assert done.exit_code != 0
        assert b"no limit" not in done.stdout
        assert (await python(sandbox, many)).stdout.count(b"kept") <= 3
        assert await said(sandbox, "echo well") == "well\n"


async def test_files_in_memory_count_and_are_limited(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "disk", purpose="grading") as sandbox:
        total = 0
        for folder in ("/task", "/tmp", "/home/agent"):
            done = await shell(sandbox, f"head -c {LIMITS.disk_bytes} /dev/zero >{folder}/file; stat -c %s {folder}/file")
            assert b"No space left" in done.stderr, (folder, done)
            total += int(done.stdout)
        assert LIMITS.disk_bytes // 2 <= total <= LIMITS.disk_bytes
        # Shared memory may come on top of the disk, up to what container engines give.
        done = await shell(sandbox, f"head -c {SHARED_MEMORY + 1} /dev/zero >/dev/shm/file; rm /dev/shm/file")
        assert b"No space left" in done.stderr, done
        assert await said(sandbox, "rm /task/file && echo again >/task/file && cat /task/file") == "again\n"


async def test_processes_are_limited(engine: SandboxEngine) -> None:
    script = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(900); os._exit(0)
        made += 1
except OSError: pass
print(made, flush=True)
os._exit(0)
"""
    async with sandbox_of(engine, "processes", purpose="grading") as sandbox:
        made = int((await python(sandbox, script)).stdout)
        assert 8 <= made < LIMITS.pids
        # Root has its own share, for ending what the agent left.
        assert await said(sandbox, "echo root", user=User.ROOT) == "root\n"
        await sandbox.kill_agent()
        assert await said(sandbox, "echo well") == "well\n"


async def test_open_files_are_limited(engine: SandboxEngine) -> None:
    script = """
import os
made = 0
try:
    while True:
        os.dup(0)
        made += 1
except OSError: print(made)
"""
    async with sandbox_of(engine, "open-files") as sandbox:
        assert await said(sandbox, "ulimit -n; ulimit -Hn; ulimit -c") == f"{LIMITS.open_files}\n{LIMITS.open_files}\n0\n"
        assert int((await python(sandbox, script)).stdout) < LIMITS.open_files


async def test_the_processor_is_limited(engine: SandboxEngine) -> None:
    script = """
import time
began = time.monotonic()
while time.process_time() < 0.3: pass
print(time.monotonic() - began)
"""
    needs_groups(engine)
    async with sandbox_of(engine, "cpu", limits=Limits(cpus=0.2, memory_bytes=64 << 20, pids=16, disk_bytes=8 << 20)) as sandbox:
        # A fifth of a processor: what takes 0.3 s takes 1.5 s or more, and a loaded machine only adds to it.
        assert float((await python(sandbox, script)).stdout) > 1.0


async def test_a_sandbox_ends_with_its_lifetime(engine: SandboxEngine) -> None:
    sandbox = await engine.create(request("short", lifetime_seconds=4))
    process = await sandbox.spawn(["sh", "-c", "trap '' TERM; while :; do sleep 900; done"])
    with pytest.raises(SandboxGoneError):
        await process.wait()
    await process.aclose()
    await until(lambda: _is_gone(sandbox))
    await sandbox.aclose()


async def _is_gone(sandbox: object) -> bool:
    return not await sandbox.alive()  # type: ignore[attr-defined]


async def test_what_no_engine_gives_is_refused(engine: SandboxEngine) -> None:
    for options in (
        {"workdir": "relative"},
        {"workdir": "/proc/x"},
        {"workdir": "/a/../etc"},
        {"extra_folders": ("/proc/x",)},
    ):
        with pytest.raises(SandboxRefusedError):
            await engine.create(request("refused", **options))
