"""Ctrl-C and its relatives: the first asks for a graceful stop, the second aborts, the third leaves at once."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nodus_tui.cli.exits import Exit

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Whether somebody asked to stop, and how hard."""

    def __init__(self, answer: Callable[[int], None]) -> None:
        self.asked = asyncio.Event()
        """Set by the first signal."""
        self.abort = asyncio.Event()
        """Set by the second."""
        self.hung_up = False
        """The terminal is gone: nobody reads what is said, and nobody asked for anything."""
        self._answer = answer
        self._count = 0
        self._terminals = [number for number in (1, 2) if _is_terminal(number)]
        """Found out now: a terminal that has gone does not say any more that it was one."""

    def signalled(self, number: signal.Signals) -> None:
        """One more signal came."""
        if number is signal.SIGHUP:
            self.hung_up = True
            _discard(self._terminals)
        self._count += 1
        if self._count == 1:
            self.asked.set()
        elif self._count == 2:
            self.abort.set()
        else:
            # What is committed is safe: the store survives a kill at any instant.
            os._exit(Exit.INTERRUPTED)
        self._answer(self._count)


def _is_terminal(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False


def _discard(numbers: list[int]) -> None:
    """What is still written there goes nowhere, rather than failing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in numbers:
        os.dup2(nowhere, number)
    os.close(nowhere)


@contextmanager
def stop_on_signals(answer: Callable[[int], None]) -> Iterator[StopRequest]:
    """Listen while the block runs; `answer` is called at once with how many signals came.

    A signal that the parent told us to ignore stays ignored.
    """
    loop = asyncio.get_running_loop()
    request = StopRequest(answer)
    heard = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.getsignal(each) for each in heard}
    for each in heard:
        loop.add_signal_handler(each, request.signalled, each)
    try:
        yield request
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)
