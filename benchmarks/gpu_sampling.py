"""What the GPU view costs: `python benchmarks/gpu_sampling.py [--devices 8] [--hertz 2] [--seconds 20]`.

The tests' NVML library stands in for the driver and answers at once, so that what is measured is this program: CPU time of the process
that asks (probe) and of the one that it tells (scheduler), in percent of one core, and the size of an answer on the wire. The time of a
real driver comes on top. Where `nvitop` is installed and a real driver is here, measure it beside this: `pidstat -p $(pgrep nvitop) 10 1`.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil

sys.path.append(str(Path(__file__).parent.parent / "tests" / "hardware"))
from nvml_here import GIB, Nvml, card, compile_library

from local_backend.hardware.watch import HardwareWatch


async def measure(devices: int, hertz: float, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nvml = Nvml(folder / "nvml", compile_library(folder))
        cards = [card(number) for number in range(devices)]
        for each in cards:
            each.processes = [f"{os.getpid()} {GIB} compute", f"{os.getppid()} {GIB} compute"]
        nvml.tell(*cards)
        watch = HardwareWatch(folder, nvml.environ, lambda: datetime.now(UTC), period=1 / hertz)
        began = time.monotonic()
        await watch.view()
        first = time.monotonic() - began
        (probe,) = psutil.Process().children()
        before, own_before, samples, at = probe.cpu_times(), time.process_time(), watch.samples, time.monotonic()
        while time.monotonic() - at < seconds:
            await asyncio.sleep(0.5)
            view = await watch.view()
        passed = time.monotonic() - at
        after, own = probe.cpu_times(), time.process_time() - own_before
        spent = after.user + after.system - before.user - before.system
        print("| devices | samples/s | first answer | probe CPU | scheduler CPU | probe memory | one answer |")
        print("|---|---|---|---|---|---|---|")
        memory, size = probe.memory_info().rss >> 20, len(view.model_dump_json(by_alias=True)) / 1000
        print(
            f"| {len(view.devices)} | {(watch.samples - samples) / passed:.2f} | {first:.2f} s | {100 * spent / passed:.2f} % "
            f"| {100 * own / passed:.2f} % | {memory} MiB | {size:.1f} kB |"
        )
        await watch.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--hertz", type=float, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    chosen = parser.parse_args()
    asyncio.run(measure(chosen.devices, chosen.hertz, chosen.seconds))
