"""This process's standard streams as a command in a sandbox has them: read without holding anything up, and a terminal that is lent out.

A terminal is in raw mode while it is lent: each key goes inside, Ctrl-C among them, and what comes out of it is obeyed. It is given back
as it was, however the lending ends.
"""

import asyncio
import codecs
import os
import signal
import sys
import termios
import tty
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from nodus_tui.contract.sandbox_exec import TerminalShape
from nodus_tui.text import safe_text

_PIECE = 65_536


def is_terminal(number: int) -> bool:
    """Whether a standard stream is one."""
    try:
        return os.isatty(number)
    except OSError:
        return False


def terminal_shape(number: int = 1) -> TerminalShape:
    """The terminal's size; one that does not know it is taken for the usual one."""
    try:
        size = os.get_terminal_size(number)
    except OSError:
        return TerminalShape(rows=24, columns=80)
    return TerminalShape(rows=max(1, size.lines), columns=max(1, size.columns))


async def pieces_of_stdin(number: int = 0) -> AsyncGenerator[bytes, None]:
    """What comes in, as it comes, to its end. What was not read stays where it is for whoever reads next."""
    while await _readable(number):
        data = _read(number)
        if not data:
            return
        yield data
    # A file: reading it holds nobody up for long.
    while data := await asyncio.to_thread(_read, number):
        yield data


async def _readable(number: int) -> bool:
    """Wait until there is something to read, or the end; False for what is always readable."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    try:
        loop.add_reader(number, lambda: None if ready.done() else ready.set_result(None))
    except OSError:
        return False
    try:
        await ready
    finally:
        # Told of no more than is read now: a read with nothing there would stop everything here.
        loop.remove_reader(number)
    return True


def _read(number: int) -> bytes:
    try:
        return os.read(number, _PIECE)
    except BlockingIOError:
        return b""
    except OSError:
        return b""  # A terminal that has gone.


class Writer:
    """One of our output streams. Foreign bytes go through as they are, but for a terminal that is not lent: it obeys nothing of them."""

    def __init__(self, stream: Any, *, lent: bool) -> None:
        self._stream = stream
        self._number = stream.fileno()
        self._shown = is_terminal(self._number) and not lent
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    async def write(self, data: bytes) -> None:
        """Write it whole. Raises OSError."""
        if self._shown:
            text = self._decoder.decode(data)
            data = safe_text(text, newlines=True, limit=len(text) + 1).encode("utf-8", "replace")
        # A reader may be slow, and what else goes on must not wait for it.
        await asyncio.to_thread(_write, self._number, data)


def _write(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


@contextmanager
def lent_terminal(number: int = 0) -> Iterator[None]:
    """The terminal in raw mode while the block runs."""
    sys.stdout.flush()
    before = termios.tcgetattr(number)
    try:
        tty.setraw(number, termios.TCSADRAIN)
        yield
    finally:
        # Gone with its window, it has nothing to be given back to.
        with suppress(termios.error, OSError):
            termios.tcsetattr(number, termios.TCSADRAIN, before)


@contextmanager
def on_signals(handlers: dict[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Have these called while the block runs; what the parent had us ignore stays ignored."""
    loop = asyncio.get_running_loop()
    heard = [each for each in handlers if signal.getsignal(each) is not signal.SIG_IGN or each is signal.SIGWINCH]
    before = {each: signal.getsignal(each) for each in heard}
    for each in heard:
        loop.add_signal_handler(each, handlers[each])
    try:
        yield
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)
