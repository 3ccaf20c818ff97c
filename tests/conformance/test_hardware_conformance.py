"""What every backend tells of its machine, whichever way it is reached. The devices are told by the tests' NVML library."""

import os
import sys
from pathlib import Path

import psutil
import pytest
from test_backend_conformance import until
from test_sandbox_conformance import RUN, under_way
from ways import Reached, spec

from local_backend.sandboxes.bubblewrap.records import Records, records_folder
from nodus_tui.contract.actions import Kill
from nodus_tui.contract.phases import GroupPhase

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
    first = await there.backend.gpus(rates=False)
    assert (len(first.devices), first.machine.cpu_percent) == (2, None), "nobody has looked before, and it waits for no second look"
    view = await there.backend.gpus(history=True)
    assert view.machine.cpu_percent is not None
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


def processes_of(sandbox: str) -> list[int]:
    """The processes of a sandbox as this machine counts them; without control groups, those below its first one."""
    inside = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cgroup") if sandbox in text_of(path)]
    if inside:
        return inside
    (record,) = (each for each in Records(records_folder(os.environ)).all() if each.id == sandbox)
    return [each.pid for each in psutil.Process(record.init).children(recursive=True)]


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""  # It has just ended.


async def test_a_process_in_a_sandbox_has_the_run_of_it(there: Reached, nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "bubblewrap")
    nvml.tell(card(0))
    await there.backend.apply(spec(family="busy", tasks=1, tools="[bash, submit]"))
    await under_way(there)
    (sandbox,) = (each for each in await there.backend.sandboxes() if each.mine)
    busy = card(0)
    busy.processes = [f"{pid} {GIB} compute" for pid in (os.getpid(), *processes_of(sandbox.id))]
    nvml.tell(busy)
    found = {each.pid: each for each in (await there.backend.gpus()).devices[0].processes or ()}
    assert found.pop(os.getpid()).run is None
    assert {(each.run, each.sandbox) for each in found.values()} == {(RUN, sandbox.id)}
    await there.backend.act(Kill(kind="AgentGroup", name="hello"))
    await until(there.backend, GroupPhase.CANCELLED)


async def test_a_machine_without_a_driver_is_no_error(there: Reached, nvml: Nvml) -> None:
    nvml.tell(failures=("nvmlInitWithFlags 9",))
    view = await there.backend.gpus()
    assert view.devices == ()
    assert "the NVIDIA driver is not loaded" in view.notes[0]
