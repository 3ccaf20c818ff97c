"""One backend for one verb: reached as the command line and the environment say, let go of whatever happens."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from nodus_tui.cli.failures import say
from nodus_tui.cli.logs import log_to_file
from nodus_tui.connect import Role, connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from nodus_tui.contract.backend import Backend

Answer = TypeVar("Answer")


def author() -> str:
    """Who acts: the login name, or nothing where the system knows none."""
    import getpass  # noqa: PLC0415 - whoever only looks is not asked for

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


@asynccontextmanager
async def opened(role: Role) -> AsyncIterator[Backend]:
    """The backend; `work` also sees to it that the workspace's scheduler runs."""
    log_to_file()
    async with await connect(role, say, say) as backend:
        yield backend


def with_backend(role: Role, ask: Callable[[Backend], Coroutine[Any, Any, Answer]]) -> Answer:
    """Open a backend, ask it, close it, and give its answer."""
    import asyncio  # noqa: PLC0415 - a help text needs no loop

    async def whole() -> Answer:
        async with opened(role) as backend:
            return await ask(backend)

    return asyncio.run(whole())
