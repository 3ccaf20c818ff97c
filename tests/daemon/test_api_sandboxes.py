"""The routes to sandboxes, files and gold checks, with both ends of the wire in earnest. What answers behind them is scripted: its streams
break, stall and fail at points that a real backend reaches by accident only."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from api_place import ApiPlace, over_socket, over_tcp

from local_backend.daemon import pieces
from local_backend.daemon.access import Role
from local_backend.daemon.server import TcpListen, serving
from local_backend.daemon.tokens import FILE_NAME
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.sandboxes import FileEntry, ReapOutcome, SandboxFact
from nodus_tui.remote.address import socket_address
from nodus_tui.remote.backend import RemoteBackend

HOSTILE = "../ü \u202e\x1b[2J?a=b&path=x#%2e%2e/\n"
FACT = SandboxFact(
    id="s1",
    engine="bubblewrap",
    run="hello-c001",
    purpose="episode",
    image="base",
    owner_host="here",
    owner_pid=1,
    owner_alive=False,
    workspace="/w",
    mine=True,
)
CORRECT = GoldCase(task_id="t1", split="train", reference=Verdict.CORRECT, empty=Verdict.INCORRECT)


class Scripted:
    """As much of a backend as these routes ask."""

    def __init__(self) -> None:
        self.contents: dict[str, list[bytes | NodusError]] = {}
        self.cases: list[GoldCase | NodusError] = []
        self.asked: list[tuple[object, ...]] = []
        self.closed = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.reaped = 0

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        return (FACT,)

    async def reap_sandboxes(self) -> ReapOutcome:
        self.reaped += 1
        return ReapOutcome(removed=(FACT,), kept=2, failures=("s9 does not go away",))

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        if run != "hello-c001":
            raise NodusError.not_found("AgentRun", run)
        return tuple(FileEntry(path=path, kind="file", size=1) for path in self.contents)

    async def read_file(self, run: str, path: str) -> AsyncIterator[bytes]:
        if path not in self.contents:
            raise NodusError.not_found("file", path)
        try:
            for piece in self.contents[path]:
                if isinstance(piece, NodusError):
                    raise piece
                yield piece
                await self.goes_on.wait()
        finally:
            self.closed.set()

    async def check_environment(
        self, reference: str, *, split: str | None = None, tasks: int | None = None, seed: int = 0
    ) -> AsyncIterator[GoldCase]:
        self.asked.append((reference, split, tasks, seed))
        try:
            for case in self.cases:
                await self.goes_on.wait()
                if isinstance(case, NodusError):
                    raise case
                yield case
        finally:
            self.closed.set()


@asynccontextmanager
async def reached(scripted: Scripted, folder: Path) -> AsyncIterator[RemoteBackend]:
    """The scripted backend over a unix socket."""
    path = folder / "s.sock"
    async with serving(cast("Backend", scripted), socket_path=path), RemoteBackend(socket_address(path)) as backend:
        yield backend


async def _whole(backend: RemoteBackend, path: str, run: str = "hello-c001") -> bytes:
    return b"".join([piece async for piece in backend.read_file(run, path)])


async def test_sandboxes_are_told_and_reaped_once(tmp_path: Path) -> None:
    scripted = Scripted()
    async with reached(scripted, tmp_path) as backend:
        assert await backend.sandboxes() == (FACT,)
        assert await backend.reap_sandboxes() == await scripted.reap_sandboxes()
        assert scripted.reaped == 2


async def test_files_come_whole_under_any_name(tmp_path: Path) -> None:
    scripted = Scripted()
    large = [bytes([number]) * 65_536 for number in range(40)]
    scripted.contents = {"answer.txt": [b"4", b"2"], "empty": [], HOSTILE: [b"<html>"], "large": list(large)}
    async with reached(scripted, tmp_path) as backend:
        assert [each.path for each in await backend.files("hello-c001")] == list(scripted.contents)
        assert await _whole(backend, "answer.txt") == b"42"
        assert await _whole(backend, "empty") == b""
        assert await _whole(backend, HOSTILE) == b"<html>"
        assert await _whole(backend, "large") == b"".join(large)
        for run, path in (("hello-c001", "none"), ("hello-c001", "answer.txt/"), ("", "answer.txt")):
            with pytest.raises(NodusError) as caught:
                await _whole(backend, path, run)
            assert caught.value.code is ErrorCode.NOT_FOUND
        with pytest.raises(NodusError) as caught:
            await backend.files("other")
        assert caught.value.code is ErrorCode.NOT_FOUND


async def test_a_file_is_sent_as_bytes_that_no_reader_may_take_for_a_page(tmp_path: Path) -> None:
    scripted = Scripted()
    scripted.contents = {"page.html": [b"<script>alert(1)</script>"]}
    path = tmp_path / "s.sock"
    async with serving(cast("Backend", scripted), socket_path=path) as served, over_socket(served) as client:
        answer = await client.get("/v1/runs/hello-c001/files/content", params={"path": "page.html"})
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-disposition"] == "attachment"
        missing = await client.get("/v1/runs/hello-c001/files/content")
        assert missing.status_code == 422


async def test_a_file_that_breaks_off_is_never_taken_for_whole(tmp_path: Path) -> None:
    scripted = Scripted()
    scripted.contents = {"half": [b"x" * 100_000, NodusError(ErrorCode.UNAVAILABLE, "the sandbox is gone")]}
    async with reached(scripted, tmp_path) as backend:
        with pytest.raises(NodusError) as caught:
            await _whole(backend, "half")
        assert caught.value.code is ErrorCode.UNAVAILABLE
        assert "before its answer was whole" in caught.value.detail


async def test_a_server_that_stops_breaks_a_file_off(tmp_path: Path) -> None:
    scripted = Scripted()
    scripted.contents = {"slow": [b"first", b"second"]}
    scripted.goes_on.clear()
    path = tmp_path / "s.sock"
    async with RemoteBackend(socket_address(path)) as backend:
        async with serving(cast("Backend", scripted), socket_path=path):
            pieces_ = cast("Any", backend.read_file("hello-c001", "slow"))
            assert await anext(pieces_) == b"first"
        with pytest.raises(NodusError) as caught:
            await anext(pieces_)
        assert caught.value.code is ErrorCode.UNAVAILABLE


async def test_a_reader_that_goes_away_ends_the_reading(tmp_path: Path) -> None:
    scripted = Scripted()
    scripted.contents = {"slow": [b"first", b"second"]}
    scripted.goes_on.clear()
    async with reached(scripted, tmp_path) as backend:
        async with aclosing(cast("Any", backend.read_file("hello-c001", "slow"))) as coming:
            assert await anext(coming) == b"first"
        await asyncio.wait_for(scripted.closed.wait(), 60)


async def test_a_gold_check_tells_case_by_case(tmp_path: Path) -> None:
    scripted = Scripted()
    wrong = CORRECT.model_copy(update={"task_id": "t2\n\u2028", "problem": "EmptyPasses", "message": "an empty answer\npasses"})
    scripted.cases = [CORRECT, wrong]
    async with reached(scripted, tmp_path) as backend:
        told = [case async for case in backend.check_environment("nodus/code@1.0.0", split="train", tasks=2, seed=7)]
        assert told == [CORRECT, wrong]
        assert [case async for case in backend.check_environment("x")] == told
    assert scripted.asked == [("nodus/code@1.0.0", "train", 2, 7), ("x", None, None, 0)]


async def test_a_gold_check_that_cannot_begin_or_go_on_says_why(tmp_path: Path) -> None:
    scripted = Scripted()
    async with reached(scripted, tmp_path) as backend:
        for cases in ([NodusError.not_found("Environment", "x")], [CORRECT, NodusError.not_found("Environment", "x")]):
            scripted.cases = list(cases)
            told = []
            with pytest.raises(NodusError) as caught:
                async for case in backend.check_environment("x"):
                    told.append(case)  # noqa: PERF401 - it ends with an error
            assert caught.value.code is ErrorCode.NOT_FOUND
            assert told == [each for each in cases if isinstance(each, GoldCase)]


async def test_a_slow_gold_check_shows_that_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "HEARTBEAT_SECONDS", 0.01)
    scripted = Scripted()
    scripted.cases = [CORRECT]
    scripted.goes_on.clear()
    path = tmp_path / "s.sock"
    async with serving(cast("Backend", scripted), socket_path=path) as served, over_socket(served) as client:
        async with client.stream("POST", "/v1/environments/check", params={"reference": "x"}) as answer:
            assert answer.headers["content-type"] == "application/x-ndjson"
            lines = answer.aiter_lines()
            assert await anext(lines) == ""
            scripted.goes_on.set()
            told = [line async for line in lines if line]
        assert [GoldCase.model_validate_json(line) for line in told] == [CORRECT]


async def test_who_only_looks_sees_files_and_starts_nothing(place: ApiPlace) -> None:
    scripted = Scripted()
    scripted.contents = {"answer.txt": [b"42"]}
    token = place.token("one", Role.VIEWER)
    tokens = place.home / FILE_NAME
    async with serving(cast("Backend", scripted), listen=TcpListen(), tokens=tokens) as served, over_tcp(served, token) as client:
        assert (await client.get("/v1/runs/hello-c001/files/content?path=answer.txt")).content == b"42"
        assert (await client.get("/v1/sandboxes")).status_code == 200
        for refused in ("/v1/sandboxes/reap", "/v1/environments/check?reference=x"):
            assert (await client.post(refused)).status_code == 403
    assert (scripted.reaped, scripted.asked) == (0, [])
