"""What each way of a server to misbehave means for the bill. The servers here are our own raw sockets, for no real server is this rude."""

import asyncio
import email.utils
import json
import socket
from datetime import UTC, datetime, timedelta

import pytest
from model_servers import KEY, Connect, Script, answer, hostile, read_request, says

from local_backend.models.providers.http import MAX_ANSWER_BYTES, retry_after_seconds
from local_backend.models.wire import CallOutcome, ChatMessage, ModelCallError, ModelRequest, Usage

REQUEST = ModelRequest("", (ChatMessage("user", "hi"),), 16)

OPENAI = {
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
}
ANTHROPIC = {
    "type": "message",
    "model": "m",
    "content": [{"type": "text", "text": "yes"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 7, "output_tokens": 2},
}
GOOD = {"openai": OPENAI, "anthropic": ANTHROPIC}
PROTOCOLS = sorted(GOOD)


def with_usage(provider: str, **usage: object) -> dict[str, object]:
    return {**GOOD[provider], "usage": {**GOOD[provider]["usage"], **usage}}  # type: ignore[dict-item]  # The documents above are JSON.


async def outcome(connect: Connect, url: str, provider: str = "openai", timeout: str = "60s") -> ModelCallError:
    client, model = connect(url, provider=provider, timeout=timeout)
    with pytest.raises(ModelCallError) as caught:
        await client.attempt(model, REQUEST)
    error = caught.value
    assert KEY not in error.message
    assert KEY not in repr(error)
    assert error.message.isprintable()
    assert len(error.message) < 700
    assert not error.retryable or error.outcome is CallOutcome.FREE
    return error


async def unknown(connect: Connect, script: Script, provider: str = "openai", timeout: str = "60s") -> ModelCallError:
    async with hostile(script) as url:
        error = await outcome(connect, url, provider, timeout)
    assert (error.outcome, error.retryable) == (CallOutcome.UNKNOWN, False)
    return error


async def refused(connect: Connect, raw: bytes, provider: str = "openai") -> ModelCallError:
    async with hostile(says(raw)) as url:
        error = await outcome(connect, url, provider)
    assert error.outcome is CallOutcome.FREE
    return error


async def hangs(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()  # Until the client goes away.


async def half_a_head_then_hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-ty")
    await writer.drain()
    await reader.read()


async def half_a_body_then_hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(answer(OPENAI)[:-20])
    await writer.drain()
    await reader.read()


async def endless_body(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
    for _ in range(2 * MAX_ANSWER_BYTES // 2**20):
        writer.write(b" " * 2**20)
        await writer.drain()


@pytest.mark.parametrize("provider", PROTOCOLS)
class TestUnknownOutcome:
    """The request went out and no complete, readable answer came: it may have been paid."""

    @pytest.mark.parametrize("script", [hangs, half_a_head_then_hangs, half_a_body_then_hangs])
    async def test_no_answer_in_time(self, connect: Connect, provider: str, script: Script) -> None:
        assert "within 1 s" in (await unknown(connect, script, provider, timeout="1s")).message

    @pytest.mark.parametrize(
        "raw",
        [
            pytest.param(b"", id="closes"),
            pytest.param(b"HTTP/1.1 200 OK\r\n", id="closes in the head"),
            pytest.param(b"\x00\x01\x02 nonsense\r\n\r\n" * 20, id="no HTTP"),
            pytest.param(b"HTTP/1.1 abc OK\r\n\r\n", id="no status"),
            pytest.param(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000 + b"\r\n\r\n", id="huge header"),
            pytest.param(answer(OPENAI)[:-20], id="shorter than announced"),
            pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\n{", id="cut in a chunk"),
            pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", id="no chunk"),
            pytest.param(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nabcd", id="no gzip"),
            pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps(OPENAI).encode()[:-5], id="cut without a length"),
            pytest.param(answer(b"", status="204 No Content"), id="204"),
            pytest.param(answer({}, status="202 Accepted"), id="202"),
        ],
    )
    async def test_broken_exchanges(self, connect: Connect, provider: str, raw: bytes) -> None:
        await unknown(connect, says(raw), provider)

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"null",
            b"[]",
            b'"text"',
            b"{}",
            b"{" + b'"a":{' * 100_000,
            b'{"usage": NaN}',
            b'{"usage": ' + b"9" * 5000 + b"}",
            b"\xff\xfe\x00{}",
            json.dumps(OPENAI).encode("utf-16"),
            b"<html>Please log in</html>",
            b'data: {"choices": []}\n\n',
        ],
        ids=lambda body: repr(body[:12]),
    )
    async def test_bodies_that_are_no_answer(self, connect: Connect, provider: str, body: bytes) -> None:
        await unknown(connect, says(answer(body)), provider)

    async def test_a_body_without_end(self, connect: Connect, provider: str) -> None:
        assert "larger than 32 MiB" in (await unknown(connect, endless_body, provider)).message

    async def test_no_usage(self, connect: Connect, provider: str) -> None:
        without = {name: value for name, value in GOOD[provider].items() if name != "usage"}
        assert "usage" in (await unknown(connect, says(answer(without)), provider)).message
        assert "usage" in (await unknown(connect, says(answer(without | {"usage": None})), provider)).message

    @pytest.mark.parametrize("count", [-1, 2.5, "7", True, None, 10**9, [7]])
    async def test_impossible_usage(self, connect: Connect, provider: str, count: object) -> None:
        for name in GOOD[provider]["usage"]:
            if name == "total_tokens" and count is None:
                continue  # It is optional.
            await unknown(connect, says(answer(with_usage(provider, **{name: count}))), provider)

    async def test_the_kind_of_another_content_is_named(self, connect: Connect, provider: str) -> None:
        page = answer(b"<html>log in</html>", headers="content-type: text/html\r\n")
        assert "content type text/html" in (await unknown(connect, says(page), provider)).message


class TestUnknownOutcomeByProtocol:
    @pytest.mark.parametrize(
        "choices",
        [
            None,
            [],
            [None],
            [{"finish_reason": "stop"}],
            [{"finish_reason": None, "message": {"content": "cut"}}],
            [{"message": {"content": "cut"}}],
            [{"finish_reason": "stop", "message": {"content": None}}],
            [{"finish_reason": "stop", "message": {"content": 7}}],
            [{"finish_reason": "tool_calls", "message": {"content": None, "tool_calls": []}}],
        ],
    )
    async def test_openai_without_a_complete_choice(self, connect: Connect, choices: object) -> None:
        await unknown(connect, says(answer(OPENAI | {"choices": choices})))

    async def test_openai_with_more_cached_than_read(self, connect: Connect) -> None:
        await unknown(connect, says(answer(with_usage("openai", prompt_tokens_details={"cached_tokens": 8}))))

    async def test_openai_with_an_error_inside(self, connect: Connect) -> None:
        error = await unknown(connect, says(answer({"error": {"message": f"upstream said {KEY}\x1b[2J"}})))
        assert "it says: upstream said [key]" in error.message

    @pytest.mark.parametrize(
        "change",
        [{"content": None}, {"content": "yes"}, {"content": ["yes"]}, {"content": [{"type": "text"}]}, {"stop_reason": None}],
        ids=str,
    )
    async def test_anthropic_without_a_complete_message(self, connect: Connect, change: dict[str, object]) -> None:
        await unknown(connect, says(answer(ANTHROPIC | change)), "anthropic")


@pytest.mark.parametrize("provider", PROTOCOLS)
class TestFree:
    """The server refused, or the request never left: it certainly cost nothing."""

    async def test_nobody_listens(self, connect: Connect, provider: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            error = await outcome(connect, f"http://127.0.0.1:{taken.getsockname()[1]}", provider)
        assert (error.outcome, error.retryable) == (CallOutcome.FREE, True)

    async def test_no_such_host(self, connect: Connect, provider: str) -> None:
        error = await outcome(connect, "http://no-such-host.invalid/v1", provider)
        assert (error.outcome, error.retryable) == (CallOutcome.FREE, True)

    async def test_no_tls(self, connect: Connect, provider: str) -> None:
        async def no_tls(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"this is not TLS\r\n")
            writer.close()

        server = await asyncio.start_server(no_tls, "127.0.0.1", 0)
        async with server:
            error = await outcome(connect, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", provider)
        assert (error.outcome, error.retryable) == (CallOutcome.FREE, True)

    @pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 503, 529])
    async def test_errors_that_pass(self, connect: Connect, provider: str, status: int) -> None:
        error = await refused(connect, answer({"error": {"message": "busy"}}, status=f"{status} Whatever"), provider)
        assert (error.retryable, error.status, error.rate_limited) == (True, status, status in {429, 529})
        assert error.message.endswith(": busy")

    @pytest.mark.parametrize("status", [502, 504, 520, 524, 599])
    async def test_a_gateway_that_lost_the_server_leaves_the_outcome_unknown(self, connect: Connect, provider: str, status: int) -> None:
        async with hostile(says(answer({"error": {"message": "upstream"}}, status=f"{status} Whatever"))) as url:
            error = await outcome(connect, url, provider)
        assert (error.outcome, error.retryable, error.status) == (CallOutcome.UNKNOWN, False, status)
        assert "upstream; the model behind that gateway may have answered" in error.message

    @pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 413, 422, 451, 501, 505])
    async def test_errors_that_stay(self, connect: Connect, provider: str, status: int) -> None:
        error = await refused(connect, answer({"error": {"message": "no"}}, status=f"{status} Whatever"), provider)
        assert (error.retryable, error.status, error.retry_after) == (False, status, None)

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    async def test_redirects_are_not_followed(self, connect: Connect, provider: str, status: int) -> None:
        heard: list[bytes] = []

        async def elsewhere(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            heard.append(b"a request")

        async with hostile(elsewhere) as target:
            error = await refused(connect, answer(b"", status=f"{status} Moved", headers=f"location: {target}/v1\r\n"), provider)
        assert not heard
        assert not error.retryable
        assert f"a redirect to {target}/v1" in error.message

    @pytest.mark.parametrize("status", [400, 401, 429, 500])
    async def test_the_key_never_shows(self, connect: Connect, provider: str, status: int) -> None:
        for said in (
            {"error": {"message": f"the key {KEY} is bad"}},
            {"error": f"{KEY}"},
            {"detail": f"{KEY}"},
            f"<{KEY}>".encode(),
            KEY.encode(),
        ):
            error = await refused(connect, answer(said, status=f"{status} {KEY}"), provider)
            assert "TESTED_KEY" in error.message or status != 401
        await refused(connect, answer(b"", status="302 Found", headers=f"location: http://x/?key={KEY}\r\n"), provider)

    async def test_what_the_server_says_is_made_safe_and_short(self, connect: Connect, provider: str) -> None:
        said = "\x1b]0;title\x07 \u202ereversed\ud800 " + "long " * 500
        error = await refused(connect, answer({"error": {"message": said}}, status="400 Bad"), provider)
        assert "\\x1b]0;title\\x07 \\u202ereversed\\ud800 long" in error.message
        assert error.message.endswith("…")

    async def test_an_error_whose_body_never_comes_is_still_an_error(self, connect: Connect, provider: str) -> None:
        error = await refused(connect, b"HTTP/1.1 503 Busy\r\ncontent-length: 1000\r\n\r\n{", provider)
        assert (error.retryable, error.status) == (True, 503)

    async def test_a_pause_is_read(self, connect: Connect, provider: str) -> None:
        error = await refused(connect, answer({}, status="429 Too Many", headers="retry-after: 7\r\n"), provider)
        assert error.retry_after == 7
        error = await refused(connect, answer({}, status="503 Busy", headers="retry-after: 7\r\n"), provider)
        assert (error.retry_after, error.rate_limited) == (7, True)


async def test_an_empty_account_is_not_retried(connect: Connect) -> None:
    said = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    error = await refused(connect, answer(said, status="429 Too Many Requests", headers="retry-after: 1\r\n"))
    assert (error.retryable, error.rate_limited) == (False, False)


NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": " 20 "}, 20),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": email.utils.format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90),
        ({"retry-after": email.utils.format_datetime(NOW - timedelta(seconds=90), usegmt=True)}, 0),
        (
            {
                "date": email.utils.format_datetime(NOW + timedelta(hours=3), usegmt=True),
                "retry-after": email.utils.format_datetime(NOW + timedelta(hours=3, seconds=5), usegmt=True),
            },
            5,
        ),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "Mon, 99 Foo 2026 99:99:99 GMT"}, None),
    ],
)
def test_forms_of_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, NOW) == seconds


