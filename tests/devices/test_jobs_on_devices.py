"""Jobs on devices, from spec to end: real processes under real supervisors; the devices are those of the tests' NVML library."""

import asyncio
import json
import os
import signal
import stat
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from cards_here import own_card
from job_place import job, job_now, log_with, record_of, supervisor_of, until, whole_log, workspace
from nvml_here import GIB, Nvml

from local_backend.backend import LocalBackend
from local_backend.devices.machine_claims import held
from local_backend.jobs import job_devices
from nodus_tui.cli.details import resource_text
from nodus_tui.cli.rows import row_of
from nodus_tui.contract.actions import Kill
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.estimates import KindEstimate
from nodus_tui.contract.resources.job import JobStatus

pytestmark = pytest.mark.timeout(60)
SEEN = "echo cuda=$CUDA_VISIBLE_DEVICES nvidia=$NVIDIA_VISIBLE_DEVICES hardware=$NODUS_HARDWARE"
CONFIGURATION = {"rates": {"CPU": "36", "H100": "72", "L4": "7.2"}, "jobs": {"stopGrace": "1s", "maxLogMiB": 1}}


def configuration(**more: object) -> str:
    return json.dumps({**CONFIGURATION, **more})


async def waits(backend: LocalBackend, words: str, name: str = "work") -> JobStatus:
    """The job's status once its message has these words."""
    while words not in (status := (await job_now(backend, name))[1]).message:
        assert not status.ended, status
        await asyncio.sleep(0.02)
    return status


async def test_a_job_sees_its_devices_and_pays_for_them_and_gives_them_back(tmp_path: Path, nvml: Nvml) -> None:
    one, two, small = own_card(0), own_card(1), own_card(2, "NVIDIA L4", memory_total=24 * GIB)
    nvml.tell(one, two, small)
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job(command=f"mkfifo pipe; {SEEN}; read go < pipe", hardware="H100", accelerators=2))
        assert await log_with(backend, "hardware=") == f"cuda={one.uuid},{two.uuid} nvidia={one.uuid},{two.uuid} hardware=H100\n"
        status = await until(backend, "Running")
        assert (status.devices, status.hardware, status.rate_usd) == ((one.uuid, two.uuid), "H100", Decimal(144))
        assert status.device_names == ("0 NVIDIA H100 80GB HBM3", "1 NVIDIA H100 80GB HBM3")
        assert {one.uuid, two.uuid} <= held().keys()
        view = await backend.gpus()
        assert [[(each.kind, each.name) for each in device.holders] for device in view.devices] == [
            [("Job", "work")],
            [("Job", "work")],
            [],
        ]
        (tmp_path / "home/jobs/work/work/pipe").write_text("go\n")
        ended = await until(backend)
        assert ended.phase == "Succeeded"
        assert ended.started_at is not None
        assert ended.ended_at is not None
        assert float(ended.cost_usd) == pytest.approx((ended.ended_at - ended.started_at).total_seconds() * 144 / 3600, rel=1e-6)
        assert not {one.uuid, two.uuid} & held().keys()
        assert ended.devices == (one.uuid, two.uuid), "what it had is told when it has ended, too"
        found, _ = await job_now(backend)
        assert "GPU 0, 1 (H100)" in row_of(found)
        text = resource_text(found)
        assert f"0 NVIDIA H100 80GB HBM3  {one.uuid}" in text
        assert "2 × H100, 1 CPU, 1 GiB" in text


async def test_a_job_without_devices_sees_none(tmp_path: Path, nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml.tell(own_card(0))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job(command=SEEN, env={"CUDA_VISIBLE_DEVICES": "0", "NVIDIA_VISIBLE_DEVICES": "all"}))
        await until(backend)
        assert await whole_log(backend) == "cuda= nvidia=void hardware=CPU\n"
        assert (await job_now(backend))[1].devices == ()


async def test_one_waits_for_the_other_and_says_for_whom_and_a_job_without_devices_goes_by(tmp_path: Path, nvml: Nvml) -> None:
    nvml.tell(own_card(0))
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job("first", "echo up; sleep 300", hardware="H100", timeout="1h", cpus=0.1))
        await log_with(backend, "up", "first")
        await backend.apply(job("second", SEEN, hardware="H100", cpus=0.1))
        told = await waits(backend, "waits for 1 × H100; 1 busy with job first", "second")
        first = (await job_now(backend, "first"))[1]
        assert (told.reason, told.until_kind) == ("WaitingForDevice", "AtLatest")
        assert f"until {told.until:%Y-%m-%d %H:%M:%S}Z at the latest" in resource_text((await job_now(backend, "second"))[0])
        assert told.until is not None
        assert first.deadline_at is not None
        assert told.until >= first.deadline_at
        await backend.apply(job("third", "true", cpus=0.1, memoryGiB=0.1))
        assert (await until(backend, name="third")).phase == "Succeeded"
        await backend.act(Kill(kind="Job", name="first"))
        ended = await until(backend, name="second")
        assert (ended.phase, ended.until) == ("Succeeded", None)


