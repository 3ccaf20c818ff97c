"""The views as text at 80×24 and 120×40, compared with what a person looked at and found good.

`NODUS_UPDATE_GOLDEN=1 pytest tests/app/test_console_golden.py` writes them anew: look at the difference before committing it.
"""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from box_records import some_boxes, some_facts
from budget_records import some_budgets
from console_driver import console, press, screen_text
from console_records import NOW, START, every_kind_of_run, group, run, tool_conversation, tool_run, usd
from hardware_records import hardware, without_driver
from job_records import job, kept
from queue_records import queue_world
from scripted_backend import ScriptedBackend
from test_console_sweeps import world as sweep_world

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.contract.sandboxes import FileEntry

GOLDEN = Path(__file__).parent / "golden"
VIEWS: dict[str, tuple[str, ...]] = {
    "campaigns": (),
    "group": ("j", "enter"),
    "run": ("j", "enter", "j", "j", "j", "j", "enter"),
    "kill": ("j", "enter", "X"),
    "extend": ("j", "enter", "end", "k", "k", "k", "k", "k", "e"),
    "help": ("question_mark",),
}

TOOL_VIEWS: dict[str, tuple[str, ...]] = {
    "tools": ("enter", "enter", "pagedown"),
    "tools-whole": ("enter", "enter", "pagedown", "o"),
    "tools-working": ("enter", "j", "enter"),
    "files": ("enter", "enter", "f"),
    "save": ("enter", "enter", "f", "j", "enter"),
    "tool-group": ("enter",),
}
GPU_VIEWS: dict[str, tuple[str, ...]] = {
    "gpus": ("d",),
    "gpus-processes": ("d", "j", "j", "enter"),
    "gpus-lost": ("d", "end"),
}
"""A campaign whose agents work in sandboxes."""


def world() -> ScriptedBackend:
    stalled = group(
        phase=GroupPhase.STALLED,
        reason=Reason.MAX_COST_REACHED,
        message="16 runs wait at their own caps: extend to at least $0.076; 31 cases cannot start: raise the group's cap by $0.04 to $2.04",
        going=0,
    )
    real = group(
        "arithmetic-smollm2",
        cap="0.25",
        spent="0.1",
        reserved="0.02",
        tasks=20,
        max_active=4,
        pending=6,
        going=4,
        coverage=Coverage(scored=13, total=20),
        verdicts={"Correct": 6, "Incorrect": 6, "InvalidOutput": 1, "InfrastructureFailure": 1},
        pass_rate=6 / 13,
        ci95=(0.204, 0.739),
        standard_error=0.1383,
        simulated=False,
        notional_price=True,
        model_family="smollm2",
        model_name="SmolLM2-135M",
        created_at=START + timedelta(seconds=20),
    )
    done = group(
        "yesterday",
        phase=GroupPhase.COMPLETED,
        pending=0,
        going=0,
        reserved="0.00",
        coverage=Coverage(scored=98, total=100),
        verdicts={"Correct": 60, "Incorrect": 38, "EvaluationTimeout": 2},
        pass_rate=60 / 98,
        ci95=(0.515, 0.709),
        standard_error=0.0495,
        created_at=START - timedelta(days=1),
        ended_at=START - timedelta(hours=23),
        unconfirmed="0.02",
        simulated=False,
    )
    return ScriptedBackend([done, stalled, real], every_kind_of_run())


def tool_world() -> ScriptedBackend:
    money = group().status.money.model_copy(update={"sandbox_usd": usd("0.0412")})
    working = group("repairs", money=money)
    runs = [tool_run(0, of="repairs"), tool_run(1, of="repairs", running=True)]
    runs.append(run(2, of="repairs", reason=Reason.WAITING_FOR_SANDBOX, message="4 of 4 sandboxes run on this machine"))
    limited = {"phase": RunPhase.FAILED, "verdict": None, "reward": None, "reason": Reason.SANDBOX_LIMIT_REACHED}
    limited["message"] = "its sandbox used up its maxLifetime of 24h"
    last = tool_run(3, of="repairs")
    runs.append(last.model_copy(update={"status": last.status.model_copy(update=limited)}))
    backend = ScriptedBackend([working], runs)
    backend.transcripts = {each.name: tool_conversation(each.name, ended=each.spec.case != 1) for each in runs}
    backend.contents = {"median.py": b"x" * 812, "notes/plan.md": b"y" * 12_345, "tests/test_\x1b[2J\u202e.py": b"z"}
    backend.more_files = (FileEntry(path="notes", kind="folder"), FileEntry(path="passwords", kind="link"))
    backend.sandboxes_running = 2
    return backend


def gpu_world() -> ScriptedBackend:
    backend = world()
    backend.hardware = hardware()
    return backend


JOB_VIEWS: dict[str, tuple[str, ...]] = {
    "jobs": ("J",),
    "jobs-filtered": ("J", "slash", *("colon" if letter == ":" else letter for letter in "state:failed"), "enter"),
    "jobs-none": ("J", "slash", *"qqqq", "enter"),
    "job": ("J", "end", "enter"),
    "job-ended": ("J", "slash", *"train", "enter", "enter"),
    "job-kill": ("J", "end", "x"),
}


