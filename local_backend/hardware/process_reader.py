"""Who a process is and where it belongs, from /proc. Runs in the probe's process only: /proc of a stuck process may hang.

Besides user and command it tells what leads to a sandbox or a job: the ids in its control groups (a container's, a bubblewrap sandbox's, a
job's), the mark that a job's processes have in their environment, and its ancestors with their start times, by which a sandbox without
control groups is found.
"""

import pwd
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMMAND_CHARACTERS = 300
KEPT_SECONDS = 10.0
"""A process may become another program under the same number; so often it is looked at again."""

_CONTAINER = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_SANDBOX = re.compile(r"(?<![\w-])nodus-[0-9a-f]{12}(?![\w-])")
_JOB = re.compile(r"(?<![\w-])job-[0-9a-f]{32}(?![\w-])")
_MARK = re.compile(rb"(?:^|\0)NODUS_JOB_MARK=([0-9a-f]{32})(?:\0|$)")
_MOST_ANCESTORS = 64

Facts = dict[str, Any]
"""user, command, places and ancestors, ready to be sent as JSON."""


class ProcessReader:
    """`proc` is where /proc is mounted."""

    def __init__(self, proc: Path = Path("/proc"), clock: Callable[[], float] = time.monotonic) -> None:
        self._proc = proc
        self._clock = clock
        self._known: dict[int, tuple[float, str, Facts]] = {}

    def facts(self, pid: int) -> Facts:
        """What is known of it; of a process that cannot be seen from here, nothing but that."""
        stat = self._stat(pid)
        if stat is None:
            self._known.pop(pid, None)
            return {"user": None, "command": None, "places": [], "ancestors": [], "seen": False}
        started, now = stat[1], self._clock()
        known = self._known.get(pid)
        if known is not None and known[1] == started and now < known[0]:
            return known[2]
        facts: Facts = {
            "user": self._user(pid),
            "command": self._command(pid),
            "places": self._places(pid),
            "ancestors": self._ancestors(pid),
            "seen": True,
        }
        self._known[pid] = (now + KEPT_SECONDS, started, facts)
        return facts

    def forget_all_but(self, pids: set[int]) -> None:
        """Those are gone from every device."""
        for pid in self._known.keys() - pids:
            del self._known[pid]

    def _read(self, pid: int, name: str) -> bytes | None:
        try:
            return (self._proc / str(pid) / name).read_bytes()
        except OSError:
            return None  # It ended, belongs to another namespace, or may not be looked at.

    def _stat(self, pid: int) -> tuple[int, str] | None:
        """Its parent, and its start time in the kernel's ticks (fields 4 and 22 of /proc/PID/stat)."""
        text = self._read(pid, "stat")
        fields = text.rpartition(b")")[2].split() if text else []
        return (int(fields[1]), fields[19].decode()) if len(fields) > 19 else None

    def _user(self, pid: int) -> str | None:
        try:
            uid = (self._proc / str(pid)).stat().st_uid
        except OSError:
            return None
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return f"uid {uid}"

    def _command(self, pid: int) -> str | None:
        text = self._read(pid, "cmdline")
        words = text.rstrip(b"\0").replace(b"\0", b" ") if text else b""
        if not words:
            # A process that has just ended, or one of the kernel's, has its short name only.
            words = (self._read(pid, "comm") or b"").strip()
        return words.decode("utf-8", "replace")[:COMMAND_CHARACTERS] or None

    def _places(self, pid: int) -> list[str]:
        text = (self._read(pid, "cgroup") or b"").decode("utf-8", "replace")
        # Without control groups, a job's processes are known by what stands in their environment.
        marks = {f"job-{mark.decode()}" for mark in _MARK.findall(self._read(pid, "environ") or b"")}
        return sorted({*_CONTAINER.findall(text), *_SANDBOX.findall(text), *_JOB.findall(text), *marks})

    def _ancestors(self, pid: int) -> list[list[Any]]:
        """Itself and its parents, nearest first: pid and start time."""
        chain: list[list[Any]] = []
        while pid > 1 and len(chain) < _MOST_ANCESTORS:
            stat = self._stat(pid)
            if stat is None:
                break
            chain.append([pid, stat[1]])
            pid = stat[0]
        return chain
