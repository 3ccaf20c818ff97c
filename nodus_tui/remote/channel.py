"""Requests to an API over HTTP: sent again where that is safe, refused with the server's own error, aware of how the link stands.

A GET is sent again after any loss. A POST carries an idempotency key, so that it acts once however often it is sent. What carries the
requests is loaded when the first is sent: a URL's client takes longer than many a verb.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from nodus_tui import __version__
from nodus_tui.contract.backend import LinkState
from nodus_tui.contract.errors import ErrorCode, NodusError, Problem
from nodus_tui.contract.http import HEARTBEAT_SECONDS, IDEMPOTENCY_HEADER, PREFIX, PROBLEM_TYPE, VERSION_HEADER
from nodus_tui.remote.address import Address
from nodus_tui.remote.versions import skew_note
from nodus_tui.remote.wire import MOST_BYTES, LostError, Params, Reply, Request, TooLargeError, Wire, body_of
from nodus_tui.values import replace

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
_OK, _SUCCESS = 200, 2
_LONGEST_LIMIT_SECONDS = 30.0

Body = str | bytes
Revive = Callable[[bool], Awaitable[Address]]
"""Sees to it that a server is there again, and says where; told whether somebody acts (True) or only looks.

Raises NodusError when there is none and none is to be started.
"""

Silent = Callable[[], str]
"""Asked what the other side is doing, once when an answer is long in coming, and again for the next time after something came."""

Answer = TypeVar("Answer", bound=BaseModel)
Given = TypeVar("Given")


class LimitedError(Exception):
    """The server asks to wait."""

    def __init__(self, error: NodusError, seconds: float) -> None:
        super().__init__(error.detail)
        self.error = error
        self.seconds = seconds


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Channel:
    """One API."""

    def __init__(
        self,
        address: Address,
        *,
        revive: Revive | None = None,
        silent: Silent | None = None,
        connected: bool = False,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self.address = address
        self._revive = revive
        self._silent = silent
        self._told_of_silence = False
        self._clock = clock
        self._wire: Wire | None = None
        now = clock()
        self.link = LinkState(connected=connected, since=now, last_heard=now)
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
            self.link = replace(self.link, connected=False, since=self._clock())

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

    def checked(self, kind: type[Answer], part: object) -> Answer:
        """A part of an answer as a value. Raises as `read`."""
        try:
            return kind.model_validate(part)
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
            return await self._once(method, path, params, headers or {}, body, read_seconds)

        # Tries that fail at once are waited for as one that stays silent is.
        with self._awaited(SILENT_SECONDS + waits_seconds):
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
            self.link = replace(self.link, silence=self._silent())

    def unreachable(self, detail: str) -> NodusError:
        """The error for a server that cannot be reached."""
        return NodusError(ErrorCode.UNAVAILABLE, f"{self.address.shown} does not answer: {detail}")

    async def _once(self, method: str, path: str, params: Params, headers: Mapping[str, str], body: Body, read_seconds: float) -> bytes:
        reply = await self._open().send(Request(method, PREFIX + path, params, headers, _content(body), read_seconds))
        try:
            content = await self._body(reply)
        finally:
            await reply.aclose()
        self.heard()
        self._check(reply, content)
        return content

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

        with self._awaited(SILENT_SECONDS):
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
        with self._awaited(SILENT_SECONDS):
            reply = await self._open().send(Request(method, PREFIX + path, params, headers or {}, read_seconds=silence_seconds))
        try:
            self.heard()
            content = await self._body(reply) if reply.status != _OK else b""
            self._check(reply, content)
            async with aclosing(self._pieces(reply)) as pieces:
                yield pieces
        finally:
            await reply.aclose()

    async def _pieces(self, reply: Reply) -> AsyncGenerator[bytes, None]:
        async with aclosing(reply.pieces()) as pieces:
            while True:
                try:
                    with self._awaited(HEARTBEAT_SECONDS + SILENT_SECONDS):
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                self.heard()
                yield piece

    async def _body(self, reply: Reply) -> bytes:
        try:
            return await body_of(reply)
        except TooLargeError as error:
            raise self.unreachable(f"it sends more than {MOST_BYTES >> 20} MiB, which no answer has") from error

    def _open(self) -> Wire:
        if self._wire is None:
            address = self.address
            headers = {"User-Agent": f"nodus-tui/{__version__}"}
            if address.token:
                headers["Authorization"] = f"Bearer {address.token}"
            if address.socket is not None:
                from nodus_tui.remote.socket_wire import SocketWire  # noqa: PLC0415 - each where its kind of address is spoken to

                self._wire = SocketWire(address.socket, headers)
            else:
                from nodus_tui.remote.url_wire import UrlWire  # noqa: PLC0415 - see above

                self._wire = UrlWire(address, headers)
        return self._wire

    def _check(self, reply: Reply, content: bytes) -> None:
        """Raise what a refusal says, and what the server's version asks for."""
        version = reply.header(VERSION_HEADER)
        if version and version != self.server_version:
            self.skew = skew_note(version, __version__, self.address.shown)
            self.server_version = version
        if reply.status // 100 == _SUCCESS and version:
            return
        problem = _problem(reply, content)
        if problem is None:
            if reply.status in {502, 503, 504}:
                raise LostError(f"something in between says {reply.status} {reply.reason}")
            raise NodusError(
                ErrorCode.CONFIGURATION,
                f"what answers at {self.address.shown} is no API of nodus-tui (it says {reply.status}); correct the URL",
            )
        error = NodusError(problem.code, problem.detail + _advice(problem.code, has_token=bool(self.address.token)), problem.faults)
        if problem.code is ErrorCode.RATE_LIMITED:
            raise LimitedError(error, _pause_asked_for(reply))
        raise error

    async def aclose(self) -> None:
        """Close the connections."""
        wire, self._wire = self._wire, None
        if wire is not None:
            await wire.aclose()


def _content(body: Body) -> bytes:
    return body.encode() if isinstance(body, str) else body


def _problem(reply: Reply, content: bytes) -> Problem | None:
    if reply.header("Content-Type").partition(";")[0].strip() != PROBLEM_TYPE:
        return None
    try:
        return Problem.model_validate_json(content)
    except ValidationError:
        # A newer server may know codes that are not known here; its sentence still counts.
        return Problem(title="", status=reply.status, code=ErrorCode.UNAVAILABLE, detail=_sentence(reply, content), faults=())


def _sentence(reply: Reply, content: bytes) -> str:
    try:
        told = TypeAdapter(dict[str, Any]).validate_json(content).get("detail")
    except ValidationError:
        told = None
    return told if isinstance(told, str) and told else f"the server refuses with {reply.status} and does not say why"


def _advice(code: ErrorCode, *, has_token: bool) -> str:
    if code is not ErrorCode.UNAUTHORIZED:
        return ""
    return "; NODUS_TOKEN holds a token that is unknown there" if has_token else "; set NODUS_TOKEN to a token of that server"


def _pause_asked_for(reply: Reply) -> float:
    try:
        return min(_LONGEST_LIMIT_SECONDS, max(0.1, float(reply.header("Retry-After") or "1")))
    except ValueError:
        return 1.0