def job_world() -> ScriptedBackend:
    backend = world()
    swe = ("python", "-m", "swebench.harness.run_evaluation", "--dataset", "lite", "--max_workers", "6")
    late = {"phase": "Failed", "exit_code": 143, "reason": "Timeout", "message": "it was ended at its timeout of 30m"}
    jobs = (
        job(command=swe, message="runs on 6 of 8 CPUs"),
        job("train", phase="Succeeded", exit_code=0, command=("python", "train.py"), outputs=(kept("out/model.bin", 61_234_567),)),
        job("queue", phase="Pending", reason="WaitingForMachine", message="waits for 2 CPUs; 1 of 2 are free beside swe-bench"),
        job("inspect-gpqa", command=("inspect", "eval", "gpqa.py"), **late),
    )
    backend.jobs = {each.name: each for each in jobs}
    backend.logs = {
        "swe-bench": "loading 300 instances\n"
        + "".join(f"[{n:3}/300] resolved {n // 2}\n" for n in range(1, 60))
        + "a title: \x1b]0;owned\x07\n",
        "train": "epoch 1 loss 0.71\nepoch 2 loss 0.43\ndone\n",
    }
    return backend


SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")


@SIZES
@pytest.mark.parametrize("view", VIEWS)
async def test_the_view_looks_as_agreed(view: str, size: tuple[int, int]) -> None:
    await compare(view, VIEWS[view], world(), size)


@SIZES
@pytest.mark.parametrize("view", TOOL_VIEWS)
async def test_the_view_of_agents_with_tools_looks_as_agreed(
    view: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await compare(view, TOOL_VIEWS[view], tool_world(), size)


@SIZES
@pytest.mark.parametrize("view", GPU_VIEWS)
async def test_the_view_of_devices_looks_as_agreed(view: str, size: tuple[int, int]) -> None:
    await compare(view, GPU_VIEWS[view], gpu_world(), size)


@SIZES
async def test_the_view_of_a_machine_without_devices_looks_as_agreed(size: tuple[int, int]) -> None:
    backend = world()
    backend.hardware = without_driver()
    await compare("gpus-none", ("d",), backend, size)


@SIZES
async def test_the_view_of_budgets_looks_as_agreed(size: tuple[int, int]) -> None:
    backend = world()
    backend.budgets = some_budgets()
    await compare("budgets", ("B", "j", "j"), backend, size)


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("view", JOB_VIEWS)
async def test_the_view_of_jobs_looks_as_agreed(view: str, size: tuple[int, int]) -> None:
    await compare(view, JOB_VIEWS[view], job_world(), size)


BOX_VIEWS: dict[str, tuple[str, ...]] = {
    "sandboxes": ("b", "j"),
    "sandboxes-of-runs": ("b", "tab", "j"),
    "sandbox": ("b", "slash", *"build", "enter", "enter"),
    "sandbox-kill": ("b", "slash", *"build", "enter", "x"),
}


def box_world() -> ScriptedBackend:
    backend = world()
    backend.boxes, backend.sandbox_facts, backend.sandboxes_running = some_boxes(), some_facts(), 5
    return backend


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("view", BOX_VIEWS)
async def test_the_view_of_sandboxes_looks_as_agreed(view: str, size: tuple[int, int]) -> None:
    await compare(view, BOX_VIEWS[view], box_world(), size)


SWEEP_VIEWS: dict[str, tuple[str, ...]] = {
    "sweeps": ("W", "down"),
    "sweep": ("W", "down", "enter", "down", "down"),
    "sweep-table": ("W", "down", "enter", "down", "down", "right", "tab"),
    "sweep-compared": ("W", "down", "enter", "m", "right", "m", "c"),
    "sweep-extend": ("W", "down", "enter", "down", "down", "e"),
}


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("view", SWEEP_VIEWS)
async def test_the_view_of_sweeps_looks_as_agreed(view: str, size: tuple[int, int]) -> None:
    await compare(view, SWEEP_VIEWS[view], sweep_world(), size)


QUEUE_VIEWS: dict[str, tuple[str, ...]] = {
    "queue": ("w", "down", "down"),
    "timeline": ("w", "T", "j"),
    "what-if": ("w", "M"),
}


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("view", QUEUE_VIEWS)
async def test_the_view_of_what_waits_looks_as_agreed(view: str, size: tuple[int, int]) -> None:
    await compare(view, QUEUE_VIEWS[view], queue_world(), size)


async def compare(view: str, keys: tuple[str, ...], backend: ScriptedBackend, size: tuple[int, int]) -> None:
    async with console(backend, size=size) as (app, pilot):
        assert app.clock() == NOW
        if keys:
            await press(app, pilot, *keys)
        shown = screen_text(app) + "\n"
    agreed(view, shown, size)


def agreed(view: str, shown: str, size: tuple[int, int]) -> None:
    """What is shown is what was agreed on, and fits."""
    path = GOLDEN / f"{view}-{size[0]}x{size[1]}.txt"
    if os.environ.get("NODUS_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")
    lines = shown.splitlines()
    assert len(lines) <= size[1]
    assert max(len(line) for line in lines) <= size[0]
