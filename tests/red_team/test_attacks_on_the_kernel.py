"""Attacks by tool calls on the machine's kernel: namespaces, mounts, capabilities, and interfaces that were ways out of sandboxes.

The first line of each test's docstring says what holds the attack.
"""

import platform

import pytest
from attacking import Ground, agent_of, as_root, here, needs_known_machine

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(autouse=True)
def _known_machine() -> None:
    needs_known_machine()


NAMESPACES = """
for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("net", 0x40000000), ("pid", 0x20000000), ("ipc", 0x8000000),
                   ("uts", 0x4000000), ("cgroup", 0x2000000)):
    attempt("unshare-" + name, in_child(lambda: syscall("unshare", flag)))
    def cloned():
        pid = syscall("clone", flag | 17, 0, 0, 0, 0)
        if pid == 0: os._exit(0)
        return os.waitpid(pid, 0)
    attempt("clone-" + name, cloned)
attempt("clone3", lambda: syscall("clone3", ctypes.create_string_buffer(struct.pack("Q", 0x10000000) + bytes(80)), 88))
"""


async def test_makes_namespaces(ground: Ground) -> None:
    """The filter refuses unshare, clone with any namespace, and clone3, whose flags it cannot see."""
    await ground.agent.held(NAMESPACES, at_least=15)
    here(NAMESPACES, "unshare-user", "unshare-net", "clone-mount")


async def test_joins_namespaces(ground: Ground) -> None:
    """The filter refuses setns, and init's namespaces are not shown to the agent."""
    attack = """
for name in ("mnt", "pid", "net", "user", "ipc", "uts", "cgroup"):
    attempt("own-" + name, lambda: syscall("setns", os.open(f"/proc/self/ns/{name}", os.O_RDONLY), 0))
    attempt("init-" + name, lambda: os.open(f"/proc/1/ns/{name}", os.O_RDONLY))
"""
    await ground.agent.held(attack, at_least=14)
    here(attack, "own-net", "own-mnt")


MOUNTS = """
target = b"/tmp"
attempt("tmpfs", lambda: syscall("mount", b"none", target, b"tmpfs", 0, 0))
attempt("bind", lambda: syscall("mount", b"/proc/1/root", target, 0, 4096, 0))
attempt("proc", lambda: syscall("mount", b"proc", target, b"proc", 0, 0))
attempt("writable", lambda: syscall("mount", b"none", b"/", 0, 32, 0))
attempt("umount", lambda: syscall("umount2", b"/tmp", 2))
attempt("pivot_root", lambda: syscall("pivot_root", b"/tmp", b"/tmp"))
attempt("chroot", in_child(lambda: os.chroot("/tmp")))
attempt("fsopen", lambda: syscall("fsopen", b"tmpfs", 0))
attempt("open_tree", lambda: syscall("open_tree", -100, b"/", 1))
attempt("move_mount", lambda: syscall("move_mount", -100, b"/tmp", -100, b"/home", 0))
"""


async def test_mounts_and_changes_its_root(ground: Ground) -> None:
    """No CAP_SYS_ADMIN for anybody, and the filter refuses all calls that mount."""
    await ground.agent.held(MOUNTS, at_least=10)
    assert "GOT" not in await as_root(ground.agent.sandbox, MOUNTS)
    # In mount namespaces of their own, nothing of this machine changes.
    kept = [line for line in MOUNTS.splitlines() if not line.startswith(('attempt("writable"', 'attempt("pivot_root"'))]
    alone = "syscall('unshare', 0x20000); syscall('mount', b'none', b'/', 0, 0x44000, 0)\n"
    here(alone + "\n".join(kept), "tmpfs", "fsopen", "umount", "move_mount")


async def test_gains_capabilities(ground: Ground) -> None:
    """The agent has none, can be given none, and no-new-privileges keeps files from giving some."""
    said = await ground.agent.held(
        """
attempt("capset", lambda: syscall("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *[0xffffffff] * 6)))
for number in (0, 6, 7, 21): attempt(f"ambient {number}", lambda: syscall("prctl", 47, 2, number, 0, 0))
attempt("new-privs", lambda: syscall("prctl", 38, 0, 0, 0, 0))
attempt("securebits", lambda: syscall("prctl", 28, 0, 0, 0, 0))
open("/tmp/program", "w").close()
attempt("file", lambda: os.setxattr("/tmp/program", "security.capability", struct.pack("5I", 0x2000001, 0xffffffff, 0, 0xffffffff, 0)))
print([line for line in open("/proc/self/status") if line.startswith(("Cap", "NoNew"))])
""",
        at_least=8,
    )
    for name in ("CapEff", "CapPrm", "CapAmb"):
        assert f"{name}:\\t{'0' * 16}" in said
    assert "NoNewPrivs:\\t1" in said


