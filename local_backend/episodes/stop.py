"""How a run is told to stop: softly (the call in flight ends and is paid) or at once. It never cuts through a booking."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StoppedError(Exception):
    """The run was told to stop while it waited."""


class StopSignal:
    """One run's stop. Waiting is interrupted through `wait_softly` and `wait`; everything outside them runs to its end."""

    def __init__(self) -> None:
        self.soon = False
        """Start no other call."""
        self.now = False
        """Abort the call in flight, too."""
        self._soft: set[asyncio.Task[Any]] = set()
        self._hard: set[asyncio.Task[Any]] = set()

    def stop_soon(self) -> None:
        """Interrupt waits between calls; a call in flight goes on."""
        self.soon = True
        for task in tuple(self._soft):
            task.cancel()

    def stop_now(self) -> None:
        """Interrupt everything that waits."""
        self.now = True
        self.stop_soon()
        for task in tuple(self._hard):
            task.cancel()

    async def wait_softly(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something between calls. Raises StoppedError as soon as any stop is asked."""
        return await self._wait(work, self._soft, stopped=self.soon)

    async def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something that only `stop_now` interrupts. Raises StoppedError then."""
        return await self._wait(work, self._hard, stopped=self.now)

    async def _wait(self, work: Coroutine[Any, Any, T], victims: set[asyncio.Task[Any]], *, stopped: bool) -> T:
        if stopped:
            work.close()
            raise StoppedError
        task = asyncio.ensure_future(work)
        victims.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if (self.soon and task in self._soft) or (self.now and task in self._hard):
                raise StoppedError from None
            raise
        finally:
            victims.discard(task)
