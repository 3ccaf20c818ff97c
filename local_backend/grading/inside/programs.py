"""Programs of the solution: run as the judged user, with limits on time, memory and output."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

from .processes import TICK, WORK, SolutionError, SolutionTimeoutError, budget, kill_all, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LARGEST_OUTPUT = 2**20


class Finished:
    """How a program ended."""

    def __init__(self, returncode: int, stdout: bytes, stderr: bytes, *, timed_out: bool, truncated: bool) -> None:
        self.returncode = returncode
        """Its exit code, or minus the signal that killed it."""
        self.stdout = stdout
        self.stderr = stderr
        self.timed_out = timed_out
        self.truncated = truncated
        """Whether it wrote more than was kept."""

    @property
    def text(self) -> str:
        """Its standard output as text."""
        return self.stdout.decode("utf-8", "replace")


def run(
    argv: Sequence[str],
    stdin: bytes | str = b"",
    timeout: float = 10.0,
    *,
    memory: int | None = None,
    output: int = _LARGEST_OUTPUT,
    cwd: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Finished:
    """Run a program as the judged user until it ends or `timeout` seconds are over, then kill everything of that user.

    `memory` and `output` are in bytes: of each process's address space, and of what is kept of stdout and of stderr. A program that
    cannot be started at all gives return code 127. Ends every loaded solution as well.
    """
    if budget.left <= 0:
        return Finished(-signal.SIGKILL, b"", b"", timed_out=True, truncated=False)
    data = stdin.encode() if isinstance(stdin, str) else stdin
    with budget.spending(timeout) as deadline:
        pairs = [os.pipe() for _ in range(3)]
        (in_read, in_write), (out_read, out_write), (err_read, err_write) = pairs
        ours = [in_write, out_read, err_read]
        try:
            try:
                pid = spawn(
                    argv, {0: in_read, 1: out_write, 2: err_write}, cwd=cwd or WORK, environ=environ, memory=memory, deadline=deadline
                )
            except SolutionTimeoutError:
                return Finished(-signal.SIGKILL, b"", b"", timed_out=True, truncated=False)
            except SolutionError as error:
                return Finished(127, b"", str(error).encode(), timed_out=False, truncated=False)
            finally:
                for each in (in_read, out_write, err_write):
                    os.close(each)
            return _attend(pid, ours, data, deadline, output)
        finally:
            for each in ours:
                with contextlib.suppress(OSError):
                    os.close(each)
            kill_all()


def _attend(pid: int, ours: list[int], data: bytes, deadline: float, output: int) -> Finished:
    pipes = _Pipes(ours, data, output)
    status: int | None = None
    late = False
    while pipes.serve(0 if status is not None else TICK) or status is None:
        if status is not None:
            continue
        found, ended = os.waitpid(pid, os.WNOHANG)
        late = not found and time.monotonic() > deadline
        if found or late:
            # What it left behind must not go on writing.
            kill_all()
            status = ended if found else os.waitpid(pid, 0)[1]
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return Finished(code, bytes(pipes.out), bytes(pipes.err), timed_out=late, truncated=pipes.truncated)


class _Pipes:
    """The three pipes of a program, fed and emptied without waiting for any of them."""

    def __init__(self, ours: list[int], data: bytes, most: int) -> None:
        self._feed, self._stdout, self._stderr = ours
        for each in ours:
            os.set_blocking(each, False)
        self._rest = memoryview(data)
        self._most = most
        self._open = {self._stdout, self._stderr}
        self._feeding = True
        self.out = bytearray()
        self.err = bytearray()
        self.truncated = False

    def serve(self, seconds: float) -> bool:
        """Move what can be moved; whether there was anything to read."""
        if self._feeding and not self._rest:
            os.close(self._feed)
            self._feeding = False
        ready, writable, _ = select.select(list(self._open), [self._feed] if self._feeding else [], [], seconds)
        if writable:
            self._write()
        for each in ready:
            piece = os.read(each, 65_536)
            if not piece:
                self._open.discard(each)
            kept = self.out if each == self._stdout else self.err
            room = self._most - len(kept)
            kept += piece[:room]
            self.truncated = self.truncated or len(piece) > room
        return bool(ready)

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._feed, self._rest[:65_536]) :]
        except BlockingIOError:
            return
        except OSError:
            self._rest = self._rest[len(self._rest) :]  # Nobody reads any more.