async def test_reaches_the_hosts_keyring(ground: Ground) -> None:
    """The filter refuses all calls on keys, which namespaces do not keep apart."""
    attack = """
attempt("session", lambda: syscall("keyctl", 0, -3, 0, 0, 0))
attempt("user", lambda: syscall("keyctl", 0, -4, 1, 0, 0))
attempt("add", lambda: syscall("add_key", b"user", b"red-team", b"x", 1, -2))
attempt("request", lambda: syscall("request_key", b"user", b"red-team", 0, 0))
"""
    said = await ground.agent.held(attack + "print('keys', open('/proc/keys').read() if os.path.exists('/proc/keys') else '')", at_least=4)
    assert "keys \n" in said
    here(attack, "session", "add")


async def test_loads_programs_into_the_kernel(ground: Ground) -> None:
    """No capability, and the filter refuses bpf, perf events, modules and kexec."""
    attack = """
attempt("bpf", lambda: syscall("bpf", 0, ctypes.create_string_buffer(struct.pack("4I", 2, 4, 4, 1) + bytes(100)), 72))
attempt("perf", lambda: syscall("perf_event_open", ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0) + bytes(200)), 0, -1, -1, 0))
attempt("module", lambda: syscall("init_module", 0, 0, b""))
attempt("kexec", lambda: syscall("kexec_load", 0, 0, 0, 0))
"""
    await ground.agent.held(attack, at_least=4)
    assert "GOT" not in await as_root(ground.agent.sandbox, attack)
    here(attack, "bpf")


async def test_uses_io_uring_and_userfaultfd(ground: Ground) -> None:
    """The filter refuses both, whatever the engine's own default is."""
    attack = """
attempt("io_uring", lambda: syscall("io_uring_setup", 1, ctypes.create_string_buffer(256)))
attempt("userfaultfd", lambda: syscall("userfaultfd", 0))
"""
    await ground.agent.held(attack, at_least=2)
    here(attack, "io_uring")


async def test_opens_files_by_handle(ground: Ground) -> None:
    """The filter refuses handles, with which file systems were read past their mounts."""
    attack = """
handle, mount = ctypes.create_string_buffer(struct.pack("I", 128) + bytes(200)), ctypes.create_string_buffer(8)
attempt("name", lambda: syscall("name_to_handle_at", -100, b"/etc/passwd", handle, mount, 0))
attempt("open", lambda: syscall("open_by_handle_at", os.open("/", os.O_RDONLY), handle, os.O_RDONLY))
"""
    await ground.agent.held(attack, at_least=2)
    here(attack, "name")


async def test_changes_the_machine(ground: Ground) -> None:
    """No capability, and the filter: no restart, no clock, no swap, no accounting, no name."""
    attack = """
attempt("reboot", lambda: syscall("reboot", 0xfee1dead, 672274793, 0x89abcdef, 0))
attempt("clock", lambda: syscall("clock_settime", 0, struct.pack("qq", 0, 0)))
attempt("time", lambda: syscall("settimeofday", struct.pack("qq", 0, 0), 0))
attempt("swap", lambda: syscall("swapon", b"/tmp/x", 0))
attempt("acct", lambda: syscall("acct", b"/tmp/x"))
attempt("quota", lambda: syscall("quotactl", 0, 0, 0, 0))
attempt("name", lambda: syscall("sethostname", b"owned", 5))
"""
    await ground.agent.held(attack, at_least=7)
    assert "GOT" not in await as_root(ground.agent.sandbox, attack)
    here(
        "name = os.uname().nodename.encode()\n"
        "attempt('name', in_child(lambda: (syscall('unshare', 0x4000000), syscall('sethostname', name, len(name)))))",
        "name",
    )


async def test_writes_settings_of_the_kernel(ground: Ground) -> None:
    """/proc/sys and /sys are read-only or root's, and root's files there need capabilities."""
    attack = """
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/file-max",
             "/proc/sysrq-trigger", "/proc/sys/kernel/hostname", "/proc/sys/net/ipv4/ip_forward", "/proc/1/oom_score_adj",
             "/sys/power/state", "/sys/kernel/uevent_helper", "/proc/self/uid_map", "/proc/self/setgroups",
             "/proc/sys/kernel/ns_last_pid", "/proc/self/attr/current"):
    attempt(path, lambda: os.write(os.open(path, os.O_WRONLY), b"1"))
"""
    await ground.agent.held(attack, at_least=14)
    roots = await as_root(ground.agent.sandbox, attack.replace('"/proc/1/oom_score_adj",', "").replace('"/proc/sys/kernel/hostname",', ""))
    assert "GOT" not in roots
    here("path = '/proc/sys/kernel/core_pattern'\nattempt('open', lambda: os.open(path, os.O_WRONLY))", "open")


