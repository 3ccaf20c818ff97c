"""Answers that come piece by piece and end: a file's bytes, and the cases of a gold check."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from pydantic import TypeAdapter, ValidationError

from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.http import HEARTBEAT_SECONDS
from nodus_tui.remote.channel import READ_SECONDS, Channel
from nodus_tui.remote.stream import refused
from nodus_tui.remote.wire import Params

SILENCE_SECONDS = 2.5 * HEARTBEAT_SECONDS
"""A gold check that sends not even an empty line for so long is dead."""

_LINE: TypeAdapter[dict[str, object]] = TypeAdapter(dict[str, object])


async def file_bytes(channel: Channel, address: str, kind: str, name: str, path: str) -> AsyncGenerator[bytes, None]:
    """A file's bytes. Raises NodusError when there is no such file, and when not all of it came."""
    if not name:
        raise NodusError.not_found(kind, name)
    async with channel.whole_stream("GET", address, [("path", path)], silence_seconds=READ_SECONDS) as pieces:
        async for piece in pieces:
            yield piece


async def gold_cases(channel: Channel, address: str, params: Params) -> AsyncGenerator[GoldCase, None]:
    """The cases as they come. Raises NodusError when the check cannot be made, or not to its end."""
    async with channel.whole_stream("POST", address, params, silence_seconds=SILENCE_SECONDS) as pieces, aclosing(lines(pieces)) as told:
        async for line in told:
            yield _case(channel, line)


def _case(channel: Channel, line: bytes) -> GoldCase:
    try:
        if "code" in _LINE.validate_json(line):
            raise refused(line)
        return GoldCase.model_validate_json(line)
    except ValidationError as error:
        raise channel.not_understood(error) from error


async def lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The whole lines that say something."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
