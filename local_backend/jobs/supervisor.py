"""The process that watches over one job: its log, its deadlines, its end. It needs no scheduler, so that caps hold while none lives.

It reads an order from standard input, leaves its starter (whose process ends once the report is on the disk), starts the command, and
stays until everything that the command started is gone. It knows this room and the control groups, and loads little: one runs per job.
"""

import contextlib
import fcntl
import json
import os
import select
import selectors
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from local_backend.handed_over import OtherCodeError
from local_backend.jobs.child import NOT_STARTED, become
from local_backend.jobs.deadlines import SECOND_US, kill_us
from local_backend.jobs.journal import Journal
from local_backend.jobs.log_files import LogWriter
from local_backend.jobs.order import LOCK_FILE, LOG_FOLDER, TOKEN_FILE, NeededImage, Order, Report, boot_id, last_report
from local_backend.jobs.process_tree import become_subreaper, descendants, kill_all, near_descendants, send
from local_backend.sandboxes.bubblewrap import cgroups
from local_backend.sandboxes.interface import Limits, SandboxError

_BEAT_US = 5 * SECOND_US
"""The report is written anew so often: what is known of the time when the machine goes down."""
_LEFTOVER_GRACE_US = 2 * SECOND_US
"""What the command leaves running when it ends is asked to end, and has so long."""
_KILL_SECONDS = 30.0
_START_SECONDS = 30.0
_LOOK_SECONDS = 0.1
_PIPE_BYTES = 65_536
_MOST_LEFT_PIECES = 32
"""Of its output that a pipe can hold when everything has ended."""
_MOST_PROCESSES = 32_768
_GIB = 1 << 30


def main() -> None:
    """Read the order, leave the starter, and watch over the job to its end."""
    text = sys.stdin.read()
    try:
        order = Order.from_text(text)
    except OtherCodeError as error:
        _refuse(text, str(error))
        raise
    for claim in order.claims:
        os.set_inheritable(claim, False)  # noqa: FBT003 - that function takes no names
    ready, told = os.pipe()
    if os.fork():
        os.close(told)
        # The starter waits for this process only; its child has no parent that must wait for it.
        os._exit(0 if os.read(ready, 1) else 1)
    os.close(ready)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    lock = _own(Path(order.folder), order.token)
    if lock is None:
        os._exit(0)
    if order.image is None:
        Supervisor(order, told).run()
    from local_backend.jobs.image_supervisor import watch_over  # noqa: PLC0415 - a client of engines is loaded for images only

    watch_over(order, order.image, told)


def _refuse(text: str, problem: str) -> None:
    """Report that an order is not understood, where it says at least whose it is: else only the log tells."""
    try:
        values = json.loads(text)
        folder, token = Path(values["folder"]), str(values["token"])
    except (ValueError, KeyError, TypeError):
        return
    Report(token, "Ended", started_at="", problem=problem, boot=boot_id(), pid=os.getpid()).write(folder, durable=True)


def _own(folder: Path, token: str) -> int | None:
    """The folder's lock, held until this process ends; None where another supervisor has it, or this launch was given up."""
    lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        before = last_report(folder)
        if before is None or before.state != "Ended":
            return None
        # Whoever told its end is on its way out, and may be overtaken by the next attempt.
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock if (folder / TOKEN_FILE).read_text(encoding="ascii") == token else None


class _Stop(Struct):
    """That the job is being ended, since when, and why."""

    reason: str
    """Empty where the command ended by itself, and what it left is ended."""
    kill_us: int


