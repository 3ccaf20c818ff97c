"""The gate before the routes: whoever comes is recognised, checked against the listener's policy, counted, and read within bounds.

It is plain ASGI, so that nothing of a request reaches the framework before it has passed.
"""

import asyncio
import logging
import os
import pwd
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local_backend.daemon.access import (
    AccessPolicy,
    Caller,
    Role,
    TokenBucket,
    bearer_token,
    host_allowed,
    is_dry_run,
    needed_role,
    without_tokens,
)
from local_backend.daemon.presence import Presence
from local_backend.daemon.problems import RefusalError, internal_failure, refusal
from nodus_tui import __version__
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.http import PREFIX, VERSION_HEADER
from nodus_tui.contract.wording import escaped

_log = logging.getLogger(__name__)

CALLER = "caller"
"""The key of the scope's state under which the routes find the Caller."""

PEER_UID = "peerUid"
"""The key under which a unix socket's connection has the user id of its other end."""

_LINGER_BYTES = 32 * 1024 * 1024
"""Of a refused body, taken and dropped at most."""


class Gate:
    """An ASGI application in front of another one."""

    def __init__(self, app: ASGIApp, *, policy: AccessPolicy, presence: Presence, clock: Callable[[], float]) -> None:
        self._app = app
        self._policy = policy
        self._presence = presence
        self._clock = clock
        self._buckets: dict[str, TokenBucket] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            return
        with self._presence.request():
            await _Passage(self, scope, receive, send).go()

    @property
    def linger_seconds(self) -> float:
        """How long a refused client may go on sending."""
        return self._policy.limits.linger_seconds

    async def admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through. Raises RefusalError, and NodusError when the token file cannot be used."""
        headers = Headers(scope=scope)
        caller = self._caller(scope, headers)
        self._check_role(scope, caller)
        self._check_rate(caller)
        body = await self._body(headers, receive)
        scope.setdefault("state", {})[CALLER] = caller
        await self._app(scope, _replay(body, receive), send)

    def _caller(self, scope: Scope, headers: Headers) -> Caller:
        policy = self._policy
        if not host_allowed(policy, headers.get("host")):
            raise refusal(ErrorCode.FORBIDDEN, "the Host header names no host of this server; serve with --host NAME to add one")
        for origin in headers.getlist("origin"):
            if origin not in policy.origins:
                raise refusal(ErrorCode.FORBIDDEN, "requests from web pages of other origins are not let through")
        if policy.identify is None:
            return self._peer(scope)
        values = headers.getlist("authorization")
        token = bearer_token(values[0]) if len(values) == 1 else None
        caller = policy.identify(token) if token else None
        if caller is None:
            detail = "a token is needed: Authorization: Bearer nodus_…" if not values else "the token is unknown or was revoked"
            raise refusal(ErrorCode.UNAUTHORIZED, detail, headers={"WWW-Authenticate": 'Bearer realm="nodus"'})
        return caller

    def _peer(self, scope: Scope) -> Caller:
        uid = scope.get("state", {}).get(PEER_UID)
        if uid not in self._policy.peers:
            raise refusal(ErrorCode.FORBIDDEN, "this socket is for the user who runs the scheduler")
        return Caller(_login_name(uid), Role.OPERATOR)

    def _check_role(self, scope: Scope, caller: Caller) -> None:
        query = scope.get("query_string", b"").decode("latin-1")
        needed = needed_role(scope["method"], scope["path"], query)
        if not caller.role.covers(needed):
            raise refusal(ErrorCode.FORBIDDEN, f"this needs the role {needed}; the token {caller.name} has the role {caller.role}")

    def _check_rate(self, caller: Caller) -> None:
        if self._policy.identify is None:
            return
        limits = self._policy.limits
        bucket = self._buckets.setdefault(caller.name, TokenBucket(limits.requests_per_second, limits.burst))
        wait = bucket.take(self._clock())
        if wait:
            seconds = max(1, -int(-wait // 1))
            detail = f"the token {caller.name} asks more than {limits.requests_per_second:g} times a second; wait {seconds} s"
            raise refusal(ErrorCode.RATE_LIMITED, detail, headers={"Retry-After": str(seconds)})

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """The whole body. Raises RefusalError when it is too long or too slow."""
        limits = self._policy.limits
        most = limits.body_bytes
        too_long = refusal(ErrorCode.INVALID_REQUEST, f"the body is longer than {most:,} bytes", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 15 or int(length) > most):
            raise too_long
        body = bytearray()
        try:
            async with asyncio.timeout(limits.body_seconds):
                async for part in _parts(receive):
                    body += part
                    if len(body) > most:
                        raise too_long
        except TimeoutError:
            detail = f"the body did not arrive within {limits.body_seconds:g} s"
            raise refusal(ErrorCode.INVALID_REQUEST, detail, status=HTTPStatus.REQUEST_TIMEOUT) from None
        return bytes(body)


class _DisconnectedError(Exception):
    """The client went away before its request was whole."""


class _Passage:
    """One request on its way: what was answered, for the log."""

    def __init__(self, gate: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        self._gate = gate
        self._scope = scope
        self._receive = receive
        self._send = send
        self._status = 0

    async def go(self) -> None:
        """Answer, whatever happens."""
        try:
            await self._gate.admit(self._scope, self._receive, self._noting)
        except RefusalError as refused:
            await self._refuse(refused)
        except _DisconnectedError:
            _log.debug("a client went away before its request was whole")
        except NodusError as error:
            await self._refuse(RefusalError(error.problem()))
        except Exception:  # noqa: BLE001 - the outermost place: whatever it is, it is logged and the client gets an answer
            _log.exception("%s %s failed", self._scope["method"], _shown(self._scope["path"]))
            if not self._status:
                await self._refuse(internal_failure(), whole=True)
        finally:
            caller = self._scope.get("state", {}).get(CALLER)
            name = caller.name if isinstance(caller, Caller) else "-"
            level = logging.DEBUG if _is_no_news(self._scope, self._status) else logging.INFO
            _log.log(level, "%s %s %s %s", name, self._scope["method"], _shown(self._scope["path"]), self._status or "-")

    async def _noting(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *_EVERY_ANSWER]}
        await self._send(message)

    async def _refuse(self, refused: RefusalError, *, whole: bool = False) -> None:
        """Send the refusal; unless the request has arrived whole, take what is still sent for a while, so that the answer gets through."""
        response = refused.response()
        headers = [*response.raw_headers, (b"connection", b"close")]
        await self._noting({"type": "http.response.start", "status": response.status_code, "headers": headers})
        await self._send({"type": "http.response.body", "body": bytes(response.body), "more_body": True})
        if not whole:
            await self._drop_rest()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _drop_rest(self) -> None:
        dropped = 0
        try:
            async with asyncio.timeout(self._gate.linger_seconds):
                async for part in _parts(self._receive):
                    dropped += len(part)
                    if dropped > _LINGER_BYTES:
                        return
        except (TimeoutError, _DisconnectedError):
            _log.debug("the rest of a refused request was not waited for")


_EVERY_ANSWER = (
    (VERSION_HEADER.lower().encode(), __version__.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    """The parts of a request's body, to its end."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _DisconnectedError
        more = message.get("more_body", False)
        yield message.get("body", b"")


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive that gives the body that was read, and then whatever follows it: the news that the client went away."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _is_no_news(scope: Scope, status: int) -> bool:
    """What changes nothing and is asked all the time, by consoles and by whoever reads, by editors of specs what a text would do and cost,
    by terminals with each key: the log is for what else was done. A text that is being written is often wrong.
    """
    path: str = scope["path"]
    if path == f"{PREFIX}/estimate" or is_dry_run(scope["method"], path, scope["query_string"].decode("latin-1")):
        return status in {HTTPStatus.OK, HTTPStatus.UNPROCESSABLE_ENTITY}
    if status == HTTPStatus.NOT_FOUND and scope["method"] == "GET" and path.startswith(f"{PREFIX}/resources/"):
        return True  # A bare name is looked for among all kinds.
    return status == HTTPStatus.OK and (scope["method"] == "GET" or ("/exec/" in path and path.endswith(("/input", "/output"))))


def _shown(path: str) -> str:
    return escaped(without_tokens(path)[:300])


def _login_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def own_peers() -> frozenset[int]:
    """The user ids that may ask over a unix socket: this process's own, and root's."""
    return frozenset({os.geteuid(), 0})
