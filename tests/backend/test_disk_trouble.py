"""Full, read-only, damaged and vanished disks: each a clear state, nothing that was told is lost, nothing is paid unrecorded."""

import asyncio
import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from engine_place import Place, agent, at_rest, environment, group, run_status, runs, status, until
from model_server import ModelServer
from small_disk import DiskPlace, SmallDisk, small_disk

from local_backend.backend import LocalBackend
from local_backend.scheduling.endings import StopOrder
from local_backend.scheduling.group_engine import GroupEngine
from local_backend.storage.schema import SCHEMA_VERSION
from nodus_tui.contract.actions import Resume
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import CallState, GroupPhase, Reason, RunPhase

pytestmark = pytest.mark.timeout(60)

WHOLE_DISK = 1 << 60


async def _refusal(backend: LocalBackend) -> NodusError:
    """What the backend says once it cannot work any more."""
    while True:
        try:
            await backend.snapshot()
        except NodusError as refused:
            return refused
        await asyncio.sleep(0.01)


async def _well_again(backend: LocalBackend) -> None:
    while True:
        try:
            await backend.snapshot()
        except NodusError:
            await asyncio.sleep(0.01)
        else:
            return


def _two_turns(place: Place, count: int = 4) -> None:
    place.tasks([{"id": f"n{n}", "prompt": [f"say 1{n}", f"say {n}"], "answer": str(n)} for n in range(1, count + 1)])


async def _waits_for_room(backend: LocalBackend) -> None:
    async def settled() -> bool:
        return (await status(backend)).reason is Reason.DISK_ALMOST_FULL

    await until(backend, settled)


async def test_runs_do_not_start_while_the_disk_is_almost_full_and_go_on_when_there_is_room(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        backend._rooms.space.floor = WHOLE_DISK
        await backend.apply(place.specs(environment(), agent(), group(tasks=3)))
        await _waits_for_room(backend)
        waiting = await runs(backend)
        told = await status(backend)
        cursor = (await backend.snapshot()).cursor
        assert {run.status.reason for run in waiting if run.status} == {Reason.DISK_ALMOST_FULL}
        assert "until there is room again" in told.message
        assert told.phase is GroupPhase.RUNNING
        assert server.seen == []
        backend._rooms.space.floor = 0
        found = await at_rest(backend)
        assert found.coverage.scored == 3
        assert found.reason is None
        assert (await backend.snapshot()).cursor > cursor


async def test_no_call_leaves_while_the_disk_is_almost_full(place: Place, server: ModelServer) -> None:
    _two_turns(place)
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=1)))
        await server.until_seen(1)
        backend._rooms.space.floor = WHOLE_DISK
        server.hold.set()

        async def waits() -> bool:
            return (await run_status(backend, "campaign-c001")).reason is Reason.DISK_ALMOST_FULL

        await until(backend, waits)
        run = await run_status(backend, "campaign-c001")
        assert (run.phase, run.turns, len(server.seen)) == (RunPhase.RUNNING, 1, 1)
        backend._rooms.space.floor = 0
        assert (await at_rest(backend)).coverage.scored == 1
    assert len(server.seen) == 2


