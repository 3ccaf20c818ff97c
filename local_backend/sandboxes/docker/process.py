"""One program in a container, as the sandbox contract sees it. It knows the engine's exec requests, not what the program is for."""

import asyncio
import contextlib
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from local_backend.sandboxes.docker.client import EngineClient, EngineError, SilentError
from local_backend.sandboxes.docker.hijack import BrokenStreamError, Hijacked
from local_backend.sandboxes.docker.output import Output, Piece
from local_backend.sandboxes.interface import NotBegunError, SandboxError, SandboxGoneError, TerminalSize, User

_UP = b"nodus:up "
_UP_DIGITS = 10

_START = """
{ [ "$1" = root ] || echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null
[ -z "$3" ] || stty rows "$3" cols "$4" 2>/dev/null
cd "$2" || exit 125
shift 4
printf 'nodus:up %010d\\n' $$
exec "$@"
"""
"""Runs first in each program's place. The agent's programs are the kernel's first choice when memory is short. The line that it prints is
how a program that began is told from an engine that could not begin it, which says so in the program's own output; the number in it is
the program's, as its sandbox counts. A terminal gets its size here, for the engine can set it only once the program may have asked.
"""

_SIGNAL = """
rounds=0
while [ $rounds -lt 100 ]; do
  left=
  for each in /proc/[0-9]*; do
    state= session=
    while read -r key value rest; do
      case $key in
        State:) state=$value ;;
        NSsid:) session=$value; break ;;
      esac
    done <"$each/status"
    [ "$session" = "$1" ] && [ "$state" != Z ] && left=yes && kill -"$2" "${each#/proc/}"
  done
  [ -z "$left" ] || [ "$2" != 9 ] && exit 0
  rounds=$((rounds + 1))
done 2>/dev/null
"""
"""A signal to all of a session; the last one again and again, for they may be making others. All of it is the shell's own."""

_END_OF_INPUT = b"\x04"
_MOST_COMPLAINT_BYTES = 4_096
_FIRST_POLL_SECONDS = 0.005
_LONGEST_POLL_SECONDS = 1.0
_LIFT_AFTER_SECONDS = 0.5
_MOST_LIFTS = 3
_SIGNALLED = 128
_LOST_IN_PASSING = re.compile(r"OCI runtime exec failed: .*(init-p|connection reset by peer)", re.DOTALL)
"""The engine's runtime lost its own helper before the program could begin, as when the sandbox's processes are just being killed."""
_MOST_STARTS = 3
_LIFE_POLLS = 20
_LIFE_POLL_SECONDS = 0.1


Lift = Callable[[], None]


class _LostInPassingError(NotBegunError):
    """A program did not begin, and nothing speaks against another try."""


def _nothing() -> None:
    """Nobody else's output waits."""


