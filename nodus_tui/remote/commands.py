"""Commands in sandboxes over HTTP: their output across broken connections, without a gap or a duplicate."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from pydantic import TypeAdapter, ValidationError

from nodus_tui.contract.http import HEARTBEAT_SECONDS
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece
from nodus_tui.remote.channel import FIRST_PAUSE, LONGEST_PAUSE, Channel, LimitedError
from nodus_tui.remote.pieces import lines
from nodus_tui.remote.stream import refused
from nodus_tui.remote.wire import LostError

SILENCE_SECONDS = 2.5 * HEARTBEAT_SECONDS
"""An answer that sends not even an empty line for so long is dead."""

GIVE_UP_SECONDS = 45.0
"""So long a broken connection is tried again: after a little more the session would be ended as one that nobody wants."""

_LINE: TypeAdapter[dict[str, object]] = TypeAdapter(dict[str, object])


async def output(channel: Channel, address: str, after: int, wait_seconds: float) -> AsyncGenerator[ExecPiece | ExecEnd, None]:
    """One answer with a command's output, over as many connections as it takes. Raises NodusError."""
    loop = asyncio.get_running_loop()
    at, pause, until = after, FIRST_PAUSE, loop.time() + wait_seconds
    broken_since: float | None = None
    while True:
        params = [("after", str(at)), ("waitSeconds", f"{max(0.0, until - loop.time()):g}")]
        try:
            async with channel.stream("GET", address, params, silence_seconds=SILENCE_SECONDS) as pieces:
                broken_since, pause = None, FIRST_PAUSE
                async with aclosing(lines(pieces)) as told:
                    async for line in told:
                        piece = _piece(channel, line)
                        at = piece.offset + (len(piece.data) if isinstance(piece, ExecPiece) else 0)
                        yield piece
        except LostError as loss:
            reason = loss.detail
            channel.lost()
        except LimitedError as limit:
            reason, pause = limit.error.detail, limit.seconds
        else:
            return
        now = loop.time()
        broken_since = broken_since if broken_since is not None else now
        if now - broken_since > GIVE_UP_SECONDS:
            raise channel.unreachable(reason)
        await channel.revive(acting=False)
        await asyncio.sleep(pause)
        pause = min(LONGEST_PAUSE, pause * 2)


def _piece(channel: Channel, line: bytes) -> ExecPiece | ExecEnd:
    try:
        told = _LINE.validate_json(line)
        if "code" in told:
            raise refused(line)
        return ExecPiece.model_validate_json(line) if "data" in told else ExecEnd.model_validate_json(line)
    except ValidationError as error:
        raise channel.not_understood(error) from error
