"""Requests to a URL, over pooled connections and TLS. The HTTP client is loaded with this module: nothing loads it for a socket."""

import ssl
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import httpx2

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.remote.address import Address
from nodus_tui.remote.wire import CONNECT_SECONDS, LostError, Request


class UrlWire:
    """The way to one URL, with headers that go with each request. Raises NodusError when its authorities cannot be read."""

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        self._address = address
        # A watch holds its connection for ever: the pool's limit must not be what many of them wait for.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=30)
        self._client = httpx2.AsyncClient(base_url=address.url, headers=dict(headers), limits=limits, verify=_trusted(address.ca))

    async def send(self, request: Request) -> "UrlReply":
        """Ask. Raises LostError, and NodusError for a certificate that is not trusted."""
        timeout = httpx2.Timeout(request.read_seconds, connect=CONNECT_SECONDS, pool=None)
        with _Losses(self._address):
            made = self._client.build_request(
                request.method,
                request.path,
                params=list(request.params),
                headers=dict(request.headers),
                content=request.body or None,
                timeout=timeout,
            )
            return UrlReply(self._address, await self._client.send(made, stream=True))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()


class UrlReply:
    """An answer of which the head has come."""

    def __init__(self, address: Address, response: httpx2.Response) -> None:
        self.status = response.status_code
        self.reason = response.reason_phrase
        self._address = address
        self._response = response

    def header(self, name: str) -> str:
        """A header, whatever the case of its letters; empty where there is none."""
        value: str = self._response.headers.get(name, "")
        return value

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Its body as it comes. Raises LostError."""
        pieces = aiter(self._response.aiter_bytes())
        while True:
            try:
                with _Losses(self._address):
                    piece = await anext(pieces)
            except StopAsyncIteration:
                return
            yield piece

    async def aclose(self) -> None:
        """Let go of it."""
        await self._response.aclose()


def _trusted(ca: Path | None) -> ssl.SSLContext | bool:
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca))
    except (OSError, ssl.SSLError) as error:
        raise NodusError(ErrorCode.CONFIGURATION, f"NODUS_CA names {ca}, which holds no certificates that can be read: {error}") from error


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