async def test_leaves_its_control_groups(ground: Ground) -> None:
    """Control groups are read-only or not there: no move to another group, no limit raised, no release agent."""
    attack = """
places = [*glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:20], "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/tasks",
          "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
          "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/freezer/freezer.state"]
for path in places: attempt(path, lambda: os.write(os.open(path, os.O_WRONLY), b"0"))
attempt("folder", lambda: os.mkdir("/sys/fs/cgroup/memory/mine"))
attempt("mount-1", lambda: syscall("mount", b"x", b"/tmp", b"cgroup", 0, b"memory"))
attempt("mount-2", lambda: syscall("mount", b"x", b"/tmp", b"cgroup2", 0, 0))
"""
    await ground.agent.held(attack, at_least=11)
    assert "GOT" not in await as_root(ground.agent.sandbox, attack)


async def test_reads_the_kernels_log_and_memory(ground: Ground) -> None:
    """No log, no memory, and addresses of the kernel are shown as zeros."""
    attack = """
attempt("syslog", lambda: syscall("syslog", 3, ctypes.create_string_buffer(4096), 4096))
for path in ("/dev/kmsg", "/proc/kmsg", "/proc/kcore", "/dev/mem", "/sys/kernel/debug/x", "/proc/vmallocinfo"):
    attempt(path, lambda: open(path, "rb").read(9))
if any(int(line.split()[0], 16) for line in open("/proc/kallsyms").read().splitlines()[:500]): print("GOT addresses")
"""
    await ground.agent.held(attack, at_least=7)
    here(attack, "syslog")


async def test_calls_the_kernel_as_a_program_of_another_architecture(ground: Ground) -> None:
    """The filter knows all of the machine's tables of calls, or kills who uses another one."""
    if platform.machine() != "x86_64":
        pytest.skip("x86_64 alone has three tables of system calls")
    attack = """
import mmap
def called(code):
    def call():
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        result = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
        if result < 0: raise OSError(-result)
        return result
    return in_child(call)
# mov eax, 310 (unshare of 32-bit programs); mov ebx, CLONE_NEWUSER; int 0x80
attempt("i386", called(bytes.fromhex("53b83601000 0bb00000010cd805bc3".replace(" ", ""))))
# mov eax, 0x40000000 + 272 (unshare of x32 programs); mov edi, CLONE_NEWUSER; syscall
attempt("x32", called(bytes.fromhex("b810010040bf000000100f05c3")))
# The control: mov eax, 39 (getpid); syscall
attempt("getpid", called(bytes.fromhex("b8270000000f05c3")))
"""
    said = await ground.agent.attack(attack)
    assert [line.split()[:2] for line in said.splitlines()[:3]] == [["held", "i386"], ["held", "x32"], ["GOT", "getpid"]], said
    here(attack, "getpid")


async def test_hides_a_call_in_the_high_half_of_an_argument(ground: Ground) -> None:
    """The filter looks at arguments as the kernel does, whose high halves count for nothing."""
    attack = """
high = 1 << 40
attempt("socket", lambda: syscall("socket", high | 40, 1, 0))
attempt("tiocsti", lambda: syscall("ioctl", 0, high | 0x5412, b"x"))
attempt("stop", lambda: syscall("kill", 1, high | signal.SIGSTOP))
"""
    await ground.agent.held(attack, at_least=3)
    here('attempt("socket", lambda: syscall("socket", (1 << 40) | 1, 1, 0))', "socket")


async def test_shares_memory_with_the_host(ground: Ground) -> None:
    """An IPC namespace and a /dev/shm of its own."""
    key = 0x5EC7E711
    make = f"""
number = syscall("shmget", {key}, 4096, 0o1666)
open("/dev/shm/nodus-red-team", "w").write("x")
attempt("shmget", lambda: syscall("shmget", {key}, 4096, 0o666))
attempt("file", lambda: open("/dev/shm/nodus-red-team").read())
import subprocess, sys
"""
    attack = f"""
attempt("shmget", lambda: syscall("shmget", {key}, 4096, 0o666))
attempt("file", lambda: open("/dev/shm/nodus-red-team").read())
attempt("list", lambda: open("/proc/sysvipc/shm").read().splitlines()[1])
attempt("queue", lambda: os.listdir("/dev/mqueue")[0])
"""
    here(make, "shmget", "file")
    try:
        await ground.agent.held(attack, at_least=3)
    finally:
        here(f"os.remove('/dev/shm/nodus-red-team'); libc.shmctl(syscall('shmget', {key}, 4096, 0o666), 0, 0)")


async def test_learns_the_hosts_processes_and_sockets(ground: Ground) -> None:
    """What /proc tells of processes, sockets and IPC is the sandbox's own."""
    async with agent_of(ground.engine) as other:
        await other.bash(
            "python3 -c 'import socket, time; s = socket.socket(socket.AF_UNIX); s.bind(\"\\0n\"); s.listen(); time.sleep(60)' & sleep 0.1"
        )
        said = await ground.agent.attack("""
print("sockets", open("/proc/net/unix").read().count("\\n"), open("/proc/net/tcp").read().count("\\n"))
print("pids", sorted(int(name) for name in os.listdir("/proc") if name.isdigit())[-1])
""")
    assert "sockets 1 1" in said
    assert int(said.split("pids ")[1].split()[0]) < 5000
