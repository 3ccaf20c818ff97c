"""Control groups of a sandbox: hard limits on memory, processes and CPU for all of it together. Needs root; versions 1 and 2.

Each sandbox has a group of its own below `nodus`, one in each hierarchy of version 1. Blocking: milliseconds; called in a thread.
"""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from local_backend.sandboxes.failures import told_as_sandbox_error
from local_backend.sandboxes.interface import Limits, SandboxError

_PARENT = "nodus"
_CONTROLLERS = ("memory", "pids", "cpu")
_PERIOD_US = 100_000
_LEAST_QUOTA_US = 1_000
_REMOVE_SECONDS = 5.0
_BUFFERS_SHARE = 8


class Hierarchies(Struct, frozen=True):
    """Where this machine's groups are made."""

    version: int
    roots: tuple[Path, ...]
    """By controller for version 1, in the order memory, pids, cpu; the one root for version 2."""


def find_hierarchies(mountinfo: str | None = None) -> Hierarchies | None:
    """The hierarchies that have all three controllers and that this process may make groups in; None where there are none."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8") if mountinfo is None else mountinfo
    first: dict[str, Path] = {}
    second: Path | None = None
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        place = Path(fields.split(" ")[4].encode().decode("unicode_escape"))
        if kind == "cgroup":
            first.update(dict.fromkeys(set(options.split(",")) & set(_CONTROLLERS), place))
        elif kind == "cgroup2" and second is None:
            second = place
    if len(first) == len(_CONTROLLERS):
        roots = tuple(first[each] for each in _CONTROLLERS)
        return Hierarchies(1, roots) if all(os.access(root, os.W_OK) for root in roots) else None
    if second is not None and _has_all(second) and os.access(second, os.W_OK):
        return Hierarchies(2, (second,))
    return None


def _has_all(root: Path) -> bool:
    try:
        return set(_CONTROLLERS) <= set((root / "cgroup.controllers").read_text(encoding="ascii").split())
    except OSError:
        return False


def make(hierarchies: Hierarchies, name: str, limits: Limits) -> tuple[Path, ...]:
    """A group with these limits, in each hierarchy. Raises SandboxError; then nothing of it is left that could be removed."""
    groups = group_paths(hierarchies, name)
    try:
        if hierarchies.version == 2:
            _make_second(hierarchies.roots[0], groups[0], limits)
        else:
            for group in groups:
                _mkdir(group)
            _limit_first(groups, limits)
    except OSError as error:
        with contextlib.suppress(SandboxError):  # The first failure is the one to tell.
            remove(groups)
        raise SandboxError(f"A control group could not be made: {error.strerror or error} ({error.filename}).") from error
    return groups


def group_paths(hierarchies: Hierarchies, name: str) -> tuple[Path, ...]:
    """Where the groups of that name are."""
    return tuple(dict.fromkeys(root / _PARENT / name for root in hierarchies.roots))


def _mkdir(group: Path) -> None:
    # The parent goes with its last child; whoever comes just then makes it anew.
    for _ in range(20):
        with contextlib.suppress(FileNotFoundError):
            group.parent.mkdir(exist_ok=True)
            group.mkdir()
            return
    group.mkdir(parents=True)


def _limit_first(groups: Iterable[Path], limits: Limits) -> None:
    by_controller = dict(zip(_CONTROLLERS, groups, strict=False))
    memory, pids = by_controller["memory"], by_controller.get("pids", by_controller["memory"])
    cpu = by_controller.get("cpu", memory)
    (memory / "memory.limit_in_bytes").write_text(str(limits.memory_bytes), encoding="ascii")
    swap = memory / "memory.memsw.limit_in_bytes"
    if swap.exists():
        swap.write_text(str(limits.memory_bytes), encoding="ascii")
    else:
        (memory / "memory.swappiness").write_text("0", encoding="ascii")
    buffers = memory / "memory.kmem.tcp.limit_in_bytes"
    if buffers.exists():
        # What sockets hold is counted apart in version 1, and only once it has a limit.
        buffers.write_text(str(limits.memory_bytes // _BUFFERS_SHARE), encoding="ascii")
    (pids / "pids.max").write_text(str(limits.pids), encoding="ascii")
    (cpu / "cpu.cfs_period_us").write_text(str(_PERIOD_US), encoding="ascii")
    (cpu / "cpu.cfs_quota_us").write_text(str(_quota(limits)), encoding="ascii")


def _make_second(root: Path, group: Path, limits: Limits) -> None:
    wanted = " ".join(f"+{each}" for each in _CONTROLLERS)
    (root / "cgroup.subtree_control").write_text(wanted, encoding="ascii")
    _mkdir(group)
    (group.parent / "cgroup.subtree_control").write_text(wanted, encoding="ascii")
    for name, value in (
        ("memory.max", str(limits.memory_bytes)),
        ("memory.swap.max", "0"),
        ("pids.max", str(limits.pids)),
        ("cpu.max", f"{_quota(limits)} {_PERIOD_US}"),
    ):
        # A kernel without swap has no limit on it.
        if name != "memory.swap.max" or (group / name).exists():
            (group / name).write_text(value, encoding="ascii")


def _quota(limits: Limits) -> int:
    return max(_LEAST_QUOTA_US, round(limits.cpus * _PERIOD_US))


def join(groups: Iterable[Path], pid: int) -> None:
    """Move a process into the groups; its children start there. Raises OSError: FileNotFoundError where a group was removed."""
    for group in groups:
        with _there():
            (group / "cgroup.procs").write_text(str(pid), encoding="ascii")


def members(groups: Iterable[Path]) -> set[int]:
    """Who is in the groups; in one that was removed is nobody."""
    found: set[int] = set()
    for group in groups:
        with contextlib.suppress(FileNotFoundError), _there():
            found.update(map(int, (group / "cgroup.procs").read_text(encoding="ascii").split()))
    return found


@contextlib.contextmanager
def _there() -> Iterator[None]:
    """A group that is removed while its file is open says "no such device", which here means what "no such file" does."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise
        raise FileNotFoundError(errno.ENOENT, "the control group was removed") from error


def remove(groups: Iterable[Path]) -> None:
    """End whoever is still in the groups, and remove them; those that are not there are no matter. Raises SandboxError."""
    groups = tuple(groups)
    named = ", ".join(map(str, groups))
    with told_as_sandbox_error(f"The control groups {named} could not be removed"):
        if not _emptied(groups):
            raise SandboxError(f"The control groups {named} could not be removed: processes in them do not end.")
    for group in groups:
        with contextlib.suppress(OSError):  # Others have theirs in it.
            group.parent.rmdir()


def _emptied(groups: tuple[Path, ...]) -> bool:
    until = time.monotonic() + _REMOVE_SECONDS
    while True:
        for pid in members(groups):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if all(_gone(group) for group in groups):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.002)


def _gone(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
