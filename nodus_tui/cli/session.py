"""One backend for one verb: opened as the environment says, closed whatever happens."""

import asyncio
import getpass
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

from nodus_tui.cli.logs import log_to_file
from nodus_tui.connect import backend_options, open_backend
from nodus_tui.contract.backend import Backend

Answer = TypeVar("Answer")


def author() -> str:
    """Who acts: the login name, or nothing where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


@asynccontextmanager
async def opened(role: Literal["work", "look"]) -> AsyncIterator[Backend]:
    """The backend; `work` also runs the scheduler here where no other process does."""
    log_to_file()
    async with await open_backend(backend_options(role)) as backend:
        yield backend


def with_backend(role: Literal["work", "look"], ask: Callable[[Backend], Coroutine[Any, Any, Answer]]) -> Answer:
    """Open a backend, ask it, close it, and give its answer."""

    async def whole() -> Answer:
        async with opened(role) as backend:
            return await ask(backend)

    return asyncio.run(whole())
