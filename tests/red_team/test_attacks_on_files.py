"""Attacks by tool calls on files: this machine's, other sandboxes', the system's own, and those that are taken out or edited.

The first line of each test's docstring says what holds the attack.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacking import LIMITS, Ground, agent_of, as_root, here, needs_known_machine

from local_backend.sandboxes.archives import entries, member
from local_backend.sandboxes.interface import User
from local_backend.sandboxes.running import SandboxFileError, fetch_folder
from nodus_tui.values import replace

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "hosts-secret-5Tq"


@pytest.fixture
def planted() -> Iterator[Path]:
    """A secret of this machine that anybody may read."""
    with tempfile.TemporaryDirectory(prefix="nodus-red-team-") as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "secret.txt")
        path.write_text(SECRET)
        path.chmod(0o644)
        yield path


async def test_reads_files_of_the_host(ground: Ground, planted: Path) -> None:
    """A root file system of its own."""
    secret = str(planted)
    attack = f"""
secret = {secret!r}
ways = [secret, "/proc/1/root" + secret, "/proc/self/root/../../.." + secret, "../" * 40 + secret, "/proc/self/cwd/../.." + secret]
for way in ways: attempt(way, lambda: open(way).read())
for top in ("/srv", "/home", "/root", "/etc/shadow", "/etc/ssh", "/var/lib/docker", "/run/nodus-tui", "/mnt", "/boot"):
    attempt(top, lambda: [name for name in os.listdir(top) if name != "agent"][0])
"""
    await ground.agent.held(attack, at_least=10)
    here(f"attempt('read', lambda: open({secret!r}).read())", "read")
    for path in (secret, "../" * 40 + secret.lstrip("/"), "/etc/shadow", "/proc/1/environ"):
        outcome = await ground.agent.call("read", path=path)
        assert outcome.result.is_error
        assert SECRET not in outcome.result.text


async def test_reads_the_password_hashes_of_the_host(ground: Ground) -> None:
    """The image has users and no passwords."""
    said = await ground.agent.attack("print(open('/etc/passwd').read())\nattempt('shadow', lambda: open('/etc/shadow').read())")
    assert "GOT" not in said
    assert {line.split(":")[0] for line in said.splitlines() if ":" in line and "held" not in line} == {"root", "agent", "nobody"}
    here("attempt('users', lambda: open('/etc/shadow' if os.path.exists('/etc/shadow') else '/etc/passwd').read())", "users")


async def test_reads_files_of_another_sandbox(ground: Ground) -> None:
    """Writable folders lie in each sandbox's own mounts, and processes in its own PID namespace."""
    async with agent_of(ground.engine) as other:
        await other.call("write", path="/tmp/neighbours", content=SECRET)
        assert SECRET in (await other.call("read", path="/tmp/neighbours")).result.text
        attack = """
for way in ("/tmp/neighbours", *glob.glob("/proc/[0-9]*/root/tmp/neighbours"), *glob.glob("/dev/shm/*")):
    attempt(way, lambda: open(way).read())
"""
        await ground.agent.held(attack)


async def test_walks_out_through_proc(ground: Ground) -> None:
    """Whose process is not its own, its links and memory are not either."""
    attack = """
for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
    if os.stat(f"/proc/{pid}").st_uid == os.getuid(): continue
    for name in ("environ", "mem", "maps", "fd", "root", "cwd", "exe", "ns/mnt", "auxv", "map_files", "io", "stack", "syscall"):
        path = f"/proc/{pid}/{name}"
        look = os.listdir if os.path.isdir(path) else os.readlink if os.path.islink(path) else lambda path: open(path, "rb").read(9)
        attempt(path, lambda: look(path))
"""
    await ground.agent.held(attack, at_least=13)
    root = await as_root(ground.agent.sandbox, "attempt('environ', lambda: open('/proc/1/environ').read())")
    assert "GOT environ" in root


