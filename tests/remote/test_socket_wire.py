"""What comes over a unix socket: answers of every form, and those that are none, that break off, or that never come."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.remote import channel
from nodus_tui.remote.address import socket_address
from nodus_tui.remote.backend import RemoteBackend
from nodus_tui.remote.socket_wire import SocketWire
from nodus_tui.remote.wire import LostError, Request, TooLargeError, body_of


@asynccontextmanager
async def saying(folder: Path, *pieces: bytes, stays: bool = False) -> AsyncIterator[tuple[SocketWire, list[bytes]]]:
    """A stand-in server that reads a request's head, says some bytes, and goes or stays; with the heads that it read."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if stays:
            await reader.read()
        writer.close()

    path = folder / "socket"
    server = await asyncio.start_unix_server(serve, path)
    async with server:
        yield SocketWire(path, {"User-Agent": "test"}), heads


async def body(wire: SocketWire, request: Request) -> bytes:
    reply = await wire.send(request)
    try:
        return await body_of(reply)
    finally:
        await reply.aclose()


@pytest.mark.parametrize(
    "pieces",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole", b" and more than it said"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nwh\r\n3;x=y\r\no", b"le\r\n0\r\n\r\n"),
        (b"HTTP/1.0 200 OK\r\n\r\nwh", b"ole"),
        (b"HTTP/1.1 200 ", b"OK\r\ncontent-LENGTH:5\r\n", b"\r\nwhol", b"e"),
    ],
)
async def test_a_body_comes_by_its_length_in_chunks_or_up_to_the_end(tmp_path: Path, pieces: tuple[bytes, ...]) -> None:
    async with saying(tmp_path, *pieces) as (wire, heads):
        assert await body(wire, Request("GET", "/v1/x", [("name", "a b/ü&"), ("name", "2")], {"X-Y": "z"})) == b"whole"
    first, *lines = heads[0].decode("ascii").split("\r\n")
    assert first == "GET /v1/x?name=a%20b%2F%C3%BC%26&name=2 HTTP/1.1"
    assert {"User-Agent: test", "X-Y: z", "Connection: close"} <= set(lines)


async def test_an_answer_without_a_body_ends_though_the_server_stays(tmp_path: Path) -> None:
    async with saying(tmp_path, b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n", stays=True) as (wire, _):
        reply = await wire.send(Request("GET", "/"))
        assert (reply.status, reply.reason, reply.header("x-a"), reply.header("absent")) == (204, "No Content", "1", "")
        assert await body_of(reply) == b""
        await reply.aclose()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 many OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: few\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf--4\r\nhalf\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000,
    ],
)
async def test_what_is_no_whole_answer_counts_as_lost(tmp_path: Path, said: bytes) -> None:
    async with saying(tmp_path, said) as (wire, _):
        with pytest.raises(LostError) as lost:
            await body(wire, Request("GET", "/"))
    assert not lost.value.timed_out


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nha"])
async def test_a_silent_server_is_waited_for_no_longer_than_asked(tmp_path: Path, said: bytes) -> None:
    async with saying(tmp_path, said, stays=True) as (wire, _):
        with pytest.raises(LostError) as lost:
            await body(wire, Request("GET", "/", read_seconds=0.05))
    assert lost.value.timed_out


async def test_a_server_that_takes_nothing_holds_nobody_up(tmp_path: Path) -> None:
    async with saying(tmp_path, stays=True) as (wire, _):
        with pytest.raises(LostError) as lost:
            await body(wire, Request("POST", "/", body=b"a" * 10_000_000, read_seconds=0.05))
    assert lost.value.timed_out


async def test_where_nobody_listens_the_way_is_lost(tmp_path: Path) -> None:
    with pytest.raises(LostError, match="No such file"):
        await SocketWire(tmp_path / "none", {}).send(Request("GET", "/"))


@pytest.mark.parametrize("key", ["a\r\nX-Evil: 1", "ü", "\x00"])
async def test_a_header_that_would_be_two_is_never_sent(tmp_path: Path, key: str) -> None:
    async with saying(tmp_path, b"HTTP/1.1 200 OK\r\n\r\n") as (wire, heads):
        with pytest.raises(NodusError) as refused:
            await wire.send(Request("POST", "/", headers={"Idempotency-Key": key}))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert not heads


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 1_001,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1f4\r\n" + b"a" * 500 + b"\r\nffffffffff\r\n" + b"a" * 501,
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 10_000 + b"\r\n\r\n",
    ],
)
async def test_an_answer_is_read_no_further_than_any_goes(tmp_path: Path, said: bytes) -> None:
    async with saying(tmp_path, said, stays=True) as (wire, _):
        reply = await wire.send(Request("GET", "/"))
        with pytest.raises(TooLargeError):
            await body_of(reply, 1_000)
        await reply.aclose()


async def test_an_answer_that_is_too_large_is_told_and_not_asked_for_again(tmp_path: Path) -> None:
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    async with saying(tmp_path, said, stays=True) as (_, heads), RemoteBackend(socket_address(tmp_path / "socket")) as backend:
        with pytest.raises(NodusError, match="does not answer: it sends more than 256 MiB, which no answer has"):
            await backend.info()
    assert len(heads) == 1


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_who_waits_for_a_server_that_fails_at_once_is_told_before_it_is_given_up(
    said: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "SILENT_SECONDS", 0.05)
    monkeypatch.setattr(channel, "PATIENCE_SECONDS", 1.0)
    told: list[str] = []

    def silent() -> str:
        told.append("it is waited for")
        return told[-1]

    remote = RemoteBackend(socket_address(tmp_path / "socket"), silent=silent)
    async with saying(tmp_path, said) as (_, heads), remote as backend:
        with pytest.raises(NodusError, match="does not answer"):
            await backend.info()
        assert backend.link.silence == "it is waited for"
    assert told == ["it is waited for"]
    assert len(heads) > 1
