"""The one background event loop of the Python interface, and the backend that lives on it.

Synchronous calls wait for it, asynchronous ones await it from whatever loop they run on; so both work in a script, in a notebook whose own
loop is running, and in several threads, and all share one backend.
"""

import asyncio
import atexit
import concurrent.futures.thread
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from nodus_tui.connect import Role, connect
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError

T = TypeVar("T")

Work = Callable[[Backend], Coroutine[Any, Any, T]]
"""Something to do with a backend, on the background loop."""

_log = logging.getLogger("nodus_tui.sdk")

_ALSO_SERVES: dict[Role, tuple[Role, ...]] = {
    "look": ("work", "order", "act", "look"),
    "act": ("work", "order", "act"),
    "order": ("work", "order"),
    "work": ("work",),
}
"""An open backend of which roles serves the key's role, best first."""


def _with_faults(error: NodusError) -> NodusError:
    """The same error with every fault in its text: a traceback shows nothing else."""
    if not error.faults:
        return error
    return NodusError(error.code, "\n  ".join([f"{error.detail}:", *(fault.sentence() for fault in error.faults)]), error.faults)


class Bridge:
    """The background loop with its backends. They are opened at the first call that needs them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._opening = asyncio.Lock()
        self._backends: dict[Role, Backend] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        """What is being done for callers."""

    def run(self, role: Role, work: Work[T]) -> T:
        """Do it and wait for it. An interrupt (Ctrl-C) stops the waiting and the work."""
        future = self._submit(role, work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def arun(self, role: Role, work: Work[T]) -> Awaitable[T]:
        """Do it, to be awaited on any loop. Cancelling the awaiting cancels the work."""
        return asyncio.wrap_future(self._submit(role, work))

    def _submit(self, role: Role, work: Work[T]) -> concurrent.futures.Future[T]:
        return asyncio.run_coroutine_threadsafe(self._do(role, work), self._running_loop())

    async def _do(self, role: Role, work: Work[T]) -> T:
        mine = asyncio.current_task()
        if mine is not None:
            self._tasks.add(mine)
        try:
            return await work(await self._backend(role))
        except NodusError as error:
            raise _with_faults(error) from None
        finally:
            if mine is not None:
                self._tasks.discard(mine)

    async def _backend(self, role: Role) -> Backend:
        async with self._opening:
            for other in _ALSO_SERVES[role]:
                if other in self._backends:
                    return self._backends[other]
            self._backends[role] = await connect(role, _log.warning, _log.warning)
            return self._backends[role]

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="nodus-sdk", daemon=True)
                self._thread.start()
                _at_exit(self.close)
            return self._loop

    def close(self) -> None:
        """Let go of the backends and end the loop; the next call opens them anew. Work of a scheduler in this process is left as it is."""
        with self._guard:
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._aclose(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    async def _aclose(self) -> None:
        going = tuple(self._tasks)
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)
        while self._backends:
            _, backend = self._backends.popitem()
            await backend.aclose()
        await asyncio.get_running_loop().shutdown_asyncgens()
        await asyncio.get_running_loop().shutdown_default_executor()

    def forget(self) -> None:
        """In a forked child: the loop's thread exists in the parent only."""
        self.__init__()  # type: ignore[misc]  # everything anew is what is meant


def _at_exit(close: Callable[[], None]) -> None:
    # Before the interpreter refuses work to thread pools, which a backend needs to close; plain atexit comes after that. The pools' own
    # ending was registered when `concurrent.futures.thread` was imported above, and the last registered is called first.
    register = getattr(threading, "_register_atexit", atexit.register)
    register(close)


BRIDGE = Bridge()
"""The one of this process."""

os.register_at_fork(after_in_child=BRIDGE.forget)