class DockerProcess:
    """A program that an engine runs in a container."""

    def __init__(
        self, client: EngineClient, container: str, exec_id: str, stream: Hijacked, lift: Lift, *, user: User, terminal: bool = False
    ) -> None:
        self._client = client
        self._container = container
        self._exec = exec_id
        self._stream = stream
        self._lift = lift
        self._user = user
        self._terminal = terminal
        self._leader = ""
        """Its pid, as its sandbox counts."""
        self._code: int | None = None
        self._asking: asyncio.Task[int | None] | None = None
        self.closed = False
        self.output = Output(stream)
        """What it says, for whoever has to make room for the rest of it."""

    async def write(self, data: bytes) -> None:
        """Send to its stdin, at its pace."""
        try:
            self._stream.put(data)
            await self._client.watched(self._stream.drain)
        except OSError as error:
            raise SandboxError(f"the program in the sandbox reads its input no more: {error}") from error
        except SilentError as error:
            raise SandboxGoneError(str(error)) from error

    async def close_stdin(self) -> None:
        """Its stdin ends."""
        if self._terminal:
            await self.write(_END_OF_INPUT)
            return
        try:
            self._stream.put_end()
            await self._client.watched(self._stream.drain)
        except OSError:
            return  # It has ended, and its stdin with it.
        except SilentError as error:
            raise SandboxGoneError(str(error)) from error

    async def resize(self, size: TerminalSize) -> None:
        """Its terminal has another size."""
        if self._terminal and self._code is None:
            with contextlib.suppress(EngineError):  # It has ended.
                await self._client.ask("POST", f"/exec/{self._exec}/resize", params={"h": str(size.rows), "w": str(size.columns)})

    async def signal(self, number: int) -> None:
        """Send a signal to all of its session."""
        if self._code is not None:
            return
        words = ["/bin/sh", "-c", _SIGNAL, "sh", self._leader, str(int(number))]
        try:
            sender = await start_process(
                self._client, self._container, words, user=self._user, cwd="/", environ={}, sacrificed=False, lift=self._lift
            )
        except SandboxGoneError:
            return  # And all that ran in it.
        try:
            async with asyncio.timeout(self._client.deadline):
                await sender.wait()
        except TimeoutError as error:
            raise SandboxError("a program in the sandbox could not be sent a signal") from error
        finally:
            await sender.aclose()

    async def read(self, most: int = 65_536) -> tuple[Literal["stdout", "stderr"], bytes] | None:
        """The next piece of output. Raises SandboxGoneError where the engine or the sandbox ended, and the output with it."""
        try:
            return await self._read(most)
        except SandboxGoneError:
            await self.output.aclose()
            raise

    async def wait(self) -> int:
        """Its exit code."""
        pause = _FIRST_POLL_SECONDS
        lifts = 0
        while (code := await self._ask()) is None:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_POLL_SECONDS)
            # It seems to have ended, and the engine does not say so: another one's output may be in its way.
            if self.output.ended and pause > _LIFT_AFTER_SECONDS and lifts < _MOST_LIFTS:
                lifts += 1
                self._lift()
        return code

    async def aclose(self) -> None:
        """Let go of it."""
        self.closed = True
        if self._asking is not None:
            self._asking.cancel()
        await self.output.aclose()

    async def begun(self, where: str) -> None:
        """Wait until the program itself has begun. Raises SandboxError with what the engine or the shell said instead."""
        line = len(_UP) + _UP_DIGITS + (2 if self._terminal else 1)
        said = b""
        early: Piece | None = None
        while len(said) != line or not _says_up(said):
            # No more than the line, for what follows is the program's.
            piece = await self._read(line - len(said) if _says_up(said) else _MOST_COMPLAINT_BYTES)
            if piece is None or len(said) > _MOST_COMPLAINT_BYTES:
                if said or early is None:
                    await self._rule_out_the_end(said.decode(errors="replace").strip())
                text = (said + (early[1] if early else b"")).decode(errors="replace").strip()
                kind = _LostInPassingError if _LOST_IN_PASSING.match(text) else NotBegunError
                raise kind(f"the program could not be started in {where}: {text or 'the engine does not say why'}")
            if piece[0] == "stdout":
                said += piece[1]
            else:
                # The shell's complaint, or what the program itself says already: the two streams are not in step.
                early = ("stderr", (early[1] if early else b"") + piece[1])
        self._leader = str(int(said[len(_UP) :]))
        if early is not None:
            self.output.put_back(early)

    async def _rule_out_the_end(self, said: str) -> None:
        """Where the engine itself says that a program did not begin, its sandbox may just have ended."""
        if not await stays_running(self._client, self._container):
            raise SandboxGoneError(f"the sandbox ended before a program in it began: {said}")

    async def _read(self, most: int) -> tuple[Literal["stdout", "stderr"], bytes] | None:
        try:
            piece = await self._client.watched(lambda: self.output.next(most))
        except (BrokenStreamError, OSError) as error:
            raise SandboxGoneError(f"the connection to the program in the sandbox broke: {error}") from error
        except SilentError as error:
            raise SandboxGoneError(str(error)) from error
        if piece is None and self._code is None:
            # An engine that died ends its streams just as a program that is done does.
            try:
                await self._ask()
            except SilentError as error:
                raise SandboxGoneError(f"the program's output ended with the engine: {error}") from error
        return piece

    async def _ask(self) -> int | None:
        """The exit code, None while it runs."""
        if self._code is not None:
            return self._code
        # One question at a time, whoever wants to know. An engine does not answer it while the last output of a program that ended waits.
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._inspect())
            self._asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        asked = self._asking
        if not (await asyncio.wait({asked}, timeout=_LIFT_AFTER_SECONDS))[0]:
            self._lift()
        return await asyncio.shield(asked)

    async def _inspect(self) -> int | None:
        try:
            state = await self._client.ask("GET", f"/exec/{self._exec}/json")
        except EngineError as error:
            if error.status == 404:
                raise SandboxGoneError("the sandbox ended, and the program in it") from error
            raise
        if state["Running"]:
            return None
        code = state["ExitCode"]
        # A program that was killed may have been so because its sandbox was.
        if (code is None or code >= _SIGNALLED) and not await still_lives(self._client, self._container):
            raise SandboxGoneError("the sandbox ended, and the program in it")
        if code is None:
            raise SandboxError("the Docker engine does not say how the program in the sandbox ended")
        self._code = int(code)
        return self._code


