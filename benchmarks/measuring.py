"""Runs one command in a process of its own and measures it from outside: wall clock, processor time, memory. Knows nothing of what runs."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
from msgspec import Struct

SAMPLE_SECONDS = 0.1
"""How often the memory of the process tree is read. Each look costs about two milliseconds of processor time, to whoever is measured."""


class BenchmarkError(Exception):
    """A benchmark that cannot be measured; the text is a sentence for people."""


class Measured(Struct, frozen=True):
    """One process from its start to its end, its descendants included."""

    wall_seconds: float
    cpu_seconds: float
    """User and system time, of the process and of every descendant that was waited for."""
    rss_bytes: int
    """The most resident memory of the largest single process, as the kernel counted it."""
    tree_rss_bytes: int
    """The most resident memory of the process and its descendants together, sampled; shared pages count once for each of them."""
    stdout: str


def measure(command: Sequence[str], *, environ: Mapping[str, str], folder: Path) -> Measured:
    """Run it to its end in the folder. Raises BenchmarkError when it fails."""
    out, err = folder / "stdout.txt", folder / "stderr.txt"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        began = time.perf_counter()
        process = subprocess.Popen(command, env=dict(environ), cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        sampler = _TreeSampler(process.pid)
        sampler.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        sampler.finish()
    if process.returncode != 0:
        said = err.read_text("utf-8", "replace").strip() or out.read_text("utf-8", "replace").strip()
        raise BenchmarkError(f"{' '.join(command)}: it left with status {process.returncode} and said: {said[-2000:]}")
    # The kernel counts kibibytes on Linux.
    return Measured(
        wall_seconds=wall,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        rss_bytes=usage.ru_maxrss * 1024,
        tree_rss_bytes=max(sampler.most, usage.ru_maxrss * 1024),
        stdout=out.read_text("utf-8"),
    )


class _TreeSampler(threading.Thread):
    """Adds up the resident memory of a process and its descendants until told to finish."""

    def __init__(self, pid: int) -> None:
        super().__init__(name="memory sampler", daemon=True)
        self._root = psutil.Process(pid)
        self._over = threading.Event()
        self.most = 0

    def run(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self.most = max(self.most, self._now())

    def _now(self) -> int:
        try:
            tree = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return 0
        total = 0
        for process in tree:
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue  # It ended between the two looks.
        return total

    def finish(self) -> None:
        """Sample no more."""
        self._over.set()
        self.join()
