"""Answers that come piece by piece: a watch as server-sent events, a file's bytes, the lines of a gold check.

Nothing is read from the backend while the client has not taken what was sent: a slow reader of a watch gets later, merged batches, and
costs the memory of one batch. Heartbeats go out while nothing happens, and all end promptly when the server stops.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import ClassVar, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from local_backend.daemon.presence import Presence
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.events import EventBatch
from nodus_tui.contract.http import BATCH_EVENT, HEARTBEAT_SECONDS, PROBLEM_EVENT

_log = logging.getLogger(__name__)

MEDIA_TYPE = "text/event-stream"

ABORT = "abort"
"""The key of the scope's state under which a connection can be cut at once, without flushing what nobody reads."""

Item = TypeVar("Item")

_EVENTS_AT_ONCE = 200
"""Events made into text before the event loop gets its turn."""


class StreamedAnswer(Response, ABC):
    """An answer that is sent while it is made. One that is not whole ends with its connection cut off, so that nobody takes it for all."""

    resumable: ClassVar[bool] = False
    """Whether it may end properly at any time, because clients go on from where it ended."""

    def __init__(self, *, presence: Presence, caller: str, stall_seconds: float) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._presence = presence
        self._caller = caller
        self._stall = stall_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until all is sent, the client goes away or stalls, or the server stops."""
        with self._presence.stream(self._caller):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            pump = asyncio.create_task(self._pumping(send), name="streamed answer")
            tasks = {
                pump,
                asyncio.create_task(_gone(receive), name="streamed answer's reader"),
                asyncio.create_task(_stopped(self._presence), name="streamed answer's stop"),
            }
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            for task in done:
                task.result()
            await self._end(scope, send, whole=pump in done and pump.result())

    async def _pumping(self, send: Send) -> bool:
        """Send everything; whether it is all there is."""
        try:
            return await self._pump(send)
        except TimeoutError:
            _log.info("an answer to %s was cut off: its reader took nothing for %g s", self._caller, self._stall)
            return False

    @abstractmethod
    async def _pump(self, send: Send) -> bool:
        """Send everything; whether it is all there is. May raise TimeoutError for a reader that stalls."""

    async def _end(self, scope: Scope, send: Send, *, whole: bool) -> None:
        """Close the answer; a reader that does not take even that is cut off."""
        try:
            async with asyncio.timeout(0.2):
                if whole or self.resumable:
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                    return
        except TimeoutError:
            _log.debug("an answer to %s was not taken to its end", self._caller)
        abort = scope.get("state", {}).get(ABORT)
        if abort is not None:
            abort()

    async def _write(self, send: Send, part: bytes) -> None:
        async with asyncio.timeout(self._stall):
            await send({"type": "http.response.body", "body": part, "more_body": True})


class EventStream(StreamedAnswer):
    """The answer to one watch. It may end at any time: a client goes on from its cursor."""

    media_type = MEDIA_TYPE
    resumable = True

    def __init__(
        self,
        batches: AsyncIterator[EventBatch],
        *,
        presence: Presence,
        caller: str,
        stall_seconds: float,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        super().__init__(presence=presence, caller=caller, stall_seconds=stall_seconds)
        self._batches = batches
        self._heartbeat = heartbeat_seconds

    async def _pump(self, send: Send) -> bool:
        try:
            await self._write(send, b": open\n\n")
            async with aclosing(with_pauses(self._batches, self._heartbeat)) as coming:
                async for batch in coming:
                    for part in _frame(batch) if batch else (b": nothing new\n\n",):
                        await self._write(send, part)
                        await asyncio.sleep(0)
        except NodusError as error:
            problem = error.problem().model_dump_json(by_alias=True)
            await self._write(send, f"event: {PROBLEM_EVENT}\ndata: {problem}\n\n".encode())
        return True


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stopped(presence: Presence) -> None:
    await presence.stopping.wait()


async def with_pauses(items: AsyncIterator[Item], seconds: float) -> AsyncGenerator[Item | None, None]:
    """The items, and None whenever none has come for so many seconds. They are closed at the end."""
    coming: asyncio.Task[Item | None] | None = None
    try:
        while True:
            coming = coming or asyncio.create_task(_next(items), name="next of a stream")
            await asyncio.wait({coming}, timeout=seconds)
            if not coming.done():
                yield None
                continue
            item, coming = coming.result(), None
            if item is None:
                return
            yield item
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        if isinstance(items, AsyncGenerator):
            await items.aclose()


async def _next(items: AsyncIterator[Item]) -> Item | None:
    return await anext(items, None)


def _frame(batch: EventBatch) -> Iterator[bytes]:
    """One server-sent event, in parts. It is whole or it does not count: only then is its cursor where to go on from."""
    yield f'id: {batch.cursor}\nevent: {BATCH_EVENT}\ndata: {{"cursor":{batch.cursor},"events":['.encode()
    for start in range(0, len(batch.events), _EVENTS_AT_ONCE):
        some = batch.events[start : start + _EVENTS_AT_ONCE]
        yield ("," * bool(start) + ",".join(event.model_dump_json(by_alias=True) for event in some)).encode()
    yield b"]}\n\n"
