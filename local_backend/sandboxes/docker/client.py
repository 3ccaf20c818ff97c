"""Requests to a Docker engine: each has a deadline, and each failure is a sentence. It knows HTTP and JSON, not what is asked for.

aiohttp is used as it is. The requests that are needed are a dozen; of the two client libraries, the Docker SDK blocks a thread for each
of them (so that a hung engine fills the pool), and aiodocker (0.27) ends an interrupted pull as if it had succeeded, refuses
credentials for Docker Hub's short names, holds archives in memory and cannot end a program's stdin. What the Docker SDK does well is
taken from it: the credentials of registries (`credentials.py`) and the files of a build (`building.py`).
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import aiohttp

from local_backend.sandboxes.docker.endpoint import Endpoint
from local_backend.sandboxes.docker.hijack import BrokenStreamError, Hijacked, RefusedError, open_hijacked
from local_backend.sandboxes.interface import ENGINE_SECONDS, SandboxError

T = TypeVar("T")

_MOST_LINE_BYTES = 1 << 20
_PIECE = 262_144

Body = bytes | AsyncIterator[bytes] | None


class EngineError(SandboxError):
    """The engine answered that it cannot do what was asked."""

    def __init__(self, text: str, *, status: int, message: str) -> None:
        super().__init__(text)
        self.status = status
        """As in HTTP; 0 where it came in the midst of an answer."""
        self.message = message
        """The engine's own words."""


class SilentError(SandboxError):
    """The engine cannot be reached, broke the connection, or did not answer by the deadline."""