async def test_writes_to_the_root_file_system(ground: Ground) -> None:
    """The root file system is read-only, for root as well."""
    attack = """
for path in ("/usr/bin/python3", "/usr/local/bin/python3", "/bin/sh", "/etc/passwd", "/etc/ld.so.preload",
             "/usr/lib/x.so", "/root/x", "/x", "/run/init.pyc", "/opt/x", "/var/x", "/sbin/docker-init", "/proc/sys/kernel/core_pattern"):
    attempt(path, lambda: open(path, "a").write("x"))
    attempt("remove " + path, lambda: os.remove(path))
    attempt("chmod " + path, lambda: os.chmod(path, 0o777))
"""
    await ground.agent.held(attack, at_least=39)
    assert "GOT" not in await as_root(ground.agent.sandbox, attack.replace('"/root/x", ', ""))
    for path in ("/etc/passwd", "/usr/bin/x", "/bin/sh"):
        assert (await ground.agent.call("write", path=path, content="x")).result.is_error


async def test_links_to_the_host_in_files_that_are_taken_out(ground: Ground, planted: Path, tmp_path: Path) -> None:
    """Files leave as an archive that the agent's own user writes; links stay links, and none is followed here."""
    await ground.agent.bash(
        f"mkdir -p /task/out && cd /task/out && ln -s {planted} absolute && ln -s ../../../..{planted} relative && ln -s / whole"
        " && ln -s /proc/1/environ environ && ln -s inside loop && ln -s loop inside && echo mine >file && ln -s file good"
    )
    taken = tmp_path / "out.tar"
    await fetch_folder(ground.agent.sandbox, "/task/out", user=User.AGENT, target=taken, limit_bytes=1 << 20)
    assert SECRET.encode() not in taken.read_bytes()
    found = {each.path: each for each in entries(taken)}
    assert {path for path, each in found.items() if each.kind == "file"} == {"file"}
    assert all(not each.target.startswith("/") and ".." not in each.target for each in found.values() if each.kind == "link")
    for path in ("absolute", "relative", "whole", "environ", "loop", "whole/etc/passwd"):
        with pytest.raises(KeyError):
            list(member(taken, path))


async def test_hard_links_to_files_of_root(ground: Ground, tmp_path: Path) -> None:
    """Root's files lie on other mounts, and what is linked is taken out as the agent sees it."""
    async with agent_of(ground.engine, purpose="grading") as judged:
        await as_root(
            judged.sandbox,
            f"open('/grader/answer.json', 'w').write({SECRET!r}); open('/tmp/roots', 'w').write('r'); os.chmod('/tmp/roots', 0o600)",
        )
        await judged.held(
            """
for path in ("/grader/answer.json", "/etc/passwd", "/usr/bin/env", "/tmp/roots", "/proc/1/environ"):
    attempt(path, lambda: (os.link(path, "/task/linked"), open("/task/linked").read()))
""",
            at_least=4,
        )
        taken = tmp_path / "linked.tar"
        await fetch_folder(judged.sandbox, "/task", user=User.AGENT, target=taken, limit_bytes=1 << 20)
        assert SECRET.encode() not in taken.read_bytes()


async def test_special_files_and_endless_ones_among_files_that_are_taken_out(ground: Ground, tmp_path: Path) -> None:
    """Pipes, sockets and devices are not opened, and what is larger than the limit is refused."""
    await ground.agent.attack("""
os.makedirs("/task/odd", exist_ok=True); os.chdir("/task/odd")
os.mkfifo("pipe"); socket.socket(socket.AF_UNIX).bind("socket"); open("file", "w").write("mine"); os.mkdir("closed"); os.chmod("closed", 0)
""")
    taken = tmp_path / "odd.tar"
    fetched = await fetch_folder(ground.agent.sandbox, "/task/odd", user=User.AGENT, target=taken, limit_bytes=1 << 20)
    assert {each.path for each in entries(taken) if each.kind == "file"} == {"file"}
    await ground.agent.bash("truncate -s 40M /task/odd/sparse; cat /dev/zero | head -c 1000 >/task/odd/x")
    with pytest.raises(Exception, match="larger than"):
        await fetch_folder(ground.agent.sandbox, "/task/odd", user=User.AGENT, target=taken, limit_bytes=1 << 20)
    assert fetched.size_bytes < 1 << 20
    await ground.agent.bash("chmod 700 /task/odd/closed; rm -rf /task/odd")


