"""The GPU view against a real device: `python tests/gpu/check_gpu.py [--index 0] [--seconds 10]`.

One device is kept busy; what the view tells is compared with what nvidia-smi tells at the same time: utilization, memory, temperature,
power, the process with its pid, user and memory, and that it is given to the run whose sandbox it stands in. It needs a driver and
nvidia-smi, nothing else. One line a check; exit 1 if one fails. It is no part of the test suite, which needs no GPU.
"""

import argparse
import asyncio
import getpass
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean

from local_backend.hardware.attribution import Place
from local_backend.hardware.watch import HardwareWatch
from nodus_tui.contract.hardware_view import GpuDevice, HardwareView

MIB = 1 << 20
BUSY_MIB = 512
RUN = "check-c001"


class Checks:
    """What was found."""

    def __init__(self) -> None:
        self.failed = 0

    def hold(self, what: str, *, holds: bool, seen: object) -> None:
        """One check."""
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


async def compare(index: int, seconds: float) -> int:
    checks = Checks()
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
    return 1 if checks.failed else 0


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


def _mib(value: int | None) -> float | None:
    return None if value is None else round(value / MIB, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the GPU view with nvidia-smi while a kernel runs.")
    parser.add_argument("--index", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10)
    chosen = parser.parse_args()
    if shutil.which("nvidia-smi") is None:
        parser.error("nvidia-smi is not here: this check needs a machine with a GPU and its driver")
    sys.exit(asyncio.run(compare(chosen.index, chosen.seconds)))
