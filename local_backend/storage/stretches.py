"""What a run does when, as stretches of its life: noted with each change that is told. Pure changes of one record."""

from datetime import datetime

from local_backend.storage.records import RunRecord, Stretch
from nodus_tui.contract.phases import HOLDS_SLOT, MAX_STRETCHES, Reason, RunActivity, RunPhase

_AT_REST: dict[RunPhase, RunActivity] = {
    RunPhase.PENDING: "Queued",
    RunPhase.WAITING: "AtCap",
    RunPhase.INTERRUPTED: "Interrupted",
    RunPhase.GRADING: "Grading",
}


def activity_of(run: RunRecord, *, in_sandbox: bool) -> RunActivity | None:
    """What the run does now; None where it has ended. `in_sandbox` says whether it has tools, and so a sandbox to be made first."""
    if run.phase.ended:
        return None
    if run.phase in _AT_REST:
        return _AT_REST[run.phase]
    made = run.sandbox is not None and run.sandbox.running
    if in_sandbox and not made and not run.answered and run.reason in {None, Reason.WAITING_FOR_SANDBOX}:
        return "Preparing"
    return "Paused" if run.reason is not None else "Working"


def note_stretch(run: RunRecord, at: datetime, *, in_sandbox: bool) -> None:
    """Begin a stretch where the run does something else, or waits for something else, than it did."""
    activity = activity_of(run, in_sandbox=in_sandbox)
    if activity is None:
        return
    last = run.stretches[-1] if run.stretches else None
    reason = run.reason if activity != "Grading" else None
    if last is not None and (last.activity, last.reason) == (activity, reason):
        return
    # A list of its own each time: what was told of the run before is compared with it.
    since = at if last is None else max(at, last.since)
    if last is not None and last.activity == "Queued" and activity != "Queued" and run.started_at is not None:
        # It left the queue when it got its slot, not when that was told; what it waits for a second time, it left when that is told.
        since = run.started_at if last.since <= run.started_at <= since else since
    run.stretches = _shortened([*run.stretches, Stretch(activity, reason, since)])


def _shortened(stretches: list[Stretch]) -> list[Stretch]:
    """At most so many: the shortest one that has ended becomes part of the one before it. The first and the last stay."""
    while len(stretches) > MAX_STRETCHES:
        shortest = min(range(1, len(stretches) - 1), key=lambda at: stretches[at + 1].since - stretches[at].since)
        stretches = stretches[:shortest] + stretches[shortest + 1 :]
        before, after = stretches[shortest - 1], stretches[shortest]
        if (before.activity, before.reason) == (after.activity, after.reason):
            del stretches[shortest]
    return stretches


def held_seconds(run: RunRecord) -> float:
    """For how long an ended run held a slot."""
    if run.ended_at is None or run.started_at is None:
        return 0.0
    if not run.stretches:
        return (run.ended_at - run.started_at).total_seconds()
    ends = [*(each.since for each in run.stretches[1:]), run.ended_at]
    held = (end - each.since for each, end in zip(run.stretches, ends, strict=True) if each.activity in HOLDS_SLOT)
    return sum(each.total_seconds() for each in held)