async def test_makes_files_larger_than_the_disk_that_hold_nothing(ground: Ground) -> None:
    """A file is no larger than the disk, whatever it holds: nobody reads zeros without end."""
    said = await ground.agent.attack("""
for size in (65 << 20, 1 << 40):
    open("/task/hollow", "w").close()
    attempt(size, lambda: os.truncate("/task/hollow", size))
    attempt(size, lambda: os.posix_fallocate(os.open("/task/hollow", os.O_RDWR), size, 1))
print(os.path.getsize("/task/hollow"))
os.unlink("/task/hollow")
""")
    assert "GOT" not in said, said
    assert said.count("held ") == 4, said


async def test_nests_folders_without_end(ground: Ground, tmp_path: Path) -> None:
    """The program that takes files out has the sandbox's memory and no other: what it cannot hold is the agent's own fault."""
    async with agent_of(ground.engine, limits=replace(LIMITS, memory_bytes=96 << 20)) as agent:
        said = await agent.attack('for _ in range(1500): os.mkdir("n" * 200); os.chdir("n" * 200)')
        assert said.endswith("[exit code 0]"), said
        with pytest.raises(SandboxFileError, match="needs more memory than is left"):
            await fetch_folder(agent.sandbox, "/task", user=User.AGENT, target=tmp_path / "deep.tar", limit_bytes=1 << 30)
        await agent.is_well()
        assert not (tmp_path / "deep.tar").exists()


async def test_holds_files_back_by_leases(ground: Ground, tmp_path: Path) -> None:
    """A lease holds up whoever opens the file for a limited time, and ends with its process, which is killed before files are taken out."""
    async with agent_of(ground.engine) as agent:
        await agent.bash("""
cat >lease.py <<'CODE'
import fcntl, os, signal
signal.signal(signal.SIGIO, signal.SIG_IGN)
for number in range(20):
    file = os.open(f"held-{number}", os.O_WRONLY | os.O_CREAT)
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
open("/tmp/ready", "w").close()
while True: signal.pause()
CODE
mkfifo /tmp/ready; python3 -I lease.py & cat /tmp/ready""")
        assert "timed out" in await agent.bash("timeout 0.3 cat held-1 || echo timed out")
        await agent.sandbox.kill_agent()
        await fetch_folder(agent.sandbox, "/task", user=User.AGENT, target=tmp_path / "held.tar", limit_bytes=1 << 20)
        assert len([each for each in entries(tmp_path / "held.tar") if each.path.startswith("held-")]) == 20


async def test_hostile_names_of_files(ground: Ground, tmp_path: Path) -> None:
    """Names are data: read strictly, quoted where they are told, never an option or a path of this machine."""
    names = ["-rf", "--checkpoint-action=exec=sh", "new\nline", "\x1b]0;owned\x07", "$(id)", "`id`", "a;b", "…/etc", " ", "'", '"']
    await ground.agent.attack(f"""
os.makedirs("/task/names", exist_ok=True)
for name in {names!r}: open(os.path.join("/task/names", name.replace("/", "\\u2215")), "w").write(name)
""")
    taken = tmp_path / "names.tar"
    await fetch_folder(ground.agent.sandbox, "/task/names", user=User.AGENT, target=taken, limit_bytes=1 << 20)
    found = {each.path for each in entries(taken) if each.kind == "file"}
    assert found == {name.replace("/", "\u2215") for name in names}
    for name in ("new\nline", "\x1b]0;owned\x07"):
        outcome = await ground.agent.call("read", path=f"/task/names/{name}")
        assert outcome.result.text.splitlines()[0].isprintable()
    missing = await ground.agent.call("read", path="/task/names/none")
    assert "\x1b" not in missing.result.text


