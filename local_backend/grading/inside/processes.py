"""Processes of the judged user: started without anything of the grader's, bounded, and killed to the last one."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import select
import signal
import time

TYPE_CHECKING = False  # As `typing` has it; importing that costs a start.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

WORK = os.environ.get("NODUS_WORKDIR", "/task")
"""The folder with the solution."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_AGENT = 1000
_LARGEST_FILE = 256 * 2**20
_MEMORY = 2**30
_KILL_SECONDS = 20.0
TICK = 0.01
"""Seconds between two looks at a process."""
_FIRST_FREE = 10

failures: list[str] = []
"""What went wrong with the grader itself, so that no verdict is given even where somebody caught the error."""


class GradingError(Exception):
    """The grader failed: there is no verdict."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        failures.append(message)


class SolutionError(Exception):
    """Judged code raised, ended, or answered nonsense. `kind` names the exception that it says it raised."""

    kind = ""


class SolutionTimeoutError(SolutionError):
    """Judged code did not finish in its time."""


class Budget:
    """Seconds that all judged code together may take, so that a slow solution is wrong and no failure of the grader."""

    def __init__(self) -> None:
        self.left = float(os.environ.get("NODUS_SOLUTION_SECONDS", "inf"))

    @contextlib.contextmanager
    def spending(self, timeout: float) -> Iterator[float]:
        """Gives the moment (time.monotonic) at which the time of this piece is over."""
        started = time.monotonic()
        try:
            yield started + max(min(timeout, self.left), 0.0)
        finally:
            self.left -= time.monotonic() - started


budget = Budget()


class Live:
    """Counts the times that all judged processes were killed: what was loaded before that is gone."""

    number = 0


def kill_all() -> None:
    """Kill every process of the judged user, and wait until none is left. Raises GradingError when one cannot be killed."""
    Live.number += 1
    deadline = time.monotonic() + _KILL_SECONDS
    while True:
        # Atomic where it works: the kernel signals all of them at once, and nothing forks away in between.
        pid = _try_fork()
        if pid == 0:
            end_child(_kill_as_judged)
        if pid is not None:
            reap(pid, time.monotonic() + 1)
        left = _judged()
        if not left:
            return
        for each in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise GradingError("a process of the solution cannot be killed")
        time.sleep(TICK / 4)


def _kill_as_judged() -> None:
    become()
    os.kill(-1, signal.SIGKILL)


def _judged() -> list[int]:
    """The living processes of the judged user."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/status", "rb") as file:
                lines = file.read().split(b"\n")
        except OSError:
            continue  # It has just ended.
        fields = dict(line.split(b":", 1) for line in lines if b":" in line)
        uids = fields.get(b"Uid", b"").split()
        state = fields.get(b"State", b"").split()
        if str(_AGENT).encode() in uids and (not state or state[0] not in (b"Z", b"X")):
            found.append(int(name))
    return found


def reap(pid: int, deadline: float) -> int | None:
    """The status of an ended child; None when it has not ended, or has been stopped, by then."""
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(TICK / 10)


def _try_fork() -> int | None:
    try:
        return os.fork()
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.ENOMEM):
            return None  # What judged code started fills the sandbox.
        raise GradingError(f"no process can be started: {error.strerror}") from None


def fork() -> int:
    """Fork, if need be after killing what fills the sandbox. Raises GradingError."""
    deadline = time.monotonic() + _KILL_SECONDS
    while True:
        pid = _try_fork()
        if pid is not None:
            return pid
        kill_all()
        if time.monotonic() > deadline:
            raise GradingError("no process can be started")
        time.sleep(TICK)


def become() -> None:
    """In a forked child: give up root. The kernel then lets no process of the same user look into this copy of the grader's memory."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")  # When memory runs out, judged code ends before the grader.
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(_AGENT)
        os.setuid(_AGENT)
    if os.getuid() != _AGENT or os.geteuid() != _AGENT:
        os._exit(126)


def end_child(action: Callable[[], None]) -> None:
    """Do the last thing of a forked child."""
    try:
        action()
    finally:
        os._exit(0)


def spawn(
    argv: Sequence[str],
    descriptors: Mapping[int, int],
    *,
    cwd: str,
    environ: Mapping[str, str] | None,
    memory: int | None,
    deadline: float,
) -> int:
    """Start a program as the judged user with these descriptors (its own number → ours) and no others, until `deadline` (time.monotonic).

    Raises SolutionError; SolutionTimeoutError when it has not begun by then: judged code that still runs can stop it as soon as it is the
    judged user's.
    """
    told, tell = os.pipe()
    pid = fork()
    if pid == 0:
        end_child(lambda: _execute(argv, descriptors, tell, cwd, environ or {}, memory))
    os.close(tell)
    try:
        began, _, _ = select.select([told], [], [], max(deadline - time.monotonic(), 0))
        problem = os.read(told, 1000).decode("utf-8", "replace") if began else ""
    finally:
        os.close(told)
    if not began:
        reap(pid, time.monotonic())
        raise SolutionTimeoutError(f"{argv[0]} did not begin in time")
    if problem:
        reap(pid, time.monotonic() + 5)
        raise SolutionError(f"{argv[0]} cannot be started: {problem}")
    return pid


def _execute(
    argv: Sequence[str], descriptors: Mapping[int, int], tell: int, cwd: str, environ: Mapping[str, str], memory: int | None
) -> None:
    try:
        os.setsid()
        # Out of the way first, or one would be overwritten before it is put in its place.
        moved = {number: fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for number, ours in descriptors.items()}
        tell = fcntl.fcntl(tell, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
        for number, ours in moved.items():
            os.dup2(ours, number)
        keep = {*descriptors, tell}
        for number in [int(name) for name in os.listdir("/proc/self/fd")]:
            if number not in keep:
                with contextlib.suppress(OSError):
                    os.close(number)
        for limit, most in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, _LARGEST_FILE),
            (resource.RLIMIT_NOFILE, 256),
            (resource.RLIMIT_AS, memory or _MEMORY),
        ):
            _, hard = resource.getrlimit(limit)
            value = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(limit, (value, value))
        os.umask(0o022)
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        become()
        os.chdir(cwd)
        clean = {"PATH": PATH, "HOME": "/home/agent", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        os.execvpe(argv[0], list(argv), {**clean, **environ})
    except BaseException as error:  # noqa: BLE001  # It must not go on as a second grader.
        os.write(tell, str(getattr(error, "strerror", None) or type(error).__name__).encode()[:900])
        os._exit(127)
