"""Ctrl-C and its relatives: the first asks for a graceful stop, the second aborts, the third leaves at once."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from nodus_tui.cli.exits import Exit

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_keeper: ContextVar["Keeper | None"] = ContextVar("keeper", default=None)


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


class Keeper:
    """Signals that came while nobody listened for them."""

    def __init__(self) -> None:
        self.kept: list[signal.Signals] = []

    def signalled(self, number: signal.Signals) -> None:
        """Keep the first for whoever listens next; who sends another does not want to wait for that."""
        if self.kept:
            os._exit(Exit.INTERRUPTED)
        self.kept.append(number)


@contextmanager
def signals_kept() -> Iterator[None]:
    """From here to where `stop_on_signals` listens no signal is lost: what was just launched is stopped then, rather than left alone."""
    keeper = Keeper()
    with _heard_by(keeper.signalled):
        token = _keeper.set(keeper)
        try:
            yield
        finally:
            _keeper.reset(token)


@contextmanager
def stop_on_signals(answer: Callable[[int], None]) -> Iterator[StopRequest]:
    """Listen while the block runs; `answer` is called at once with how many signals came.

    A signal that the parent told us to ignore stays ignored.
    """
    request = StopRequest(answer)
    keeper = _keeper.get()
    with _heard_by(request.signalled, then=keeper.signalled if keeper is not None else None):
        if keeper is not None and keeper.kept:
            # Answered from the loop, as any other, when what follows in the block is there.
            asyncio.get_running_loop().call_soon(request.signalled, keeper.kept.pop())
        yield request


@contextmanager
def _heard_by(hear: Callable[[signal.Signals], None], then: Callable[[signal.Signals], None] | None = None) -> Iterator[None]:
    """The signals go to `hear`, and afterwards to `then`; without it to whom they went before."""
    loop = asyncio.get_running_loop()
    heard = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.getsignal(each) for each in heard}
    for each in heard:
        loop.add_signal_handler(each, hear, each)
    try:
        yield
    finally:
        for each, handler in before.items():
            if then is not None:
                loop.add_signal_handler(each, then, each)
            else:
                loop.remove_signal_handler(each)
                signal.signal(each, handler)
