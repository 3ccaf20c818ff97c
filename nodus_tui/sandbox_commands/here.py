"""Running a command in a Sandbox from this terminal or pipe: its streams are ours.

The console opens its shell by the same way as the command line, with its own screen put aside.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack, ExitStack, aclosing, suppress
from typing import Any

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecRequest, ExecSignal
from nodus_tui.sandbox_commands.command import Command, feed_all
from nodus_tui.sandbox_commands.streams import Writer, lent_terminal, on_signals, pieces_of_stdin, terminal_shape


async def run_here(backend: Backend, sandbox: str, request: ExecRequest, *, not_ours: Collection[signal.Signals] = ()) -> ExecEnd | None:
    """Run it with our streams, and give its end; None where nobody reads our output any more, and then it is killed. Raises NodusError.

    Signals that are `not_ours` are left to whoever handles them. Who is cancelled hangs the command up.
    """
    command = await Command.start(backend, sandbox, request)
    lent = request.terminal is not None
    async with AsyncExitStack() as stack:
        held = stack.enter_context(ExitStack())
        if lent:
            held.enter_context(lent_terminal())
        handlers = _handlers(command, stack, lent=lent)
        held.enter_context(on_signals({number: handle for number, handle in handlers.items() if number not in not_ours}))
        feeding = asyncio.create_task(_feed(command), name="input of a command")
        stack.push_async_callback(command.stop_feeding, feeding)
        try:
            return await _show(command, lent=lent)
        except asyncio.CancelledError:
            with suppress(NodusError):  # Its silence ends it, too.
                await asyncio.shield(asyncio.ensure_future(command.signal("HUP")))
            raise


async def _show(command: Command, *, lent: bool) -> ExecEnd | None:
    """Write what it writes, to its end; None where nobody reads ours any more, and then it is killed."""
    writers = {"stdout": Writer(sys.stdout, lent=lent), "stderr": Writer(sys.stderr, lent=lent)}
    async with aclosing(command.output()) as pieces:
        async for piece in pieces:
            if isinstance(piece, ExecEnd):
                return piece
            try:
                await writers[piece.stream].write(piece.data)
            except OSError:
                _discard(sys.stdout)
                await command.signal("KILL")
                return None
    return None


def _discard(stream: Any) -> None:
    """What is still written there goes nowhere, and leaving does not complain about it."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


async def _feed(command: Command) -> None:
    with suppress(NodusError):  # Its end says what went wrong.
        await feed_all(command, pieces_of_stdin())
        await command.feed(b"", end=True)


def _handlers(command: Command, stack: AsyncExitStack, *, lent: bool) -> dict[signal.Signals, Callable[[], None]]:
    """What signals to us are to the command. On a lent terminal Ctrl-C is a key, and what comes from outside hangs it up."""
    sent: set[asyncio.Task[None]] = set()
    asked = 0

    async def send(which: ExecSignal) -> None:
        with suppress(NodusError):  # Its end says what went wrong.
            await command.signal(which)

    def pass_on(which: ExecSignal) -> Callable[[], None]:
        def handle() -> None:
            nonlocal asked
            asked += 1
            # Who asks a third time means it.
            task = asyncio.ensure_future(send("KILL" if asked > 2 else which))
            sent.add(task)
            task.add_done_callback(sent.discard)

        return handle

    async def resize() -> None:
        with suppress(NodusError):
            await command.resize(terminal_shape())

    def resized() -> None:
        task = asyncio.ensure_future(resize())
        sent.add(task)
        task.add_done_callback(sent.discard)

    async def settle() -> None:
        for task in tuple(sent):
            task.cancel()
        await asyncio.gather(*sent, return_exceptions=True)

    stack.push_async_callback(settle)
    handlers: dict[signal.Signals, Callable[[], None]] = {
        signal.SIGINT: pass_on("HUP" if lent else "INT"),
        signal.SIGTERM: pass_on("HUP" if lent else "TERM"),
        signal.SIGHUP: pass_on("HUP"),
        signal.SIGQUIT: pass_on("HUP" if lent else "QUIT"),
    }
    if lent:
        handlers[signal.SIGWINCH] = resized
    return handlers
