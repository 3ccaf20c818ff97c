"""Runs and Sandboxes that ask for devices: real bubblewrap, the tests' NVML, and a file of the system in place of a device's."""

import asyncio
import json
import os
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from agents_at_work import launch, plays, results_of, worker
from cards_here import own_card
from engine_place import NUMBERS, Place, at_rest, environment, group, run_status, runs
from model_server import ModelServer, asks
from nvml_here import Nvml, compile_library

from local_backend.backend import LocalBackend
from local_backend.devices import desk as desk_module
from local_backend.devices import holding
from local_backend.devices.device_files import sandbox_devices
from local_backend.devices.inventory import Device
from local_backend.hardware import watch as watch_module
from local_backend.sandboxes.bubblewrap.engine import connect_bubblewrap
from local_backend.sandboxes.interface import SandboxDevice, SandboxError
from nodus_tui.contract.actions import Kill
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxStatus

pytestmark = pytest.mark.timeout(100)
SEEN = "echo $CUDA_VISIBLE_DEVICES; ls /dev | grep nvidia; head -c 1 /dev/nvidia0 | od -An -tx1"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> Nvml:
    monkeypatch.setattr(desk_module, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(watch_module, "_FIRST_RATES_SECONDS", 0)
    monkeypatch.setitem(watch_module.HardwareWatch.__init__.__kwdefaults__, "period", 0.05)
    return Nvml(tmp_path / "nvml", library)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def place(tmp_path: Path, server: ModelServer, nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    try:
        engine = await connect_bubblewrap(os.environ)
    except SandboxError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    await engine.aclose()
    for dev in stand_in():
        monkeypatch.setattr(holding, "sandbox_devices", lambda devices, dev=dev: here(devices, dev))
        made = Place(
            tmp_path, server.base_url, environ=nvml.environ, rates={"CPU": "0", "H100": "3600"}, sandboxes={"engine": "bubblewrap"}
        )
        made.tasks(NUMBERS)
        yield made


def stand_in() -> Iterator[Path]:
    """A folder that everybody may enter, with a device's file that reads as zeros."""
    with tempfile.TemporaryDirectory(prefix="nodus-test-dev.") as name:
        folder = Path(name)
        folder.chmod(0o755)
        try:
            os.mknod(folder / "nvidia0", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
            (folder / "nvidia0").chmod(0o666)
            (folder / "nvidia0").open("rb").close()
        except OSError as error:
            pytest.skip(f"device files cannot be made and opened here: {error.strerror}")
        yield folder


def here(devices: tuple[Device, ...], dev: Path) -> tuple[SandboxDevice, ...]:
    return sandbox_devices(devices, dev)


async def test_runs_take_turns_on_a_device_see_it_and_pay_for_it(place: Place, server: ModelServer, nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    released = asyncio.Event()

    async def later(seen: object) -> object:
        await released.wait()
        return asks(("submit", {"answer": "1"}))

    plays(server, [asks(("bash", {"command": SEEN})), later])  # type: ignore[list-item]  # the server's own form
    async with place.backend() as backend:
        agent = worker(sandbox={"hardware": "H100"})
        await launch(place, backend, environment(), agent, group(tasks=2, max_active=2))
        async with asyncio.timeout(60):
            while True:
                found = {run.name: await run_status(backend, run.name) for run in await runs(backend)}
                waiting = [each for each in found.values() if each.reason is Reason.WAITING_FOR_DEVICE]
                holding = [name for name, each in found.items() if each.sandbox is not None and each.sandbox.running]
                if holding and waiting and waiting[0].until is not None:
                    break
                await asyncio.sleep(0.02)
        (name,) = holding
        assert waiting[0].message == f"waits for 1 × H100; 1 busy with run {name}"
        assert waiting[0].until_kind == "AtLatest"
        assert [each.name for each in (await backend.gpus()).devices[0].holders] == [name]
        released.set()
        rested = await at_rest(backend)
        told = await run_status(backend, name)
        transcript = await backend.transcript(name)
    assert rested.phase is GroupPhase.COMPLETED
    assert results_of(transcript)[0].splitlines()[:3] == [one.uuid, "nvidia0", " 00"]
    assert told.sandbox is not None
    assert (told.sandbox.hardware, told.sandbox.devices, told.sandbox.rate_usd) == ("H100", (one.uuid,), 3600)
    told_to_the_millisecond = 0.0005
    assert float(told.sandbox.cost_usd) == pytest.approx(told.sandbox.seconds, abs=told_to_the_millisecond + 1e-6), "a dollar a second"


async def test_a_group_whose_sandboxes_cannot_be_had_is_refused(place: Place, nvml: Nvml) -> None:
    nvml.tell(own_card(0, "NVIDIA L4"))
    async with place.backend() as backend:
        with pytest.raises(
            NodusError, match="the sandbox of its agent worker cannot be had: it asks for 1 × H100, and this machine has 1 ×"
        ):
            await launch(place, backend, environment(), worker(sandbox={"hardware": "H100"}), group(tasks=1))


async def test_a_run_that_is_stopped_waits_for_no_device_any_more(place: Place, server: ModelServer, nvml: Nvml) -> None:
    used = own_card(0)
    used.processes = [f"{os.getpid()} 1000000000 compute"]
    nvml.tell(used)
    async with place.backend() as backend:
        await launch(place, backend, environment(), worker(sandbox={"hardware": "H100"}), group(tasks=1))
        async with asyncio.timeout(60):
            while not any(each.status and each.status.reason is Reason.WAITING_FOR_DEVICE for each in await runs(backend)):
                await asyncio.sleep(0.02)
        await backend.stop_work(grace_seconds=0)
        assert (await at_rest(backend)).phase is GroupPhase.INTERRUPTED
        assert not backend._rooms.devices._allocator.waiting


class Metered(Place):
    """Where devices cost their electricity."""

    @property
    def configuration(self) -> str:
        return json.dumps({**json.loads(super().configuration), "electricity": {"usdPerKWh": "1000"}})


async def test_a_runs_devices_cost_the_electricity_that_was_measured(place: Place, server: ModelServer, nvml: Nvml) -> None:
    nvml.tell(own_card(0, power=7000, energy=None))
    plays(server, [asks(("bash", {"command": "true"})), asks(("submit", {"answer": "1"}))])
    metered = Metered(**vars(place))
    async with metered.backend() as backend:
        await launch(metered, backend, environment(), worker(sandbox={"hardware": "H100"}), group(tasks=1))
        await at_rest(backend)
        told = (await run_status(backend, (await runs(backend))[0].name)).sandbox
    assert told is not None
    assert told.rate_usd == 700, "at the power limit of 700 W"
    assert 0 < float(told.cost_usd) <= told.seconds * 700 / 3600 / 2, "a hundredth of it was drawn"


def box(name: str, **spec: object) -> dict[str, object]:
    document = {"apiVersion": "nodus.dev/v1", "kind": "Sandbox", "metadata": {"name": name}}
    return {**document, "spec": {"hardware": "H100", "maxCostUSD": "100000", **spec}}


async def box_now(backend: LocalBackend, name: str) -> SandboxStatus:
    found = await backend.get("Sandbox", name)
    assert isinstance(found, Sandbox)
    assert found.status is not None
    return found.status


async def test_a_sandbox_on_its_own_waits_for_its_device_has_it_and_gives_it_back(place: Place, nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    async with place.backend() as backend, asyncio.timeout(60):
        await launch(place, backend, box("first"))
        while (status := await box_now(backend, "first")).phase != "Running":
            assert not status.ended, status
            await asyncio.sleep(0.02)
        assert (status.devices, status.device_names) == ((one.uuid,), ("0 NVIDIA H100 80GB HBM3",))
        assert (status.hardware, status.rate_usd) == ("H100", 3600)
        assert [(each.kind, each.name) for each in (await backend.gpus()).devices[0].holders] == [("Sandbox", "first")]
        await launch(place, backend, box("second"))
        while (status := await box_now(backend, "second")).until is None:
            await asyncio.sleep(0.02)
        assert (status.reason, status.message) == ("WaitingForDevice", "waits for 1 × H100; 1 busy with sandbox first")
        await backend.act(Kill(kind="Sandbox", name="first"))
        while (status := await box_now(backend, "second")).phase != "Running":
            await asyncio.sleep(0.02)
        assert status.until is None
        await backend.act(Kill(kind="Sandbox", name="second"))
        assert not backend._rooms.devices.holders()


async def test_a_sandbox_that_cannot_have_its_device_is_refused(place: Place, nvml: Nvml) -> None:
    nvml.tell(own_card(0))
    async with place.backend() as backend:
        with pytest.raises(NodusError, match="it asks for 2 × H100, and this machine has 1 ×"):
            await launch(place, backend, box("first", accelerators=2))
