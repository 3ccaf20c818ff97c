"""Devices of jobs while a scheduler is killed, a job is killed with its supervisor, or a device falls off the bus: real processes."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest
from cards_here import own_card
from job_place import job, job_now, log_with, record_of, supervisor_of, until, workspace
from nvml_here import Nvml
from test_jobs_on_devices import SEEN, configuration, waits

from local_backend.devices.machine_claims import held
from local_backend.jobs.process_tree import kill_all, marked
from nodus_tui.contract.actions import Kill

pytestmark = pytest.mark.timeout(60)

_CHILD = """
import asyncio, sys
from pathlib import Path
from local_backend.backend import open_local
from nodus_tui.contract.backend import BackendOptions

async def main():
    folder = Path(sys.argv[1])
    async with await open_local(BackendOptions(home=folder / "home", config=folder / "config.yaml", role="work")):
        await asyncio.Event().wait()

asyncio.run(main())
"""
"""A scheduler in a process of its own, which is killed."""


async def test_a_killed_schedulers_jobs_keep_their_devices_and_those_of_the_dead_are_free(tmp_path: Path, nvml: Nvml) -> None:
    one, two = own_card(0), own_card(1)
    nvml.tell(one, two)
    async with workspace(tmp_path, configuration(), role="look") as looker:
        for name in ("living", "dying"):
            await looker.apply(job(name, "echo up; sleep 300", hardware="H100", cpus=0.1))
        scheduler = await asyncio.create_subprocess_exec(sys.executable, "-c", _CHILD, str(tmp_path))
        try:
            for name in ("living", "dying"):
                await log_with(looker, "up", name)
                while (await job_now(looker, name))[1].phase != "Running":
                    await asyncio.sleep(0.02)
        finally:
            scheduler.kill()
            await scheduler.wait()
        dying = await record_of(looker, "dying")
    assert held().keys() >= {one.uuid, two.uuid}, "their supervisors have them"
    os.kill(supervisor_of(tmp_path, "dying"), signal.SIGKILL)
    kill_all(lambda: marked(dying.token), seconds=10)
    while set(dying.devices) & held().keys():  # The kernel frees what nobody holds, as soon as its process has ended.
        await asyncio.sleep(0.01)
    async with workspace(tmp_path, configuration()) as backend:
        lost = await until(backend, name="dying")
        assert (lost.phase, lost.reason, lost.cost_usd > 0) == ("Failed", "InfrastructureFailure", True)
        living = (await job_now(backend, "living"))[1]
        assert (living.phase, {*living.devices, *dying.devices}) == ("Running", {one.uuid, two.uuid})
        await backend.apply(job("third", SEEN, hardware="H100", cpus=0.1))
        third = await until(backend, name="third")
        assert third.devices == tuple(dying.devices)
        await backend.apply(job("fourth", SEEN, hardware="H100", accelerators=2, cpus=0.1))
        await waits(backend, "1 busy with job living", "fourth")
        await backend.act(Kill(kind="Job", name="living"))
        assert (await until(backend, name="fourth")).phase == "Succeeded"
    assert not {one.uuid, two.uuid} & held().keys()


async def test_a_device_that_falls_off_the_bus_under_a_job_is_its_own_until_it_ends_and_then_given_to_nobody(
    tmp_path: Path, nvml: Nvml
) -> None:
    one = own_card(0, power=100_000, energy=1_000_000)
    nvml.tell(one)
    async with workspace(tmp_path, configuration(electricity={"usdPerKWh": "1000"})) as backend:
        await backend.apply(job("first", "echo up; sleep 300", hardware="H100", maxCostUSD="50", cpus=0.1))
        await log_with(backend, "up", "first")
        await until(backend, "Running", name="first")
        one.failures = ["* 15"]
        nvml.tell(one)
        while (await backend.gpus()).devices[0].responding:
            await asyncio.sleep(0.02)
        await backend.apply(job("second", SEEN, hardware="H100", maxCostUSD="50", cpus=0.1))
        await waits(backend, "waits for 1 × H100; 1 ", "second")
        assert one.uuid in held()
        await backend.act(Kill(kind="Job", name="first"))
        first = await until(backend, name="first")
        # What no counter tells is never more than the power limit allows, and it is marked.
        assert first.started_at is not None
        assert first.ended_at is not None
        worst = 700 * (first.ended_at - first.started_at).total_seconds() / 3600
        assert 0 <= float(first.cost_usd) <= worst + 1e-9
        await waits(backend, "1 does not answer", "second")
        assert one.uuid not in held()
        one.failures = []
        nvml.tell(one)
        assert (await until(backend, name="second")).phase == "Succeeded"


async def test_a_job_that_is_killed_with_its_supervisor_is_booked_once_and_leaves_nothing(tmp_path: Path, nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job("first", "setsid sleep 300 & echo up; sleep 300", hardware="H100"))
        await log_with(backend, "up", "first")
        await until(backend, "Running", name="first")
        record = await record_of(backend, "first")
        supervisor = psutil.Process(supervisor_of(tmp_path, "first"))
        victims = [supervisor, *supervisor.children()]
        for each in victims:
            each.suspend()
        for each in victims:
            each.kill()
        lost = await until(backend, name="first")
        assert (lost.phase, lost.reason) == ("Failed", "InfrastructureFailure")
        assert lost.started_at is not None
        assert lost.ended_at is not None
        assert float(lost.cost_usd) == pytest.approx((lost.ended_at - lost.started_at).total_seconds() * 72 / 3600, rel=1e-6)
        assert marked(record.token) == set(), "what had left its session is gone, too"
        assert one.uuid not in held()
