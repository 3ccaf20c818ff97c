"""A running bubblewrap sandbox."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from local_backend.sandboxes.bubblewrap.control import Control
from local_backend.sandboxes.bubblewrap.launch import PATH, Started, end
from local_backend.sandboxes.bubblewrap.process import BubblewrapProcess, BubblewrapTerminal, Pipes
from local_backend.sandboxes.interface import (
    AGENT_HOME,
    ENGINE_SECONDS,
    SandboxError,
    SandboxGoneError,
    SandboxRefusedError,
    SandboxRequest,
    TerminalSize,
    User,
)

T = TypeVar("T")


class BubblewrapSandbox:
    """See `interface.Sandbox`. It belongs to the event loop that it was made on."""

    def __init__(
        self,
        sandbox_id: str,
        image: str,
        request: SandboxRequest,
        started: Started,
        control: Control,
        started_at: datetime,
        *,
        two_users: bool,
        forget: Callable[[], Awaitable[None]],
    ) -> None:
        self._id = sandbox_id
        self._image = image
        self._request = request
        self._started = started
        self._control = control
        self._started_at = started_at
        self._two_users = two_users
        self._forget = forget
        self._ending: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """See `interface.Sandbox`."""
        return self._id

    @property
    def engine(self) -> str:
        """See `interface.Sandbox`."""
        return "bubblewrap"

    @property
    def image(self) -> str:
        """See `interface.Sandbox`."""
        return self._image

    @property
    def workdir(self) -> str:
        """See `interface.Sandbox`."""
        return self._request.workdir

    @property
    def started_at(self) -> datetime:
        """See `interface.Sandbox`."""
        return self._started_at

    async def spawn(
        self,
        command: Sequence[str],
        *,
        user: User = User.AGENT,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        terminal: TerminalSize | None = None,
    ) -> BubblewrapProcess:
        """See `interface.Sandbox`."""
        if user is User.ROOT and not self._two_users:
            raise SandboxRefusedError("This sandbox has one user only, so nothing can run in it as root: install uidmap, or Docker.")
        if not command or any("\0" in word for word in command):
            raise SandboxError("A command is one word or more, none of them with a NUL character in it.")
        home = AGENT_HOME if user is User.AGENT else "/root"
        name = "agent" if user is User.AGENT else "root"
        whole = {"PATH": PATH, "HOME": home, "USER": name, "LOGNAME": name, "LANG": "C.UTF-8"}
        whole.update(self._request.environ)
        whole.update(environ or {})
        payload: dict[str, object] = {"command": list(command), "environ": whole, "cwd": cwd or self._request.workdir}
        kind = b"S" if user is User.AGENT else b"P"
        if terminal is not None:
            payload["terminal"] = (terminal.rows, terminal.columns)
            started = await self._answered(self._control.start(kind, payload, ()))
            return BubblewrapTerminal(started.screen, started.ending, partial(self._signal, started.number))
        pipes = Pipes()
        try:
            started = await self._answered(self._control.start(kind, payload, pipes.theirs))
            pipes.close_theirs()
            return BubblewrapProcess.on_pipes(pipes, started.ending, partial(self._signal, started.number))
        finally:
            pipes.close()

    async def _signal(self, program: int, number: int) -> None:
        with contextlib.suppress(SandboxGoneError):  # And all that ran in it.
            await self._answered(self._control.ask(b"G", {"program": program, "signal": int(number)}))

    async def kill_agent(self) -> None:
        """See `interface.Sandbox`."""
        _, problem = await self._answered(self._control.ask(b"K"))
        if problem:
            raise SandboxError("Processes of the agent do not end.")

    async def _answered(self, answer: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(ENGINE_SECONDS):
                return await answer
        except TimeoutError:
            raise SandboxError(f"The sandbox's init did not answer within {ENGINE_SECONDS:.0f} s.") from None

    async def alive(self) -> bool:
        """See `interface.Sandbox`."""
        if self._ending is not None or self._control.ended:
            return False
        # An answer, not only a socket that is open.
        try:
            await self._answered(self._control.ask(b"A"))
        except SandboxGoneError:
            return False
        return True

    async def aclose(self) -> None:
        """See `interface.Sandbox`."""
        if self._ending is None or (self._ending.done() and _failed(self._ending)):
            self._ending = asyncio.create_task(self._end(), name=f"end sandbox {self._id}")
        # Whoever is cancelled meanwhile leaves it ending.
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        self._control.close()
        await end(self._started)
        await self._forget()


def _failed(task: "asyncio.Task[None]") -> bool:
    with contextlib.suppress(asyncio.CancelledError):
        return task.exception() is not None
    return True
