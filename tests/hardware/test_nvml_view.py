"""What the GPU view tells, through the real nvidia-ml-py against a library with NVML's C interface."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nvml_here import GIB, Card, Nvml, card, compile_library

from local_backend.hardware import probe_client
from local_backend.hardware.attribution import Place
from local_backend.hardware.watch import HardwareWatch
from nodus_tui.contract.hardware_view import GpuDevice, HardwareView

pytestmark = pytest.mark.timeout(60)


async def seen(nvml: Nvml, folder: Path) -> HardwareView:
    """One look by a watch of its own."""
    watch = HardwareWatch(folder, nvml.environ, lambda: datetime.now(UTC))
    try:
        return await watch.view()
    finally:
        await watch.aclose()


async def test_who_does_not_wait_for_rates_has_the_first_look_and_after_it_samples_with_them(nvml: Nvml, watch: HardwareWatch) -> None:
    nvml.tell(card(0))
    first = await watch.view(rates=False)
    assert (first.machine.cpu_percent, first.machine.disk_read_bytes_per_second) == (None, None)
    assert (first.devices[0].name, first.devices[0].utilization_percent) == ("NVIDIA H100 80GB HBM3", 5)
    assert first.machine.memory_total_bytes
    assert (await watch.view()).machine.cpu_percent is not None
    assert (await watch.view(rates=False)).machine.cpu_percent is not None


async def later(watch: HardwareWatch) -> HardwareView:
    """A view whose sample began after this call."""
    await watch.view()
    before = watch.samples
    while watch.samples < before + 2:
        watch._sampled.clear()
        await watch._sampled.wait()
    return await watch.view(history=True)


async def test_every_figure_of_a_device_that_tells_everything(nvml: Nvml, watch: HardwareWatch) -> None:
    nvml.tell(card(0), card(3, clock_reasons=0x4 | 0x40 | 0x1))
    view = await watch.view()
    assert (view.driver, view.cuda, view.notes) == ("580.65.06", "13.0", ())
    first, second = view.devices
    assert (first.index, first.uuid, first.name) == (0, "GPU-00000000-0000-4000-8000-000000000000", "NVIDIA H100 80GB HBM3")
    assert (first.utilization_percent, first.memory_utilization_percent, first.temperature_c) == (5, 3, 40)
    assert (first.minor, second.minor, first.energy_j) == (0, 3, 5000)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (GIB, 80 * GIB), "what the driver reserves is not used"
    assert (first.power_w, first.power_limit_w, first.fan_percent) == (301.5, 700.0, 30)
    assert first.clocks is not None
    assert (first.clocks.sm_mhz, first.clocks.sm_max_mhz, first.clocks.memory_mhz) == (1755, 1980, 2619)
    assert first.pcie is not None
    assert (first.pcie.generation, first.pcie.width) == (5, 16)
    assert first.nvlink is not None
    assert (first.nvlink.links, first.nvlink.active_links) == (18, 17)
    assert first.ecc is not None
    assert (first.ecc.corrected, first.ecc.uncorrected, first.ecc.uncorrected_in_all) == (2, 0, 1)
    assert (first.throttle_reasons, second.throttle_reasons) == ((), ("power limit", "heat (by the hardware)"))
    assert (first.mig_enabled, first.processes, first.notes, first.responding) == (False, (), (), True)
    assert view.machine.memory_total_bytes
    assert view.machine.cpu_percent is not None


async def test_what_changes_is_seen_and_remembered(nvml: Nvml, watch: HardwareWatch) -> None:
    nvml.tell(card(0, utilization=10, memory_used=8 * GIB))
    await watch.view()
    nvml.tell(card(0, utilization=95, memory_used=40 * GIB), card(1))
    view = await later(watch)
    assert [device.utilization_percent for device in view.devices] == [95, 15]
    history = view.devices[0].history
    assert history is not None
    assert (history.utilization_percent[0], history.utilization_percent[-1]) == (10, 95)
    assert (history.memory_percent[0], history.memory_percent[-1]) == (10, 50)
    assert (await watch.view()).devices[0].history is None, "only for those who ask"


async def test_counters_become_amounts_a_second(nvml: Nvml, watch: HardwareWatch) -> None:
    nvml.tell(card(0))
    await watch.view()
    nvml.tell(card(0, pcie_received=9_000_000, nvlink_sent=100_000))
    received = sent = None
    while not (received and sent):
        device = await one_more(watch)
        assert device.pcie is not None
        assert device.nvlink is not None
        received, sent = device.pcie.received_bytes_per_second, device.nvlink.sent_bytes_per_second
    assert received > 0
    assert sent > 0
    nvml.tell(card(0, pcie_received=5))
    while received is not None:
        device = await one_more(watch)
        assert device.pcie is not None
        received = device.pcie.received_bytes_per_second
        assert received is None or received >= 0, "a counter that began anew is no negative rate"


async def one_more(watch: HardwareWatch) -> GpuDevice:
    """The first device in the next sample."""
    watch._sampled.clear()
    await watch._sampled.wait()
    return (await watch.view()).devices[0]


async def test_what_a_device_does_not_tell_is_null_and_said_once(nvml: Nvml, watch: HardwareWatch) -> None:
    bare = card(0, power=None, fan=None, temperature=None, ecc=None, nvlinks=None, clock_reasons=None)
    bare.failures = ["nvmlDeviceGetEnforcedPowerLimit 4", "nvmlDeviceGetUtilizationRates 999", "nvmlDeviceGetComputeRunningProcesses_v3 4"]
    bare.failures.append("nvmlDeviceGetGraphicsRunningProcesses_v3 4")
    nvml.tell(bare)
    device = (await watch.view()).devices[0]
    assert (device.power_w, device.fan_percent, device.temperature_c, device.ecc, device.nvlink) == (None,) * 5
    assert (device.throttle_reasons, device.power_limit_w, device.utilization_percent, device.processes) == (None,) * 4
    assert device.notes == (
        "it does not tell its power, throttle reasons and temperature",
        "no permission to see its power limit and compute processes",
        "utilization: an error inside the driver",
    )
    assert device.memory_used_bytes == GIB


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (9, "the NVIDIA driver is not loaded"),
        (18, "of different versions, as after an update"),
        (4, "no permission to use the NVIDIA driver"),
        (777, "error 777 of the test library (NVML error 777)"),
    ],
)
async def test_a_driver_that_does_not_answer_is_a_sentence(code: int, told: str, nvml: Nvml, tmp_path: Path) -> None:
    nvml.tell(card(0), failures=(f"nvmlInitWithFlags {code}",))
    view = await seen(nvml, tmp_path)
    assert view.devices == ()
    assert told in view.notes[0]
    assert view.driver is None
    assert view.machine.cpus


async def test_no_driver_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no library at all")
    watch = HardwareWatch(tmp_path, {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, lambda: datetime.now(UTC))
    view = await watch.view()
    await watch.aclose()
    assert view.notes == ("no NVIDIA driver here: its library libnvidia-ml.so.1 is not found",)
    assert view.devices == ()


async def test_a_device_that_falls_off_the_bus_keeps_its_place(nvml: Nvml, watch: HardwareWatch) -> None:
    nvml.tell(card(0), card(1))
    await watch.view()
    lost = card(1)
    lost.failures = ["* 15"]
    nvml.tell(card(0), lost)
    here, gone = (await later(watch)).devices
    assert here.responding
    assert (gone.responding, gone.index, gone.uuid) == (False, 1, lost.uuid)
    assert "fell off the bus" in gone.notes[0]
    assert gone.utilization_percent is None
    nvml.tell(card(0), card(1))
    assert all(device.responding for device in (await later(watch)).devices)


async def test_a_device_that_is_lost_while_it_is_asked(nvml: Nvml, watch: HardwareWatch) -> None:
    lost = card(0)
    lost.failures = ["nvmlDeviceGetTemperature 15"]
    nvml.tell(lost, card(1))
    gone, here = (await watch.view()).devices
    assert (gone.responding, gone.uuid, here.responding) == (False, lost.uuid, True)


async def test_a_device_that_is_not_listed_any_more_is_missed(nvml: Nvml, watch: HardwareWatch) -> None:
    nvml.tell(card(0), card(1))
    await watch.view()
    nvml.tell(card(0))
    view = await later(watch)
    assert len(view.devices) == 1
    assert f"NVIDIA H100 80GB HBM3 ({card(1).uuid}) was here until" in view.notes[0]


async def test_a_device_that_hangs_is_passed_by_and_the_others_go_on(
    nvml: Nvml, watch: HardwareWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = card(1)
    nvml.tell(card(0), hanging, card(2))
    await watch.view()
    monkeypatch.setattr(probe_client, "STEP_SECONDS", 3.5)
    hanging.failures = ["nvmlDeviceGetPowerUsage hang"]
    nvml.tell(card(0, utilization=77), hanging, card(2))
    view = await watch.view()
    while view.devices[1].responding:
        view = await later(watch)
    assert [device.responding for device in view.devices] == [True, False, True]
    assert view.devices[0].utilization_percent == 77
    assert view.devices[1].uuid == hanging.uuid
    assert "it hangs: no answer within 3.5 s; it is asked again every 60 s" in view.devices[1].notes[0]
    assert watch._keeper.started == 2, "one probe was given up, and one does without the device"
    await later(watch)
    assert watch._keeper.started == 2


async def test_a_device_that_crashes_whoever_asks_is_passed_by(nvml: Nvml, watch: HardwareWatch) -> None:
    crashing = card(0)
    crashing.failures = ["nvmlDeviceGetTemperature crash"]
    nvml.tell(crashing, card(1))
    first, second = (await watch.view()).devices
    assert "did not survive that" in first.notes[0]
    assert (first.responding, second.responding) == (False, True)


async def test_a_driver_that_hangs_leaves_the_machine_to_be_seen(nvml: Nvml, watch: HardwareWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_client, "OPEN_SECONDS", 5.0)
    nvml.tell(card(0), failures=("nvmlInitWithFlags hang",))
    view = await watch.view()
    assert view.devices == ()
    assert "NVML is not asked: it hangs: no answer within 5 s" in view.notes[0]
    assert view.machine.cpus


async def test_old_figures_say_how_old_they_are(nvml: Nvml, tmp_path: Path) -> None:
    now = 0.0
    nvml.tell(card(0))
    watch = HardwareWatch(tmp_path, nvml.environ, lambda: datetime.now(UTC), period=3600, steady=lambda: now)
    assert (await watch.view()).notes == ()
    now = 40_000.0
    watch._looked_at = now
    assert "these figures are 40000 s old" in (await watch.view()).notes[0]
    await watch.aclose()


async def test_nobody_looking_costs_nothing(nvml: Nvml, tmp_path: Path) -> None:
    now = 0.0
    nvml.tell(card(0))
    watch = HardwareWatch(tmp_path, nvml.environ, lambda: datetime.now(UTC), period=0.01, steady=lambda: now)
    await watch.view()
    process = watch._keeper._probe._process
    assert process is not None
    assert watch._sampling is not None
    now = 31.0
    await watch._sampling
    assert process.wait(10) != 0
    assert (watch._view, watch._history) == (None, {})
    assert (await watch.view()).devices
    await watch.aclose()


async def test_slices_are_leaves_of_their_device(nvml: Nvml, watch: HardwareWatch) -> None:
    me = os.getpid()
    divided = card(0, mig=1, utilization=None)
    small = {"index": 0, "memory-used": GIB, "memory-total": 10 * GIB, "multiprocessors": 16}
    divided.slices = [
        Card("MIG-1111", "NVIDIA H100 MIG 1g.10gb", small, [f"{me} {GIB} compute 7"]),
        Card("MIG-3333", "NVIDIA H100 MIG 3g.40gb", {**small, "index": 3}, failures=["nvmlDeviceGetMemoryInfo_v2 4"]),
    ]
    divided.processes = [f"{me} {GIB} compute 7"]
    nvml.tell(divided)
    device = (await watch.view()).devices[0]
    assert device.mig_enabled
    assert (device.utilization_percent, device.processes) == (None, ())
    one, three = device.mig_devices
    assert (one.index, one.uuid, one.name, one.multiprocessors) == (0, "MIG-1111", "NVIDIA H100 MIG 1g.10gb", 16)
    assert one.memory_total_bytes == 10 * GIB
    assert [process.pid for process in one.processes or ()] == [me]
    assert (three.index, three.memory_used_bytes, three.notes) == (3, None, ("no permission to see its memory",))


async def test_processes_have_user_and_command_and_their_run(nvml: Nvml, tmp_path: Path) -> None:
    with waiting_child("caf\u00e9") as child:
        me = os.getpid()
        started = probe_started(me)
        busy = card(0)
        busy.processes = [f"{child.pid} {3 * GIB} compute", f"{me} - graphics", "4000000 1 compute"]
        nvml.tell(busy)
        asked = []

        async def places() -> tuple[Place, ...]:
            asked.append(1)
            return (Place("nodus-0123456789ab", "hello-c001", init=(me, started)),)

        watch = HardwareWatch(tmp_path, nvml.environ, lambda: datetime.now(UTC), find_places=places, period=0.01)
        device: GpuDevice = (await watch.view()).devices[0]
        found = {process.pid: process for process in device.processes or ()}
        assert (found[child.pid].user, found[child.pid].command) == (user_name(), f"{sys.executable} -c input() caf\u00e9")
        assert (found[child.pid].memory_bytes, found[child.pid].kind) == (3 * GIB, "compute")
        assert (found[child.pid].run, found[child.pid].sandbox) == ("hello-c001", "nodus-0123456789ab"), "its parent is the sandbox's init"
        assert (found[me].memory_bytes, found[me].kind) == (None, "graphics")
        assert (found[4000000].user, found[4000000].command) == (None, None)
        assert "another pid namespace" in device.notes[0]
        await later(watch)
        assert asked == [1], "what is known is not asked again"
        await watch.aclose()
        child.communicate(b"\n")


def waiting_child(word: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()", word], stdin=subprocess.PIPE)


def environ_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def probe_started(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()


def user_name() -> str:
    return subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


async def test_an_old_driver_is_asked_by_older_names(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    nvml = Nvml(tmp_path / "here", compile_library(folder, "-DOLD_DRIVER"))
    busy = card(0)
    busy.processes = [f"{os.getpid()} {GIB} compute"]
    nvml.tell(busy)
    device = (await seen(nvml, tmp_path)).devices[0]
    assert [process.pid for process in device.processes or ()] == [os.getpid()]
    assert device.notes == ()


async def test_hostile_names_arrive_as_data(nvml: Nvml, watch: HardwareWatch) -> None:
    evil = card(0)
    evil.name = "[red]\x1b]52;c;AAAA\x07"
    nvml.tell(evil)
    assert (await watch.view()).devices[0].name == evil.name


async def test_the_probe_gets_no_key_and_ends_with_its_scheduler(nvml: Nvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    nvml.tell(card(0))
    watch = HardwareWatch(tmp_path, nvml.environ, lambda: datetime.now(UTC))
    await watch.view()
    process = watch._keeper._probe._process
    assert process is not None
    assert process.stdin is not None
    assert b"sk-secret" not in environ_of(process.pid)
    process.stdin.close()
    assert process.wait(10) == 0
    await watch.aclose()
