"""Process 1 of a bubblewrap sandbox: starts what it is asked to, tells how that ended, and ends the sandbox in time.

It runs inside, as uid 0, on the base image's Python, and is held by its scheduler through one socket. When the scheduler's end of the
socket closes, for whatever reason, it exits, and the kernel ends everything else in the sandbox with it. So it does at the end of the
sandbox's lifetime. Nothing here may wait for the scheduler or for the agent: all waiting is in one poll.

To start in milliseconds it imports C modules only, and it is handed over compiled (see `launch.py`). Requests are trusted; the agent
cannot send any.
"""

import _socket
import marshal
import posix
import resource
import select
import struct
import sys
import time
from typing import Any

# The module `signal` costs more than all the rest: it makes enumerations.
_signal: Any = __import__("_signal")

_CONTROL = 3
REQUEST = struct.Struct("<cI")
ANSWER = struct.Struct("<cIi")
_PAYLOADS = 8
_KILL_SECONDS = 10.0
_KILL_ROUNDS = 100
_SET_SIZE, _BE_CONTROLLING = 0x5414, 0x540E
"""TIOCSWINSZ and TIOCSCTTY: the module that has their names costs more than they are worth."""
_LONGEST_POLL_MS = 30_000
_BUSY_POLL_MS = 3
_AGENT = 1000
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


