"""The server of consoles in browsers: a page, its files, and a console process behind each socket. Nothing is told without a key."""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path

from aiohttp import WSCloseCode, WSMsgType, web
from msgspec import Struct, field

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.web.access import PROTOCOL, Identify, Visitor, key_of_header, key_of_protocols, origin_allowed, terminal_size
from nodus_tui.web.connections import Guests
from nodus_tui.web.process import ConsoleProcess

_log = logging.getLogger(__name__)

REVOKED, FAILED, FULL = 4001, 4002, 4003
"""Codes with which a socket is closed; page.js knows them. 1000 says that the person has left."""

_HEARTBEAT_SECONDS = 15.0
"""How often a browser is asked whether it is still there."""
_KNOWN_SECONDS = 5.0
"""How often it is looked whether the key of an open console is still somebody's."""
_MESSAGE_BYTES = 65_536
"""Of one message of a browser: what somebody pastes."""
_HANDSHAKE_SECONDS = 10.0
_REASON_BYTES = 120
"""Of the reason with which a socket is closed, as the protocol allows it."""

_OWN = {
    "/": ("page/index.html", "text/html"),
    "/page.js": ("page/page.js", "text/javascript"),
    "/page.css": ("page/page.css", "text/css"),
}
_THEIRS = {
    "/textual.js": ("static/js/textual.js", "text/javascript"),
    "/xterm.css": ("static/css/xterm.css", "text/css"),
    "/mono.ttf": ("static/fonts/RobotoMono-VariableFont_wght.ttf", "font/ttf"),
    "/mono-italic.ttf": ("static/fonts/RobotoMono-Italic-VariableFont_wght.ttf", "font/ttf"),
}
"""The files of textual-serve that the page needs: all else of it stays where it is."""

