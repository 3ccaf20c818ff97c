"""Servers of another version, of another program, not trusted, or that let nobody in: a sentence each that says what to do."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from ways import Authority, spec, workspace

from local_backend.daemon.access import Role
from local_backend.daemon.server import TcpListen, serving
from local_backend.daemon.tokens import FILE_NAME, TokenStore
from nodus_tui import __version__
from nodus_tui.contract.actions import Kill
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.http import PROBLEM_TYPE, VERSION_HEADER
from nodus_tui.remote.address import Address
from nodus_tui.remote.backend import RemoteBackend

pytestmark = pytest.mark.timeout(60)

INFO = '{"name": "local", "version": "0", "workspace": "", "scheduling": true, "schedulerElsewhere": false}'
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[RemoteBackend]:
    """A client of a stand-in server that gives this answer to everything."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with RemoteBackend(Address(url=url, shown=url)) as backend:
            yield backend
    finally:
        await runner.cleanup()


async def refusal(call: Awaitable[object]) -> NodusError:
    with pytest.raises(NodusError) as refused:
        await call
    return refused.value


def info_of(version: str) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=INFO, content_type="application/json", headers={VERSION_HEADER: version})

    return answer


async def test_another_minor_version_is_told_and_works() -> None:
    major, minor, *_ = __version__.split(".")
    async with answering(info_of(f"{major}.{int(minor) + 1}.0")) as backend:
        info = await backend.info()
    assert any("update this one" in note for note in info.notes)
    assert backend.notes == info.notes


async def test_another_major_version_is_refused_with_what_to_do() -> None:
    async with answering(info_of("99.0.0")) as backend:
        error = await refusal(backend.info())
    assert error.code is ErrorCode.CONFIGURATION
    assert "99.0.0" in error.detail
    assert "Install the same version on both sides" in error.detail


async def test_another_program_is_recognised() -> None:
    async def page(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>welcome</html>", content_type="text/html")

    async with answering(page) as backend:
        assert "is no API of nodus-tui" in (await refusal(backend.info())).detail
        with pytest.raises(NodusError, match="is no API of nodus-tui"):
            async for _ in backend.watch(after=0):
                pass


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}', INFO[:-1] + ', "unheard": 1}'])
async def test_an_answer_that_is_not_understood_is_no_traceback(text: str) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=text, content_type="application/json", headers={VERSION_HEADER: __version__})

    async with answering(answer) as backend:
        error = await refusal(backend.info())
    assert error.code is ErrorCode.UNAVAILABLE
    assert "is not understood" in error.detail


async def test_a_problem_with_an_unknown_code_still_says_its_sentence() -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        problem = '{"type": "about:blank", "title": "", "status": 418, "code": "Teapot", "detail": "I am short and stout"}'
        return web.Response(status=418, text=problem, content_type=PROBLEM_TYPE, headers={VERSION_HEADER: __version__})

    async with answering(answer) as backend:
        assert (await refusal(backend.info())).detail == "I am short and stout"


async def test_a_server_that_is_busy_is_waited_for_as_long_as_it_says() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        if len(asked) < 3:
            problem = '{"type": "about:blank", "title": "", "status": 429, "code": "RateLimited", "detail": "slower"}'
            headers = {VERSION_HEADER: __version__, "Retry-After": "0"}
            return web.Response(status=429, text=problem, content_type=PROBLEM_TYPE, headers=headers)
        return await info_of(__version__)(request)

    async with answering(answer) as backend:
        assert (await backend.info()).name == "local"
    assert len(asked) == 3


async def test_a_proxy_s_502_is_a_loss_that_is_tried_again() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return web.Response(status=502, text="bad gateway") if len(asked) < 3 else await info_of(__version__)(request)

    async with answering(answer) as backend:
        assert (await backend.info()).name == "local"


async def test_tls_is_checked_and_tokens_decide(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tokens = tmp_path / FILE_NAME
    viewer = TokenStore(tokens).create("vera", Role.VIEWER, now=datetime.now(UTC))
    listen = TcpListen(certificate=authority.certificate, key=authority.key)
    async with workspace(tmp_path) as local, serving(local, listen=listen, tokens=tokens) as served:
        url = f"https://localhost:{served.port}"

        async def told(address: Address) -> NodusError:
            async with RemoteBackend(address) as backend:
                return await refusal(backend.info())

        untrusted = await told(Address(url=url, shown=url, token=viewer))
        assert untrusted.code is ErrorCode.CONFIGURATION
        assert "NODUS_CA" in untrusted.detail
        nobody = await told(Address(url=url, shown=url, ca=authority.ca))
        assert nobody.code is ErrorCode.UNAUTHORIZED
        assert "set NODUS_TOKEN" in nobody.detail
        wrong = await told(Address(url=url, shown=url, ca=authority.ca, token="nodus_wrong"))
        assert wrong.code is ErrorCode.UNAUTHORIZED
        assert "unknown there" in wrong.detail
        async with RemoteBackend(Address(url=url, shown=url, ca=authority.ca, token=viewer)) as backend:
            assert (await backend.info()).role == "viewer"
            assert (await backend.apply(spec(), dry_run=True)).dry_run
            for call in (
                backend.apply(spec()),
                backend.act(Kill(kind="AgentGroup", name="hello")),
                backend.stop_work(grace_seconds=0, groups=("hello",)),
            ):
                assert (await refusal(call)).code is ErrorCode.FORBIDDEN


async def test_an_older_server_is_asked_without_the_wish_that_it_does_not_know() -> None:
    asked = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(dict(request.query))
        headers = {VERSION_HEADER: __version__}
        if "rates" in request.query:
            problem = '{"type": "about:blank", "title": "", "status": 422, "code": "InvalidRequest", "detail": "no parameter rates"}'
            return web.Response(status=422, text=problem, content_type=PROBLEM_TYPE, headers=headers)
        view = '{"at": "2026-01-02T03:04:05Z", "machine": {"host": "there"}}'
        return web.Response(text=view, content_type="application/json", headers=headers)

    async with answering(answer) as backend:
        assert (await backend.gpus(rates=False)).machine.host == "there"
        assert (await backend.gpus()).machine.host == "there"
    assert asked == [{"rates": "false"}, {}, {}]


async def test_what_a_server_refuses_also_without_the_wish_is_told() -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        problem = '{"type": "about:blank", "title": "", "status": 422, "code": "InvalidRequest", "detail": "not today"}'
        return web.Response(status=422, text=problem, content_type=PROBLEM_TYPE, headers={VERSION_HEADER: __version__})

    async with answering(answer) as backend:
        assert "not today" in (await refusal(backend.gpus(rates=False))).detail
