"""Whether a model server answers its health check: one GET, what came of it in words, and one again and again while it runs."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp

_FIRST_PAUSE = 0.1
_STARTING_PAUSE = 1.0
"""Seconds between two health checks of a server that does not answer, at most."""
_SERVING_PAUSE = 5.0
"""Seconds between two health checks of one that does, at most."""
_CHECKS_WITHIN = 4
"""Health checks at least within the time for which a server may not answer."""
_CHECK_SECONDS = 5.0
"""How long a server has for its answer. One that is busy with prompts still answers this."""


class HealthChecks:
    """Asks servers of this machine. Used on one event loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def problem(self, url: str, *, seconds: float) -> str:
        """What keeps the server from being well, in a few words; empty when it answered 200."""
        import aiohttp  # noqa: PLC0415 - it costs a quarter of what a verb takes to start, and few workspaces serve models

        if self._session is None:
            # A new connection each time: an old one may be to a server that has gone since.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=True), cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
            )
        try:
            timeout = aiohttp.ClientTimeout(total=seconds)
            async with self._session.get(url, timeout=timeout, allow_redirects=False) as response:
                return "" if response.status == HTTPStatus.OK else f"it answered {response.status}"
        except TimeoutError:
            return f"it gave no answer within {seconds:g} s"
        except aiohttp.ClientConnectorError:
            return "nobody listens there"
        except (aiohttp.ClientError, OSError, ValueError):
            return "the connection broke"

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class HealthWatch:
    """The health checks of one running server."""

    def __init__(self, url: str, checks: HealthChecks, heard: Callable[[], None], *, patience: float) -> None:
        self._url = url
        self._checks = checks
        self._heard = heard
        self._pause = min(_SERVING_PAUSE, patience / _CHECKS_WITHIN)
        self._seconds = min(_CHECK_SECONDS, patience)
        self.problem: str | None = None
        """What the last check met; empty where it was answered, None before the first."""
        self._checking: asyncio.Task[None] | None = None
        self._work = asyncio.create_task(self._watch(), name=f"health of {url}")

    async def check(self) -> None:
        """Look now; whoever asks while a look is under way shares it."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check(), name=f"health check of {self._url}")
        await asyncio.shield(self._checking)

    async def _check(self) -> None:
        met = await self._checks.problem(self._url, seconds=self._seconds)
        if met != self.problem:
            self.problem = met
            self._heard()

    async def _watch(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            await self.check()
            pause = self._pause if self.problem == "" else min(_STARTING_PAUSE, 2 * pause)
            await asyncio.sleep(pause)

    async def aclose(self) -> None:
        """Look no more."""
        tasks = [task for task in (self._work, self._checking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
