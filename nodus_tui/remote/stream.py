"""The event stream over HTTP: read to whole batches, and taken up again from its cursor after a loss, without a gap or a duplicate."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from pydantic import ValidationError

from nodus_tui.contract.errors import ErrorCode, NodusError, Problem
from nodus_tui.contract.events import EventBatch
from nodus_tui.contract.http import BATCH_EVENT, HEARTBEAT_SECONDS, LAST_EVENT_HEADER, PROBLEM_EVENT
from nodus_tui.remote.channel import FIRST_PAUSE, LONGEST_PAUSE, Channel, LimitedError
from nodus_tui.remote.wire import LostError

SILENCE_SECONDS = 2.5 * HEARTBEAT_SECONDS
"""A stream that sends not even a heartbeat for so long is dead."""

GIVE_UP_SECONDS = 300.0
"""How long a broken stream is tried again before whoever reads it is told."""


async def watch(channel: Channel, after: int) -> AsyncGenerator[EventBatch, None]:
    """Everything after a cursor, over as many connections as it takes. Raises NodusError when the server refuses or stays away."""
    loop = asyncio.get_running_loop()
    cursor, pause = after, FIRST_PAUSE
    broken_since: float | None = None
    while True:
        headers = {"Accept": "text/event-stream", LAST_EVENT_HEADER: str(cursor)}
        try:
            async with channel.stream(
                "GET", "/watch", [("after", str(cursor))], headers=headers, silence_seconds=SILENCE_SECONDS
            ) as pieces:
                broken_since, pause = None, FIRST_PAUSE
                async with aclosing(_batches(channel, pieces)) as batches:
                    async for batch in batches:
                        if batch.cursor > cursor:
                            cursor = batch.cursor
                            yield batch
            reason = "the server ended the stream"
        except LostError as loss:
            reason = loss.detail
        except LimitedError as limit:
            reason, pause = limit.error.detail, limit.seconds
        channel.lost()
        now = loop.time()
        broken_since = broken_since if broken_since is not None else now
        if now - broken_since > GIVE_UP_SECONDS:
            raise channel.unreachable(reason)
        await channel.revive(acting=False)
        await asyncio.sleep(pause)
        pause = min(LONGEST_PAUSE, pause * 2)


async def _batches(channel: Channel, pieces: AsyncIterator[bytes]) -> AsyncGenerator[EventBatch, None]:
    """The batches of one connection; an event that is cut off does not count."""
    async with aclosing(events(pieces)) as told:
        async for name, data in told:
            if name == BATCH_EVENT:
                try:
                    yield EventBatch.model_validate_json(data)
                except ValidationError as error:
                    raise channel.not_understood(error) from error
            elif name == PROBLEM_EVENT:
                raise refused(data)


def refused(data: bytes) -> NodusError:
    """The error that a stream ended with, from the text of its Problem."""
    try:
        problem = Problem.model_validate_json(data)
    except ValidationError:
        return NodusError(ErrorCode.UNAVAILABLE, "the server ended the stream for a reason that is not understood")
    return NodusError(problem.code, problem.detail, problem.faults)


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[tuple[str, bytes], None]:
    """Name and data of each whole server-sent event (WHATWG HTML, "Server-sent events"), whatever pieces it comes in.

    Lines are split at the bytes that end them only: JSON may hold other characters that break lines elsewhere.
    """
    rest = bytearray()
    name = "message"
    data: list[bytes] = []
    async for piece in pieces:
        # Looking again at what held no end before would cost the square of a large event's size.
        seen = len(rest)
        rest += piece
        start = 0
        while (end := rest.find(b"\n", max(start, seen))) >= 0:
            text = bytes(rest[start:end]).removesuffix(b"\r")
            start = end + 1
            if not text:
                if data:
                    yield name, b"\n".join(data)
                name, data = "message", []
                continue
            field, _, value = text.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"event":
                name = value.decode(errors="replace")
            elif field == b"data":
                data.append(value)
        del rest[:start]
