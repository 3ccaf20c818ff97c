"""Broken links: a stream goes on without a gap or a duplicate, a lost answer is asked for again, and what was asked is done once."""

import asyncio
import random
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from cutting_proxy import CuttingProxy, cutting_proxy
from ways import spec, workspace

from local_backend.backend import LocalBackend
from local_backend.daemon.server import serving
from nodus_tui import __version__
from nodus_tui.contract.actions import Kill
from nodus_tui.contract.backend import Backend, Linked
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.events import Event
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.scheduler import SchedulerRecord
from nodus_tui.remote import channel
from nodus_tui.remote.address import socket_address
from nodus_tui.remote.backend import RemoteBackend
from nodus_tui.remote.local import LocalScheduler
from nodus_tui.view_state.folding import group_after, run_after

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[LocalBackend]:
    async with workspace(tmp_path) as backend:
        yield backend


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    return tmp_path / "s.sock"


@pytest.fixture
async def proxy(local: LocalBackend, socket: Path) -> AsyncIterator[CuttingProxy]:
    async with serving(local, socket_path=socket), cutting_proxy(socket) as found:
        yield found


@pytest.fixture
async def remote(proxy: CuttingProxy) -> AsyncIterator[RemoteBackend]:
    async with RemoteBackend(proxy.address) as backend:
        yield backend


async def told_until_completed(backend: Backend, name: str = "hello") -> list[Event]:
    """All events from the first to the group's end; each cursor above the one before."""
    told: list[Event] = []
    cursor = 0
    async with aclosing(cast("Any", backend.watch(after=0))) as batches:
        async for batch in batches:
            assert batch.cursor > cursor, "a batch came twice"
            assert all(cursor < event.cursor <= batch.cursor for event in batch.events), "an event came twice"
            cursor = batch.cursor
            told += batch.events
            if any(event.name == name and event.status.get("phase") == "Completed" for event in batch.events):
                return told
    raise AssertionError("the stream ended")


def added_up(told: list[Event]) -> tuple[dict[str, Any], dict[str, Any]]:
    groups: dict[str, AgentGroup | None] = {}
    runs: dict[str, AgentRun | None] = {}
    for event in told:
        if event.kind == "AgentGroup":
            groups[event.name] = group_after(groups.get(event.name), event)
        elif event.kind == "AgentRun":
            runs[event.name] = run_after(runs.get(event.name), event)
    return (
        {name: group.status for name, group in groups.items() if group},
        {name: (run.status.phase, run.status.verdict, run.status.cost_usd) for name, run in runs.items() if run and run.status},
    )


async def assert_nothing_is_missing(told: list[Event], local: LocalBackend) -> None:
    final = await local.snapshot(runs_of="")
    groups, runs = added_up(told)
    assert groups == {group.name: group.status for group in final.groups}
    assert runs == {run.name: (run.status.phase, run.status.verdict, run.status.cost_usd) for run in final.runs if run.status}


async def test_a_watch_goes_on_when_the_server_is_restarted_in_its_middle(local: LocalBackend, socket: Path) -> None:
    async with RemoteBackend(socket_address(socket)) as remote:
        async with serving(local, socket_path=socket):
            reading = asyncio.create_task(told_until_completed(remote))
            await remote.apply(spec(family="steady", tasks=24, active=2))
            async with aclosing(cast("Any", local.watch(after=0))) as batches:
                async for batch in batches:
                    if any(event.status.get("verdict") for event in batch.events):
                        break
            assert isinstance(remote, Linked)
            assert remote.link.connected
        # The server is gone, and work goes on meanwhile.
        async with aclosing(cast("Any", local.watch(after=(await local.snapshot()).cursor))) as batches:
            async for batch in batches:
                if any(event.status.get("verdict") for event in batch.events):
                    break
        assert not remote.link.connected
        heard = remote.link.last_heard
        async with serving(local, socket_path=socket):
            told = await reading
            assert remote.link.connected
            assert remote.link.last_heard > heard
    await assert_nothing_is_missing(told, local)


async def test_a_stream_that_is_cut_again_and_again_adds_up(local: LocalBackend, proxy: CuttingProxy, remote: RemoteBackend) -> None:
    sizes = random.Random(7)
    await local.apply(spec(tasks=20, active=3))
    proxy.cut_after = lambda: sizes.randrange(2_000, 30_000)
    told = await told_until_completed(remote)
    assert proxy.cuts > 0
    await assert_nothing_is_missing(told, local)


def requests_of(local: LocalBackend, home: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(home / "nodus.db") as database:
        rows = database.execute("SELECT form, state FROM requests ORDER BY id").fetchall()
    database.close()
    return rows


@pytest.mark.parametrize("losses", [1, 2])
async def test_a_post_whose_answer_is_lost_acts_once(
    local: LocalBackend, proxy: CuttingProxy, remote: RemoteBackend, tmp_path: Path, losses: int
) -> None:
    proxy.answers_to_lose = losses
    outcome = await remote.apply(spec(family="slow", tasks=2))
    assert {each.outcome for each in outcome.documents} == {"created"}
    assert proxy.cuts == losses
    proxy.answers_to_lose = losses
    killed = await remote.act(Kill(kind="AgentGroup", name="hello"))
    assert killed.changed, "a second kill would have found it ended"
    assert proxy.cuts == 2 * losses
    assert requests_of(local, tmp_path / "home") == [("apply", "Done"), ("action", "Done")]


async def test_a_get_whose_answer_is_lost_is_asked_again(local: LocalBackend, proxy: CuttingProxy, remote: RemoteBackend) -> None:
    await local.apply(spec(tasks=1))
    proxy.answers_to_lose = 2
    assert (await remote.get("AgentGroup", "hello")).name == "hello"
    assert proxy.cuts == 2


async def test_a_refusal_is_no_loss_and_is_not_asked_again(proxy: CuttingProxy, remote: RemoteBackend) -> None:
    with pytest.raises(NodusError):
        await remote.get("AgentGroup", "none")
    assert proxy.connections == 1
    assert remote.link.connected


async def test_a_server_that_stays_away_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "PATIENCE_SECONDS", 0.2)
    async with RemoteBackend(socket_address(tmp_path / "none.sock")) as remote:
        for call in (remote.info(), remote.act(Kill(kind="AgentGroup", name="hello"))):
            with pytest.raises(NodusError) as refused:
                await call
            assert refused.value.code is ErrorCode.UNAVAILABLE
            assert "does not answer" in refused.value.detail
        assert not remote.link.connected


def test_who_waits_after_a_crash_is_told_that_another_scheduler_is_waited_for(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    gone = SchedulerRecord(
        pid=ended.pid,
        process_start_time=0,
        socket=str(tmp_path / "s.sock"),
        version=__version__,
        started_at=datetime.now(UTC),
        surroundings="",
        salt="",
    )
    told = LocalScheduler(tmp_path, None, lambda: "").silence(gone)
    assert told == f"the scheduler (process {ended.pid}) has ended: waiting for the one after it to answer"
