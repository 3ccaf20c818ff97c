"""Who a sandbox lives for: this process as an Owner, and whether an owner still lives.

A pid alone says little, for pids come back. So an owner is known by the machine's name, the boot, the pid namespace, the pid and the start
time as the kernel counts it, none of which a clock change or a restart of the scheduler can make alike.
"""

import os
import socket
from pathlib import Path

import psutil

from local_backend.sandboxes.interface import Owner

_STAT_STATE = 0
_STAT_START = 19
"""Places in /proc/PID/stat after the command's closing bracket (state is field 3, starttime field 22, counted from one)."""


def this_process(workspace: str = "") -> Owner:
    """This process as the owner of what it starts."""
    started = _started(os.getpid())
    if started is None:  # Without /proc no engine of ours runs either; the owner is still a true one.
        started = _by_clock(os.getpid())
    return Owner(host=socket.gethostname(), pid=os.getpid(), started=started, workspace=workspace)


def owner_alive(owner: Owner) -> bool | None:
    """Whether the process lives; None where this machine cannot know, because the owner's host or pid namespace is another, or /proc is
    closed to it at the moment.
    """
    try:
        return _alive(owner)
    except OSError:
        return None


def _alive(owner: Owner) -> bool | None:
    if owner.host != socket.gethostname():
        return None
    parts = owner.started.split("/")
    if len(parts) != 3:
        try:
            return psutil.Process(owner.pid).is_running() and _by_clock(owner.pid) == owner.started
        except (psutil.Error, ValueError, OverflowError):  # The last two: it is no number of a process.
            return False
    boot, namespace, _ = parts
    if boot != _boot():
        return False
    if namespace != _namespace():
        return None
    return _started(owner.pid) == owner.started


def _started(pid: int) -> str | None:
    """None for a process that is not there. Raises OSError where that cannot be seen."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # A zombie holds its number, but it owns nothing any more.
    if fields[_STAT_STATE] in {b"Z", b"X"}:
        return None
    return f"{_boot()}/{_namespace()}/{fields[_STAT_START].decode()}"


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _namespace() -> str:
    return Path("/proc/self/ns/pid").readlink().name.removeprefix("pid:").strip("[]")


def _by_clock(pid: int) -> str:
    return f"{psutil.Process(pid).create_time():.2f}"