async def test_the_first_kind_that_is_free_is_given_at_its_own_price(tmp_path: Path, nvml: Nvml) -> None:
    nvml.tell(own_card(0, "NVIDIA L4"), used := own_card(1))
    used.processes = [f"{os.getpid()} {GIB} compute"]
    nvml.tell(own_card(0, "NVIDIA L4"), used)
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job(command=SEEN, hardware="H100", maxCostUSD="5"))
        await waits(backend, "1 in use by others: ")
        assert (await job_now(backend))[1].rate_usd == Decimal(72)
        record = await record_of(backend)
        record.choices = ["H100", "L4"]
        backend._jobs._jobs["work"].choices = record.choices  # type: ignore[union-attr]
        ended = await until(backend)
        assert (ended.hardware, ended.rate_usd) == ("L4", Decimal("7.2"))
        assert "hardware=L4" in await whole_log(backend)


async def test_shared_devices_are_given_to_several(tmp_path: Path, nvml: Nvml) -> None:
    nvml.tell(own_card(0))
    async with workspace(tmp_path, configuration(hardware={"sharedHolders": 2})) as backend:
        for name in ("a", "b", "c"):
            await backend.apply(job(name, "echo up; sleep 300", hardware="H100", shareAccelerators=True, cpus=0.1, memoryGiB=0.1))
        await until(backend, "Running", name="a")
        await until(backend, "Running", name="b")
        await waits(backend, "waits for a place on 1 × H100; all 2 places of 1 taken by job a and job b", "c")
        for name in ("a", "b", "c"):
            await backend.act(Kill(kind="Job", name=name))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"hardware": "A100-80G"}, "it asks for 1 × A100-80G, and this machine has 1 × NVIDIA H100 80GB HBM3"),
        ({"hardware": "H100", "accelerators": 2}, "it asks for 2 × H100, and this machine has 1 × NVIDIA H100 80GB HBM3"),
        ({"hardware": "H100", "acceleratorMemoryGiB": 94}, "the largest of this machine's has 80.0 GiB"),
        ({"hardware": "GPU"}, "nothing is known of what GPU costs"),
        ({"hardware": "H100", "maxCostUSD": "0.01"}, "this cap is too small"),
    ],
)
async def test_what_can_never_be_given_is_refused_when_it_is_applied(
    tmp_path: Path, nvml: Nvml, spec: dict[str, object], words: str
) -> None:
    nvml.tell(own_card(0))
    async with workspace(tmp_path, configuration()) as backend:
        with pytest.raises(NodusError) as refused:
            await backend.apply(job(**spec))  # type: ignore[arg-type]  # the spec's other fields
        assert words in refused.value.detail + "".join(fault.message for fault in refused.value.faults)


async def test_devices_stay_a_jobs_while_its_scheduler_is_away(tmp_path: Path, nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job("first", "echo up; sleep 300", hardware="H100"))
        await log_with(backend, "up", "first")
    assert held()[one.uuid].alone, "its supervisor has it"
    (tmp_path / "other").mkdir()
    async with workspace(tmp_path / "other", configuration()) as other:
        await other.apply(job(command=SEEN, hardware="H100"))
        await waits(other, "1 in use by another workspace of ")
        async with workspace(tmp_path, configuration()) as backend:
            await backend.apply(job("second", SEEN, hardware="H100"))
            await waits(backend, "1 busy with job first", "second")
            await backend.act(Kill(kind="Job", name="second"))
            await backend.act(Kill(kind="Job", name="first"))
        assert (await until(other)).phase == "Succeeded"


async def test_a_killed_supervisor_gives_them_back_once_nothing_of_the_job_is_left(tmp_path: Path, nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job("first", "echo up; sleep 300", hardware="H100"))
        await log_with(backend, "up", "first")
        os.kill(supervisor_of(tmp_path, "first"), signal.SIGKILL)
        assert (await until(backend, name="first")).reason == "InfrastructureFailure"
        assert one.uuid not in held()
        await backend.apply(job("second", SEEN, hardware="H100"))
        assert (await until(backend, name="second")).phase == "Succeeded"


async def test_a_launch_that_was_not_made_holds_nothing(tmp_path: Path, nvml: Nvml) -> None:
    nvml.tell(own_card(0))
    async with workspace(tmp_path, configuration(), role="look") as looker:
        await looker.apply(job(command=SEEN, hardware="H100"))
        await looker._store.commit([("UPDATE jobs SET token = 'lost', devices = '[\"GPU-x\"]', hardware = 'H100'", ())])
    async with workspace(tmp_path, configuration()) as backend:
        assert (await until(backend)).phase == "Succeeded"


