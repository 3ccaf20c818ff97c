"""The tests' NVML: the library of nvml_library.c, compiled once, and the devices that it tells of."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("nvml_library.c")
GIB = 1 << 30


def compile_library(folder: Path, *flags: str) -> Path:
    """The library in the folder; without a compiler the test is skipped, in CI it fails."""
    compiler = shutil.which("gcc")
    if compiler is None:
        if os.environ.get("CI"):
            pytest.fail("gcc is not installed")
        pytest.skip("gcc is not installed: the tests' NVML library cannot be made")
    target = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", *flags, "-o", str(target), str(SOURCE)], check=True)
    return target


@dataclass
class Card:
    """A device as the library tells of it: figures by name, processes, failures, slices."""

    uuid: str = "GPU-00000000-0000-4000-8000-000000000000"
    name: str = "NVIDIA H100 80GB HBM3"
    figures: dict[str, object] = field(default_factory=dict)
    processes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    slices: list["Card"] = field(default_factory=list)

    def lines(self, head: str) -> list[str]:
        own = [head, f"uuid {self.uuid}", f"name {self.name}", *(f"{name} {value}" for name, value in self.figures.items())]
        own += [f"process {each}" for each in self.processes] + [f"! {each}" for each in self.failures]
        return own + [line for leaf in self.slices for line in leaf.lines("slice")]


def card(number: int, **changes: object) -> Card:
    """A device that tells everything."""
    figures: dict[str, object] = {
        "utilization": 10 * number + 5,
        "memory-utilization": 3,
        "memory-used": (number + 1) * GIB,
        "memory-reserved": GIB // 2,
        "memory-total": 80 * GIB,
        "temperature": 40 + number,
        "power": 301_500,
        "power-limit": 700_000,
        "energy": 5_000_000 + number,
        "minor": number,
        "fan": 30,
        "sm-clock": 1755,
        "sm-clock-max": 1980,
        "memory-clock": 2619,
        "memory-clock-max": 2619,
        "clock-reasons": 0,
        "pcie-generation": 5,
        "pcie-generation-max": 5,
        "pcie-width": 16,
        "pcie-width-max": 16,
        "pcie-sent": 1000,
        "pcie-received": 2000,
        "nvlinks": "111111111111111110",
        "nvlink-sent": 10,
        "nvlink-received": 20,
        "ecc": 1,
        "ecc-corrected": 2,
        "ecc-uncorrected": 0,
        "ecc-uncorrected-in-all": 1,
        "remapping-pending": 0,
        "remapping-failed": 0,
        "mig": 0,
    }
    for name, value in changes.items():
        figures[name.replace("_", "-")] = value
    return Card(uuid=f"GPU-{number:08}-0000-4000-8000-000000000000", figures={k: v for k, v in figures.items() if v is not None})


class Nvml:
    """A folder with the library and its state."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / library.name).hardlink_to(library)

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": str(self.folder)}

    def tell(self, *cards: Card, failures: tuple[str, ...] = (), driver: str = "580.65.06", cuda: int = 13000) -> None:
        """From now on it tells of these devices."""
        lines = [f"driver {driver}", f"cuda {cuda}", *(f"! {each}" for each in failures)]
        lines += [line for each in cards for line in each.lines("device")]
        # In one step, for a reader may come at any time.
        new = self.folder / "state.new"
        new.write_text("\n".join(lines) + "\n", encoding="utf-8")
        new.replace(self.folder / "state")
