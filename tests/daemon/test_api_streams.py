"""The event stream over real sockets: resumed without a gap or a duplicate, alive while idle, ended at once, and safe from slow readers."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import httpx2
import pytest
from api_place import YAML, ApiPlace, agent, group, over_socket, over_tcp, yaml

from local_backend.daemon import streaming
from local_backend.daemon.access import Limits, Role
from local_backend.daemon.server import Served, TcpListen, serving
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError, Problem
from nodus_tui.contract.events import Event, EventBatch
from nodus_tui.contract.phases import GroupPhase


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, str]]:
    """The server-sent events of a stream, comments left out."""
    fields: dict[str, str] = {}
    async for line in lines:
        if not line and fields:
            yield fields
            fields = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


async def _batches(response: httpx2.Response) -> AsyncIterator[EventBatch]:
    async for event in _events(response.aiter_lines()):
        assert event["event"] == "batch"
        batch = EventBatch.model_validate_json(event["data"])
        assert str(batch.cursor) == event["id"]
        yield batch


def _settled(batch: EventBatch) -> bool:
    return any(event.kind == "AgentGroup" and event.status.get("phase") == GroupPhase.COMPLETED for event in batch.events)


async def _ran(place: ApiPlace, backend: Backend, served: Served, tasks: int = 20) -> None:
    """Run a campaign to its end."""
    async with over_socket(served) as client:
        applied = await client.post("/v1/apply", content=yaml(agent(), group(tasks=tasks)), headers=YAML)
        assert applied.status_code == 200, applied.text
        async with client.stream("GET", "/v1/watch") as stream:
            async for batch in _batches(stream):
                if _settled(batch):
                    return


async def test_a_stream_that_breaks_off_is_resumed_without_a_gap_or_a_duplicate(place: ApiPlace) -> None:
    token = place.token("one", Role.VIEWER)
    async with place.backend() as backend, place.serving(backend) as served, over_tcp(served, token) as client:
        campaign = asyncio.create_task(_ran(place, backend, served))
        seen: dict[tuple[str, str], dict[str, Any]] = {}
        cursors: list[int] = []
        last, reconnections, done = 0, 0, False
        while not done:
            # The parameter and the header by turns; where both stand, the header counts.
            headers = {"Last-Event-ID": str(last)} if reconnections % 2 else {}
            after = {"after": str(last if not headers else 10**6)}
            reconnections += 1
            async with client.stream("GET", "/v1/watch", params=after, headers=headers) as stream:
                async for batch in _batches(stream):
                    cursors += [event.cursor for event in batch.events]
                    for event in batch.events:
                        seen.setdefault((event.kind, event.name), {}).update(event.status)
                    last, done = batch.cursor, done or _settled(batch)
                    break
        await campaign
        assert reconnections > 2
        assert cursors == sorted(set(cursors))
        snapshot = await backend.snapshot(runs_of="")
        assert last <= snapshot.cursor
        for run in snapshot.runs:
            assert run.status is not None
            told = run.status.to_document()
            assert seen["AgentRun", run.name]["phase"] == told["phase"]
            assert seen["AgentRun", run.name]["costUSD"] == told["costUSD"]
        assert len(snapshot.runs) == 20


async def test_a_cursor_that_is_none_is_refused(place: ApiPlace) -> None:
    async with place.backend() as backend, place.serving(backend) as served, over_socket(served) as client:
        for value in ("-1", "x", "1.5", str(2**63), ""):
            for asked in ({"params": {"after": value}}, {"headers": {"Last-Event-ID": value}}):
                response = await client.get("/v1/watch", **asked)
                assert response.status_code == 422, response.text
                assert Problem.model_validate_json(response.content).faults


async def test_an_idle_stream_shows_that_it_is_alive_and_ends_at_once_when_the_server_stops(
    place: ApiPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming.EventStream.__init__, "__kwdefaults__", {"heartbeat_seconds": 0.01})
    token = place.token("one", Role.VIEWER)
    async with place.backend() as backend:
        # Were the stop to wait for the streams, it would wait for hours.
        async with place.serving(backend, limits=Limits(shutdown_seconds=10_000)) as served:
            assert served.open_streams == 0
            client, local = over_tcp(served, token), over_socket(served)
            streams = [await each.send(each.build_request("GET", "/v1/watch"), stream=True) for each in (client, local)]
            lines = [each.aiter_lines() for each in streams]
            for each in lines:
                found = [await anext(each) for _ in range(6)]
                assert found == [": open", "", ": nothing new", "", ": nothing new", ""]
            assert served.open_streams == 2
            assert served.idle_seconds() == 0
        # The server has stopped: both streams come to a regular end, not to a broken connection.
        for each in lines:
            assert {line async for line in each} <= {"", ": nothing new"}
        for each in (client, local):
            await each.aclose()


async def test_a_client_that_goes_away_leaves_no_stream_open(place: ApiPlace) -> None:
    async with place.backend() as backend, place.serving(backend) as served, over_socket(served) as client:
        async with client.stream("GET", "/v1/watch") as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == ": open"
            assert served.open_streams == 1
        while served.open_streams:
            await asyncio.sleep(0)
        assert served.idle_seconds() >= 0


async def test_the_streams_of_one_token_are_bounded(place: ApiPlace) -> None:
    one, two = place.token("one", Role.VIEWER), place.token("two", Role.VIEWER)
    limits = Limits(streams=1)
    async with (
        place.backend() as backend,
        place.serving(backend, limits=limits) as served,
        over_tcp(served, one) as client,
        client.stream("GET", "/v1/watch") as stream,
    ):
        lines = stream.aiter_lines()  # Kept: were it collected, it would close the stream.
        assert await anext(lines) == ": open"
        refused = await client.get("/v1/watch")
        assert refused.status_code == 429
        assert refused.headers["retry-after"]
        async with over_tcp(served, two) as other, other.stream("GET", "/v1/watch") as another:
            others = another.aiter_lines()
            assert await anext(others) == ": open"


_MANY = 200
"""Batches of 200 kB."""


class _Torrent:
    """A backend whose stream never pauses: what a reader does not take must not pile up. Stands for one only as far as `watch` goes."""

    def __init__(self) -> None:
        self.given: list[int] = []
        """Batches by stream."""
        text = "x" * 2000
        event = {"at": "2026-01-01T00:00:00Z", "change": "Changed", "kind": "AgentRun", "status": {"message": text}}
        self.event = Event.model_validate({"cursor": 0, "name": "r", **event})

    async def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
        """A hundred events of two kilobytes, again and again."""
        stream = len(self.given)
        self.given.append(0)
        while True:
            await asyncio.sleep(0)
            self.given[stream] += 1
            yield EventBatch(cursor=self.given[stream], events=(self.event,) * 100)


@asynccontextmanager
async def _torrent(place: ApiPlace, **limits: Any) -> AsyncIterator[tuple[_Torrent, Served]]:
    backend = _Torrent()
    async with serving(
        cast("Backend", backend),
        socket_path=place.home / "s",
        listen=TcpListen(),
        tokens=place.home / "tokens.json",
        limits=Limits(**limits),
    ) as served:
        yield backend, served


async def test_a_reader_that_stalls_costs_little_disturbs_nobody_and_holds_no_stop(place: ApiPlace) -> None:
    token = place.token("one", Role.VIEWER)
    # Were the stop to wait for the reader, it would wait for hours.
    async with _torrent(place, shutdown_seconds=10_000) as (backend, served):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1)
        writer.write(f"GET /v1/watch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert await reader.read(1) == b"H"
        tracemalloc.start()
        try:
            count = 0
            async with over_tcp(served, token) as client, client.stream("GET", "/v1/watch") as stream:
                async for _ in _batches(stream):
                    count += 1
                    if count == _MANY:
                        break
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # What was asked for the stalled reader is what the system's buffers hold, whatever the other one took.
        assert backend.given[0] < _MANY / 2 < backend.given[1]
        assert most < 20_000_000
        assert served.open_streams >= 1
    writer.transport.abort()


async def test_a_reader_that_stalls_for_too_long_is_cut_off(place: ApiPlace) -> None:
    token = place.token("one", Role.VIEWER)
    async with _torrent(place, stall_seconds=0.2) as (_, served):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1)
        writer.write(f"GET /v1/watch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert await reader.read(1) == b"H"
        while served.open_streams:
            await asyncio.sleep(0.01)
        writer.transport.abort()


class _Failing:
    """A backend whose stream fails in the middle; stands for one only as far as `watch` goes."""

    async def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
        """One batch, then the disk is full."""
        yield EventBatch(cursor=after + 1)
        raise NodusError(ErrorCode.UNAVAILABLE, "the disk is full")


async def test_a_stream_that_cannot_go_on_says_why(place: ApiPlace) -> None:
    async with (
        serving(cast("Backend", _Failing()), socket_path=place.home / "s") as served,
        over_socket(served) as client,
        client.stream("GET", "/v1/watch?after=41") as stream,
    ):
        found = [event async for event in _events(stream.aiter_lines())]
    assert [event["event"] for event in found] == ["batch", "problem"]
    assert found[0]["id"] == "42"
    problem = Problem.model_validate_json(found[1]["data"])
    assert (problem.code, problem.detail) == (ErrorCode.UNAVAILABLE, "the disk is full")


async def test_a_large_batch_is_one_event(place: ApiPlace) -> None:
    class Large:
        async def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
            sample = _Torrent().event
            yield EventBatch(cursor=1001, events=tuple(sample.model_copy(update={"cursor": place + 1}) for place in range(1001)))

    async with (
        serving(cast("Backend", Large()), socket_path=place.home / "s") as served,
        over_socket(served) as client,
        client.stream("GET", "/v1/watch") as stream,
    ):
        found = [batch async for batch in _batches(stream)]
    assert [event.cursor for event in found[0].events] == list(range(1, 1002))
    assert len(found) == 1


class _Busy:
    """A backend whose work takes its time; stands for one only as far as that goes."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.ended = asyncio.Event(), asyncio.Event(), False

    async def stop_work(self, *, grace_seconds: float, groups: tuple[str, ...]) -> None:
        """Done once it may be."""
        self.begun.set()
        await self.may_end.wait()
        self.ended = True


async def test_what_was_begun_is_done_to_its_end_although_the_server_stops(place: ApiPlace) -> None:
    backend = _Busy()
    async with AsyncExitStack() as stack:
        serves = serving(cast("Backend", backend), socket_path=place.home / "s", limits=Limits(shutdown_seconds=1))
        client = over_socket(await stack.enter_async_context(serves))
        asked = asyncio.create_task(client.post("/v1/stop-work"))
        await backend.begun.wait()
        stopping = asyncio.create_task(stack.aclose())
        with pytest.raises(httpx2.RemoteProtocolError):
            await asked
        assert not backend.ended
        backend.may_end.set()
        await stopping
        assert backend.ended
        await client.aclose()