class Supervisor:
    """One job being watched over: a command on this machine."""

    def __init__(self, order: Order, told: int) -> None:
        self.order = order
        self.journal = Journal(order)
        self._told = told
        """Where the starter is told that the report is there."""
        self._stop: _Stop | None = None
        self._status: int | None = None
        """Of the command, as `waitpid` gives it."""
        self._pid = 0
        self._childless = False
        """Whether this process had no child, dead or alive, when it last looked."""
        self._groups: tuple[Path, ...] = ()
        self._log = LogWriter(Path(order.folder) / LOG_FOLDER, order.log_bytes, min_free_bytes=order.min_free_bytes)
        self._log.begin_attempt(order.attempt, datetime.now(UTC))
        self._selector = selectors.DefaultSelector()

    def run(self) -> NoReturn:
        """To the job's end."""
        become_subreaper()
        control = self.journal.open_control()
        if self.order.needs is not None:
            self.journal.write("Preparing", durable=True)
            self._tell_starter()
            if not self._fetched(self.order.needs, control):
                self._log.close()
                self.journal.write("Ended", durable=True, used_us=0)
                os._exit(0)
        wake = self._wake_on_signals()
        output = self._start()
        for file in (control, wake, output):
            self._selector.register(file, selectors.EVENT_READ)
        self._watch(control, wake, output)
        self._end(output)
        os._exit(0)

    # Starting.

    def _tell_starter(self) -> None:
        """That the report is there; once."""
        if self._told >= 0:
            with contextlib.suppress(OSError):
                os.write(self._told, b"1")
            os.close(self._told)
            self._told = -1

    def _fetched(self, needed: NeededImage, control: int) -> bool:
        """Have the image here that the command needs; False where that failed, or somebody stopped it."""
        from local_backend.jobs.image_fetching import fetch  # noqa: PLC0415 - a client of engines is loaded for images only

        def obey(words: str) -> str:
            for verb, _, rest in (line.partition(" ") for line in words.splitlines()):
                if verb == "stop":
                    return rest
                if verb == "deadlines":
                    self.order = self.order.with_deadlines(rest)
            return ""

        try:
            self.journal.reason = fetch(needed, control, tell=lambda words: self._log.write(f"{words}\n".encode()), obey=obey)
        except SandboxError as error:
            self.journal.problem = str(error)
        return not self.journal.reason and not self.journal.problem

    def _wake_on_signals(self) -> int:
        wake, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        return wake

    def _start(self) -> int:
        """Start the command; gives the end of the pipe from which its output comes."""
        self._groups = self._make_groups()
        output, theirs = os.pipe2(os.O_CLOEXEC)
        failure, failed = os.pipe2(os.O_CLOEXEC)
        waits, begin = os.pipe2(os.O_CLOEXEC)
        self.journal.start()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(begin)
            if not os.read(waits, 1):
                os._exit(NOT_STARTED)
            become(self.order, output=theirs, failure=failed, groups=self._groups)
        for theirs_alone in (theirs, failed, waits):
            os.close(theirs_alone)
        # Before the command is: whoever comes after a crash, or finds this process stopped, has a report of whatever runs.
        if not self.journal.write("Running", durable=True):
            # On a full disk, say: its starter tells that it was not started, and the child ends with the pipe.
            sys.stderr.write("its first report could not be written, so it was not started\n")
            sys.stderr.flush()
            cgroups.remove(self._groups)
            os._exit(1)
        self._tell_starter()
        os.write(begin, b"1")
        os.close(begin)
        self.journal.problem = _told_within(failure, _START_SECONDS)
        os.close(failure)
        os.set_blocking(output, False)
        return output

    def _make_groups(self) -> tuple[Path, ...]:
        limits = Limits(cpus=self.order.cpus, memory_bytes=self.order.memory_bytes, pids=_MOST_PROCESSES)
        try:
            hierarchies = cgroups.find_hierarchies() if os.geteuid() == 0 else None
            if hierarchies is not None:
                return cgroups.make(hierarchies, f"job-{self.order.token}", limits)
        except (SandboxError, OSError) as error:
            self.journal.remarks.append(f"It has no control group: {error}")
        else:
            self.journal.remarks.append(
                "There is no control group for it: its memory is limited for each process by itself, and its CPU time by the processors "
                "that it may use."
            )
        return ()

    # Watching.

    def _watch(self, control: int, wake: int, output: int) -> None:
        beat = _BEAT_US
        while not self._over():
            now = self.journal.now_us()
            self._look_at_deadlines(now)
            if now >= beat:
                self.journal.write("Running")
                beat = now + _BEAT_US
            due = min(beat, self._stop.kill_us if self._stop else self.order.ask_us)
            pause = max(0.0, (due - self.journal.now_us()) / SECOND_US)
            # Nobody tells of the end of what is no child.
            for key, _ in self._selector.select(pause if self._status is None else min(pause, _LOOK_SECONDS)):
                if key.fd == output:
                    self._take(output)
                elif key.fd == control:
                    with contextlib.suppress(BlockingIOError):  # Somebody else has read it.
                        self._obey(os.read(control, 4096).decode(errors="replace"))
                else:
                    self._hear(os.read(wake, 4096))
            self._reap()

    def _over(self) -> bool:
        """Whether nothing of the job is left, or the time for a graceful end is up."""
        if self._stop is not None and self.journal.now_us() >= self._stop.kill_us:
            return True
        if self._status is None:
            return False
        if self._all_gone():
            return True
        if self._stop is None:
            self._ask("", _LEFTOVER_GRACE_US, self._tree())
        return False

    def _look_at_deadlines(self, now: int) -> None:
        if self._stop is None and now >= self.order.ask_us:
            self._ask(self.order.ask_reason, self.order.grace_us, self._tree())

    def _ask(self, reason: str, grace_us: int, tree: set[int]) -> None:
        """Ask everything to end, and remember until when it may take."""
        now = self.journal.now_us()
        self._stop = _Stop(reason, kill_us(now, grace_us, self.order.last_us))
        send(tree, signal.SIGTERM)
        send(tree, signal.SIGCONT)

    def _obey(self, words: str) -> None:
        for line in words.splitlines():
            verb, _, reason = line.partition(" ")
            if verb == "stop" and self._stop is None and self._status is None:
                self._ask(reason, self.order.grace_us, self._tree())
            elif verb == "deadlines" and self._stop is None:
                self.order = self.order.with_deadlines(reason)

    def _hear(self, numbers: bytes) -> None:
        if {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} & set(numbers) and self._stop is None:
            self._ask("Interrupted", self.order.grace_us, self._tree())

    def _take(self, output: int) -> bool:
        """One piece of output into the log; False at its end, or where there is none now."""
        try:
            data = os.read(output, _PIPE_BYTES)
        except BlockingIOError:
            return False
        if not data:
            with contextlib.suppress(KeyError):
                self._selector.unregister(output)
            return False
        self._log.write(data)
        return True

    def _tree(self) -> set[int]:
        found = descendants(os.getpid())
        return found | cgroups.members(self._groups) - {os.getpid()} if self._groups else found

    def _all_gone(self) -> bool:
        """Whether nothing of the job is left. What loses its parent becomes a child of this process: without children there is nobody."""
        self._reap()
        return self._childless and not cgroups.members(self._groups)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._childless = True
                return
            if pid == 0:
                return
            if pid == self._pid:
                self._status = status

    # The end.

    def _end(self, output: int) -> None:
        left = kill_all(self._tree, seconds=_KILL_SECONDS, near=lambda: near_descendants(os.getpid()), gone=self._all_gone)
        used = self.journal.now_us()
        for _ in range(_MOST_LEFT_PIECES):
            if not self._take(output):
                break
        self._log.close()
        if left:
            self.journal.remarks.append(f"{len(left)} of its processes could not be killed.")
        if self._ran_out_of_memory():
            self.journal.remarks.append(f"It ran into its memory limit of {self.order.memory_bytes / _GIB:g} GiB; memoryGiB raises it.")
        if self._log.lost:
            self.journal.remarks.append(f"{self._log.lost:,} bytes of its output could not be written to the disk.")
        try:
            cgroups.remove(self._groups)
        except SandboxError as error:
            self.journal.remarks.append(str(error))
        code, name = _exit(self._status)
        self.journal.exit_code, self.journal.signal = NOT_STARTED if self.journal.problem else code, name
        self.journal.reason = self._stop.reason if self._stop else ""
        self.journal.write("Ended", durable=True, used_us=used)

    def _ran_out_of_memory(self) -> bool:
        for group in self._groups:
            for name in ("memory.oom_control", "memory.events"):
                with contextlib.suppress(OSError):
                    for line in (group / name).read_text(encoding="ascii").splitlines():
                        if line.startswith("oom_kill ") and line != "oom_kill 0":
                            return True
        return False


def _told_within(pipe: int, seconds: float) -> str:
    """What a child says before it becomes a command; nothing where it becomes one."""
    said = b""
    until = time.monotonic() + seconds
    while select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
        data = os.read(pipe, 4096)
        if not data:
            return said.decode(errors="replace")
        said += data
    return f"the command did not start within {seconds:g} s"


def _exit(status: int | None) -> tuple[int | None, str]:
    """The exit code, and the name of the signal that ended it."""
    if status is None:
        return None, ""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code, ""
    try:
        return 128 - code, signal.Signals(-code).name
    except ValueError:  # One of the real-time signals, most of which have no name.
        return 128 - code, f"signal {-code}"


if __name__ == "__main__":
    main()
