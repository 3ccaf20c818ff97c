"""A program on a terminal of its own: what it writes and when, what it costs, how soon a key is seen; over a thin link where wanted.

Nothing is drawn and nothing is parsed while the clock runs, so that measuring takes no time from what is measured.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil
from measuring import BenchmarkError
from msgspec import Struct

_ANSWERS = {b"\x1b[?2026$p": b"\x1b[?2026;2$y", b"\x1b[?2048$p": b"\x1b[?2048;0$y"}
"""What a terminal of today says of itself when it is asked: frames come whole, sizes by signal."""
SIZE = (120, 40)
"""Columns and rows of the terminal."""
_MOST_READ = 65_536
_LINK_PIECE = 512
"""Bytes that a thin link carries in one step: small enough that a step is short beside its round trip."""


class Link(Struct, frozen=True):
    """A way to the terminal that carries so many bytes a second and takes half of `round_trip` seconds each way."""

    bytes_per_second: float = 0.0
    """0 for as many as there are."""
    round_trip: float = 0.0


NO_LINK = Link()


class Chunk(Struct, frozen=True):
    """What came to the person at one moment."""

    at: float
    data: bytes


@dataclass
class Window:
    """One stretch of time."""

    began: float
    ended: float = 0.0
    chunks: list[Chunk] = field(default_factory=list)
    presses: list[float] = field(default_factory=list)
    """When the person pressed each key."""
    cpu_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    @property
    def bytes_per_second(self) -> float:
        return sum(len(chunk.data) for chunk in self.chunks) / self.seconds

    @property
    def cpu_percent(self) -> float:
        return 100 * self.cpu_seconds / self.seconds


class TerminalProgram:
    """A program that believes to be on a terminal."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        size: tuple[int, int] = SIZE,
        link: Link = NO_LINK,
        folder: Path | None = None,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        variables = {**environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.link = link
        self.began = time.perf_counter()
        self._child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=variables, cwd=folder, start_new_session=True)
        os.close(slave)
        self._process = psutil.Process(self._child.pid)
        self._link_free = self.began
        self._tail = b""
        self._all = b""
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """End it as a closed terminal does, and for certain."""
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            until = time.perf_counter() + 5
            while self._child.poll() is None and time.perf_counter() < until:
                self._take(0.05)
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()
        os.close(self._master)

    def memory(self) -> int:
        """Resident bytes now."""
        return int(self._process.memory_info().rss)

    @property
    def written(self) -> bytes:
        """All that was written so far, or the last of it where that is much."""
        return self._all

    def last(self) -> bytes:
        """The end of what was written."""
        return self._all[-400:]

    def until(self, wanted: bytes, seconds: float = 60.0) -> float:
        """Seconds from the start to the moment at which a text had come. Raises BenchmarkError when it does not."""
        return self.seen(wanted, seconds) - self.began

    def seen(self, wanted: bytes, seconds: float = 60.0) -> float:
        """The moment at which a text had come, from now on or before."""
        limit = time.perf_counter() + seconds
        moment = time.perf_counter()
        while wanted not in self._all:
            if time.perf_counter() > limit or not self._open:
                raise BenchmarkError(f"the program never wrote {wanted!r}; the last it wrote: {self.last()!r}")
            chunk = self._take(0.2)
            moment = chunk.at if chunk is not None else moment
        return moment

    def press(self, keys: bytes) -> None:
        """Keys, at once."""
        os.write(self._master, keys)

    def until_quiet(self, seconds: float, limit: float = 40.0) -> None:
        """Wait until nothing was written for so long."""
        last, give_up = time.perf_counter(), time.perf_counter() + limit
        while time.perf_counter() < min(last + seconds, give_up):
            if self._take(0.1) is not None:
                last = time.perf_counter()

    def watch(self, seconds: float, keys: Sequence[tuple[float, bytes]] = ()) -> Window:
        """Record for so long, pressing keys at their moments from its beginning."""
        window = Window(time.perf_counter())
        cpu = self._cpu()
        waiting = deque((window.began + at, key) for at, key in keys)
        on_the_way: deque[tuple[float, bytes]] = deque()
        while (now := time.perf_counter()) < window.began + seconds:
            if waiting and waiting[0][0] <= now:
                _, key = waiting.popleft()
                window.presses.append(now)
                on_the_way.append((now + self.link.round_trip / 2, key))
            if on_the_way and on_the_way[0][0] <= now:
                os.write(self._master, on_the_way.popleft()[1])
            due = [each[0][0] for each in (waiting, on_the_way) if each]
            chunk = self._take(max(0.0, min([*due, window.began + seconds]) - now))
            if chunk is not None:
                window.chunks.append(chunk)
        window.ended = time.perf_counter()
        window.cpu_seconds = self._cpu() - cpu
        return window

    def _cpu(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def _take(self, seconds: float) -> Chunk | None:
        """Read what is there, waiting for it so long; a thin link is read as slowly as it carries, which the program feels."""
        wait_for_link = self._link_free - time.perf_counter()
        if self.link.bytes_per_second and wait_for_link > 0:
            time.sleep(min(wait_for_link, seconds) if seconds > 0 else 0)
            return None
        if not self._open:
            time.sleep(seconds)
            return None
        if not select.select([self._master], [], [], seconds)[0]:
            return None
        try:
            data = os.read(self._master, _LINK_PIECE if self.link.bytes_per_second else _MOST_READ)
        except OSError:  # Linux says EIO when the other side is closed.
            data = b""
        at = time.perf_counter()
        if not data:
            self._open = False
            return None
        if self.link.bytes_per_second:
            self._link_free = at = max(at, self._link_free) + len(data) / self.link.bytes_per_second
        self._answer(data)
        self._all = (self._all + data)[-200_000:]
        return Chunk(at + self.link.round_trip / 2, data)

    def _answer(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-64:]
        for question, answer in _ANSWERS.items():
            if question in self._tail:
                self._tail = self._tail.replace(question, b"")
                os.write(self._master, answer)


class TerminalTree(TerminalProgram):
    """The same, whose processor time and memory are those of the process and of all that it started."""

    def __exit__(self, *exc: object) -> None:
        """End all of them."""
        started: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            started = self._process.children(recursive=True)
        super().__exit__(*exc)
        for each in started:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(started, timeout=5)

    def memory(self) -> int:
        """Resident bytes now, pages that processes share counted for each of them. Raises BenchmarkError when the program has ended."""
        return int(self._summed(lambda each: each.memory_info().rss))

    def _cpu(self) -> float:
        # A child that has ended and was waited for stands in its parent's figures.
        return self._summed(lambda each: sum(each.cpu_times()[:4]))

    def _summed(self, figure: Callable[[psutil.Process], float]) -> float:
        if self._child.poll() is not None:
            raise BenchmarkError(f"the program ended with {self._child.returncode}; the last it wrote: {self.last()!r}")
        total = 0.0
        for each in (self._process, *self._process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):  # It ended between the two looks.
                total += figure(each)
        return total
