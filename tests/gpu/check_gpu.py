"""The GPU view and the allocation of devices against a real one: `python tests/gpu/check_gpu.py [--index 0] [--seconds 10]`.

One device is kept busy; what the view tells is compared with what nvidia-smi tells at the same time: utilization, memory, temperature,
power, the process with its pid, user and memory, and that it is given to the run whose sandbox it stands in. Then jobs are given devices:
one sees exactly its own, another waits for it and says so, one without sees none, electricity is measured; and, where bubblewrap or a
Docker engine is here, a program in a sandbox sees its own.

It needs a driver and nvidia-smi, nothing else. One line a check; exit 1 if one fails. It is no part of the test suite, which needs no GPU.
"""

import argparse
import asyncio
import getpass
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from statistics import mean

from local_backend.backend import LocalBackend, open_local
from local_backend.devices.device_files import sandbox_devices
from local_backend.devices.inventory import devices_of
from local_backend.hardware.attribution import Place
from local_backend.hardware.watch import HardwareWatch
from local_backend.sandboxes.bubblewrap.engine import connect_bubblewrap
from local_backend.sandboxes.docker.engine import connect_docker
from local_backend.sandboxes.interface import Limits, SandboxEngine, SandboxError, SandboxRequest
from local_backend.sandboxes.owner import this_process
from local_backend.sandboxes.running import run as run_in
from nodus_tui.contract.actions import Kill
from nodus_tui.contract.backend import BackendOptions
from nodus_tui.contract.hardware_view import GpuDevice, HardwareView
from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

MIB = 1 << 20
BUSY_MIB = 512
RUN = "check-c001"


class Checks:
    """What was found."""

    def __init__(self) -> None:
        self.made = self.failed = 0

    def hold(self, what: str, *, holds: bool, seen: object) -> None:
        """One check."""
        self.made += 1
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'}  {what}: {seen}", flush=True)