class EngineClient:
    """One engine. Used on one event loop."""

    def __init__(self, endpoint: Endpoint, *, deadline: float = ENGINE_SECONDS) -> None:
        self.endpoint = endpoint
        self.deadline = deadline
        """Of one request, in seconds."""
        self._session: aiohttp.ClientSession | None = None
        self._version = ""
        self._heard = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    async def connect(self) -> dict[str, Any]:
        """Learn the engine's version; gives what it says of itself. Raises SandboxError."""
        connector: aiohttp.BaseConnector
        if self.endpoint.unix is not None:
            connector = aiohttp.UnixConnector(self.endpoint.unix, limit=0, force_close=True)
        else:
            connector = aiohttp.TCPConnector(ssl=self.endpoint.tls or True, limit=0, force_close=True)
        # Each request has a connection of its own (an engine closes idle ones when it likes, or restarts), and its own deadline.
        self._session = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None), read_bufsize=_PIECE)
        version = await self.ask("GET", "/version")
        if not isinstance(version, dict) or not version.get("ApiVersion"):
            raise SilentError(f"what answers at {self.endpoint.name} is no Docker engine: it tells no version of its API")
        self._version = f"/v{version['ApiVersion']}"
        return version

    async def aclose(self) -> None:
        """Let go of the engine."""
        if self._asking is not None:
            self._asking.cancel()
        if self._session is not None:
            await self._session.close()

    async def ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        json_body: object = None,
        seconds: float | None = None,
    ) -> Any:
        """One request with its answer's JSON, or None. Raises EngineError, SilentError."""
        body = None if json_body is None else json.dumps(json_body).encode()

        async def answer() -> Any:
            async with self._request(method, path, params, body, {"Content-Type": "application/json"}) as response:
                text = await response.read()
                return json.loads(text) if text and response.content_type == "application/json" else None

        return await self._within(seconds, f"{method} {path}", answer())

    async def lines(
        self, path: str, *, params: Mapping[str, str], headers: Mapping[str, str] | None = None, body: Body = None, quiet_seconds: float
    ) -> AsyncGenerator[dict[str, Any], None]:
        """POST, and the JSON lines that tell how it goes on. Raises EngineError as soon as a line tells of an error, SilentError where
        nothing was heard for so many seconds, or the engine does not answer anything else meanwhile.
        """
        what = f"POST {path}"
        held = b""
        async with self._translated(what), self._request("POST", path, params, body, headers or {}, quiet_seconds) as response:
            while piece := await self._heard_within(quiet_seconds, what, lambda: response.content.read(_PIECE)):
                *whole, held = (held + piece).split(b"\n")
                if len(held) > _MOST_LINE_BYTES:
                    raise ValueError("a line has no end")
                for line in whole:
                    if line.strip():
                        yield self._event(line)
            if held.strip():
                yield self._event(held)

    async def download(self, path: str, *, params: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """GET, and its answer's bytes as they come. Raises EngineError, SilentError."""
        what = f"GET {path}"
        async with self._translated(what), self._request("GET", path, params, None, {}, self.deadline) as response:
            while piece := await self._heard_within(self.deadline, what, lambda: response.content.read(_PIECE)):
                yield piece

    async def hijack(self, path: str, body: dict[str, Any], *, terminal: bool = False) -> Hijacked:
        """A connection for the streams of a program. Raises EngineError, SilentError."""
        return await self._within(None, f"POST {path}", open_hijacked(self.endpoint, self._version + path, body, terminal=terminal))

    async def check(self) -> None:
        """Whether the engine still answers, asked once for all who want to know now. Raises SilentError, EngineError."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._heard < self.pulse / 2:
            return
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ping())
            # Who asked may have been cancelled meanwhile: then nobody hears of a failure.
            self._asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._asking)

    @property
    def pulse(self) -> float:
        """Who waits for output of a program asks so often whether the engine lives, in seconds."""
        return self.deadline / 4

    async def watched(self, wait: Callable[[], Awaitable[T]]) -> T:
        """Wait for something of unknown length, as long as the engine answers. What is waited for must bear being begun again.
        Raises SilentError, EngineError.
        """
        while True:
            try:
                async with asyncio.timeout(self.pulse) as limit:
                    return await wait()
            except TimeoutError:
                if not limit.expired():
                    raise  # Of a connection, which the system says of one whose other side is silent. It says it again at once.
                await self.check()

    def unreachable(self, error: BaseException) -> SilentError:
        """The sentence for a connection that failed."""
        return SilentError(f"the Docker engine at {self.endpoint.name} cannot be reached: {str(error) or type(error).__name__}")

    async def _ping(self) -> None:
        await self.ask("GET", "/_ping", seconds=self.deadline / 2)
        self._heard = asyncio.get_running_loop().time()

    async def _heard_within(self, seconds: float, what: str, read: Callable[[], Awaitable[bytes]]) -> bytes:
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self.watched(read)
        except TimeoutError as error:
            raise (self._late(what, seconds) if limit.expired() else self.unreachable(error)) from error

    async def _within(self, seconds: float | None, what: str, answer: Awaitable[T]) -> T:
        limit = self.deadline if seconds is None else seconds
        async with self._translated(what):
            try:
                async with asyncio.timeout(limit) as deadline:
                    return await answer
            except TimeoutError as error:
                raise (self._late(what, limit) if deadline.expired() else self.unreachable(error)) from error

    def _event(self, line: bytes) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(line)
        if "error" in event or "errorDetail" in event:
            detail = event.get("errorDetail") or {}
            raise self._error(0, str(detail.get("message") or event.get("error")))
        return event

    def _late(self, what: str, seconds: float) -> SilentError:
        return SilentError(f"the Docker engine at {self.endpoint.name} did not answer within {seconds:g} s ({what})")

    def _error(self, status: int, message: str) -> EngineError:
        return EngineError(f"the Docker engine refused: {message}", status=status, message=message)

    @asynccontextmanager
    async def _translated(self, what: str) -> AsyncIterator[None]:
        try:
            yield
        except RefusedError as error:
            raise self._error(error.status, error.message) from error
        except (aiohttp.ClientError, BrokenStreamError, OSError) as error:
            raise self.unreachable(error) from error
        except (ValueError, UnicodeDecodeError) as error:
            raise SilentError(f"the Docker engine at {self.endpoint.name} gave an answer that cannot be read ({what}): {error}") from error

    async def _begun(self, request: Coroutine[Any, Any, aiohttp.ClientResponse], seconds: float, what: str) -> aiohttp.ClientResponse:
        """The head of an answer that may take long, as long as the engine answers other requests."""
        task = asyncio.create_task(request)
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self.watched(lambda: asyncio.shield(task))
        except BaseException as error:
            task.cancel()
            if task.done() and not task.cancelled() and task.exception() is None:
                task.result().close()
            if isinstance(error, TimeoutError):
                raise (self._late(what, seconds) if limit.expired() else self.unreachable(error)) from error
            raise

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        body: Body,
        headers: Mapping[str, str],
        watched_seconds: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None or self._session.closed:
            raise SilentError(f"the Docker engine at {self.endpoint.name} was let go of")
        session, url = self._session, self.endpoint.base_url + self._version + path

        async def begin() -> aiohttp.ClientResponse:
            return await session.request(method, url, params=params, data=body, headers=headers)

        response = await (begin() if watched_seconds is None else self._begun(begin(), watched_seconds, f"{method} {path}"))
        try:
            if response.status >= 400:
                text = await response.read()
                try:
                    message = str(json.loads(text)["message"])
                except (ValueError, KeyError, TypeError):
                    message = text.decode(errors="replace").strip() or response.reason or str(response.status)
                raise self._error(response.status, message)
            yield response
        finally:
            response.close()
