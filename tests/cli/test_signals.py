"""Signals to a command that has just launched something: none is lost between the launch and the waiting."""

import asyncio
import os
import signal

from nodus_tui.cli.signals import signals_kept, stop_on_signals


async def heard() -> None:
    """What was sent to this process has been handled by the loop."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_signal_before_anybody_listens_is_answered_when_somebody_does() -> None:
    answered: list[int] = []
    with signals_kept():
        os.kill(os.getpid(), signal.SIGINT)
        await heard()
        with stop_on_signals(answered.append) as stop:
            assert answered == []
            await stop.asked.wait()
            assert answered == [1]
            os.kill(os.getpid(), signal.SIGTERM)
            await stop.abort.wait()
            assert answered == [1, 2]
        os.kill(os.getpid(), signal.SIGINT)
        await heard()
        with stop_on_signals(answered.append) as stop:
            await stop.asked.wait()
    assert answered == [1, 2, 1]


async def test_afterwards_signals_go_where_they_went_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with signals_kept(), stop_on_signals(lambda _: None):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


async def test_a_hang_up_that_is_to_be_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_kept(), stop_on_signals(lambda _: None) as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            await heard()
            assert not stop.hung_up
    finally:
        signal.signal(signal.SIGHUP, before)
