"""What a backend's callers do with Sandboxes beside applying and killing them: commands in those that run here, and the files of all.

A Sandbox lives in the process that runs the workspace's scheduler; from any other one only its record and its kept files are to be had.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from local_backend.sandbox_kind.desk import BoxDesk
from local_backend.sandbox_kind.engine import BoxEngine
from local_backend.sandbox_kind.session import Session
from local_backend.sandbox_kind.sessions import Sessions
from local_backend.sandboxes.interface import SandboxError, TerminalSize
from local_backend.sandboxing import SandboxDesk, file_in, files_in
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandbox_exec import INPUT_BYTES, ExecEnd, ExecPiece, ExecRequest, ExecSession, ExecSignal, ExecTaken, TerminalShape
from nodus_tui.contract.sandboxes import FileEntry


class BoxesHere:
    """Those of one backend. `engine` gives the engine while this process runs the scheduler."""

    def __init__(self, desk: SandboxDesk, boxes: BoxDesk, engine: Callable[[], BoxEngine | None]) -> None:
        self._desk = desk
        self._boxes = boxes
        self._engine = engine

    # Commands.

    async def start(self, name: str, request: ExecRequest, request_id: str) -> ExecSession:
        """Start a command. Raises NodusError."""
        sessions = await self._sessions(name)
        return ExecSession(id=(await sessions.start(request, request_id)).id, sandbox=name)

    async def _sessions(self, name: str, *, past: bool = False) -> Sessions:
        engine = self._engine()
        if engine is not None:
            return await engine.sessions(name, past=past)
        record = await self._boxes.record(name)
        if record.ended:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{name} does not run any more: {record.reason or record.phase} ({record.message})")
        raise NodusError(
            ErrorCode.UNAVAILABLE,
            f"{name} is the scheduler's, and this process is not it: commands reach it through a running scheduler "
            "(`nodus-tui scheduler start`, without --in-process)",
        )

    async def _session(self, name: str, session: str) -> Session:
        return (await self._sessions(name, past=True)).find(session)

    async def output(self, name: str, session: str, after: int, wait_seconds: float) -> AsyncGenerator[ExecPiece | ExecEnd, None]:
        """What a command writes from a place on. Raises NodusError."""
        found = await self._session(name, session)
        async for piece in found.output(after, wait_seconds):
            yield piece

    async def input(self, name: str, session: str, data: bytes, *, offset: int, end: bool) -> ExecTaken:
        """Feed a command. Raises NodusError."""
        if len(data) > INPUT_BYTES:
            raise NodusError(ErrorCode.INVALID_REQUEST, f"{len(data):,} bytes of input at once are too many: {INPUT_BYTES:,} at most")
        return await (await self._session(name, session)).input(data, offset=offset, end=end)

    async def resize(self, name: str, session: str, terminal: TerminalShape) -> None:
        """A command's terminal has another size. Raises NodusError."""
        found = await self._session(name, session)
        try:
            await found.resize(TerminalSize(terminal.rows, terminal.columns))
        except SandboxError as error:
            raise NodusError(ErrorCode.UNAVAILABLE, str(error)) from error

    async def signal(self, name: str, session: str, signal: ExecSignal) -> None:
        """Send a signal to a command and its session. Raises NodusError."""
        found = await self._session(name, session)
        try:
            await found.signal(signal)
        except SandboxError as error:
            raise NodusError(ErrorCode.UNAVAILABLE, str(error)) from error

    # Files.

    async def files(self, name: str) -> tuple[FileEntry, ...]:
        """The files in its work folder. Raises NodusError."""
        async with self._archive(name, fresh=True) as archive:
            return await files_in(archive, name)

    async def read_file(self, name: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them. Raises NodusError."""
        async with self._archive(name, fresh=False) as archive:
            async for piece in file_in(archive, name, path):
                yield piece

    @asynccontextmanager
    async def _archive(self, name: str, *, fresh: bool) -> AsyncIterator[Path]:
        record, engine = await self._boxes.record(name), self._engine()
        if engine is None:
            yield self._kept(record.phase, name)
            return
        async with engine.copy_of_files(name, fresh=fresh) as live:
            yield live or self._kept(record.phase, name)

    def _kept(self, phase: str, name: str) -> Path:
        why = {"Pending": "it has not started", "Running": "they could not be taken out of it just now"}
        return self._desk.kept_of_box(name, why.get(phase, "none were kept when it ended"))