@pytest.fixture
def device_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of the system that stand in for those of devices 0 and 1: both read as zeros."""
    if os.geteuid() != 0:
        pytest.skip("only root can hide devices from a command")
    folder = tmp_path / "dev"
    folder.mkdir()
    try:
        for number in (0, 1):
            os.mknod(folder / f"nvidia{number}", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        (folder / "nvidia0").open("rb").close()
    except OSError as error:
        pytest.skip(f"device files cannot be made and opened here: {error.strerror}")
    monkeypatch.setattr(job_devices, "DEV", folder)
    return folder


async def test_root_cannot_open_a_device_that_it_was_not_given(tmp_path: Path, nvml: Nvml, device_files: Path) -> None:
    nvml.tell(own_card(0), own_card(1))
    look = f"for n in 0 1; do head -c 1 {device_files}/nvidia$n >/dev/null 2>&1 && echo $n opens; done; true"
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job("with", look, hardware="H100"))
        await backend.apply(job("without", look))
        await until(backend, name="with")
        await until(backend, name="without")
        assert await whole_log(backend, "with") == "0 opens\n"
        assert await whole_log(backend, "without") == ""
    with (device_files / "nvidia1").open("rb") as file:
        assert file.read(1) == b"\0", "nothing of it is seen outside"


async def test_electricity_is_booked_as_it_was_measured(tmp_path: Path, nvml: Nvml) -> None:
    one = own_card(0, power=100_000, energy=1_000_000)
    nvml.tell(one)
    async with workspace(tmp_path, configuration(electricity={"usdPerKWh": "1000"})) as backend:
        await backend.apply(job(command="echo up; sleep 300", hardware="H100", maxCostUSD="50"))
        (estimated,) = await backend.estimate(job("other", hardware="H100", timeout="1h", maxCostUSD="900"), minutes_per_case=Decimal(1))
        assert isinstance(estimated, KindEstimate)
        assert (estimated.ceiling_usd, len(estimated.notes)) == (Decimal(700), 1)
        assert "at their power limits" in estimated.notes[0]
        status = await until(backend, "Running")
        assert status.rate_usd == Decimal(700), "700 W at most"
        assert "the electricity that they take" in " ".join(status.notes)
        # So little that the job has run for longer than it takes at the power limit: more than that is not booked.
        one.figures["energy"] = 1_004_000
        nvml.tell(one)
        while (await backend.gpus()).devices[0].energy_j != 1004:
            await asyncio.sleep(0.01)
        await backend.act(Kill(kind="Job", name="work"))
        ended = await until(backend)
        assert ended.energy_wh is not None
        assert ended.energy_wh >= 0.0011
        worst = Decimal(700) * Decimal((ended.ended_at - ended.started_at).total_seconds()) / 3600  # type: ignore[operator]
        assert 0 < ended.cost_usd < worst
        assert ended.cost_usd == pytest.approx(Decimal(str(ended.energy_wh)), rel=Decimal("0.01"))


async def test_a_jobs_processes_are_known_as_its_own_wherever_they_compute(tmp_path: Path, nvml: Nvml) -> None:
    one, two = own_card(0), own_card(1)
    nvml.tell(one, two)
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job("greedy", "echo pid=$$; sleep 300", hardware="H100", cpus=0.1))
        pid = (await log_with(backend, "pid=", "greedy")).partition("=")[2].strip()
        one.processes = two.processes = [f"{pid} {GIB} compute"]
        nvml.tell(one, two)
        while not all(each.processes and each.processes[0].job == "greedy" for each in (await backend.gpus()).devices):
            await asyncio.sleep(0.02)
        await backend.apply(job("second", SEEN, hardware="H100", cpus=0.1))
        await waits(backend, "1 busy with job greedy; 1 in use by others: sh (greedy, which was not given it)", "second")
        await backend.act(Kill(kind="Job", name="greedy"))
        await waits(backend, "in use by others", "second")
        one.processes = two.processes = []
        nvml.tell(one, two)
        assert (await until(backend, name="second")).phase == "Succeeded"


async def test_a_forecast_follows_from_what_a_job_tells_and_stays_until_it_tells_more(tmp_path: Path, nvml: Nvml) -> None:
    nvml.tell(own_card(0))
    tell = """echo "{\\"progress\\": 0.5}" >> "$NODUS_PROGRESS"; sleep 300"""
    async with workspace(tmp_path, configuration()) as backend:
        await backend.apply(job("first", tell, hardware="H100", cpus=0.1))
        await backend.apply(job("second", SEEN, hardware="H100", cpus=0.1))
        while (told := (await job_now(backend, "second"))[1]).until_kind != "About":
            await asyncio.sleep(0.02)
        first = (await job_now(backend, "first"))[1]
        assert first.started_at is not None
        assert told.until is not None
        assert told.until < first.started_at + timedelta(seconds=60), "twice of what it took to half of it"
        counted = "SELECT count(*) AS events FROM events WHERE name = 'second'"
        before = (await backend._store.read(counted))[0]["events"]
        await backend.apply(job("third", "sleep 0.3", cpus=0.1, memoryGiB=0.1))
        await until(backend, name="third")
        assert (await job_now(backend, "second"))[1].until == told.until
        assert (await backend._store.read(counted))[0]["events"] == before, "nothing is told anew while nothing has changed"
