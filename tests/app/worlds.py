"""Workspaces in every state that the console shows, for tests that look at all of it."""

from collections import Counter
from datetime import timedelta

from box_records import some_boxes, some_facts
from console_records import NOW, START, every_kind_of_run, group, run, scored, tool_conversation, tool_run, usd
from hardware_records import hardware
from job_records import job, kept
from scripted_backend import ScriptedBackend

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.contract.resources.agent_group import Coverage
from nodus_tui.contract.sandboxes import FileEntry
from nodus_tui.statistics.pass_rate import TaskCount, summary_of_counts

_BROKEN = 17
"""The case of a group at work that the infrastructure broke."""


def world() -> ScriptedBackend:
    """Three campaigns: one at work, one stalled, one done."""
    stalled = group(
        phase=GroupPhase.STALLED,
        reason=Reason.MAX_COST_REACHED,
        message="16 runs wait at their own caps: extend to at least $0.076; 31 cases cannot start: raise the group's cap by $0.04 to $2.04",
        needed_cap_usd=usd("2.04"),
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


def working_group_world() -> ScriptedBackend:
    """One campaign at work with all of its runs: what stands above them is what they come to."""
    said = (
        Verdict.CORRECT,
        Verdict.CORRECT,
        Verdict.INCORRECT,
        Verdict.CORRECT,
        Verdict.INVALID_OUTPUT,
        Verdict.CORRECT,
        Verdict.INCORRECT,
    )
    ended = [scored(case, said[case % len(said)], cost=f"{0.0178 + case % 5 * 0.0021:.4f}") for case in range(60) if case != _BROKEN]
    ended.insert(
        _BROKEN,
        scored(
            _BROKEN,
            Verdict.INFRASTRUCTURE_FAILURE,
            reason=Reason.INFRASTRUCTURE_FAILURE,
            message="the model server closed the connection after the request went out; $0.0213 is charged as the worst case",
            unconfirmed_usd=usd("0.0213"),
        ),
    )
    one_call = {"phase": RunPhase.RUNNING, "calls": 1, "turns": 1, "input_tokens": 640, "output_tokens": 95, "cost_usd": usd("0.0107")}
    going = [
        run(case, started_at=NOW - timedelta(seconds=78 - case), queued_seconds=125.0, in_flight_usd=usd("0.0312"), **one_call)
        for case in range(60, 66)
    ]
    held_up = run(
        66,
        started_at=NOW - timedelta(seconds=11),
        queued_seconds=177.0,
        reason=Reason.RATE_LIMITED,
        message="the provider asked for a pause of 12 s",
        until=NOW + timedelta(seconds=12),
        **one_call,
    )
    judged = run(67, started_at=NOW - timedelta(seconds=9), queued_seconds=179.0, **{**one_call, "phase": RunPhase.GRADING})
    waiting = [run(case, reason=Reason.WAITING_FOR_SLOT, message="8 of 8 slots are taken") for case in range(68, 100)]
    verdicts = Counter(each.status.verdict for each in ended if each.status.verdict is not None)
    counts = [TaskCount(1, each.status.verdict is Verdict.CORRECT) for each in ended if each.status.reward is not None]
    rate = summary_of_counts(counts, total=100, rewards=[count.correct for count in counts])
    runs = [*ended, *going, held_up, judged, *waiting]
    whole = group(
        max_active=8,
        spent=str(sum(each.status.cost_usd for each in runs)),
        reserved=str(sum(each.status.in_flight_usd for each in runs)),
        unconfirmed="0.0213",
        pending=len(runs) - len(ended),
        going=8,
        coverage=Coverage(scored=rate.scored, total=rate.total),
        verdicts={verdict.value: count for verdict, count in verdicts.items()},
        pass_rate=rate.pass_rate,
        mean_reward=rate.mean_reward,
        standard_error=rate.standard_error,
        ci95=rate.ci95,
    )
    return ScriptedBackend([whole], runs)


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
