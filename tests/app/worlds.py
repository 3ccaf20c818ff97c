"""Workspaces in every state that the console shows, for tests that look at all of it."""

from datetime import timedelta

from box_records import some_boxes, some_facts
from console_records import START, every_kind_of_run, group, run, tool_conversation, tool_run, usd
from hardware_records import hardware
from job_records import job, kept
from scripted_backend import ScriptedBackend

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.contract.sandboxes import FileEntry


def world() -> ScriptedBackend:
    """Three campaigns: one at work, one stalled, one done."""
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
    """A campaign whose agents work in sandboxes."""
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
    """A machine with devices."""
    backend = world()
    backend.hardware = hardware()
    return backend


def job_world() -> ScriptedBackend:
    """Jobs in four states."""
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


def box_world() -> ScriptedBackend:
    """Sandboxes of one's own, and those of runs."""
    backend = world()
    backend.boxes, backend.sandbox_facts, backend.sandboxes_running = some_boxes(), some_facts(), 5
    return backend
