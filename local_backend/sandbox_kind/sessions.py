"""The commands of one box: started, found by their ids, ended when their clients are gone, forgotten after a while."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from local_backend.sandbox_kind.session import Session
from local_backend.sandboxes.interface import (
    NotBegunError,
    Sandbox,
    SandboxError,
    SandboxGoneError,
    SandboxRefusedError,
    TerminalSize,
    User,
)
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.sandbox import SandboxReason
from nodus_tui.contract.sandbox_exec import GONE_SECONDS, ExecRequest

MOST = 64
"""Commands of one box at once."""

_HANG_UP_SECONDS = 5.0
"""All that run may take so long to end where the sandbox is stopped; the rest is killed with it."""

_TERMINAL_NAME = "xterm"
"""Where the client does not say what it is."""


class Sessions:
    """Those of one box that runs. `changed` is called whenever one has begun or ended."""

    def __init__(self, sandbox: Sandbox, environ: Mapping[str, str], changed: Callable[[], None]) -> None:
        self._sandbox = sandbox
        self._environ = environ
        """Variables of the box's spec, which an engine may give to every program by itself."""
        self._changed = changed
        self._sessions: dict[str, Session] = {}
        self._starting = 0
        self._by_request: dict[str, asyncio.Future[Session]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False
        self.lost = False
        """Whether a command ended in a way that says that the sandbox may not live any more."""

    @property
    def running(self) -> int:
        """Commands that run now, or are being started."""
        return self._starting + sum(not each.over for each in self._sessions.values())

    async def start(self, request: ExecRequest, request_id: str) -> Session:
        """A new command; the one that was started already for the same request id. Raises NodusError."""
        known = self._by_request.get(request_id) if request_id else None
        if known is None:
            known = asyncio.ensure_future(self._start(request, request_id))
            if request_id:
                self._by_request[request_id] = known
        try:
            # Who asks again gets the same one, also when the first has gone meanwhile.
            return await asyncio.shield(known)
        except NodusError:
            self._by_request.pop(request_id, None)
            raise

    async def _start(self, request: ExecRequest, request_id: str) -> Session:
        if self._is_closed():
            raise NodusError(ErrorCode.INVALID_ACTION, "the sandbox is being stopped")
        if self.running >= MOST:
            raise NodusError(ErrorCode.CONFLICT, f"{MOST} commands run in it, which is as many as may: end one first")
        self._starting += 1
        self._changed()
        try:
            size = None if request.terminal is None else TerminalSize(request.terminal.rows, request.terminal.columns)
            process = await self._sandbox.spawn(
                request.command,
                user=User.ROOT if request.user == "root" else User.AGENT,
                cwd=request.workdir,
                environ={**({"TERM": _TERMINAL_NAME} if size is not None else {}), **self._environ, **request.env},
                terminal=size,
            )
            session = Session(process, request_id, self._ended, terminal=size is not None)
            self._sessions[session.id] = session
        except SandboxRefusedError as error:
            raise NodusError(ErrorCode.NOT_SUPPORTED, str(error)) from error
        except SandboxGoneError as error:
            self.lost = True
            raise NodusError(ErrorCode.UNAVAILABLE, str(error)) from error
        except NotBegunError as error:
            raise NodusError(ErrorCode.INVALID_REQUEST, f"the command could not be started: {error}") from error
        except SandboxError as error:
            raise NodusError(ErrorCode.UNAVAILABLE, f"the command could not be started: {error}") from error
        finally:
            self._starting -= 1
            self._changed()
        if self._is_closed():
            await session.aclose()
        return session

    def _is_closed(self) -> bool:
        return self._closed

    def _ended(self, session: Session) -> None:
        self.lost = self.lost or session.gone
        self._changed()

    def find(self, session: str) -> Session:
        """One of them. Raises NodusError NotFound."""
        found = self._sessions.get(session)
        if found is None:
            raise NodusError(ErrorCode.NOT_FOUND, "there is no such command in it (any more)")
        return found

    def look(self) -> None:
        """End those whose clients are gone, and forget those that have ended a while ago."""
        for session in tuple(self._sessions.values()):
            if session.silent_seconds < GONE_SECONDS:
                continue
            if session.over:
                self._sessions.pop(session.id)
                self._by_request.pop(session.request_id, None)
                self._in_background(session.aclose())
            elif not session.ending:
                session.ending = True
                self._in_background(session.hang_up())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self, reason: SandboxReason | None, message: str, *, lost: bool) -> None:
        """End them all, or where the sandbox is lost only let go of them: their clients are told why. Never raises."""
        self._closed = True
        sessions = tuple(self._sessions.values())
        for each in sessions:
            each.tell_why(reason, message)
        if not lost:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_HANG_UP_SECONDS):
                    await asyncio.gather(*(each.hang_up() for each in sessions))
        await asyncio.gather(*(each.aclose() for each in sessions))
        for task in self._ending:
            task.cancel()
        await asyncio.gather(*self._ending, return_exceptions=True)