async def test_swaps_a_file_for_a_link_while_a_tool_edits_it(ground: Ground) -> None:
    """Tools work as the agent: a link leads to nothing that it could not write itself."""
    async with agent_of(ground.engine, purpose="grading") as agent:
        await as_root(agent.sandbox, "open('/grader/verdict.json', 'w').write('untouched'); open('/tmp/roots', 'w').write('untouched')")
        await agent.bash("""
(while :; do ln -sfn /tmp/roots /task/victim; ln -sfn /grader/verdict.json /task/victim; ln -sfn /etc/passwd /task/victim
rm -f /task/victim; echo old >/task/victim; done) >/dev/null 2>&1 &""")
        for _ in range(6):
            await agent.call("edit", path="/task/victim", old="o", new="owned", all=True)
            await agent.call("write", path="/task/victim", content="owned")
        seen = await as_root(
            agent.sandbox, "print(open('/grader/verdict.json').read(), open('/tmp/roots').read(), 'owned' in open('/etc/passwd').read())"
        )
        assert seen == "untouched untouched False\n"


async def test_makes_device_nodes(ground: Ground) -> None:
    """No CAP_MKNOD, and devices do not work on the folders that can be written."""
    needs_known_machine()
    attack = """
for name, kind, major, minor in (
    ("disk", stat.S_IFBLK, 254, 0), ("sda", stat.S_IFBLK, 8, 0), ("mem", stat.S_IFCHR, 1, 1), ("kmsg", stat.S_IFCHR, 1, 11)
):
    attempt(name, lambda: os.mknod("/tmp/red-team-" + name, kind | 0o666, os.makedev(major, minor)))
"""
    await ground.agent.held(attack, at_least=4)
    assert "GOT" not in await as_root(ground.agent.sandbox, attack)
    here(attack + "for path in glob.glob('/tmp/red-team-*'): os.remove(path)", "disk", "mem")


async def test_opens_raw_devices(ground: Ground) -> None:
    """/dev holds null, zero, full, random, tty and terminals, and nothing of the machine."""
    await ground.agent.held(
        """
for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/kvm", "/dev/fuse",
             "/dev/vsock", "/dev/net/tun", "/dev/loop-control", "/dev/uinput", "/proc/kcore", "/proc/kmsg", "/dev/nvidia0"):
    attempt(path, lambda: os.open(path, os.O_RDONLY))
""",
        at_least=16,
    )
    names = set((await ground.agent.bash("ls /dev")).split("\n")[:-1])
    assert names <= {
        "console",
        "core",
        "fd",
        "full",
        "mqueue",
        "null",
        "ptmx",
        "pts",
        "random",
        "shm",
        "stderr",
        "stdin",
        "stdout",
        "tty",
        "urandom",
        "zero",
    }


async def test_programs_with_the_setuid_bit(ground: Ground) -> None:
    """No such program in the image, nosuid on every folder that can be written, and no-new-privileges."""
    async with agent_of(ground.engine, purpose="grading") as agent:
        made = await as_root(
            agent.sandbox,
            """
import shutil
shutil.copy("/usr/bin/id", "/tmp/id"); os.chmod("/tmp/id", 0o6755); print(oct(os.stat("/tmp/id").st_mode), os.stat("/tmp/id").st_uid)
""",
        )
        assert made == "0o106755 0\n"
        assert "uid=1000(agent) gid=1000(agent)" in await agent.bash("/tmp/id")
        assert "euid=0" not in await agent.bash("/tmp/id")
        found = await agent.bash("find /usr /bin /sbin /etc /opt -perm /6000 -type f 2>/dev/null; true")
        assert found == "[exit code 0]"
