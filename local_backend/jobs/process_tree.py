"""All processes that a job has started, wherever they went: found by their parents, and by a mark in their environment.

A job's supervisor is a subreaper, so that whatever leaves its parent or its session becomes the supervisor's child. The mark finds what is
left where the supervisor itself was killed.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

MARK = "NODUS_JOB_MARK"
"""The environment variable that every process of a job has, unless it gave itself another environment."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PARENT_FIELD = 1
_STATE_FIELD = 0
_ROUND_SECONDS = 0.01


def become_subreaper() -> None:
    """Orphans below this process become its children. Raises OSError."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """This process is killed when its parent ends. Raises OSError."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _parents() -> dict[int, int]:
    """The parent of every process that lives; zombies are none."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - names alone are wanted, often
        if not name.isdigit():
            continue
        try:
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[_STATE_FIELD] not in {b"Z", b"X"}:
            found[int(name)] = int(fields[_PARENT_FIELD])
    return found


def descendants(root: int) -> set[int]:
    """Every living process below another."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents().items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in found:
                found.add(pid)
                waiting.append(pid)
    return found


def near_descendants(root: int) -> set[int]:
    """The same as the kernel lists them, in a fraction of the time: one that is just being started or orphaned may be missing.

    Empty where the kernel lists none.
    """
    found: set[int] = set()
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError, ValueError):
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - names alone are wanted, in haste
                for child in map(int, Path(f"/proc/{pid}/task/{thread}/children").read_bytes().split()):
                    if child not in found:
                        found.add(child)
                        waiting.append(child)
    return found


def marked(mark: str) -> set[int]:
    """Every living process that has the mark in its environment, as far as this user may look."""
    wanted = f"{MARK}={mark}".encode()
    found: set[int] = set()
    for pid in _parents():
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.add(pid)
    return found - {os.getpid()}


def send(pids: Iterable[int], number: int) -> None:
    """Signal processes; those that are gone, or belong to another user, are no matter."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def kill_all(
    find: Callable[[], set[int]],
    *,
    seconds: float,
    near: Callable[[], set[int]] | None = None,
    gone: Callable[[], bool] | None = None,
) -> set[int]:
    """Kill what is found until all is gone; gives what was still there after so many seconds. Blocking.

    They are stopped first, so that none can start another between the look and the kill. One that runs away by starting another and ending
    itself may be missed by a look: it is caught by `near`, which is quicker than it, and `gone` knows better whether anything is left.
    """
    until = time.monotonic() + seconds
    stopped: set[int] = set()
    while new := find() - stopped:
        send(new, signal.SIGSTOP)
        stopped |= new
        if time.monotonic() > until:
            break
    while True:
        found = find()
        if not found and (gone is None or gone()):
            return set()
        send(found, signal.SIGKILL)
        pause = time.monotonic() + _ROUND_SECONDS
        while near is not None and gone is not None and not gone() and time.monotonic() < pause:
            send(near(), signal.SIGKILL)
        if time.monotonic() > until:
            return found
        time.sleep(max(0.0, pause - time.monotonic()) if gone is None or not gone() else 0)
