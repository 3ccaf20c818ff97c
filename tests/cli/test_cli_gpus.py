"""`gpus`: the list that programs read, the table, a machine without a driver. The devices are told by the tests' NVML library."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_workspace import COMMAND, Workspace
from click.testing import Result

sys.path.append(str(Path(__file__).parent.parent / "hardware"))
from nvml_here import GIB, Card, Nvml, card, compile_library

Nodus = Callable[..., Result]


@pytest.fixture
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """The library, found by the processes that this one starts."""
    made = Nvml(tmp_path / "nvml", compile_library(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(made.folder))
    return made


def test_the_list_has_the_names_that_programs_read(nodus: Nodus, nvml: Nvml) -> None:
    busy = card(1, power=None)
    busy.processes = [f"{os.getpid()} {3 * GIB} compute"]
    nvml.tell(card(0), busy)
    done = nodus("gpus", "-o", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    first, second = json.loads(done.stdout)
    names = ("index", "uuid", "name", "utilizationPercent", "memoryUsedBytes", "memoryTotalBytes", "temperatureC", "powerW", "powerLimitW")
    assert [first[name] for name in names] == [0, card(0).uuid, "NVIDIA H100 80GB HBM3", 5, GIB, 80 * GIB, 40, 301.5, 700.0]
    assert (first["processes"], first["notes"]) == ([], [])
    assert (second["powerW"], second["notes"]) == (None, ["it does not tell its power"])
    (process,) = second["processes"]
    assert (process["pid"], process["memoryBytes"], process["run"]) == (os.getpid(), 3 * GIB, None)
    assert set(process) >= {"user", "command"}
    whole = json.loads(nodus("gpus", "--json", "--whole").stdout)
    assert (whole["driver"], whole["cuda"], len(whole["devices"])) == ("580.65.06", "13.0", 2)
    assert whole["machine"]["memoryTotalBytes"] > 0


def test_the_table_shows_devices_slices_processes_and_what_is_wrong(nodus: Nodus, nvml: Nvml) -> None:
    hot = card(0, clock_reasons=0x40, ecc_uncorrected=2, remapping_pending=1)
    hot.name = "evil\x1b[2Jname"
    divided = card(1, mig=1, utilization=None)
    divided.slices = [Card("MIG-1", "H100 MIG 1g.10gb", {"index": 2, "memory-used": GIB, "memory-total": 10 * GIB})]
    divided.slices[0].processes = [f"{os.getpid()} {GIB} compute"]
    lost = card(2)
    lost.failures = ["* 15"]
    nvml.tell(hot, divided, lost)
    text = nodus("gpus", "--once").stdout
    assert "\x1b" not in text
    assert "evil␛[2Jname" in text
    assert "driver 580.65.06, CUDA 13.0; " in text
    assert re.search(r"\n\n[^\n]+; [0-9]+% of [0-9]+ CPUs, [^\n]+\n$", text), "the machine is last: its figures take two looks"
    assert "GPU 0: slowed down: heat (by the hardware); 2 uncorrected memory errors since the driver was loaded; " in text
    assert "memory rows wait to be replaced: reset the device; clock 1755 of 1980 MHz, memory 2619; fan 30%; PCIe 5×16 in " in text
    assert "302/700 W" in text
    assert "└ H100 MIG 1g.10gb" in text
    rows = [line.split()[:3] for line in text.splitlines() if line.startswith("1:2")]
    assert rows[1][1] == str(os.getpid())
    assert "(does not answer)" in text
    assert "GPU 2: the device is lost: it fell off the bus" in text


def test_a_machine_without_a_driver_is_an_empty_list_and_a_sentence(nodus: Nodus, nvml: Nvml) -> None:
    nvml.tell(failures=("nvmlInitWithFlags 18",))
    done = nodus("gpus", "-o", "json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, [])
    assert "of different versions, as after an update" in done.stderr
    table = nodus("gpus")
    assert table.exit_code == 0
    assert "of different versions" in table.stdout
    assert "memory " in table.stdout


def test_on_a_terminal_the_figures_are_renewed_until_ctrl_c(workspace: Workspace, nvml: Nvml) -> None:
    nvml.tell(card(0, utilization=11))
    leader, follower = pty.openpty()
    environ = {**workspace.environment, "TERM": "xterm"}
    with subprocess.Popen([COMMAND, "gpus"], stdout=follower, stderr=subprocess.PIPE, env=environ, cwd=workspace.folder) as shown:
        os.close(follower)
        seen = read_until(leader, "11%")
        nvml.tell(card(0, utilization=97))
        seen += read_until(leader, "97%")
        shown.send_signal(signal.SIGINT)
        assert shown.wait(30) == 0
        assert shown.stderr is not None
        assert shown.stderr.read() == b""
    os.close(leader)
    assert "Ctrl-C ends this." in seen


def read_until(terminal: int, wanted: str) -> str:
    text = ""
    while wanted not in text:
        text += os.read(terminal, 65_536).decode("utf-8", "replace")
    return text
