"""One HTTP exchange with a model server, and what its failure means for the bill.

The rule: an error answer, or a failure before the request went out, certainly cost nothing (Free). Once the request may have left this
machine, anything but a complete and readable answer may have been paid (Unknown): the connection broke, time ran out, the body is cut,
garbage, too large, or reports no usage.

Redirects are not followed: they would carry the key, and the prompt, to an address that nobody configured. Proxies are those of the
environment (see `endpoints.proxy_for`); `.netrc` and cookies are not read.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import aiohttp
from msgspec import Struct

from local_backend.models.endpoints import shown_host
from local_backend.models.providers.foreign_text import one_line
from local_backend.models.providers.reading import UnreadableAnswerError, optional_text, parse_object
from local_backend.models.wire import CallOutcome, ModelCallError

CONNECT_TIMEOUT = 10.0
"""Seconds to reach the server, name lookup and TLS included."""

KEEP_ALIVE = 4.0
"""Seconds that an idle connection is kept. Several servers drop theirs after 5, and a request sent into that moment has an unknown
outcome."""

MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024

_ERROR_BODY_SECONDS = 5.0
_RETRYABLE_4XX = frozenset({408, 409, 425, 429})
_NOT_RETRYABLE_5XX = frozenset({501, 505})
_GATEWAY_LOST_IT = frozenset({502, 504, *range(520, 600)}) - {529}
"""A gateway says so when the model server behind it broke off or took too long: what that server did, and bills, nobody knows."""
_RATE_LIMITED = frozenset({429, 529})
_PHRASES = {529: "Overloaded"}


class Connections:
    """The connections of one process, shared by all providers; made on first use. Belongs to one event loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    def session(self) -> aiohttp.ClientSession:
        """The shared session. The gates limit calls; the connector does not."""
        if self._closed:
            raise ModelCallError("the call was not sent: the backend is closing", CallOutcome.FREE)
        if self._session is None:
            trace = aiohttp.TraceConfig()
            trace.on_request_headers_sent.append(_mark_sent)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE),
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[trace],
                trust_env=False,
            )
        return self._session

    async def aclose(self) -> None:
        """Close every connection, for good."""
        self._closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None


class _Progress(Struct):
    """How far a request got."""

    sent: bool = False
    """It may have left this machine."""


async def _mark_sent(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: aiohttp.TraceRequestHeadersSentParams) -> None:
    context.trace_request_ctx.sent = True


class Endpoint(Struct, frozen=True):
    """Where requests go, and what goes with each."""

    url: str
    headers: Mapping[str, str]
    key: str | None
    key_name: str | None
    """The variable that holds the key, for messages."""
    proxy: str | None
    clock: Callable[[], datetime]

    def __repr__(self) -> str:
        return f"Endpoint({self.url})"

    @property
    def host(self) -> str:
        """Host and port, for messages."""
        return shown_host(self.url)


async def exchange(connections: Connections, endpoint: Endpoint, body: bytes, timeout: float) -> dict[str, Any]:
    """Send a JSON body once and give the JSON object that came back with status 200. Raises ModelCallError."""
    progress = _Progress()
    try:
        async with connections.session().post(
            endpoint.url,
            data=body,
            headers={"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity", **endpoint.headers},
            timeout=aiohttp.ClientTimeout(total=timeout, connect=CONNECT_TIMEOUT),
            proxy=endpoint.proxy,
            allow_redirects=False,
            trace_request_ctx=progress,
        ) as response:
            if response.status != HTTPStatus.OK:
                raise await _refused(endpoint, response)
            answer = await _read(response, MAX_ANSWER_BYTES)
            if answer is None:
                raise unreadable(endpoint, f"its answer is larger than {MAX_ANSWER_BYTES // 2**20} MiB")
            return _parsed(endpoint, response, answer)
    except TimeoutError:
        if progress.sent:
            message = f"{endpoint.host} gave no complete answer within {timeout:g} s"
        else:
            message = f"{endpoint.host} could not be reached within {min(timeout, CONNECT_TIMEOUT):g} s"
        raise _broken(message, progress) from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if progress.sent:
            message = f"the connection to {endpoint.host} broke before a complete answer came: {_cause(error, endpoint)}"
        else:
            message = f"{endpoint.host} could not be reached: {_cause(error, endpoint)}"
        raise _broken(message, progress) from None


