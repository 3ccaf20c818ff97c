"""Deleting what has ended: whether it can be, and what would be gone, in numbers. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.view_state.any_job import AnyJob, job_status
from nodus_tui.view_state.boxes import box_status
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import line, muted, strong
from nodus_tui.view_state.many import Plan, counted
from nodus_tui.view_state.proposals import Question
from nodus_tui.view_state.sweeps import sweep_status

Deletable = AgentGroup | AnyJob | Sweep | Sandbox

_WORDS = {"AgentGroup": "group", "Job": "job", "TrainingJob": "job", "Sweep": "sweep", "Sandbox": "sandbox"}


class _Gone(Struct, frozen=True):
    """What goes with some of them, counted."""

    count: int
    what: str


def at_rest(item: Deletable) -> bool:
    """Whether nothing of it is at work: only then it can be deleted."""
    match item:
        case AgentGroup():
            return status_of(item).phase.at_rest
        case Job() | TrainingJob():
            return job_status(item).ended
        case Sweep():
            return sweep_status(item).phase.ended
        case Sandbox():
            return box_status(item).ended


def word_of(item: Deletable) -> str:
    """What one of its kind is called."""
    return _WORDS[item.kind]


def _goes_with(item: Deletable) -> tuple[_Gone, ...]:
    match item:
        case AgentGroup():
            coverage = status_of(item).coverage
            return (_Gone(coverage.total, "case"), _Gone(coverage.scored, "verdict"))
        case Sweep():
            return (_Gone(sweep_status(item).cells, "cell"),)
        case _:
            return ()


_RECORDS = {
    "group": "transcripts and files of its runs",
    "job": "log and kept outputs",
    "sweep": "groups and jobs of its cells",
    "sandbox": "kept files",
}


def deletion(items: Sequence[Deletable]) -> Plan:
    """What deleting them would do; those that are at work stay. All are of one view: at least one."""
    fit = [item for item in items if at_rest(item)]
    what, left = _WORDS[items[0].kind], len(items) - len(fit)
    them = f"{what} {fit[0].name}" if len(fit) == 1 else counted(len(fit), what)
    sums: dict[str, int] = {}
    for gone in (each for item in fit for each in _goes_with(item)):
        sums[gone.what] = sums.get(gone.what, 0) + gone.count
    numbers = ", ".join(counted(count, word) for word, count in sums.items() if count)
    said = [
        line(strong(numbers), f" and the {_RECORDS[what]} go for good.") if numbers else line(f"The {_RECORDS[what]} go for good."),
        line(muted("Nothing brings them back. What was spent stays counted in the budgets.")),
    ]
    stays = f"{left} of the {len(items)} picked {'is' if left == 1 else 'are'} at work and {'stays' if left == 1 else 'stay'}: kill first."
    lines = (*(said if fit else ()), *((line(muted(stays)),) if left else ()))
    typed = str(len(fit)) if len(fit) > 1 else ""
    return Plan(tuple(item.name for item in fit), Question(f"Delete {them}?", lines, f"Delete {len(fit)}" if typed else "Delete", typed))
