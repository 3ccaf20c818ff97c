"""The detached scheduler is killed at random instants while a program waits for its group: the program goes on waiting, nothing is lost."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest
from disk_checks import check_disk, check_ended
from kill_campaigns import KillCampaigns
from paid_server import PaidServer

from nodus_tui import sdk as nodus
from nodus_tui.connect import local_scheduler
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs
from nodus_tui.remote.local import LocalScheduler
from nodus_tui.sdk.bridge import BRIDGE

pytestmark = pytest.mark.timeout(150)

CASES, KILLS = 40, 4


async def test_a_program_that_waits_sees_its_group_through_the_scheduler_s_deaths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = KillCampaigns(tmp_path, seed=11, cases=CASES, turns=4)
    chance = random.Random(11)
    async with place._server as server:
        place._write_config()
        spec = place._write_spec("campaign-1", cap="9.00", run_cap="0.20")
        monkeypatch.setenv("NODUS_HOME", str(place._home))
        monkeypatch.setenv("NODUS_CONFIG", str(place._config))
        monkeypatch.setenv("NODUS_IN_PROCESS", "0")
        scheduler = local_scheduler()
        if scheduler is None:
            pytest.skip("this installation registers no detached scheduler: install the package anew")
        try:
            bundle = load_specs([SpecSource(spec.name, spec.read_bytes(), spec.parent)])
            await BRIDGE.arun("work", lambda backend: backend.apply(bundle))
            waiting = asyncio.ensure_future((await nodus.aio.AgentGroup.get("campaign-1")).wait())
            killed: set[int] = set()
            for _ in range(KILLS):
                await _after_replies(server, chance.randint(5, 25))
                await asyncio.sleep(chance.uniform(0, 0.02))
                pid = await _another(scheduler, killed)
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            status = await waiting
            assert len(killed) == KILLS, "each kill met another process"
            assert status.phase is nodus.GroupPhase.COMPLETED
            assert status.money.unconfirmed_usd > 0
        finally:
            await asyncio.to_thread(nodus.close)
            await scheduler.stop()
        check_disk(place._database, server.bill, place._kept)
        check_ended(place._database, "campaign-1", CASES, server.bill)


async def _another(scheduler: LocalScheduler, killed: set[int]) -> int:
    """The process that works now: it may have begun before it says where it is."""
    while True:
        record = scheduler.record()
        if record is not None and record.pid not in killed:
            return record.pid
        await asyncio.sleep(0.01)


async def _after_replies(server: PaidServer, count: int) -> None:
    reached, goal = asyncio.Event(), len(server.bill) + count
    server.on_reply = lambda: reached.set() if len(server.bill) >= goal else None
    await reached.wait()