class TestWhatIsSent:
    async def test_openai_words(self, connect: Connect) -> None:
        head, body = await sent(connect, "openai", OPENAI)
        assert head.startswith("POST /v1/chat/completions HTTP/1.1")
        assert f"authorization: bearer {KEY}" in head.lower()
        assert json.loads(body) == {
            "model": "smollm2-135m",
            "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "hi\ufffd"}],
            "stream": False,
            "max_tokens": 16,
            "temperature": 0.5,
        }

    async def test_anthropic_words(self, connect: Connect) -> None:
        head, body = await sent(connect, "anthropic", ANTHROPIC)
        assert head.startswith("POST /v1/messages HTTP/1.1")
        assert f"x-api-key: {KEY}" in head.lower()
        assert "anthropic-version: 2023-06-01" in head.lower()
        assert json.loads(body) == {
            "model": "smollm2-135m",
            "max_tokens": 16,
            "messages": [{"role": "user", "content": "hi\ufffd"}],
            "system": "S",
            "temperature": 0.5,
        }


async def sent(connect: Connect, provider: str, reply: dict[str, object]) -> tuple[str, bytes]:
    """The head and body of a request, taken from the wire."""
    heard: list[tuple[str, bytes]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await read_request(reader))
        writer.write(answer(reply))
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        client, model = connect(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", provider=provider)
        request = ModelRequest("S", (ChatMessage("user", "hi\ud800"),), 16, temperature=0.5, case_key="secret of the simulation")
        answered = await client.attempt(model, request)
    assert (answered.text, answered.usage) == ("yes", Usage(7, 2))
    return heard[0]


async def test_a_call_that_is_cancelled_stays_cancelled(connect: Connect) -> None:
    arrived = asyncio.Event()

    async def tells(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await reader.read()

    async with hostile(tells) as url:
        client, model = connect(url)
        call = asyncio.create_task(client.attempt(model, REQUEST))
        await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_a_closed_client_sends_nothing(connect: Connect) -> None:
    async with hostile(says(answer(OPENAI))) as url:
        client, model = connect(url)
        await client.attempt(model, REQUEST)
        await client.aclose()
        with pytest.raises(ModelCallError, match="not sent") as caught:
            await client.attempt(model, REQUEST)
    assert caught.value.outcome is CallOutcome.FREE
