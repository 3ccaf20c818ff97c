"""Whether a model server answers its health check: one GET, and what came of it in words."""

from http import HTTPStatus

import aiohttp


class HealthChecks:
    """Asks servers of this machine. Used on one event loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def problem(self, url: str, *, seconds: float) -> str:
        """What keeps the server from being well, in a few words; empty when it answered 200."""
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
