"""Which actions of the list would do nothing to a thing as it stands: one rule a kind, by which every view's footer goes. Pure.

What a view alone knows (whether there is another table, a marked cell) it says itself.
"""

from collections import Counter
from collections.abc import Iterable

from nodus_tui.contract.phases import GroupPhase, RunPhase, Verdict
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.view_state.any_job import AnyJob, job_status, waits_for_budget
from nodus_tui.view_state.boxes import box_status, shell_problem
from nodus_tui.view_state.campaigns import killable, status_of
from nodus_tui.view_state.jobs import extend_problem, retry_problem
from nodus_tui.view_state.proposals import extension_problem
from nodus_tui.view_state.row_actions import ON_MANY
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.sweep_cells import CellNow
from nodus_tui.view_state.sweeps import sweep_status


def useless(item: object) -> frozenset[str]:
    """Ids of actions that would do nothing to it now; of what is of no kind that has a rule, none is known to."""
    match item:
        case AgentRun():
            rules = _of_run(item)
        case AgentGroup():
            rules = _of_group(item)
        case Job() | TrainingJob():
            rules = _of_job(item)
        case Sandbox():
            rules = {"kill": box_status(item).ended, "shell": bool(shell_problem(item))}
        case Sweep():
            rules = _of_sweep(item)
        case CellNow():
            rules = _of_cell(item)
        case _:
            return frozenset()
    return frozenset(action for action, holds in rules.items() if holds)


def useful_to(items: Iterable[object]) -> Counter[str]:
    """To how many of what is picked each of the actions on many would do something; none of those that it does nothing to at all."""
    fits: Counter[str] = Counter()
    for item in items:
        idle = useless(item)
        fits.update(action for action in ON_MANY if action not in idle and not (action == "retry" and _rests(item)))
    return fits


def _rests(item: object) -> bool:
    """Whether only resuming lets it go on: to one thing the key for retry does that, to several it does not."""
    if isinstance(item, AgentRun):
        return run_status(item).phase is RunPhase.INTERRUPTED
    return isinstance(item, AgentGroup) and not unscored_ended(item)


def unscored_ended(group: AgentGroup) -> int:
    """Cases that ended without a verdict that counts: all of them where the group was ended before its tasks were made."""
    if status_of(group).phase.ended and not status_of(group).verdicts:
        return group.spec.cases
    scored = {verdict.value for verdict in Verdict if verdict.scored}
    return sum(count for name, count in status_of(group).verdicts.items() if name not in scored and name != "Answered")


def _of_run(run: AgentRun) -> dict[str, bool]:
    status = run_status(run)
    scored = status.verdict is not None and status.verdict.scored
    again = status.phase.ended and status.current and status.phase is not RunPhase.SUPERSEDED and not scored and run.spec.group is not None
    return {
        "kill": status.phase.ended,
        "extend": bool(extension_problem(run)),
        "retry": not again and status.phase is not RunPhase.INTERRUPTED,
    }


def _of_group(group: AgentGroup) -> dict[str, bool]:
    phase = status_of(group).phase
    return {
        "kill": not killable(group),
        "extend": phase.ended,
        # Which runs wait for what is known in the group's own view only.
        "extend_waiting": phase.ended or status_of(group).pending <= status_of(group).going,
        "retry": not unscored_ended(group) and phase is not GroupPhase.INTERRUPTED,
    }


def _of_job(job: AnyJob) -> dict[str, bool]:
    return {
        "kill": job_status(job).ended and not waits_for_budget(job),
        "extend": bool(extend_problem(job)),
        "retry": bool(retry_problem(job)),
    }


def _of_sweep(sweep: Sweep) -> dict[str, bool]:
    status = sweep_status(sweep)
    return {
        "kill": status.phase.ended,
        "extend": status.phase.ended,
        "retry": not status.failed and status.phase is not GroupPhase.INTERRUPTED,
    }


def _of_cell(item: CellNow) -> dict[str, bool]:
    cell, phase = item.cell, item.cell.phase
    done = item.job is not None and bool(extend_problem(item.job))
    if item.group is not None:
        again = bool(unscored_ended(item.group))
    else:
        again = not retry_problem(item.job) if item.job is not None else phase is not GroupPhase.COMPLETED
    return {
        "open": not cell.launched,
        "results": not cell.launched,
        "kill": phase.ended,
        "extend": not cell.launched or (phase.ended and (cell.kind == "AgentGroup" or phase is GroupPhase.COMPLETED)) or done,
        "retry": not (phase.ended and again) and phase is not GroupPhase.INTERRUPTED,
    }
