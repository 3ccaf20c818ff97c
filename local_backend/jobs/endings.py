"""What a job's end is called: from its supervisor's report to phase, reason and sentence. Pure."""

from msgspec import Struct

from local_backend.jobs.order import Report
from nodus_tui.contract.resources.job import JobPhase


class Ending(Struct, frozen=True):
    """How a job ended."""

    phase: JobPhase
    reason: str | None
    message: str


_STOPPED: dict[str, tuple[JobPhase, str]] = {
    "MaxCostReached": ("Failed", "it was ended before it passed its cap on cost"),
    "Timeout": ("Failed", "it was ended at its timeout"),
    "Killed": ("Cancelled", "it was killed"),
    "BudgetExceeded": ("Cancelled", "a budget stopped it"),
    "Interrupted": ("Interrupted", "something outside told the process that watched over it to end"),
    "NoLongerUsed": ("Succeeded", "nobody used it any more"),
    "StartTimeout": ("Failed", "its health check did not answer in time"),
    "NotAnswering": ("Failed", "its health check did not answer any more"),
}

NOT_WATCHED = Ending(
    "Failed", "InfrastructureFailure", "the process that watched over it was killed, and all that was left of the job was ended"
)
MACHINE_DOWN = Ending("Interrupted", "Interrupted", "the machine was started anew while it ran")


def ending(report: Report) -> Ending:
    """The ending that a report tells of."""
    if report.problem:
        lost = bool(report.started_at) and report.exit_code is None
        return Ending("Failed", "InfrastructureFailure" if lost else "NotStarted", report.problem)
    if report.reason in _STOPPED:
        phase, said = _STOPPED[report.reason]
        how = "" if report.exit_code is None else f" ({_exited(report)})"
        return Ending(phase, report.reason, said + how)
    if report.exit_code == 0:
        return Ending("Succeeded", None, "")
    return Ending("Failed", "NonZeroExit", _exited(report))


def _exited(report: Report) -> str:
    return f"it was ended by {report.signal}" if report.signal else f"it exited with {report.exit_code}"