def smi(query: str, fields: str, index: int) -> list[list[str]]:
    command = ["nvidia-smi", f"--query-{query}={fields}", "--format=csv,noheader,nounits", f"--id={index}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None  # "[N/A]" and the like


def started(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()


def near(one: float | None, other: float | None, most: float) -> bool:
    """Both tell, and about the same; or neither does."""
    if one is None or other is None:
        return one is None and other is None
    return abs(one - other) <= most


async def check(index: int, seconds: float) -> int:
    checks = Checks()
    parts: dict[str, Callable[[], Awaitable[None]]] = {
        "the view": lambda: compare(checks, index, seconds),
        "allocation": lambda: allocate(checks, index, seconds),
        "sandboxes": lambda: in_sandboxes(checks, index),
    }
    for name, part in parts.items():
        try:
            await part()
        except Exception as error:  # noqa: BLE001 - a machine with a device is lent for minutes: the other parts are still looked at
            traceback.print_exc(file=sys.stdout)
            checks.hold(f"{name} can be looked at to its end", holds=False, seen=repr(error))
    print(f"{checks.made - checks.failed} of {checks.made} checks hold")
    return 1 if checks.failed else 0


async def compare(checks: Checks, index: int, seconds: float) -> None:
    script = Path(__file__).with_name("busy_kernel.py")
    busy = await asyncio.create_subprocess_exec(
        sys.executable,
        str(script),
        str(index),
        str(seconds + 20),
        str(BUSY_MIB),
        stdout=asyncio.subprocess.PIPE,
        # CUDA's own order is another than the driver's.
        env={**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
    )
    try:
        assert busy.stdout is not None
        ready = await asyncio.wait_for(busy.stdout.readline(), 60)
        checks.hold("a kernel runs", holds=ready == b"ready\n", seen=f"process {busy.pid}")

        async def places() -> tuple[Place, ...]:
            return (Place("nodus-check", RUN, init=(busy.pid, started(busy.pid))),)

        with tempfile.TemporaryDirectory() as folder:
            watch = HardwareWatch(Path(folder), os.environ, lambda: datetime.now(UTC), find_places=places)
            views, told = await samples(watch, index, seconds)
            await watch.aclose()
    finally:
        if busy.returncode is None:
            busy.kill()
        await busy.wait()
    judge(checks, views, told, busy.pid, index)


async def samples(watch: HardwareWatch, index: int, seconds: float) -> tuple[list[HardwareView], list[list[str]]]:
    """Looks of ours and of nvidia-smi's side by side; the first two seconds are left to the device to come up."""
    await watch.view()
    await asyncio.sleep(2)
    views, told = [], []
    fields = "uuid,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw,power.limit,clocks.sm"
    for _ in range(max(3, int(seconds - 2))):
        told += await asyncio.to_thread(smi, "gpu", fields, index)
        views.append(await watch.view(history=True))
        await asyncio.sleep(1)
    return views, told


def judge(checks: Checks, views: list[HardwareView], told: list[list[str]], pid: int, index: int) -> None:
    devices = [next(device for device in view.devices if device.index == index) for view in views]
    last = devices[-1]
    checks.hold("the driver's version is told", holds=views[-1].driver is not None, seen=f"{views[-1].driver}, CUDA {views[-1].cuda}")
    checks.hold("the uuid is nvidia-smi's", holds=last.uuid == told[-1][0], seen=f"{last.uuid} ({last.name})")

    def both(name: str, ours: Callable[[GpuDevice], float | None], column: int, most: float) -> None:
        mine = [value for device in devices if (value := ours(device)) is not None]
        theirs = [value for row in told if (value := number(row[column])) is not None]
        one, other = (mean(mine) if mine else None), (mean(theirs) if theirs else None)
        checks.hold(f"{name} is nvidia-smi's", holds=near(one, other, most), seen=f"{one} against {other} (± {most:g})")

    both("utilization, %,", lambda device: device.utilization_percent, 1, 10)
    both("memory in use, MiB,", lambda device: _mib(device.memory_used_bytes), 2, 16)
    both("memory, MiB,", lambda device: _mib(device.memory_total_bytes), 3, 2)
    both("temperature, °C,", lambda device: device.temperature_c, 4, 3)
    both("power, W,", lambda device: device.power_w, 5, 0.15 * (last.power_limit_w or 100))
    both("power limit, W,", lambda device: device.power_limit_w, 6, 1)
    both("clock, MHz,", lambda device: device.clocks.sm_mhz if device.clocks else None, 7, 150)
    checks.hold("a running kernel is a busy device", holds=(last.utilization_percent or 0) >= 90, seen=f"{last.utilization_percent}%")
    found = next((each for each in last.processes or () if each.pid == pid), None)
    if found is None and of_elsewhere(last):
        print("      passed by: whose process it is, for the driver counts processes as another pid namespace does (is this a container?)")
    else:
        checks.hold("the process is listed", holds=found is not None, seen=f"process {pid} of {len(last.processes or ())}")
    if found is not None:
        checks.hold("with its user", holds=found.user == getpass.getuser(), seen=found.user)
        checks.hold("with its command", holds="busy_kernel.py" in (found.command or ""), seen=found.command)
        enough = found.memory_bytes is not None and found.memory_bytes >= BUSY_MIB * MIB
        checks.hold("with its memory", holds=enough, seen=f"{_mib(found.memory_bytes)} MiB, {BUSY_MIB} of them its own")
        checks.hold("and with its run", holds=found.run == RUN, seen=found.run)
    history = last.history
    checks.hold("there is a history", holds=history is not None and len(history.utilization_percent) >= 3, seen=history)
    checks.hold("nothing is amiss", holds=not views[-1].notes, seen=(*views[-1].notes, *last.notes))
    print(f"      also told: {last.pcie}; {last.nvlink}; {last.ecc}; slowed down by {last.throttle_reasons}; MIG {last.mig_enabled}")


def of_elsewhere(device: GpuDevice) -> bool:
    """Whether there are processes on it, and nobody here is one of them."""
    return bool(device.processes) and all(each.user is None for each in device.processes or ())


def _mib(value: int | None) -> float | None:
    return None if value is None else round(value / MIB, 1)


# Allocation

HARDWARE = "CHECKED"
SEEN = Path(__file__).with_name("seen_devices.py")


def job(name: str, seconds: float | None = None, **spec: object) -> SpecBundle:
    command = [sys.executable, str(SEEN), *([] if seconds is None else [str(seconds)])]
    spec = {"command": command, "maxCostUSD": "10", "network": True, "cpus": 0.1, "memoryGiB": 4, **spec}
    text = json.dumps({"apiVersion": "nodus.dev/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})
    return load_specs([SpecSource("job.yaml", text.encode(), None)])


async def status_of(backend: LocalBackend, name: str) -> JobStatus:
    found = await backend.get("Job", name)
    assert isinstance(found, Job)
    assert found.status is not None
    return found.status


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 90) -> bool:
    end = asyncio.get_running_loop().time() + seconds
    while not await holds():
        if asyncio.get_running_loop().time() > end:
            return False
        await asyncio.sleep(0.2)
    return True


async def ended(backend: LocalBackend, name: str) -> JobStatus:
    await until(lambda: _has_ended(backend, name))
    return await status_of(backend, name)


async def _has_ended(backend: LocalBackend, name: str) -> bool:
    return (await status_of(backend, name)).ended


async def log_of(backend: LocalBackend, name: str) -> list[str]:
    """What CUDA let it see."""
    return [line for line in (await backend.job_log(name, wait_seconds=5)).text.splitlines() if line != "ready"]


async def allocate(checks: Checks, index: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        name = smi("gpu", "name", index)[0][0]
        settings = {
            "rates": {"CPU": "0", HARDWARE: "3.6"},
            "hardware": {"devices": {HARDWARE: name}},
            "electricity": {"usdPerKWh": "0.30"},
        }
        config.write_text(json.dumps(settings), encoding="utf-8")
        async with await open_local(BackendOptions(home=Path(folder) / "home", config=config, role="work")) as backend:
            await _one_device(checks, backend, index, seconds)
            await _no_device(checks, backend)


async def _one_device(checks: Checks, backend: LocalBackend, index: int, seconds: float) -> None:
    same = [device for device in (await backend.gpus()).devices if device.name == smi("gpu", "name", index)[0][0]]
    count = len(same)
    # All of that kind but one are taken first, so that what is left to be given is known.
    if count > 1:
        await backend.apply(job("others", 600, hardware=HARDWARE, accelerators=count - 1))
        await until(lambda: _runs(backend, "others"))
        checks.hold(
            "a job sees all its devices", holds=len(await log_of(backend, "others")) == count - 1, seen=await log_of(backend, "others")
        )
    await backend.apply(job("one", seconds + 20, hardware=HARDWARE))
    checks.hold(
        "a job with one device runs", holds=await until(lambda: _runs(backend, "one")), seen=(await status_of(backend, "one")).message
    )
    held = await status_of(backend, "one")
    await until(lambda: _says_something(backend, "one"))
    seen = await log_of(backend, "one")
    checks.hold("it sees exactly its own", holds=seen == list(held.devices), seen=f"{seen} of {count}; {held.device_names}")
    await backend.apply(job("next", hardware=HARDWARE))
    waits = await until(lambda: _waits(backend, "next", "busy with"))
    status = await status_of(backend, "next")
    checks.hold("another one waits and says for whom", holds=waits, seen=f"{status.message} (until {status.until})")
    belongs = await until(lambda: _computes(backend, "one"), 30)
    device = next(each for each in (await backend.gpus()).devices if each.uuid in held.devices)
    if belongs or not of_elsewhere(device):
        checks.hold("the process on it is the job's", holds=belongs, seen=[(each.pid, each.job) for each in device.processes or ()])
    checks.hold("the view says who has it", holds=[each.name for each in device.holders] == ["one"], seen=device.holders)
    if os.geteuid() == 0 and count > 1 and belongs and device.processes:
        others = [f"/dev/nvidia{each.minor}" for each in same if each.uuid not in held.devices]
        refused = await asyncio.to_thread(_refused, device.processes[0].pid, others)
        checks.hold("root cannot open the others", holds=refused == len(others), seen=f"{refused} of {others}")
    await backend.act(Kill(kind="Job", name="one"))
    used = await status_of(backend, "one")
    worst = used.rate_usd * Decimal((used.ended_at - used.started_at).total_seconds()) / 3600 if used.ended_at and used.started_at else 0
    checks.hold(
        "its electricity was measured",
        holds=bool(used.energy_wh) and 0 < used.cost_usd <= worst,
        seen=f"{used.energy_wh} Wh, ${used.cost_usd} of at most ${worst:f}",
    )
    checks.hold("then the next one runs", holds=(await ended(backend, "next")).phase == "Succeeded", seen=await log_of(backend, "next"))
    if count > 1:
        await backend.act(Kill(kind="Job", name="others"))


def _refused(pid: int, files: list[str]) -> int:
    """How many files cannot be opened where a process is."""
    command = ["nsenter", f"--mount=/proc/{pid}/ns/mnt", "head", "-c0"]
    return sum(b"denied" in subprocess.run([*command, file], capture_output=True, check=False).stderr for file in files)


async def _runs(backend: LocalBackend, name: str) -> bool:
    return (await status_of(backend, name)).phase == "Running"


async def _says_something(backend: LocalBackend, name: str) -> bool:
    return bool(await log_of(backend, name))


async def _waits(backend: LocalBackend, name: str, words: str) -> bool:
    return words in (await status_of(backend, name)).message


async def _computes(backend: LocalBackend, name: str) -> bool:
    return any(process.job == name for device in (await backend.gpus()).devices for process in device.processes or ())


async def _no_device(checks: Checks, backend: LocalBackend) -> None:
    await backend.apply(job("none", env={"CUDA_VISIBLE_DEVICES": "0"}))
    await ended(backend, "none")
    seen = await log_of(backend, "none")
    checks.hold("a job without devices sees none", holds=bool(seen) and seen[0].startswith("none"), seen=seen)


async def in_sandboxes(checks: Checks, index: int) -> None:
    """A program in a sandbox of each engine that is here."""
    watch = HardwareWatch(Path("/"), os.environ, lambda: datetime.now(UTC))
    view = await watch.view()
    await watch.aclose()
    device = next(each for each in devices_of(view) if each.place == str(index))
    given = sandbox_devices([device])
    limits = Limits(cpus=2, memory_bytes=8 << 30, disk_bytes=1 << 30, pids=512)
    wanted = SandboxRequest("check", "episode", this_process(), 120, limits, devices=given)
    for name, connect in (("bubblewrap", connect_bubblewrap), ("Docker", connect_docker)):
        try:
            engine: SandboxEngine = await connect(os.environ)
        except SandboxError as error:
            print(f"      passed by: {error}")
            continue
        try:
            sandbox = await engine.create(wanted)
            done = await run_in(sandbox, ["python3", "-c", SEEN.read_text(encoding="utf-8")], timeout=60)
            await sandbox.aclose()
        except SandboxError as error:
            checks.hold(f"a sandbox by {name} with the device", holds=False, seen=error)
        else:
            seen = done.stdout.decode().split()
            checks.hold(
                f"a program in a sandbox by {name} sees it alone", holds=seen == [device.uuid], seen=f"{seen} {done.stderr[-300:]!r}"
            )
        await engine.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the GPU view with nvidia-smi while a kernel runs.")
    parser.add_argument("--index", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10)
    chosen = parser.parse_args()
    if shutil.which("nvidia-smi") is None:
        parser.error("nvidia-smi is not here: this check needs a machine with a GPU and its driver")
    sys.exit(asyncio.run(check(chosen.index, chosen.seconds)))