def _detach_keys() -> str:
    """What would have to be typed for the engine to let go of a terminal: nothing that anybody types, for it cannot be told to never do so.

    The engine holds the first key back until another one is typed, so it is one that few programs use.
    """
    return ",".join(["ctrl-^", *secrets.token_hex(16)])


def _says_up(said: bytes) -> bool:
    """Whether these bytes are the line that tells of the beginning, or its first part."""
    return _UP.startswith(said[: len(_UP)]) and (not said[len(_UP) :].strip() or said[len(_UP) :].strip().isdigit())


async def is_running(client: EngineClient, container: str) -> bool:
    """Whether a container lives. Raises SandboxError when the engine does not say."""
    try:
        state = (await client.ask("GET", f"/containers/{container}/json"))["State"]
    except EngineError as error:
        if error.status == 404:
            return False
        raise
    return bool(state["Running"]) and not state.get("Dead")


async def still_lives(client: EngineClient, container: str) -> bool:
    """The same, seen by starting something in it: for a moment the engine takes a container for running whose init has ended."""
    try:
        probe = await start_process(client, container, [":"], user=User.ROOT, cwd="/", environ={}, sacrificed=False)
    except SilentError:
        raise
    except SandboxGoneError:
        return False
    except SandboxError:
        return True  # No program can start where all processes are taken.
    await probe.aclose()
    return True


async def stays_running(client: EngineClient, container: str) -> bool:
    """Whether a container lives for a while yet. Raises SandboxError when the engine does not say."""
    for _ in range(_LIFE_POLLS):
        if not await is_running(client, container):
            return False
        await asyncio.sleep(_LIFE_POLL_SECONDS)
    return True


async def start_process(
    client: EngineClient,
    container: str,
    command: Sequence[str],
    *,
    user: User,
    cwd: str,
    environ: Mapping[str, str],
    sacrificed: bool,
    lift: Lift = _nothing,
    terminal: TerminalSize | None = None,
) -> DockerProcess:
    """Start a program in a container. `sacrificed`: the kernel may kill it first. `lift`: takes in what waits of the container's other
    programs. Raises SandboxError.
    """
    role = "agent" if sacrificed else "root"
    rows, columns = ("", "") if terminal is None else (str(terminal.rows), str(terminal.columns))
    body = {
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": terminal is not None,
        "DetachKeys": _detach_keys(),
        "Cmd": ["/bin/sh", "-c", _START, "sh", role, cwd, rows, columns, *command],
        "User": f"{user}:{user}",
        "Env": [f"{name}={value}" for name, value in environ.items()],
        "WorkingDir": "/",
    }
    for _ in range(_MOST_STARTS - 1):
        with contextlib.suppress(_LostInPassingError):
            return await _start_once(client, container, body, user, lift, cwd, terminal)
    return await _start_once(client, container, body, user, lift, cwd, terminal)


async def _start_once(
    client: EngineClient, container: str, body: Mapping[str, object], user: User, lift: Lift, cwd: str, terminal: TerminalSize | None
) -> DockerProcess:
    try:
        exec_id = (await client.ask("POST", f"/containers/{container}/exec", json_body=body))["Id"]
        begin = {"Detach": False, "Tty": terminal is not None}
        stream = await client.hijack(f"/exec/{exec_id}/start", begin, terminal=terminal is not None)
    except EngineError as error:
        if error.status in {404, 409} or not await is_running(client, container):
            raise SandboxGoneError(f"the sandbox does not live any more: {error.message}") from error
        raise
    process = DockerProcess(client, container, exec_id, stream, lift, user=user, terminal=terminal is not None)
    try:
        async with asyncio.timeout(client.deadline):
            await process.begun(cwd)
            if terminal is not None:
                await process.resize(terminal)
    except TimeoutError as error:
        await process.aclose()
        raise SilentError(f"the Docker engine did not start a program within {client.deadline:g} s") from error
    except BaseException:
        await process.aclose()
        raise
    return process
