"""A scheduler's side of a supervisor: starting it, whether it lives, telling it to stop, and what is left when it was killed.

Blocking, each for milliseconds (a start for a fraction of a second): called in threads.
"""

import contextlib
import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from local_backend.jobs.order import CONTROL_FILE, LOCK_FILE, TOKEN_FILE, Order, Report, read_report
from local_backend.jobs.process_tree import kill_all, marked
from local_backend.own_code import own_code
from local_backend.sandboxes.bubblewrap import cgroups
from local_backend.sandboxes.interface import SandboxError

_START_SECONDS = 60.0
_KILL_SECONDS = 10.0
_SUPERVISOR_ERRORS = "supervisor.log"
_KEPT_FOR_SUPERVISOR = ("PATH", "HOME", "LANG", "LC_ALL", "VIRTUAL_ENV", "TMPDIR")


class LaunchError(Exception):
    """No supervisor could be started; the text is a sentence."""


def launch(order: Order, environ: Mapping[str, str]) -> Report | None:
    """Start a job under a supervisor that outlives this process; gives its first report, None where that is still to come.

    Raises LaunchError where none comes any more.
    """
    folder = Path(order.folder)
    problem = f"ended before it began; {folder / _SUPERVISOR_ERRORS} has its words"
    try:
        (folder / TOKEN_FILE).write_text(order.token, encoding="ascii")
        with (folder / _SUPERVISOR_ERRORS).open("ab") as errors:
            subprocess.run(
                # -P: the folder that it starts in must not shadow a module.
                [sys.executable, "-P", "-m", "local_backend.jobs.supervisor"],
                input=order.to_text().encode(),
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd="/",
                env={**{name: environ[name] for name in _KEPT_FOR_SUPERVISOR if name in environ}, "PYTHONPATH": own_code(environ)},
                pass_fds=order.claims,
                start_new_session=True,
                timeout=_START_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        problem = f"did not come up within {_START_SECONDS:g} s"
    except OSError as error:
        raise LaunchError(f"the process that watches over it could not be started: {error}") from error
    report = read_report(folder, order.token)
    if report is None and give_up(folder, order.token):
        raise LaunchError(f"the process that watches over it {problem}")
    return report


def alive(folder: Path) -> bool:
    """Whether a supervisor holds the job's lock."""
    with _lock(folder) as mine:
        return not mine


def give_up(folder: Path, token: str) -> bool:
    """Take a launch back that left no report: a supervisor of it that comes later ends at once. False where it has come meanwhile."""
    if not folder.is_dir():
        return True  # Its folder is made before it is launched.
    with _lock(folder) as mine:
        if not mine or read_report(folder, token) is not None:
            return False
        (folder / TOKEN_FILE).unlink(missing_ok=True)
        (folder / TOKEN_FILE).touch(mode=0o600)
        return True


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Hold the job's lock for a moment; False where its supervisor does."""
    try:
        lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # The whole folder is gone.
        yield True
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = True
        except BlockingIOError:
            mine = False
        yield mine
    finally:
        os.close(lock)


def tell_to_stop(folder: Path, reason: str) -> bool:
    """Tell the supervisor to end its job gracefully; False where there is none to hear it. Said twice, it is one."""
    return say(folder, f"stop {reason}")


def say(folder: Path, words: str) -> bool:
    """Tell the supervisor something; False where there is none to hear it. One that does not listen has it in its pipe."""
    try:
        pipe = os.open(folder / CONTROL_FILE, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENXIO}:
            return False
        raise
    try:
        with contextlib.suppress(BlockingIOError):
            os.write(pipe, f"{words}\n".encode())
    except BrokenPipeError:
        return False  # It has just ended.
    finally:
        os.close(pipe)
    return True


def send(folder: Path, report: Report, number: signal.Signals) -> None:
    """Send a signal to the supervisor that wrote a report, if it lives: it holds the lock then, so that its number is nobody else's."""
    if report.pid and alive(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(report.pid, number)


def end_leftovers(token: str) -> int:
    """After a supervisor was killed: end what its job left; gives how many processes there were."""
    left = marked(token)
    kill_all(lambda: marked(token), seconds=_KILL_SECONDS)
    with contextlib.suppress(SandboxError, OSError):  # The group stays empty then, and costs nothing.
        hierarchies = cgroups.find_hierarchies() if os.geteuid() == 0 else None
        if hierarchies is not None:
            groups = cgroups.group_paths(hierarchies, f"job-{token}")
            left |= cgroups.members(groups)
            cgroups.remove(groups)
    return len(left)