def unreadable(endpoint: Endpoint, what: str) -> ModelCallError:
    """The error for an answer with status 200 that is no answer: it may have been paid."""
    return ModelCallError(f"{endpoint.host} answered, but {what}", CallOutcome.UNKNOWN, status=200)


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """The pause that an answer asks for: `retry-after-ms`, or `Retry-After` as seconds or as a date; None without a readable one.

    A date is compared with the server's own `Date` where it gives one, so that a clock that is wrong here does no harm.
    """
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if text and text.isascii() and text.replace(".", "", 1).isdigit():
            return float(text) / per_second
    until = _http_date(headers.get("retry-after", ""))
    if until is None:
        return None
    return max(0.0, (until - (_http_date(headers.get("date", "")) or now)).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else None


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes | None:
    """The body, or None when it is larger than the limit."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > limit:
            response.close()
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _parsed(endpoint: Endpoint, response: aiohttp.ClientResponse, answer: bytes) -> dict[str, Any]:
    try:
        return parse_object(answer)
    except UnreadableAnswerError as error:
        kind = one_line(response.headers.get("content-type", ""), key=endpoint.key, limit=60)
        of_kind = f" (content type {kind})" if kind and "json" not in kind else ""
        raise unreadable(endpoint, f"{error}{of_kind}") from None


async def _refused(endpoint: Endpoint, response: aiohttp.ClientResponse) -> ModelCallError:
    """The error for an answer with another status than 200."""
    status = response.status
    said, kind = await _error_text(endpoint, response)
    head = f"{endpoint.host} answered {status} {_phrase(status)}".rstrip()
    if 200 <= status < 300:
        return ModelCallError(f"{head}, which is no answer", CallOutcome.UNKNOWN, status=status)
    if status in _GATEWAY_LOST_IT:
        what = f"{head}{': ' if said else ''}{said}; the model behind that gateway may have answered all the same"
        return ModelCallError(what, CallOutcome.UNKNOWN, status=status)
    if 300 <= status < 400:
        where = one_line(response.headers.get("location", ""), key=endpoint.key, limit=200)
        to = f" to {where}" if where else ""
        return ModelCallError(
            f"{head}: a redirect{to}, which is not followed; set baseURL to the final address", CallOutcome.FREE, status=status
        )
    no_credit = status == HTTPStatus.TOO_MANY_REQUESTS and kind == "insufficient_quota"
    retryable = (status in _RETRYABLE_4XX or (status >= 500 and status not in _NOT_RETRYABLE_5XX)) and not no_credit
    pause = retry_after_seconds(response.headers, endpoint.clock()) if retryable else None
    asked_to_wait = status == HTTPStatus.SERVICE_UNAVAILABLE and pause is not None
    hint = ""
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        hint = f" (the key is the one in {endpoint.key_name})" if endpoint.key_name else " (no key was sent: apiKeyEnv is not set)"
    return ModelCallError(
        f"{head}{': ' if said else ''}{said}{hint}",
        CallOutcome.FREE,
        retryable=retryable,
        retry_after=pause,
        rate_limited=retryable and (status in _RATE_LIMITED or asked_to_wait),
        status=status,
    )


async def _error_text(endpoint: Endpoint, response: aiohttp.ClientResponse) -> tuple[str, str]:
    """What the server says of its error, and the error's type; both empty when nothing readable comes. The status has told enough."""
    body: bytes | None = b""
    with contextlib.suppress(aiohttp.ClientError, OSError, ValueError, TimeoutError):
        async with asyncio.timeout(_ERROR_BODY_SECONDS):
            body = await _read(response, MAX_ERROR_BYTES)
    if not body:
        return "", ""
    try:
        answer = parse_object(body)
    except UnreadableAnswerError:
        text = body.decode("utf-8", "replace")
        return ("" if text.lstrip().startswith("<") else one_line(text, key=endpoint.key)), ""
    error = answer.get("error")
    if isinstance(error, dict):
        return one_line(optional_text(error, "message"), key=endpoint.key), optional_text(error, "code") or optional_text(error, "type")
    text = error if isinstance(error, str) else optional_text(answer, "message") or optional_text(answer, "detail")
    return one_line(text, key=endpoint.key), ""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return _PHRASES.get(status, "")


def _broken(message: str, progress: _Progress) -> ModelCallError:
    if progress.sent:
        return ModelCallError(message, CallOutcome.UNKNOWN)
    return ModelCallError(message, CallOutcome.FREE, retryable=True)


def _cause(error: Exception, endpoint: Endpoint) -> str:
    """What happened, in a few words. An error's own text may quote what a server or a proxy sent, so it is made safe first."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed it"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its body is cut short or damaged"
    text = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
    return one_line(str(text), key=endpoint.key, limit=160) or type(error).__name__
