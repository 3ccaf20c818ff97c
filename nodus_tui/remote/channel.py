"""Requests to an API over HTTP: sent again where that is safe, refused with the server's own error, aware of how the link stands.

A GET is sent again after any loss. A POST carries an idempotency key, so that it acts once however often it is sent. The HTTP client is
loaded with this module, which is why nothing loads it before an API is spoken to.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx2
from pydantic import BaseModel, TypeAdapter, ValidationError

from nodus_tui import __version__
from nodus_tui.contract.backend import LinkState
from nodus_tui.contract.errors import ErrorCode, NodusError, Problem
from nodus_tui.contract.http import HEARTBEAT_SECONDS, IDEMPOTENCY_HEADER, PREFIX, PROBLEM_TYPE, VERSION_HEADER
from nodus_tui.remote.address import Address
from nodus_tui.remote.versions import skew_note

CONNECT_SECONDS = 5.0
READ_SECONDS = 60.0
"""How long the server may say nothing before an answer counts as lost; it is then asked for again."""
PATIENCE_SECONDS = 15.0
"""How long after the first loss a request is still tried again."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two tries; each pause is twice the one before."""
_MOST_TIMEOUTS = 6
"""Times that an answer may fail to come in time: the longest wait for an action is that of a call in flight."""
SILENT_SECONDS = 4.0
"""How long an answer may take before it is told that it is waited for."""
_MOST_LIMITED = 5
_LONGEST_LIMIT_SECONDS = 30.0

Params = Sequence[tuple[str, str]]
Body = str | bytes
Revive = Callable[[bool], Awaitable[Address]]
"""Sees to it that a server is there again, and says where; told whether somebody acts (True) or only looks.

Raises NodusError when there is none and none is to be started.
"""

Silent = Callable[[], None]
"""Told once when an answer is long in coming, and again for the next time after something came."""

Answer = TypeVar("Answer", bound=BaseModel)
Given = TypeVar("Given")


