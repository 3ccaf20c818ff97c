"""The event stream of a watch as server-sent events: one event a batch, heartbeats while nothing happens, a prompt end at a stop.

Nothing is read from the backend while the client has not taken what was sent: a slow reader gets later, merged batches, and costs the
memory of one batch.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing

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

_EVENTS_AT_ONCE = 200
"""Events made into text before the event loop gets its turn."""


class EventStream(Response):
    """The answer to one watch."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        batches: AsyncIterator[EventBatch],
        *,
        presence: Presence,
        caller: str,
        stall_seconds: float,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._batches = batches
        self._presence = presence
        self._caller = caller
        self._stall = stall_seconds
        self._heartbeat = heartbeat_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client goes away, stalls, or the server stops."""
        with self._presence.stream(self._caller):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            tasks = {
                asyncio.create_task(self._pump(send), name="event stream"),
                asyncio.create_task(_gone(receive), name="event stream's reader"),
                asyncio.create_task(_stopped(self._presence), name="event stream's stop"),
            }
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            for task in done:
                task.result()
            await self._end(scope, send)

    async def _end(self, scope: Scope, send: Send) -> None:
        """Close the answer; a reader that does not take even that is cut off."""
        try:
            async with asyncio.timeout(0.2):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            abort = scope.get("state", {}).get(ABORT)
            if abort is not None:
                abort()

    async def _pump(self, send: Send) -> None:
        try:
            await self._write(send, b": open\n\n")
            async with aclosing(_with_pauses(self._batches, self._heartbeat)) as coming:
                async for batch in coming:
                    for part in _frame(batch) if batch else (b": nothing new\n\n",):
                        await self._write(send, part)
                        await asyncio.sleep(0)
        except NodusError as error:
            problem = error.problem().model_dump_json(by_alias=True)
            await self._write(send, f"event: {PROBLEM_EVENT}\ndata: {problem}\n\n".encode())
        except TimeoutError:
            _log.info("an event stream of %s was cut off: its reader took nothing for %g s", self._caller, self._stall)

    async def _write(self, send: Send, part: bytes) -> None:
        async with asyncio.timeout(self._stall):
            await send({"type": "http.response.body", "body": part, "more_body": True})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stopped(presence: Presence) -> None:
    await presence.stopping.wait()


async def _with_pauses(batches: AsyncIterator[EventBatch], seconds: float) -> AsyncGenerator[EventBatch | None, None]:
    """The batches, and None whenever none has come for so many seconds."""
    coming: asyncio.Task[EventBatch | None] | None = None
    try:
        while True:
            coming = coming or asyncio.create_task(_next(batches), name="next batch")
            await asyncio.wait({coming}, timeout=seconds)
            if not coming.done():
                yield None
                continue
            batch, coming = coming.result(), None
            if batch is None:
                return
            yield batch
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        if isinstance(batches, AsyncGenerator):
            await batches.aclose()


async def _next(batches: AsyncIterator[EventBatch]) -> EventBatch | None:
    return await anext(batches, None)


def _frame(batch: EventBatch) -> Iterator[bytes]:
    """One server-sent event, in parts. It is whole or it does not count: only then is its cursor where to go on from."""
    yield f'id: {batch.cursor}\nevent: {BATCH_EVENT}\ndata: {{"cursor":{batch.cursor},"events":['.encode()
    for start in range(0, len(batch.events), _EVENTS_AT_ONCE):
        some = batch.events[start : start + _EVENTS_AT_ONCE]
        yield ("," * bool(start) + ",".join(event.model_dump_json(by_alias=True) for event in some)).encode()
    yield b"]}\n\n"