async def test_a_run_that_waits_for_room_can_be_killed_by_its_timeout(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        backend._rooms.space.floor = WHOLE_DISK
        await backend.apply(place.specs(environment(), agent(), group(tasks=2, timeout="5m")))
        await _waits_for_room(backend)
        place.clock.ahead += timedelta(minutes=6)
        backend._scheduler.wake()  # type: ignore[union-attr]  # the backend works
        found = await at_rest(backend)
    assert found.verdicts == {"EvaluationTimeout": 2}
    assert server.seen == []


@dataclass
class _Trouble:
    begin: Callable[[LocalBackend], None]
    end: Callable[[LocalBackend], None]
    word: str


def _page_limit(backend: LocalBackend) -> None:
    pages = backend._store._writer.execute("PRAGMA page_count").fetchone()[0]
    backend._store._writer.execute(f"PRAGMA max_page_count = {pages}")


def _fill_pages(backend: LocalBackend) -> None:
    _page_limit(backend)
    # Use up the room on pages that exist, so that the next event, which comes with every commit, needs a new one.
    padding = (
        "INSERT INTO events (at, change, kind, name, group_name, body) VALUES ('2026-01-01T00:00:00+00:00', 'Changed', 'Agent', '', '', ?)"
    )
    for size in (2000, 200, 20, 0):
        with contextlib.suppress(sqlite3.OperationalError):
            while True:
                backend._store._writer.execute(padding, ("{}" + " " * size,))


STAND_INS = {
    # Stand-ins for a disk: SQLite itself refuses with the codes that a full and a read-only disk give.
    "page limit": _Trouble(_fill_pages, lambda b: void(b._store._writer.execute("PRAGMA max_page_count = 1000000")), "full"),
    "query only": _Trouble(
        lambda b: void(b._store._writer.execute("PRAGMA query_only = ON")),
        lambda b: void(b._store._writer.execute("PRAGMA query_only = OFF")),
        "read-only",
    ),
}


def void(_: object) -> None:
    return None


async def _work_through(backend: LocalBackend, place: Place, server: ModelServer, trouble: _Trouble) -> None:
    """First turns are paid, then the disk fails while second ones are under way, then it is well again."""
    _two_turns(place)
    second = asyncio.Event()
    server.hold = asyncio.Event()
    await backend.apply(place.specs(environment(), agent(), group(tasks=4, max_active=2)))
    await server.until_seen(2)
    server.hold.set()
    server.hold = second
    await server.until_seen(4)
    paid = [await backend.transcript(f"campaign-c00{n}") for n in (1, 2)]
    trouble.begin(backend)
    second.set()
    refused = await _refusal(backend)
    assert refused.code is ErrorCode.UNAVAILABLE
    assert trouble.word in refused.detail
    seen = len(server.seen)
    for call in (backend.get("AgentGroup", "campaign"), backend.results("campaign"), backend.act(Resume(group="campaign"))):
        with pytest.raises(NodusError) as again:
            await call
        assert again.value.code is ErrorCode.UNAVAILABLE
    with pytest.raises(NodusError) as written:
        await backend.apply(place.specs(agent("sim", name="other")))
    assert written.value.code is ErrorCode.UNAVAILABLE
    assert len(server.seen) == seen, "no call leaves that could not be written down"
    trouble.end(backend)
    await _well_again(backend)
    found = await at_rest(backend)
    assert found.phase is GroupPhase.COMPLETED
    assert found.coverage.scored == 4
    for before in paid:
        after = await backend.transcript(before.run)
        assert after.turns[: len(before.turns)] == before.turns, "what was paid and told is kept"
        states = [call.state for call in after.calls]
        assert states[:2] == [CallState.SETTLED, CallState.UNCONFIRMED]
    with sqlite3.connect(place.home / "nodus.db") as database:
        calls = database.execute("SELECT count(*), sum(state = 'Reserved') FROM calls").fetchone()
    database.close()
    assert calls == (len(server.seen), 0), "every request that the server saw is on record"


@pytest.mark.parametrize("name", list(STAND_INS))
async def test_when_commits_fail_work_stops_and_goes_on_when_they_succeed(place: Place, server: ModelServer, name: str) -> None:
    async with place.backend() as backend:
        backend._rooms.space.floor = 0
        await _work_through(backend, place, server, STAND_INS[name])


async def test_a_group_that_can_write_no_last_word_is_let_go_of_with_the_connections_to_its_model(
    place: Place, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment is a stand-in: the disk fails after the group was told to end, and before it has said so."""
    ended = GroupEngine.shut_down

    async def refused(engine: GroupEngine, order: StopOrder, *, grace_seconds: float, killed: bool = False) -> None:
        await ended(engine, order, grace_seconds=grace_seconds, killed=killed)
        raise NodusError(ErrorCode.UNAVAILABLE, "the disk is full")

    _two_turns(place)
    server.hold = asyncio.Event()
    with pytest.raises(NodusError, match="the disk is full"):
        async with place.backend() as backend:
            await backend.apply(place.specs(environment(), agent(), group(tasks=4, max_active=2)))
            await server.until_seen(2)
            working = backend._owner.working
            assert working is not None
            providers = working.scheduler._models._real
            monkeypatch.setattr(GroupEngine, "shut_down", refused)
    assert providers is not None
    assert providers._connections._closed
    assert not backend._workspace.owned


async def test_a_disk_that_is_really_full(tmp_path: Path, server: ModelServer) -> None:
    async with AsyncExitStack() as stack:
        disk = stack.enter_context(small_disk(tmp_path / "disk", mebibytes=8))
        place = DiskPlace(tmp_path, server.base_url, disk=disk.folder)
        backend = await stack.enter_async_context(place.backend())
        backend._rooms.space.floor = 0
        trouble = _Trouble(lambda _: disk.fill(), lambda _: disk.empty(), "full")
        await _work_through(backend, place, server, trouble)


async def test_new_work_stops_before_the_disk_is_full(tmp_path: Path, server: ModelServer) -> None:
    """A real disk whose free space falls below the floor: the runs wait, and every commit still succeeds."""
    async with AsyncExitStack() as stack:
        disk = stack.enter_context(small_disk(tmp_path / "disk", mebibytes=8))
        place = DiskPlace(tmp_path, server.base_url, disk=disk.folder)
        _two_turns(place)
        backend = await stack.enter_async_context(place.backend())
        backend._rooms.space.floor = 4 << 20
        ballast = disk.folder / "some-other-file"
        ballast.write_bytes(bytes(5 << 20))
        await backend.apply(place.specs(environment(), agent(), group(tasks=2)))
        await _waits_for_room(backend)
        assert server.seen == []
        ballast.unlink()
        assert (await at_rest(backend)).coverage.scored == 2


async def test_a_read_only_disk_is_refused_with_a_sentence(tmp_path: Path, server: ModelServer) -> None:
    async with AsyncExitStack() as stack:
        disk: SmallDisk = stack.enter_context(small_disk(tmp_path / "disk", mebibytes=8))
        place = DiskPlace(tmp_path, server.base_url, disk=disk.folder)
        async with place.backend() as backend:
            await backend.apply(place.specs(agent("sim")))
        before = (place.home / "nodus.db").read_bytes()
        disk.read_only()
        with pytest.raises(NodusError, match="Read-only file system"):
            async with place.backend():
                pass
        assert (place.home / "nodus.db").read_bytes() == before


async def test_a_file_that_is_no_database_is_refused_and_left_alone(place: Place) -> None:
    place.home.mkdir()
    rubbish = b"these are somebody's notes, not a database\n" * 200
    (place.home / "nodus.db").write_bytes(rubbish)
    with pytest.raises(NodusError, match="damaged") as refused:
        async with place.backend():
            pass
    assert "NODUS_HOME" in refused.value.detail
    assert (place.home / "nodus.db").read_bytes() == rubbish


async def test_a_damaged_database_is_told_and_not_overwritten(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=20)))
        await at_rest(backend)
    path = place.home / "nodus.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    good = path.read_bytes()
    page = int.from_bytes(good[16:18])
    spoiled = good[:page] + b"\xa5" * (len(good) - page)
    path.write_bytes(spoiled)
    with pytest.raises(NodusError, match="damaged"):
        async with place.backend() as backend:
            await backend.results("campaign")
    assert path.read_bytes() == spoiled


@pytest.mark.parametrize(("version", "told"), [(SCHEMA_VERSION + 1, "newer nodus-tui"), (-1, "something else changed it")])
async def test_a_database_of_another_version_is_refused_and_left_alone(place: Place, version: int, told: str) -> None:
    async with place.backend():
        pass
    path = place.home / "nodus.db"
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    before = path.read_bytes()
    with pytest.raises(NodusError, match=told):
        async with place.backend():
            pass
    assert path.read_bytes() == before


async def test_a_state_folder_that_is_deleted_during_the_work_stops_it(place: Place, server: ModelServer) -> None:
    _two_turns(place)
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=4, max_active=2)))
        await server.until_seen(2)
        shutil.rmtree(place.home)
        server.hold.set()

        async def follow() -> None:
            async for _ in backend.watch(after=0):
                pass

        with pytest.raises(NodusError, match="deleted, moved or replaced"):
            await follow()
        refused = await _refusal(backend)
        assert refused.code is ErrorCode.UNAVAILABLE
        with pytest.raises(NodusError, match="deleted, moved or replaced"):
            await backend.apply(place.specs(agent("sim", name="other")))
    assert len(server.seen) == 2
    assert not place.home.exists(), "nothing is written into the dark"


async def test_a_look_that_cannot_write_goes_on_reading(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent(), group(tasks=2)))
        await at_rest(backend)
    async with place.backend("look") as looking:
        trouble = STAND_INS["query only"]
        trouble.begin(looking)
        with pytest.raises(NodusError, match="read-only"):
            await looking.apply(place.specs(agent("sim", name="other")))
        assert (await looking.results("campaign")).coverage.scored == 2
        trouble.end(looking)
        await looking.apply(place.specs(agent("sim", name="other")))
        assert (await looking.get("Agent", "other")).name == "other"