class LostError(Exception):
    """The way to the server is broken: what was asked may or may not have arrived."""

    def __init__(self, detail: str, *, timed_out: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.timed_out = timed_out


class LimitedError(Exception):
    """The server asks to wait."""

    def __init__(self, error: NodusError, seconds: float) -> None:
        super().__init__(error.detail)
        self.error = error
        self.seconds = seconds


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Channel:
    """One API, spoken to over pooled connections."""

    def __init__(
        self,
        address: Address,
        *,
        revive: Revive | None = None,
        silent: Silent | None = None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self.address = address
        self._revive = revive
        self._silent = silent
        self._told_of_silence = False
        self._clock = clock
        self._client: httpx2.AsyncClient | None = None
        now = clock()
        self.link = LinkState(connected=False, since=now, last_heard=now)
        self.server_version = ""
        self.skew = ""
        """What people should know of the server's version; empty when it is ours."""

    # How the link stands.

    def heard(self) -> None:
        """Something came."""
        self._told_of_silence = False
        now = self._clock()
        self.link = LinkState(connected=True, since=self.link.since if self.link.connected else now, last_heard=now)

    def lost(self) -> None:
        """Nothing goes through."""
        if self.link.connected:
            self.link = LinkState(connected=False, since=self._clock(), last_heard=self.link.last_heard)

    async def revive(self, *, acting: bool) -> None:
        """After a loss: have a server there again, where that is ours to do. Raises NodusError when none is to be."""
        if self._revive is not None:
            address = await self._revive(acting)
            if address != self.address:
                await self.aclose()
                self.address = address

    # Asking.

    async def get(self, kind: type[Answer], path: str, params: Params = (), *, waits_seconds: float = 0) -> Answer:
        """The answer to a GET, which the server may keep waiting for so long."""
        return self.read(kind, await self._ask("GET", path, params, waits_seconds=waits_seconds))

    async def post(self, kind: type[Answer], path: str, params: Params = (), *, body: Body = "", media: str = "", key: str) -> Answer:
        """The answer to a POST, which acts once for its key."""
        return self.read(kind, await self.send(path, params, body=body, media=media, key=key))

    async def send(
        self, path: str, params: Params = (), *, body: Body = "", media: str = "", key: str, read_seconds: float = READ_SECONDS
    ) -> bytes:
        """The bytes that answer a POST."""
        headers = {IDEMPOTENCY_HEADER: key} | ({"Content-Type": media} if media else {})
        return await self._ask("POST", path, params, headers=headers, body=body, read_seconds=read_seconds)

    async def get_bytes(self, path: str, params: Params = ()) -> bytes:
        """The bytes that answer a GET."""
        return await self._ask("GET", path, params)

    def read(self, kind: type[Answer], text: bytes) -> Answer:
        """An answer as a value. Raises NodusError when it is none: the other side speaks another language."""
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            raise self.not_understood(error) from error

    def not_understood(self, error: ValidationError) -> NodusError:
        """The error for an answer that is none of the contract's."""
        place = ".".join(str(part) for part in error.errors()[0]["loc"]) or "its text"
        server = f"version {self.server_version}" if self.server_version else "unknown version"
        return NodusError(
            ErrorCode.UNAVAILABLE,
            f"the answer of {self.address.shown} ({server}; this is {__version__}) is not understood at {place}: "
            "install the same version on both sides",
        )

    async def _ask(
        self,
        method: str,
        path: str,
        params: Params,
        *,
        headers: Mapping[str, str] | None = None,
        body: Body = "",
        read_seconds: float = READ_SECONDS,
        waits_seconds: float = 0,
    ) -> bytes:
        async def once() -> bytes:
            with self._awaited(SILENT_SECONDS + waits_seconds):
                return await self._once(method, path, params, headers or {}, body, read_seconds)

        return await self._insisting(once, acting=method == "POST")

    async def _insisting(self, once: Callable[[], Awaitable[Given]], *, acting: bool) -> Given:
        """What one try gives, after as many as it takes."""
        loop = asyncio.get_running_loop()
        give_up: float | None = None
        pause, timeouts, limited = FIRST_PAUSE, 0, 0
        while True:
            try:
                return await once()
            except LimitedError as limit:
                limited += 1
                if limited > _MOST_LIMITED:
                    raise limit.error from limit
                await asyncio.sleep(limit.seconds)
                continue
            except LostError as loss:
                self.lost()
                timeouts += loss.timed_out
                give_up = give_up or loop.time() + PATIENCE_SECONDS
                if timeouts > _MOST_TIMEOUTS or (not loss.timed_out and loop.time() > give_up):
                    raise self.unreachable(loss.detail) from loss
            await self.revive(acting=acting)
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)

    @contextmanager
    def _awaited(self, seconds: float) -> Iterator[None]:
        """Tell once when what is inside takes so long."""
        word = asyncio.get_running_loop().call_later(seconds, self._tell_of_silence)
        try:
            yield
        finally:
            word.cancel()

    def _tell_of_silence(self) -> None:
        if self._silent is not None and not self._told_of_silence:
            self._told_of_silence = True
            self._silent()

    def unreachable(self, detail: str) -> NodusError:
        """The error for a server that cannot be reached."""
        return NodusError(ErrorCode.UNAVAILABLE, f"{self.address.shown} does not answer: {detail}")

    async def _once(self, method: str, path: str, params: Params, headers: Mapping[str, str], body: Body, read_seconds: float) -> bytes:
        timeout = httpx2.Timeout(read_seconds, connect=CONNECT_SECONDS, pool=None)
        with self._losses():
            response = await self._open().request(
                method,
                PREFIX + path,
                params=list(params),
                headers=headers,
                content=_content(body),
                timeout=timeout,
            )
        self.heard()
        self._check(response, response.content)
        return response.content

    @asynccontextmanager
    async def whole_stream(
        self, method: str, path: str, params: Params = (), *, silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes of an answer that comes in pieces, and ends. It is asked for again until it begins.

        Raises NodusError when it breaks off later: whoever took the first pieces has to begin anew.
        """

        async def once() -> tuple[AsyncExitStack, AsyncIterator[bytes]]:
            stack = AsyncExitStack()
            return stack, await stack.enter_async_context(self.stream(method, path, params, silence_seconds=silence_seconds))

        stack, pieces = await self._insisting(once, acting=method == "POST")
        async with stack:
            try:
                yield pieces
            except LostError as loss:
                self.lost()
                detail = f"{self.address.shown} broke off before its answer was whole: {loss.detail}; ask again"
                raise NodusError(ErrorCode.UNAVAILABLE, detail) from loss

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, params: Params = (), *, headers: Mapping[str, str] | None = None, silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes of one answer as they come; raises LostError when it breaks, or stays silent for too long."""
        timeout = httpx2.Timeout(silence_seconds, connect=CONNECT_SECONDS, pool=None)
        with self._losses():
            request = self._open().build_request(method, PREFIX + path, params=list(params), headers=headers, timeout=timeout)
            with self._awaited(SILENT_SECONDS):
                response = await self._open().send(request, stream=True)
        try:
            self.heard()
            with self._losses():
                content = await response.aread() if response.status_code != httpx2.codes.OK else b""
            self._check(response, content)
            async with aclosing(self._pieces(response)) as pieces:
                yield pieces
        finally:
            await response.aclose()

    async def _pieces(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        pieces = aiter(response.aiter_bytes())
        with self._losses():
            while True:
                try:
                    with self._awaited(HEARTBEAT_SECONDS + SILENT_SECONDS):
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                self.heard()
                yield piece

    def _open(self) -> httpx2.AsyncClient:
        if self._client is None:
            address = self.address
            headers = {"User-Agent": f"nodus-tui/{__version__}"}
            if address.token:
                headers["Authorization"] = f"Bearer {address.token}"
            options: dict[str, Any] = {"base_url": address.url, "headers": headers}
            # A watch holds its connection for ever: the pool's limit must not be what many of them wait for.
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=30)
            if address.socket is not None:
                options["transport"] = httpx2.AsyncHTTPTransport(uds=str(address.socket), limits=limits)
            else:
                options |= {"limits": limits, "verify": self._trusted()}
            self._client = httpx2.AsyncClient(**options)
        return self._client

    def _trusted(self) -> ssl.SSLContext | bool:
        if self.address.ca is None:
            return True
        try:
            return ssl.create_default_context(cafile=str(self.address.ca))
        except (OSError, ssl.SSLError) as error:
            raise NodusError(
                ErrorCode.CONFIGURATION, f"NODUS_CA names {self.address.ca}, which holds no certificates that can be read: {error}"
            ) from error

    def _losses(self) -> "_Losses":
        return _Losses(self.address)

    def _check(self, response: httpx2.Response, content: bytes) -> None:
        """Raise what a refusal says, and what the server's version asks for."""
        version = response.headers.get(VERSION_HEADER, "")
        if version and version != self.server_version:
            self.skew = skew_note(version, __version__, self.address.shown)
            self.server_version = version
        if response.is_success and version:
            return
        problem = _problem(response, content)
        if problem is None:
            if response.status_code in {502, 503, 504}:
                raise LostError(f"something in between says {response.status_code} {response.reason_phrase}")
            raise NodusError(
                ErrorCode.CONFIGURATION,
                f"what answers at {self.address.shown} is no API of nodus-tui (it says {response.status_code}); correct the URL",
            )
        error = NodusError(problem.code, problem.detail + _advice(problem.code, has_token=bool(self.address.token)), problem.faults)
        if problem.code is ErrorCode.RATE_LIMITED:
            raise LimitedError(error, _pause_asked_for(response))
        raise error

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


class _Losses:
    """Turns what the HTTP client raises into LostError, or into the NodusError that no new try can mend."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (httpx2.TransportError, httpx2.StreamError)):
            text = str(error)
            if "CERTIFICATE" in text or "certificate" in text:
                raise NodusError(
                    ErrorCode.CONFIGURATION,
                    f"the certificate of {self._address.shown} is not trusted: {text}. NODUS_CA may name a PEM file with its authority",
                ) from error
            timed_out = isinstance(error, (httpx2.ReadTimeout, httpx2.WriteTimeout))
            raise LostError(text or ("no answer in time" if timed_out else type(error).__name__), timed_out=timed_out) from error


def _content(body: Body) -> bytes | None:
    return (body.encode() if isinstance(body, str) else body) or None


def _problem(response: httpx2.Response, content: bytes) -> Problem | None:
    if response.headers.get("Content-Type", "").partition(";")[0].strip() != PROBLEM_TYPE:
        return None
    try:
        return Problem.model_validate_json(content)
    except ValidationError:
        # A newer server may know codes that are not known here; its sentence still counts.
        return Problem(title="", status=response.status_code, code=ErrorCode.UNAVAILABLE, detail=_sentence(response, content), faults=())


def _sentence(response: httpx2.Response, content: bytes) -> str:
    try:
        told = TypeAdapter(dict[str, Any]).validate_json(content).get("detail")
    except ValidationError:
        told = None
    return told if isinstance(told, str) and told else f"the server refuses with {response.status_code} and does not say why"


def _advice(code: ErrorCode, *, has_token: bool) -> str:
    if code is not ErrorCode.UNAUTHORIZED:
        return ""
    return "; NODUS_TOKEN holds a token that is unknown there" if has_token else "; set NODUS_TOKEN to a token of that server"


def _pause_asked_for(response: httpx2.Response) -> float:
    try:
        return min(_LONGEST_LIMIT_SECONDS, max(0.1, float(response.headers.get("Retry-After", "1"))))
    except ValueError:
        return 1.0