_HEADERS = {
    # Nothing comes from elsewhere and nothing goes there; the terminal writes its sizes and colours as styles.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class WebOptions(Struct, frozen=True):
    """Where consoles are served, to whom, and which."""

    host: str
    port: int
    """0 lets the system choose."""
    identify: Identify
    command: Callable[[Visitor, str], Sequence[str]]
    """The console of a visitor at a view, as a program with its arguments."""
    knows_view: Callable[[str], bool]
    view: str = ""
    """Where a console opens whose page names no view."""
    most: int = 8
    """Consoles at once."""
    names: frozenset[str] = frozenset()
    """Further names by which browsers call this server, in small letters."""
    certificate: Path | None = None
    key: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """More for the environment of the consoles."""


class WebServer:
    """The consoles of one server."""

    def __init__(self, options: WebOptions) -> None:
        self._options = options
        self._open = 0
        self.guests = Guests()
        self._ending = False
        self.consoles: set[ConsoleProcess] = set()
        """Those that are open."""
        self.application = web.Application(client_max_size=4096)
        self.application.add_routes(
            [
                *(web.get(path, _file(files("nodus_tui.web").joinpath(name).read_bytes(), kind)) for path, (name, kind) in _OWN.items()),
                *(web.get(path, _file(files("textual_serve").joinpath(name).read_bytes(), kind)) for path, (name, kind) in _THEIRS.items()),
                web.get("/session", self._session),
                web.get("/ws", self._console),
            ]
        )
        self.application.on_response_prepare.append(_protected)

    async def _session(self, request: web.Request) -> web.Response:
        """Whether a key opens a console now."""
        visitor = self._options.identify(key_of_header(request.headers.get("Authorization", "")))
        if visitor is None:
            return web.json_response({"detail": "This key is not known here."}, status=401)
        self.guests.is_known(request.transport)
        if self._open >= self._options.most:
            return web.json_response({"detail": self._full()}, status=503)
        return web.json_response({"name": visitor.name, "role": visitor.role})

    def _full(self) -> str:
        most = self._options.most
        return f"{most} console{' is' if most == 1 else 's are'} open, and no more at once are allowed here."

    async def _console(self, request: web.Request) -> web.StreamResponse:
        options = self._options
        if not origin_allowed(request.headers.get("Origin"), request.headers.get("Host"), options.names):
            raise web.HTTPForbidden(text="a console is opened by the page of this server only\n")
        asked = request.headers.get("Sec-WebSocket-Protocol", "")
        key = key_of_protocols(part.strip() for part in asked.split(","))
        visitor = options.identify(key)
        if visitor is None:
            raise web.HTTPUnauthorized(text="this key is not known here\n")
        self.guests.is_known(request.transport)
        view = request.query.get("view", "") or options.view
        if not options.knows_view(view):
            raise web.HTTPBadRequest(text="there is no such view\n")
        socket = web.WebSocketResponse(protocols=(PROTOCOL,), heartbeat=_HEARTBEAT_SECONDS, max_msg_size=_MESSAGE_BYTES, timeout=2.0)
        if self._open >= options.most:
            await socket.prepare(request)
            await socket.close(code=FULL, message=_reason(self._full()))
            return socket
        self._open += 1
        try:
            await socket.prepare(request)
            size = terminal_size(request.query.get("width"), request.query.get("height"))
            await self._serve(socket, visitor, view, size, key)
        finally:
            self._open -= 1
        return socket

    async def _serve(self, socket: web.WebSocketResponse, visitor: Visitor, view: str, size: tuple[int, int], key: str) -> None:
        """A console, until the browser goes, the person leaves, the console ends, or the key is taken back."""
        options = self._options
        console = ConsoleProcess(
            options.command(visitor, view), options.environment, write_bytes=socket.send_bytes, write_str=socket.send_str
        )
        self.consoles.add(console)
        code, reason = int(WSCloseCode.OK), ""
        try:
            await console.start(*size)
            _log.info("%s (%s) opened a console, process %s", visitor.name, visitor.role, console.pid)
            reading = asyncio.ensure_future(_read(socket, console))
            known = asyncio.ensure_future(self._until_unknown(key, visitor))
            ended = asyncio.ensure_future(console.ended.wait())
            try:
                await asyncio.wait((reading, known, ended), return_when=asyncio.FIRST_COMPLETED)
                if known.done():
                    code, reason = REVOKED, "This key is not known here any more."
                elif self._ending:
                    code = int(WSCloseCode.GOING_AWAY)
                elif ended.done() and not console.left:
                    code, reason = FAILED, console.failure or "The console has ended unexpectedly; its log on the server has more."
            finally:
                for task in (reading, known, ended):
                    task.cancel()
                await asyncio.gather(reading, known, ended, return_exceptions=True)
        finally:
            # Shielded: whoever cancels this does not leave the process behind.
            await asyncio.shield(asyncio.ensure_future(self._end(console)))
            _log.info("the console of %s is closed, process %s", visitor.name, console.pid)
        await socket.close(code=code, message=_reason(reason))

    async def _end(self, console: ConsoleProcess) -> None:
        await console.end()
        self.consoles.discard(console)

    async def _until_unknown(self, key: str, visitor: Visitor) -> None:
        while self._options.identify(key) == visitor:  # noqa: ASYNC110 - keys are taken back in a file
            await asyncio.sleep(_KNOWN_SECONDS)

    async def end(self) -> None:
        """End all consoles: their browsers are told that the server goes, and try again."""
        self._ending = True
        await asyncio.gather(*(self._end(console) for console in tuple(self.consoles)))


async def _read(socket: web.WebSocketResponse, console: ConsoleProcess) -> None:
    """Pass on what the browser sends: keys and the mouse, its size, whether it is looked at. Whatever else comes is ignored."""
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            continue
        try:
            told = json.loads(message.data)
        except (ValueError, RecursionError):
            continue
        if not isinstance(told, list) or not told:
            continue
        kind, value = told[0], told[1] if len(told) > 1 else None
        if kind == "stdin" and isinstance(value, str):
            await console.send_bytes(value.encode("utf-8", "replace"))
        elif kind == "resize" and isinstance(value, dict):
            await console.set_terminal_size(*terminal_size(value.get("width"), value.get("height")))
        elif kind == "ping" and isinstance(value, str):
            await socket.send_json(["pong", value[:40]])
        elif kind == "blur":
            await console.blur()
        elif kind == "focus":
            await console.focus()


def _file(data: bytes, kind: str) -> Callable[[web.Request], "asyncio.Future[web.Response]"]:
    async def answer(_request: web.Request) -> web.Response:
        charset = "utf-8" if kind.startswith("text/") else None
        return web.Response(body=data, content_type=kind, charset=charset)

    return answer  # type: ignore[return-value]  # a coroutine is what the router awaits


async def _protected(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
    response.headers["Server"] = "nodus-tui"


def _reason(text: str) -> bytes:
    return text.encode()[:_REASON_BYTES].decode("utf-8", "ignore").encode()


@asynccontextmanager
async def serving_consoles(options: WebOptions) -> AsyncIterator[tuple[WebServer, int]]:
    """Serve consoles while the block runs; gives the server and its port. Raises NodusError where it cannot listen."""
    server = WebServer(options)
    runner = web.AppRunner(server.application, access_log=None, handler_cancellation=True, shutdown_timeout=2.0)
    await runner.setup()
    listener: asyncio.Server | None = None
    try:
        listener = await _listening(runner, server, options)
        port: int = listener.sockets[0].getsockname()[1]
        yield server, port
    finally:
        if listener is not None:
            listener.close()
        await server.end()
        with suppress(TimeoutError):
            await runner.cleanup()


async def _listening(runner: web.AppRunner, server: WebServer, options: WebOptions) -> asyncio.Server:
    tls = _tls(options)
    if runner.server is None:
        raise RuntimeError("the server was not set up")
    protocols = server.guests.watched(runner.server)
    try:
        return await asyncio.get_running_loop().create_server(
            protocols,
            options.host,
            options.port,
            ssl=tls,
            ssl_handshake_timeout=_HANDSHAKE_SECONDS if tls is not None else None,
            reuse_address=True,
        )
    except OSError as error:
        place = f"{options.host}:{options.port}"
        raise NodusError(ErrorCode.UNAVAILABLE, f"nothing can be served at {place}: {error.strerror or error}") from error


def _tls(options: WebOptions) -> ssl.SSLContext | None:
    if options.certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.certificate, options.key)
    except (OSError, ssl.SSLError) as error:
        detail = f"the certificate {options.certificate} and its key cannot be used: {error}"
        raise NodusError(ErrorCode.CONFIGURATION, detail) from error
    return context
