"""The sandboxes of one scheduler: its engine, chosen once, the places that it has, and images made ready once. It knows no runs.

Who needs a sandbox asks for a place first, which it holds as long as the sandbox lives.
"""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from local_backend.sandboxes.interface import EngineFacts, Owner, Progress, Sandbox, SandboxEngine, SandboxError, SandboxRequest
from nodus_tui.contract.sandboxes import SandboxEngineFact

T = TypeVar("T")

ChooseEngine = Callable[[], Awaitable[tuple[SandboxEngine | None, SandboxEngineFact]]]
"""Probes the engines and gives the chosen one with the reason; None where none works."""

_log = logging.getLogger(__name__)

_DISPOSE_SECONDS = 10.0
"""Nobody waits longer for a sandbox's end; what could not be removed is tried again so often."""

_CHOOSE_AGAIN_SECONDS = 30.0
"""Where no engine worked, it is looked for again after so long at the earliest."""


def default_places() -> int:
    """Two sandboxes for each processor, and at least four."""
    return max(4, 2 * (os.cpu_count() or 1))


class Place:
    """The right to one running sandbox; given back once."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back: Callable[[], None] | None = give_back

    def release(self) -> None:
        """Give it back. May be called twice."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()


class SandboxPool:
    """Used on one event loop."""

    def __init__(self, choose: ChooseEngine, owner: Owner, places: int | None) -> None:
        self._choose = choose
        self.owner = owner
        self.places = places or default_places()
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._choosing: asyncio.Task[tuple[SandboxEngine | None, SandboxEngineFact]] | None = None
        self._looked_at = 0.0
        self._preparing: dict[str, asyncio.Task[str]] = {}
        self._listeners: dict[str, set[Progress]] = {}
        self._disposing: set[asyncio.Task[None]] = set()

    # The engine.

    async def fact(self) -> SandboxEngineFact:
        """Which engine makes the sandboxes here, and why."""
        return (await self._chosen())[1]

    @property
    def known_fact(self) -> SandboxEngineFact | None:
        """The same where somebody has looked already."""
        if self._choosing is None or not self._choosing.done() or self._choosing.cancelled() or self._choosing.exception() is not None:
            return None
        return self._choosing.result()[1]

    async def engine(self) -> SandboxEngine:
        """The engine. Raises SandboxError with the reason where none works."""
        engine, fact = await self._chosen()
        if engine is None:
            raise SandboxError(f"no sandbox can be made here: {fact.reason}")
        return engine

    async def _chosen(self) -> tuple[SandboxEngine | None, SandboxEngineFact]:
        now = asyncio.get_running_loop().time()
        if self._choosing is not None and self._choosing.done() and self._to_be_chosen_again(now):
            self._choosing = None
        if self._choosing is None:
            self._looked_at = now
            self._choosing = asyncio.create_task(_awaited(self._choose), name="choose a sandbox engine")
        return await asyncio.shield(self._choosing)

    def _to_be_chosen_again(self, now: float) -> bool:
        chosen = self._choosing
        if chosen is None or chosen.cancelled() or chosen.exception() is not None:
            return True
        return chosen.result()[0] is None and now - self._looked_at >= _CHOOSE_AGAIN_SECONDS

    # Places.

    def free(self) -> bool:
        """Whether a place is free at this moment."""
        return self._taken < self.places and not self._waiting

    @property
    def taken(self) -> int:
        """How many places are taken."""
        return self._taken

    async def place(self) -> Place:
        """A place; waits in order of asking while all are taken."""
        if self.free():
            self._taken += 1
            return Place(self._give_back)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back()
            else:
                self._waiting.remove(turn)
            raise
        return Place(self._give_back)

    def _give_back(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._taken -= 1

    # Images and sandboxes.

    async def prepare(self, image: str | None, progress: Progress) -> str:
        """The image with its digest, made ready once for all who ask at the same time. Raises SandboxError."""
        engine = await self.engine()
        return await self._once(_image_key(image), progress, lambda tell: engine.prepare(image, tell))

    async def build(self, folder: str, tag: str, progress: Progress) -> str:
        """The image that a folder's Dockerfile makes, built once. Raises SandboxError."""
        engine = await self.engine()
        return await self._once(f"build {tag}", progress, lambda tell: engine.build(folder, "Dockerfile", tag, tell))

    async def _once(self, key: str, progress: Progress, make: Callable[[Progress], Awaitable[str]]) -> str:
        listeners = self._listeners.setdefault(key, set())
        listeners.add(progress)
        try:
            task = self._preparing.get(key)
            if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):

                def tell(line: str) -> None:
                    for listener in tuple(self._listeners.get(key, ())):
                        listener(line)

                task = self._preparing[key] = asyncio.create_task(_awaited(lambda: make(tell)), name=key)
            return await asyncio.shield(task)
        finally:
            listeners.discard(progress)

    async def create(self, request: SandboxRequest) -> Sandbox:
        """Start a sandbox. Raises SandboxError."""
        engine = await self.engine()
        try:
            return await engine.create(request)
        except SandboxError:
            self._look_again(request.image)
            raise

    def _look_again(self, image: str | None) -> None:
        """An image may have been removed since it was made ready: the next who asks has it looked for, or built."""
        for key, task in tuple(self._preparing.items()):
            made = task.result() if task.done() and not task.cancelled() and task.exception() is None else None
            if key == _image_key(image) or (image is not None and made == image):
                del self._preparing[key]

    async def dispose(self, sandbox: Sandbox) -> None:
        """End a sandbox. Where the engine fails or hangs at it, it is tried again until it is gone or the pool closes. Never raises."""
        task = asyncio.create_task(self._dispose(sandbox), name=f"remove {sandbox.id}")
        self._disposing.add(task)
        task.add_done_callback(self._disposing.discard)
        await asyncio.wait({task}, timeout=_DISPOSE_SECONDS)

    async def _dispose(self, sandbox: Sandbox) -> None:
        while True:
            try:
                await sandbox.aclose()
            except SandboxError as error:
                _log.warning("the sandbox %s could not be removed and is tried again: %s", sandbox.id, error)
            except Exception:  # noqa: BLE001 - whatever it is, the sandbox is still there
                _log.exception("the sandbox %s could not be removed, by a fault of nodus-tui, and is tried again", sandbox.id)
            else:
                return
            await asyncio.sleep(_DISPOSE_SECONDS)

    async def facts(self) -> EngineFacts:
        """What the engine's probe run showed. Raises SandboxError."""
        return (await self.engine()).facts

    async def aclose(self) -> None:
        """Let go of the engine, once the sandboxes that are being ended have ended."""
        if self._disposing:
            await asyncio.wait(self._disposing, timeout=_DISPOSE_SECONDS)
        tasks = (self._choosing, *self._preparing.values(), *self._disposing)
        pending = [task for task in tasks if task is not None and not task.done()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        if self._choosing is not None and self._choosing.done() and not self._choosing.cancelled() and self._choosing.exception() is None:
            engine = self._choosing.result()[0]
            if engine is not None:
                await engine.aclose()


def _image_key(image: str | None) -> str:
    return f"image {image or ''}"


async def _awaited(make: Callable[[], Awaitable[T]]) -> T:
    return await make()
