"""What the GPU view costs: `python benchmarks/gpu_sampling.py [--devices 8] [--hertz 2] [--seconds 20]`.

The tests' NVML library stands in for the driver and answers at once, so that what is measured is this program: CPU time of the process
that asks (probe) and of the one that it tells (scheduler), in percent of one core, and the size of an answer on the wire. The time of a
real driver comes on top. Then the console's GPU view on a terminal, every figure of every device changing twice a second: bytes that it
writes, and its CPU time, scheduler and probe included. Where `nvitop` is installed and a real driver is here, measure it beside this:
`pidstat -p $(pgrep nvitop) 10 1`.
"""

import argparse
import asyncio
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil

sys.path.append(str(Path(__file__).parent.parent / "tests" / "hardware"))
from nvml_here import GIB, Card, Nvml, card, compile_library

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


SIZES = ((80, 24), (120, 40))


def console(devices: int, seconds: float) -> None:
    """The installed console in a terminal of its own, looked at through the terminal's other end."""
    print("\n| console at | bytes/s | CPU of one core |")
    print("|---|---|---|")
    for columns, lines in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            nvml = Nvml(folder / "nvml", compile_library(folder))
            nvml.tell(*(changing(number, 0) for number in range(devices)))
            leader, follower = pty.openpty()
            fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            places = {"NODUS_HOME": str(folder / "home"), "NODUS_IN_PROCESS": "1", "TERM": "xterm-256color", "XDG_CONFIG_HOME": str(folder)}
            command = [Path(sys.executable).with_name("nodus-tui")]
            with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=nvml.environ | places) as shown:
                os.close(follower)
                read_for(leader, 3)
                os.write(leader, b"d")
                read_for(leader, 5)
                process = psutil.Process(shown.pid)
                everyone = [process, *process.children(recursive=True)]
                before, at, written, round_number = spent(everyone), time.monotonic(), 0, 0
                while time.monotonic() - at < seconds:
                    round_number += 1
                    nvml.tell(*(changing(number, round_number) for number in range(devices)))
                    written += read_for(leader, 0.5)
                passed = time.monotonic() - at
                print(f"| {columns}×{lines} | {written / passed:.0f} | {100 * (spent(everyone) - before) / passed:.1f} % |")
                shown.terminate()
                read_for(leader, 1)
            os.close(leader)


def changing(number: int, round_number: int) -> Card:
    figure = (number * 17 + round_number * 29) % 101
    return card(number, utilization=figure, memory_used=figure * GIB // 2, temperature=30 + figure // 2, power=300_000 + 1000 * figure)


def read_for(terminal: int, seconds: float) -> int:
    """Bytes that came within these seconds."""
    end, count = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            try:
                count += len(os.read(terminal, 65_536))
            except OSError:
                break  # The other end is closed.
    return count


def spent(processes: list[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (each.cpu_times() for each in processes if each.is_running()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--hertz", type=float, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    chosen = parser.parse_args()
    asyncio.run(measure(chosen.devices, chosen.hertz, chosen.seconds))
    console(chosen.devices, chosen.seconds)
