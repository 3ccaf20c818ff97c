"""What every backend tells of its machine, whichever way it is reached. The devices are told by the tests' NVML library."""

import os
import sys
from pathlib import Path

import pytest
from ways import Reached

sys.path.append(str(Path(__file__).parent.parent / "hardware"))
from nvml_here import GIB, Nvml, card, compile_library

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """The library, found by the processes that this one starts."""
    made = Nvml(tmp_path / "nvml", compile_library(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(made.folder))
    return made


async def test_devices_and_the_machine_are_told_alike_everywhere(there: Reached, nvml: Nvml) -> None:
    busy = card(1)
    busy.processes = [f"{os.getpid()} {GIB} compute"]
    nvml.tell(card(0), busy)
    view = await there.backend.gpus(history=True)
    assert [(device.index, device.utilization_percent, device.memory_used_bytes) for device in view.devices] == [
        (0, 5, GIB),
        (1, 15, 2 * GIB),
    ]
    assert view.devices[0].history is not None
    assert view.devices[0].history.utilization_percent[-1] == 5
    (process,) = view.devices[1].processes or ()
    assert (process.pid, process.memory_bytes, process.run) == (os.getpid(), GIB, None)
    assert view.machine.host == (await there.local.gpus()).machine.host
    assert (await there.backend.gpus()).devices[0].history is None


async def test_a_machine_without_a_driver_is_no_error(there: Reached, nvml: Nvml) -> None:
    nvml.tell(failures=("nvmlInitWithFlags 9",))
    view = await there.backend.gpus()
    assert view.devices == ()
    assert "the NVIDIA driver is not loaded" in view.notes[0]
