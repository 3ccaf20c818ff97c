"""A backend of recorded values with things that wait, for the tests of the queue, of a timeline and of what-if. Run by nothing."""

from datetime import timedelta

from console_records import NOW, START, group, run, usd
from job_records import job
from scripted_backend import ScriptedBackend

from nodus_tui.contract.phases import Reason, RunPhase, Verdict

MEANS = {"mean_run_seconds": 40.0, "mean_run_usd": usd("0.02")}


def ended(case: int):
    """One that queued, had its sandbox made, worked, was held up, worked and was graded."""
    begin = START + timedelta(seconds=2 * case)
    told = [("Queued", 0), ("Preparing", 6), ("Working", 14), ("Paused", 34), ("Working", 44), ("Grading", 60)]
    stretches = [{"activity": activity, "since": begin + timedelta(seconds=seconds) if seconds else START} for activity, seconds in told]
    return run(
        case,
        phase=RunPhase.SUCCEEDED,
        verdict=Verdict.CORRECT,
        created_at=START,
        started_at=begin + timedelta(seconds=6),
        ended_at=begin + timedelta(seconds=66),
        duration_seconds=60,
        stretches=stretches,
    )


def queue_world() -> ScriptedBackend:
    """Two groups: one with many that wait for a slot, one with a few; and a job that waits for a device."""
    runs = [ended(case) for case in (1, 2, 3)]
    runs += [run(case, phase=RunPhase.RUNNING, started_at=NOW - timedelta(seconds=10 * case)) for case in (4, 5)]
    pause = {"message": "the provider asked for a pause of 12 s", "until": NOW + timedelta(seconds=12)}
    runs.append(run(6, phase=RunPhase.RUNNING, reason=Reason.RATE_LIMITED, started_at=NOW - timedelta(minutes=1), **pause))
    runs += [run(case, reason=Reason.WAITING_FOR_SLOT, message="waits for one of 3 slots (maxActive)") for case in range(7, 40)]
    runs += [run(1, of="small", phase=RunPhase.WAITING, reason=Reason.MAX_COST_REACHED, message="its next call may cost $0.04")]
    backend = ScriptedBackend([group(tasks=39, max_active=3, reserved="0.18", going=3, pending=36, **MEANS), group("small", tasks=1)], runs)
    backend.jobs["train"] = job(name="train", phase="Pending", reason="WaitingForDevice", message="GPU 0 is job big's")
    return backend
