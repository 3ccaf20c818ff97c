"""How a bubblewrap sandbox is started and ended: its command line, its users, its process 1, and that nothing of it stays.

bwrap makes the namespaces, then waits until its users are mapped. Process 1 comes up and waits for its configuration, which it gets once
it is in its control groups. A scheduler that is root drops to the sandbox's own host uid before bwrap starts, and shows it the base image
through a private mount, for that uid may not enter the folders on the way there.
"""

import asyncio
import contextlib
import importlib.util
import json
import marshal
import os
import platform
import posixpath
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from msgspec import Struct

from local_backend.sandboxes.base_image import BaseImage
from local_backend.sandboxes.bubblewrap import init as init_module
from local_backend.sandboxes.bubblewrap.layout import writable_folders
from local_backend.sandboxes.bubblewrap.seccomp import filter_program
from local_backend.sandboxes.bubblewrap.users import Users
from local_backend.sandboxes.failures import told_as_sandbox_error
from local_backend.sandboxes.interface import ENGINE_SECONDS, SandboxError, SandboxRefusedError, SandboxRequest

START_SECONDS = 30.0
"""From the first fork until init answers."""

PATH = "/usr/local/bin:/usr/bin:/bin"
_INIT_PATH = "/run/init.pyc"
_ROOT_ENTRIES = ("usr", "etc")
_BASE_LINKS = {"/bin": "usr/bin", "/sbin": "usr/sbin", "/lib": "usr/lib", "/lib64": "usr/lib64"}
_PLACES = ("/mnt", "/media", "/srv", "/opt")
_FIXED = ("/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/dev", "/sys", "/run", "/var", "/root")
_STDERR_KEPT = 4096
_OUTER_SECONDS = 5.0

# Its threads live as long as this process does: to --die-with-parent, the parent is the thread that started it.
THREADS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="bubblewrap")


class Started(Struct):
    """The processes of a sandbox that is being started, or runs."""

    outer: "subprocess.Popen[bytes]"
    """bwrap itself, outside."""
    control: socket.socket
    info: int
    """bwrap tells its child's pid here; -1 once closed."""
    block: int
    """bwrap waits here for its users; -1 once closed."""
    stderr: int
    init: int | None = None
    init_fd: int = -1
    """A pidfd: ready when process 1, and with it everything in the sandbox, is gone."""

    def close(self) -> None:
        """Close what is still open; nothing is killed. The control socket is its taker's."""
        for name in ("info", "block", "stderr", "init_fd"):
            if (fd := getattr(self, name)) >= 0:
                setattr(self, name, -1)
                os.close(fd)


