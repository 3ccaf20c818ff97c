"""The server of consoles for browsers, asked by an HTTP client: who is let in, what is passed on, and that no process stays behind."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import psutil
import pytest

import nodus_tui.web.process
import nodus_tui.web.server
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.values import replace
from nodus_tui.web.access import Visitor
from nodus_tui.web.connections import Guests
from nodus_tui.web.server import FAILED, FULL, REVOKED, WebOptions, WebServer, serving_consoles

pytest.importorskip("textual_serve")

STAND_IN = str(Path(__file__).with_name("console_stand_in.py"))


class Place:
    """A server, and a browser of sorts."""

    def __init__(self, server: WebServer, url: str, client: aiohttp.ClientSession, keys: dict[str, Visitor]) -> None:
        self.server = server
        self.url = url
        self.client = client
        self.keys = keys

    @asynccontextmanager
    async def socket(self, key: str = "ann-key", *, query: str = "?width=100&height=30", origin: str | None = ""):
        headers = {} if origin is None else {"Origin": origin or self.url}
        protocols = ("nodus.console", f"nodus.key.{key}")
        async with self.client.ws_connect(f"{self.url}/ws{query}", headers=headers, protocols=protocols) as socket:
            yield socket

    async def refused(self, **options: str | None) -> int:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            async with self.socket(**options):
                pass
        return caught.value.status


@asynccontextmanager
async def serving(behaviour: str = "echo", **changed: object) -> AsyncIterator[Place]:
    keys = {"ann-key": Visitor("ann", "viewer"), "bob-key": Visitor("bob", "operator")}
    options = WebOptions(
        host="127.0.0.1",
        port=0,
        identify=keys.get,
        command=lambda visitor, view: (sys.executable, STAND_IN, behaviour, visitor.role, visitor.name, view),
        knows_view=lambda view: view in ("campaigns", "gpus"),
        view="campaigns",
        environment={"MORE": "of it"},
    )
    async with serving_consoles(replace(options, **changed)) as (server, port), aiohttp.ClientSession() as client:  # type: ignore[arg-type]
        yield Place(server, f"http://127.0.0.1:{port}", client, keys)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


async def first_words(socket: aiohttp.ClientWebSocketResponse) -> dict[str, dict[str, str]]:
    return json.loads(await socket.receive_bytes())


async def test_the_page_and_its_files_come_from_here_alone_and_hold_nothing_of_the_workspace() -> None:
    async with serving() as place:
        for path, kind, word in (
            ("/", "text/html", b"<title>nodus</title>"),
            ("/page.js", "text/javascript", b"sessionStorage"),
            ("/page.css", "text/css", b"@font-face"),
            ("/textual.js", "text/javascript", b"WebSocket"),
            ("/xterm.css", "text/css", b".xterm"),
            ("/mono.ttf", "font/ttf", b""),
        ):
            async with place.client.get(place.url + path) as answer:
                text = await answer.read()
                assert (answer.status, answer.content_type) == (200, kind)
                assert word in text
                assert b"googleapis" not in text
                policy = answer.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy
                assert "script-src 'self';" in policy
                assert answer.headers["X-Frame-Options"] == "DENY"
                assert answer.headers["Referrer-Policy"] == "no-referrer"
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
        for path in ("/static/", "/static/js/textual.js", "/download/x", "/../server.py", "/%2e%2e/server.py", "/page/index.html"):
            async with place.client.get(place.url + path) as answer:
                assert answer.status == 404
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
        async with place.client.post(place.url + "/session") as answer:
            assert answer.status == 405


async def test_a_session_is_told_for_a_key_only() -> None:
    async with serving(most=1) as place:

        async def session(key: str) -> tuple[int, dict[str, str]]:
            async with place.client.get(place.url + "/session", headers={"Authorization": f"Bearer {key}"}) as answer:
                return answer.status, await answer.json()

        assert await session("ann-key") == (200, {"name": "ann", "role": "viewer"})
        assert await session("other") == (401, {"detail": "This key is not known here."})
        async with place.socket():
            assert await session("ann-key") == (503, {"detail": "1 console is open, and no more at once are allowed here."})


async def test_no_console_without_a_key_from_another_page_or_at_no_view() -> None:
    async with serving() as place:
        assert await place.refused(key="other") == 401
        assert await place.refused(key="") == 401
        assert await place.refused(origin=None) == 403
        assert await place.refused(origin="https://evil.example") == 403
        assert await place.refused(query="?view=../../x") == 400
        assert not place.server.consoles


async def test_keys_sizes_and_role_reach_the_console_and_what_it_draws_comes_back() -> None:
    async with serving() as place, place.socket(key="bob-key", query="?width=100000&height=-3&view=gpus") as socket:
        assert socket.protocol == "nodus.console"
        told = await first_words(socket)
        assert told["arguments"] == ["echo", "operator", "bob", "gpus"]
        driver = "nodus_tui.browser_driver:BrowserDriver"
        assert told["environment"] == {"COLUMNS": "500", "ROWS": "24", "TEXTUAL_DRIVER": driver, "NO_COLOR": None, "MORE": "of it"}
        for nonsense in ("", "{", "[]", "{}", "[1]", '["stdin"]', '["stdin", 7]', '["resize", []]', '["other", 1]', "[" * 10_000):
            await socket.send_str(nonsense)
        await socket.send_bytes(b"\xff")
        await socket.send_json(["stdin", "x\ud800"])
        assert await socket.receive_bytes() == b"Dx?"
        await socket.send_json(["resize", {"width": 10**9, "height": "60"}])
        assert json.loads((await socket.receive_bytes())[1:]) == {"type": "resize", "width": 500, "height": 60}
        await socket.send_json(["ping", "12"])
        assert await socket.receive_json() == ["pong", "12"]
        await socket.send_json(["blur"])
        assert b"blur" in await socket.receive_bytes()


async def test_a_console_cannot_open_addresses_or_deliver_files_in_the_browser() -> None:
    async with serving("tricks") as place, place.socket() as socket:
        await first_words(socket)
        await socket.send_json(["ping", "1"])
        assert await socket.receive_json() == ["pong", "1"], "nothing came before it"


async def test_whoever_leaves_is_told_so_and_the_process_ends() -> None:
    async with serving() as place, place.socket() as socket:
        await first_words(socket)
        await socket.send_json(["stdin", "q"])
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
        assert socket.close_code == 1000
        await until(lambda: not place.server.consoles)


@pytest.mark.parametrize("behaviour", ["echo", "stubborn", "floods"])
async def test_a_browser_that_goes_leaves_no_process(behaviour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodus_tui.web.process, "_ENDING_SECONDS", 0.2)
    async with serving(behaviour) as place:
        async with place.socket() as socket:
            await first_words(socket)
            (console,) = place.server.consoles
            process = psutil.Process(console.pid)
            # As a network that breaks: no word of farewell.
            assert socket._response.connection is not None
            socket._response.connection.transport.abort()
        await until(lambda: not place.server.consoles)
        assert not process.is_running()


async def test_the_end_of_the_server_ends_every_console(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodus_tui.web.process, "_ENDING_SECONDS", 0.2)
    async with serving("stubborn") as place:
        socket = await place.client.ws_connect(
            f"{place.url}/ws", headers={"Origin": place.url}, protocols=("nodus.console", "nodus.key.ann-key")
        )
        await first_words(socket)
        processes = [psutil.Process(console.pid) for console in place.server.consoles]
        assert processes
    assert not any(process.is_running() for process in processes)


async def test_a_console_that_cannot_begin_says_why_and_one_that_dies_is_noticed() -> None:
    for behaviour, sentence in (("fails", "there is no workspace, ää"), ("dies", "The console has ended unexpectedly")):
        async with serving(behaviour) as place, place.socket() as socket:
            message = await socket.receive()
            assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, FAILED)
            assert message.extra is not None
            assert message.extra.startswith(sentence)


async def test_a_key_that_is_taken_back_closes_what_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodus_tui.web.server, "_KNOWN_SECONDS", 0.01)
    async with serving() as place, place.socket() as socket:
        await first_words(socket)
        del place.keys["ann-key"]
        message = await socket.receive()
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, REVOKED)
        await until(lambda: not place.server.consoles)


async def test_their_number_is_bounded_and_a_place_comes_free() -> None:
    async with serving(most=2) as place:
        async with place.socket() as one, place.socket() as two:
            await first_words(one)
            await first_words(two)
            async with place.socket() as three:
                message = await three.receive()
                assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, FULL)
                assert message.extra == "2 consoles are open, and no more at once are allowed here."
            assert len(place.server.consoles) == 2
        await until(lambda: not place.server.consoles)
        async with place.socket() as again:
            await first_words(again)


async def test_a_message_that_is_too_long_ends_its_console_only() -> None:
    async with serving() as place, place.socket() as socket:
        await first_words(socket)
        await socket.send_json(["stdin", "x" * 100_000])
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
        assert socket.close_code == 1009
        async with place.socket() as other:
            await first_words(other)


async def test_what_cannot_be_served_is_said() -> None:
    async with serving() as place:
        port = int(place.url.rpartition(":")[2])
        with pytest.raises(NodusError, match=f"nothing can be served at 127.0.0.1:{port}") as caught:
            async with serving(port=port):
                pass
        assert caught.value.code is ErrorCode.UNAVAILABLE
    with pytest.raises(NodusError, match="cannot be used"):
        async with serving(certificate=Path(__file__), key=Path(__file__)):
            pass


async def test_connections_without_a_key_are_few_and_do_not_last_and_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodus_tui.web.server, "Guests", lambda: Guests(most=3, seconds=60))
    async with serving() as place, place.socket() as console:
        await first_words(console)
        port = int(place.url.rpartition(":")[2])
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        # The oldest go, to their holders' knowledge; who has a key comes in all the same, and who is in stays.
        for reader, _ in held[:2]:
            with suppress(ConnectionResetError):
                assert await reader.read(1) == b""
        assert not held[4][0].at_eof()
        async with place.client.get(f"{place.url}/session", headers={"Authorization": "Bearer ann-key"}) as answer:
            assert answer.status == 200
        await console.send_str('["ping", "there"]')
        async with asyncio.timeout(60):
            while (message := await console.receive()).type is not aiohttp.WSMsgType.TEXT:
                assert message.type is aiohttp.WSMsgType.BINARY
        for _, writer in held:
            writer.close()


async def test_a_connection_on_which_no_key_is_shown_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodus_tui.web.server, "Guests", lambda: Guests(seconds=2))
    async with serving() as place:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(place.url.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nHost: slow\r\n")
        async with asyncio.timeout(60):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
        async with place.socket() as console:
            await first_words(console)