class _Init:
    def __init__(self, control: "_socket.socket") -> None:
        self._control = control
        self._waiting: list[tuple[bytes, int]] = []
        """Answers that the scheduler was too slow for, each with a descriptor to hand over or -1. They are few and small; it reads them,
        or it is gone.
        """
        self._children: dict[int, int] = {}
        """Request numbers by pid."""
        self._agents: set[int] = set()
        """Those of them that are, or are about to become, the agent's."""
        self._kills: list[tuple[int, float]] = []
        """Numbers of requests to kill the agent, and until when each may take."""
        self._config: dict[str, Any] = {}
        self._ends_at = time.monotonic() + 60
        self._alarm, alarm = posix.pipe()
        for each in (self._alarm, alarm):
            posix.set_blocking(each, False)
        _signal.signal(_signal.SIGCHLD, _noted)
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        _signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)

    def run(self) -> None:
        poll = select.poll()
        while True:
            poll.register(self._control.fileno(), select.POLLIN | (select.POLLOUT if self._waiting else 0))
            poll.register(self._alarm, select.POLLIN)
            left = self._ends_at - time.monotonic()
            if left <= 0:
                return
            for fd, event in poll.poll(_BUSY_POLL_MS if self._kills else min(_LONGEST_POLL_MS, int(left * 1000) + 1)):
                if fd == self._alarm:
                    posix.read(self._alarm, 4096)
                elif event & ~select.POLLOUT and not self._take():
                    return
            self._reap()
            self._go_on_killing()
            self._flush()

    def _take(self) -> bool:
        try:
            data, ancillary, _, _ = self._control.recvmsg(64, _socket.CMSG_SPACE(_PAYLOADS * 4), _socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return True
        if not data:
            return False
        fds = [fd for _, _, raw in ancillary for (fd,) in struct.iter_unpack("i", raw)]
        kind, number = REQUEST.unpack(data)
        try:
            if kind in {b"S", b"P"}:
                self._spawn(kind, number, fds)
            elif kind == b"K":
                self._kills.append((number, time.monotonic() + _KILL_SECONDS))
            elif kind == b"A":
                self._answer(b"A", number, 0)
            elif kind == b"G":
                self._signal(number, **_payload(fds[0]))
            elif kind == b"C":
                self._configure(number, fds[0])
        finally:
            for fd in fds:
                posix.close(fd)
        return True

    def _configure(self, number: int, payload: int) -> None:
        self._config = _payload(payload)
        self._ends_at = time.monotonic() + self._config["lifetime"]
        for path, uid in self._config["owners"]:
            posix.chown(path, uid, uid)
        self._answer(b"R", number, 0)

    def _spawn(self, kind: bytes, number: int, fds: list[int]) -> None:
        """Start a program with three pipes, or where there are none, on a terminal."""
        try:
            if len(fds) == 1:
                fds.append(self._open_terminal(number, fds[0], agent=kind == b"S"))
            pid = posix.fork()
        except OSError as error:
            self._answer(b"E", number, error.errno or 0)
            return
        if pid == 0:
            self._become(number, fds, agent=kind == b"S")
        self._children[pid] = number
        if kind == b"S":
            self._agents.add(pid)

    def _open_terminal(self, number: int, payload: int, *, agent: bool) -> int:
        """A new terminal: the scheduler gets the end that people sit at, and the program the other one. Raises OSError."""
        import fcntl  # noqa: PLC0415 - seldom needed.

        screen, line = posix.openpty()
        try:
            rows, columns = _payload(payload)["terminal"]
            fcntl.ioctl(line, _SET_SIZE, struct.pack("HHHH", rows, columns, 0, 0))
            if self._config["two_users"] and agent:
                posix.fchown(line, _AGENT, _AGENT)  # So that it can be opened by its name.
        except BaseException:
            posix.close(screen)
            posix.close(line)
            raise
        self._waiting.append((ANSWER.pack(b"M", number, 0), screen))
        return line

    def _signal(self, number: int, program: int, signal: int) -> None:
        """Send a signal to all of a program's session; SIGKILL again and again, for they may be making others."""
        leader = next((pid for pid, each in self._children.items() if each == program), 0)
        for _ in range(_KILL_ROUNDS if leader else 0):
            found = [pid for pid, fields in _living() if fields[b"NSsid"][-1] == b"%d" % leader]
            for pid in found:
                try:
                    posix.kill(pid, signal)
                except ProcessLookupError:
                    continue
            if signal != _signal.SIGKILL or not found:
                break
        self._answer(b"G", number, 0)

    def _become(self, number: int, fds: list[int], *, agent: bool) -> None:
        """In the child: turn into the program that was asked for. Never returns."""
        code = _NOT_EXECUTABLE
        try:
            request = _payload(fds[0])
            for target in range(3):
                posix.dup2(fds[1 + target] if len(fds) > 2 else fds[1], target)
            posix.setsid()
            if request.get("terminal"):
                import fcntl  # noqa: PLC0415 - seldom needed.

                fcntl.ioctl(0, _BE_CONTROLLING, 0)
            for name in (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGCHLD):
                _signal.signal(name, _signal.SIG_DFL)
            if agent:
                fd = posix.open("/proc/self/oom_score_adj", posix.O_WRONLY)
                posix.write(fd, b"1000")
                posix.close(fd)
            for limit, wanted in self._config["rlimits"]:
                _, most = resource.getrlimit(limit)
                value = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
                resource.setrlimit(limit, (value, value))
            if self._config["two_users"] and agent:
                posix.setgroups([])
                posix.setresgid(_AGENT, _AGENT, _AGENT)
                posix.setresuid(_AGENT, _AGENT, _AGENT)
            # From here on all that can go wrong is the user's to see; a folder that is not there is the caller's.
            try:
                posix.chdir(request["cwd"])
            except OSError as error:
                self._tell(b"D", number, error.errno or 0)
                posix._exit(code)  # noqa: SLF001 - a fork's only way out.
            self._tell(b"S", number, 0)
            code = _execute(request["command"], request["environ"])
        except BaseException as error:  # noqa: BLE001 - it is told on stderr, and the child must not go on as a second init.
            _complain(f"the program could not be started: {error}")
        posix._exit(code)  # noqa: SLF001 - see above.

    def _tell(self, kind: bytes, number: int, value: int) -> None:
        """In the child, which has no loop: send an answer now."""
        while True:
            try:
                self._control.send(ANSWER.pack(kind, number, value))
            except BlockingIOError:
                select.select([], [self._control.fileno()], [])
            else:
                return

    def _reap(self) -> None:
        while True:
            try:
                pid, status = posix.waitpid(-1, posix.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._agents.discard(pid)
            number = self._children.pop(pid, None)
            if number is not None:
                self._answer(b"X", number, 128 + posix.WTERMSIG(status) if posix.WIFSIGNALED(status) else posix.WEXITSTATUS(status))

    def _go_on_killing(self) -> None:
        if not self._kills:
            return
        two_users = self._config["two_users"]
        # Who was only just started is not the agent yet, as the kernel sees it.
        for pid in self._agents:
            posix.kill(pid, _signal.SIGKILL)
        _kill_agent(two_users=two_users)
        self._reap()
        gone = not self._agents and not _agent_lives(two_users=two_users)
        now = time.monotonic()
        for number, until in self._kills:
            if gone or now > until:
                self._answer(b"K", number, 0 if gone else 1)
        self._kills = [] if gone else [(number, until) for number, until in self._kills if now <= until]

    def _answer(self, kind: bytes, number: int, value: int) -> None:
        self._waiting.append((ANSWER.pack(kind, number, value), -1))

    def _flush(self) -> None:
        while self._waiting:
            answer, fd = self._waiting[0]
            handed = [] if fd < 0 else [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("i", fd))]
            try:
                self._control.sendmsg([answer], handed)
            except BlockingIOError:
                return
            except OSError:
                posix._exit(0)  # noqa: SLF001 - nobody is there any more.
            if fd >= 0:
                posix.close(fd)
            del self._waiting[0]


def _noted(*_: object) -> None:
    """The wakeup pipe says it all."""


def _payload(fd: int) -> Any:
    size = posix.fstat(fd).st_size
    data = b""
    while len(data) < size:
        data += posix.pread(fd, size - len(data), len(data))
    return marshal.loads(data)  # noqa: S302 - of the scheduler's making.


def _kill_agent(*, two_users: bool) -> None:
    """SIGKILL to all that the agent runs, in one call that no fork can slip past."""
    if two_users:
        # As the agent, its processes are all that a signal to everybody reaches. Process 1 itself is out of reach of theirs meanwhile: the
        # kernel keeps signals from inside away from it, and the saved uid keeps debuggers away.
        posix.setresuid(_AGENT, _AGENT, 0)
    try:
        posix.kill(-1, _signal.SIGKILL)
    except ProcessLookupError:
        pass  # There is none.
    finally:
        if two_users:
            posix.setresuid(0, 0, 0)
            _be_dumpable()


def _be_dumpable() -> None:
    """Who changed its user is kept from its own files in /proc, and so would be those that it starts."""
    import ctypes  # noqa: PLC0415 - slow to load, and seldom needed.

    pr_set_dumpable = 4
    ctypes.CDLL(None).prctl(pr_set_dumpable, 1, 0, 0, 0)


def _agent_lives(*, two_users: bool) -> bool:
    return any(not two_users or b"%d" % _AGENT in fields[b"Uid"] for _, fields in _living())


def _living() -> Any:
    """Pid and what the kernel tells of it, for every process but this one that is not dead yet."""
    for name in posix.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            fd = posix.open(f"/proc/{name}/status", posix.O_RDONLY | posix.O_CLOEXEC)
        except OSError:
            continue
        try:
            lines = posix.read(fd, 4096).split(b"\n")
        except OSError:
            continue
        finally:
            posix.close(fd)
        fields = {key: value.split() for key, _, value in (line.partition(b":") for line in lines)}
        if fields.get(b"State", [b"X"])[0] not in {b"Z", b"X"}:
            yield int(name), fields


def _execute(command: list[str], environ: dict[str, str]) -> int:
    """Run it in this process's place; the exit code that says why not."""
    name = command[0]
    folders = [""] if "/" in name else [f"{folder or '.'}/" for folder in environ.get("PATH", "").split(":")]
    code, why = _NOT_FOUND, "not found"
    for folder in folders:
        try:
            posix.execve(folder + name, command, environ)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            code, why = _NOT_EXECUTABLE, str(error.strerror)
    _complain(f"{name}: {why}")
    return code


def _complain(text: str) -> None:
    posix.write(2, f"{text}\n".encode("utf-8", "replace"))


def main() -> None:
    """Serve until the scheduler is gone or the lifetime is over."""
    given = int(sys.argv[1])
    if given != _CONTROL:
        posix.dup2(given, _CONTROL)
    posix.closerange(_CONTROL + 1, 1024)  # Whatever was left open on the way here.
    posix.set_inheritable(_CONTROL, False)  # noqa: FBT003 - positional by its nature.
    control = _socket.socket(fileno=_CONTROL)
    control.settimeout(0)
    _Init(control).run()
    sys.stderr.flush()
    posix._exit(0)  # noqa: SLF001 - everything else in the sandbox ends with this process; there is nothing to tidy up.


if __name__ == "__main__":
    main()