class Launcher:
    """What all sandboxes of an engine are started with. Made by `connect`; `aclose` lets go of the mount."""

    def __init__(self, bwrap: str, base: BaseImage, users: Users, mounts: int | None) -> None:
        self._bwrap = bwrap
        self._users = users
        self._mounts = mounts
        self._root = _mount_place() if mounts is not None else str(base.root)
        self._seccomp = filter_program(platform.machine())
        self._init = _compiled_init()

    @property
    def filters_calls(self) -> bool:
        """Whether system calls are filtered: not on an architecture whose numbers are not known."""
        return self._seccomp is not None

    def close(self) -> None:
        """Let go of the mount; sandboxes have it in their own namespaces."""
        if self._mounts is not None:
            os.close(self._mounts)
            self._mounts = None

    def start(self, request: SandboxRequest, slot: int, driver: Mapping[str, str]) -> Started:
        """Start bwrap, up to where it waits for its users. Blocks for milliseconds; called in a thread. Raises SandboxError.

        `driver`: files of the accelerators' driver, by where they are in the sandbox.
        """
        with told_as_sandbox_error("bubblewrap could not be started"), contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:

            def pipe(*, reads: bool) -> tuple[int, int]:
                reading, writing = os.pipe()
                mine, other = (reading, writing) if reads else (writing, reading)
                ours.callback(os.close, mine)
                theirs.callback(os.close, other)
                return mine, other

            def memory(data: bytes) -> int:
                fd = os.memfd_create("sandbox", 0)
                theirs.callback(os.close, fd)
                os.write(fd, data)
                os.lseek(fd, 0, os.SEEK_SET)
                return fd

            control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.callback(control.close)
            theirs.callback(inner.close)
            info, info_out = pipe(reads=True)
            block, block_in = pipe(reads=False)
            stderr, stderr_out = pipe(reads=True)
            os.set_blocking(info, False)
            os.set_blocking(stderr, False)
            passed = [inner.fileno(), info_out, block_in, init_fd := memory(self._init)]
            options = [] if self._users.kind == "single" else ["--userns-block-fd", str(block_in)]
            if self._seccomp is not None:
                passed.append(seccomp := memory(self._seccomp))
                options += ["--seccomp", str(seccomp)]
            options += ["--info-fd", str(info_out), "--perms", "0444", "--ro-bind-data", str(init_fd), _INIT_PATH]
            inside = ["/usr/local/bin/python3", "-I", "-S", _INIT_PATH, str(inner.fileno())]
            command = [*self._entry(slot), self._bwrap, *self._options(request, driver), *options, "--remount-ro", "/", "--", *inside]
            outer = subprocess.Popen(  # noqa: S603 - a command line of our own making.
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr_out,
                pass_fds=passed,
                env={"PATH": PATH, "LANG": "C.UTF-8"},
                cwd="/",
                start_new_session=True,
            )
            ours.pop_all()
            return Started(outer, control, info, block, stderr)

    def _entry(self, slot: int) -> list[str]:
        """Before bwrap: into the private mount, and down to the sandbox's own host uid."""
        if self._users.kind != "root":
            return []
        uid = str(self._users.host_root(slot))
        if self._mounts is None:
            return [_needed("setpriv"), "--reuid", uid, "--regid", uid, "--clear-groups", "--"]
        # By this process's number: inherited, the way to the mount would be open inside.
        return [_needed("nsenter"), f"--mount=/proc/{os.getpid()}/fd/{self._mounts}", "--setuid", uid, "--setgid", uid, "--"]

    def _options(self, request: SandboxRequest, driver: Mapping[str, str]) -> list[str]:
        inside = "0" if self._users.two else "1000"
        options = ["--unshare-user", "--uid", inside, "--gid", inside, "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        options += ["--unshare-cgroup-try", "--hostname", "sandbox", "--new-session", "--as-pid-1", "--clearenv"]
        options += ["--cap-drop", "ALL"]
        # Init ends when the scheduler's end of its socket closes. Where the agent is init's own user it could keep it from that. (With
        # two users bwrap waits for its users first, and who kills it then leaves its child waiting for ever.)
        if not self._users.two:
            options.append("--die-with-parent")
        else:
            # For uid 0 alone: the agent's programs start without any, and no-new-privileges keeps it so.
            for capability in ("CAP_CHOWN", "CAP_SETUID", "CAP_SETGID", "CAP_KILL"):
                options += ["--cap-add", capability]
        if not request.network:
            options.append("--unshare-net")
        for name in _ROOT_ENTRIES:
            options += ["--ro-bind", f"{self._root}/{name}", f"/{name}"]
        if request.network:
            options += ["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]
        for path, target in _BASE_LINKS.items():
            options += ["--symlink", target, path]
        options += ["--proc", "/proc", "--dev", "/dev", "--perms", "0700", "--dir", "/root", "--dir", "/opt", "--dir", "/var"]
        options += _accelerator_options(request, driver)
        options += ["--symlink", "../tmp", "/var/tmp", "--remount-ro", "/dev"]  # noqa: S108 - of the sandbox.
        for folder in writable_folders(request):
            options += ["--perms", f"{folder.mode:04o}", "--size", str(folder.size_bytes), "--tmpfs", folder.path]
        return [*options, "--chdir", "/"]

    async def settle(self, started: Started, slot: int) -> int:
        """Wait for bwrap's child and map its users; process 1 as the host counts it. Raises SandboxError with what bwrap says."""
        info = await _read_info(started)
        try:
            started.init = int(json.loads(info)["child-pid"])
        except (ValueError, KeyError, TypeError) as error:
            raise SandboxError("bubblewrap tells of the sandbox that it started what cannot be understood.") from error
        try:
            started.init_fd = os.pidfd_open(started.init)
        except ProcessLookupError:
            raise SandboxError("bubblewrap ended while it started.") from None
        if self._users.two:
            await self._map(started.init, slot)
        return started.init

    def release(self, started: Started) -> None:
        """Let it go on, once its users are mapped and its groups joined."""
        with contextlib.suppress(BrokenPipeError):  # It has ended; whoever waits for its init hears of it.
            os.write(started.block, b"x")
        os.close(started.block)
        started.block = -1

    async def _map(self, pid: int, slot: int) -> None:
        uids, gids = self._users.maps(slot)
        if self._users.kind == "root":
            for name, pairs in (("uid_map", uids), ("gid_map", gids)):
                _write_map(f"/proc/{pid}/{name}", pairs)
            return
        for program, pairs in ((self._users.newuidmap, uids), (self._users.newgidmap, gids)):
            words = [str(number) for pair in pairs for number in (*pair, 1)]
            await _run_helper([program, str(pid), *words])


def _write_map(path: str, pairs: Sequence[tuple[int, int]]) -> None:
    lines = "".join(f"{inside} {outside} 1\n" for inside, outside in pairs)
    try:
        Path(path).write_text(lines, encoding="ascii")
    except OSError as error:
        raise SandboxError(f"The sandbox's users could not be mapped: {error.strerror or error}.") from error


def _accelerator_options(request: SandboxRequest, driver: Mapping[str, str]) -> list[str]:
    files = dict.fromkeys(pair for device in request.devices for pair in device.files)
    options = []
    # What bwrap makes on the way by itself is root's alone.
    for folder in _folders_to([*(inside for _, inside in files), *driver]):
        options += ["--perms", "0755", "--dir", folder]
    for path, inside in files:
        options += ["--dev-bind", path, inside]
    for inside, path in driver.items():
        options += ["--ro-bind", path, inside]
    return options


def _folders_to(paths: Iterable[str]) -> list[str]:
    """The folders on the way to some files, outer ones first, below those at the root, which are there."""
    return sorted({str(folder) for path in paths for folder in PurePosixPath(path).parents if len(folder.parts) > 2})


def init_config(request: SandboxRequest, users: Users, *, groups: bool) -> dict[str, object]:
    """What init is told first."""
    limits = request.limits
    # Root's share of the processes: a fork bomb must not keep the grader from starting, nor us from ending the bomb.
    processes = max(1, limits.pids - min(16, limits.pids // 4))
    rlimits = [(_RLIMIT_CORE, 0), (_RLIMIT_NOFILE, limits.open_files), (_RLIMIT_NPROC, processes), (_RLIMIT_FSIZE, limits.disk_bytes)]
    if not groups:
        # What maps a device's memory reserves far more addresses than it ever uses.
        rlimits.append((_RLIMIT_DATA if request.devices else _RLIMIT_AS, limits.memory_bytes))
    owners = [(folder.path, folder.uid) for folder in writable_folders(request) if folder.uid] if users.two else []
    return {"lifetime": float(request.lifetime_seconds), "owners": owners, "rlimits": rlimits, "two_users": users.two}


_RLIMIT_FSIZE, _RLIMIT_DATA, _RLIMIT_CORE, _RLIMIT_NPROC, _RLIMIT_NOFILE, _RLIMIT_AS = 1, 2, 4, 6, 7, 9


def check_request(request: SandboxRequest, users: Users) -> None:
    """Raise SandboxRefusedError for what this engine never gives."""
    if request.image is not None:
        raise SandboxRefusedError(
            f"bubblewrap runs the base image only, not {request.image}: install Docker, or leave the image out of the spec."
        )
    for device in request.devices:
        if not device.files:
            raise SandboxRefusedError(
                f"The driver does not tell which device files are those of device {device.place} ({device.uuid}): use Docker."
            )
    if not users.two and request.purpose in {"grading", "check"}:
        raise SandboxRefusedError(
            "Here bubblewrap has one user in a sandbox, so answers could not be hidden from code that is graded: install uidmap, or Docker."
        )
    for path in (request.workdir, *request.extra_folders):
        if not path.startswith("/") or posixpath.normpath(path) != path or path == "/" or "\0" in path:
            raise SandboxRefusedError(f"{path!r} can be no folder of a sandbox: name an absolute path without `.` and `..`.")
        if any(path == fixed or path.startswith(f"{fixed}/") for fixed in _FIXED):
            raise SandboxRefusedError(f"{path} belongs to the base image, which is read-only: choose another folder.")


def open_mounts(base: BaseImage) -> int | None:
    """A mount namespace of its own in which every user can reach the base image; None where none can be made. Blocks; needs root."""
    script = 'mount --bind "$1" "$2" && mount -o remount,bind,ro "$2" && echo ready && read -r _'
    command = [_needed("unshare"), "--mount", "--propagation", "private", "sh", "-c", script, "sh", str(base.root), _mount_place()]
    with subprocess.Popen(  # noqa: S603 - a command line of our own making.
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    ) as process:
        if process.stdout is None or process.stdout.readline() != b"ready\n":
            return None
        return os.open(f"/proc/{process.pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)


def _mount_place() -> str:
    for place in _PLACES:
        if Path(place).is_dir():
            return place
    raise SandboxError(f"None of the folders {', '.join(_PLACES)} exists; bubblewrap shows the base image at one of them, to itself alone.")


def _needed(program: str) -> str:
    found = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        raise SandboxError(f"bubblewrap sandboxes need {program} when root makes them; it comes with util-linux.")
    return found


def _compiled_init() -> bytes:
    source = Path(init_module.__file__).read_bytes()
    code = compile(source, _INIT_PATH, "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


async def _read_info(started: Started) -> bytes:
    data = b""
    try:
        async with asyncio.timeout(START_SECONDS):
            while not data.rstrip().endswith(b"}"):
                await readable(started.info)
                more = os.read(started.info, 4096)
                if not more:
                    raise SandboxError(f"bubblewrap could not start a sandbox: {stderr_of(started) or 'it ended at once'}.")
                data += more
    except TimeoutError:
        raise SandboxError(f"bubblewrap did not start a sandbox within {START_SECONDS:.0f} s.") from None
    return data


def stderr_of(started: Started) -> str:
    """What bwrap, or init, said last; safe to put into a sentence."""
    try:
        data = os.read(started.stderr, 1 << 16)[-_STDERR_KEPT:]
    except (BlockingIOError, OSError):
        return ""
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return "".join(letter for letter in lines[-1] if letter.isprintable())[:300] if lines else ""


async def readable(fd: int) -> None:
    """Wait until a descriptor has something, its end included."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(fd)


async def _run_helper(command: Sequence[str]) -> None:
    def work() -> str:
        done = subprocess.run(  # noqa: S603 - a command line of our own making.
            command, capture_output=True, text=True, timeout=START_SECONDS, check=False, env={"PATH": PATH}, stdin=subprocess.DEVNULL
        )
        return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it failed"

    try:
        problem = await asyncio.get_running_loop().run_in_executor(THREADS, work)
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem:
        raise SandboxError(f"The sandbox's users could not be mapped: {problem}.")


async def end(started: Started) -> None:
    """Kill a sandbox and wait until all of it is gone; one that is gone is no matter. Raises SandboxError when it does not go."""
    if started.outer.returncode is not None and started.init_fd < 0:
        return  # Its numbers may be others' by now.
    if started.block >= 0:  # bwrap waits for its users no more.
        os.close(started.block)
        started.block = -1
    with contextlib.suppress(ProcessLookupError):
        if started.init_fd >= 0:
            # With process 1 the kernel ends all that is inside; bwrap takes its exit code and ends too.
            signal.pidfd_send_signal(started.init_fd, signal.SIGKILL)
        else:
            # bwrap's child, if there is one, still waits in bwrap's own session.
            os.killpg(started.outer.pid, signal.SIGKILL)
    try:
        async with asyncio.timeout(ENGINE_SECONDS):
            if started.init_fd >= 0:
                await readable(started.init_fd)
    except TimeoutError:
        raise SandboxError(f"Processes of the sandbox do not end (process 1 is {started.init} on this machine).") from None
    began = time.monotonic()
    while started.outer.poll() is None:
        if time.monotonic() - began > _OUTER_SECONDS:
            started.outer.kill()
        await asyncio.sleep(0.001)
    started.close()
