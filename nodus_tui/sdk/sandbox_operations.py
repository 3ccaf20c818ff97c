"""What the handles of Sandboxes do, over a backend: the one implementation behind the synchronous and the asynchronous interface."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from nodus_tui.contract.actions import Delete, Kill
from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxReason, SandboxStatus
from nodus_tui.contract.sandbox_exec import INPUT_BYTES, ExecRequest
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.copying import SandboxFiles, copy, plan_copy
from nodus_tui.sandbox_commands.command import run_command
from nodus_tui.sandbox_commands.copying_in import copy_in
from nodus_tui.sdk.documents import Money, sandbox_document
from nodus_tui.sdk.operations import act, apply

User = Literal["agent", "root"]


class Executed(Struct, frozen=True):
    """How a command ended. What it wrote is data: a terminal would obey it."""

    exit_code: int | None
    """128 + N when signal N ended it; None where the sandbox ended with it."""
    stdout: bytes
    stderr: bytes
    """Of each stream the first 64 MiB."""
    dropped: int
    """Bytes of both streams together that came after that."""
    reason: SandboxReason | None
    """Why the sandbox ended, where it ended during the command."""
    message: str
    """A sentence about that."""

    @property
    def text(self) -> str:
        """What it wrote to standard output, as UTF-8; what is none is replaced."""
        return self.stdout.decode(errors="replace")


async def create(
    backend: Backend,
    name: str,
    *,
    spec: Mapping[str, object],
    max_cost: Money,
    project: str | None,
    labels: Mapping[str, str] | None,
    exist_ok: bool,
) -> None:
    """Create a Sandbox."""
    document = sandbox_document(name, spec=spec, max_cost=max_cost, project=project, labels=labels)
    await apply(backend, document, must_be_new=not exist_ok)


async def status(backend: Backend, name: str) -> SandboxStatus:
    """How a Sandbox stands. Raises NotFound."""
    found = await backend.get("Sandbox", name)
    if not isinstance(found, Sandbox) or found.status is None:
        raise NodusError(ErrorCode.UNAVAILABLE, f"the backend was asked for Sandbox {name} and gave a {found.kind} without its status")
    return found.status


async def names(backend: Backend) -> Sequence[str]:
    """The names of all Sandboxes, in order of creation."""
    found: list[str] = []
    after = ""
    while True:
        page = await backend.list("Sandbox", Query(after=after))
        found += [each.name for each in page.items]
        after = page.next_after
        if not after:
            return found


async def wait_until_running(backend: Backend, name: str, timeout: float | None) -> SandboxStatus:
    """Wait until it runs. Raises InvalidAction where it has ended, TimeoutError after so many seconds."""
    now = await _waited(backend, name, timeout, lambda status: status.phase != "Pending")
    if now.ended:
        why = now.message or now.reason or now.phase
        raise NodusError(ErrorCode.INVALID_ACTION, f"{name} does not run any more: {why}")
    return now


async def wait(backend: Backend, name: str, timeout: float | None) -> SandboxStatus:
    """Wait until it has ended. Raises TimeoutError after so many seconds."""
    return await _waited(backend, name, timeout, lambda status: status.ended)


async def _waited(backend: Backend, name: str, timeout: float | None, holds: Callable[[SandboxStatus], bool]) -> SandboxStatus:
    try:
        async with asyncio.timeout(timeout):
            return await _until(backend, name, holds)
    except TimeoutError:
        now = await status(backend, name)
        why = f": {now.message}" if now.message else ""
        raise TimeoutError(f"{name} is {now.phase} after {timeout:g} s{why}; it goes on") from None


async def _until(backend: Backend, name: str, holds: Callable[[SandboxStatus], bool]) -> SandboxStatus:
    cursor = (await backend.snapshot()).cursor
    async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
        while not holds(now := await status(backend, name)):
            while not any((event.kind, event.name) == ("Sandbox", name) for event in (await anext(batches)).events):
                pass
    return now


async def execute(
    backend: Backend,
    name: str,
    *,
    command: Sequence[str],
    stdin: bytes,
    user: User,
    workdir: str | None,
    env: Mapping[str, str],
    timeout: float | None,
) -> Executed:
    """Run a command in it once it runs. Raises TimeoutError after so many seconds in all, the command killed."""
    request = ExecRequest(command=tuple(command), user=user, workdir=workdir, env=dict(env))
    clock = asyncio.get_running_loop().time
    until = None if timeout is None else clock() + timeout
    await wait_until_running(backend, name, timeout)
    try:
        left = None if until is None else until - clock()
        done = await run_command(backend, name, request, stdin=_pieces(stdin), timeout=left)
    except TimeoutError:
        raise TimeoutError(f"{command[0]} in {name} did not end within {timeout:g} s and was killed") from None
    return Executed(done.end.exit_code, done.stdout, done.stderr, done.dropped, done.end.reason, done.end.message)


async def _pieces(data: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(data), INPUT_BYTES):
        yield data[start : start + INPUT_BYTES]


async def files(backend: Backend, name: str) -> tuple[FileEntry, ...]:
    """The files in its work folder."""
    return await backend.sandbox_files(name)


async def download(backend: Backend, name: str, path: str, target: Path, *, force: bool) -> list[Path]:
    """Copy some of them here; gives what was written."""
    reader = SandboxFiles(backend)
    plan = await plan_copy(reader, name, path, target)
    return list((await copy(reader, name, plan, force=force)).paths)


async def upload(backend: Backend, name: str, source: Path, target: str, *, force: bool) -> str:
    """Copy a file or folder of this machine into it once it runs; gives where it is there."""
    await wait_until_running(backend, name, None)
    return (await copy_in(backend, name, source, target, force=force)).target


async def delete(backend: Backend, name: str) -> None:
    """Remove a Sandbox with its files; one that goes on is killed first."""
    if not (await status(backend, name)).ended:
        await act(backend, Kill(kind="Sandbox", name=name, why="deleted"))
        await wait(backend, name, None)
    await act(backend, Delete(kind="Sandbox", name=name))
