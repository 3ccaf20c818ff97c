"""One action on many picked rows: which of them it fits, what it comes to in numbers, and how it went. Pure.

What does not fit (has ended, is scored) is left as it is, and the question says so: nobody must pick so carefully.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from nodus_tui.contract.money import display_usd
from nodus_tui.contract.phases import RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.view_state.any_job import AnyJob, job_status, waits_for_budget
from nodus_tui.view_state.boxes import box_status
from nodus_tui.view_state.boxes import cost_now as box_cost
from nodus_tui.view_state.campaigns import killable, status_of, stopped_cases
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted, strong
from nodus_tui.view_state.figures import short_usd
from nodus_tui.view_state.jobs import cap_of, cost_now, retry_problem
from nodus_tui.view_state.money import money_parts
from nodus_tui.view_state.proposals import TYPE_COUNT_FROM, Question
from nodus_tui.view_state.run_columns import run_status

_KINDS_TOLD = 3
"""Kinds of refusals that are told in words; of others only the number."""


class Plan(Struct, frozen=True):
    """What an action on many would do."""

    names: tuple[str, ...]
    """What it acts on; empty where it fits none of them."""
    question: Question
    """What is asked before; without anything to act on, why there is not."""


def counted(count: int, what: str) -> str:
    """`1 run`, `12 runs`, `2 sandboxes`."""
    plural = f"{what}es" if what.endswith("x") else f"{what}s"
    return f"{count} {what if count == 1 else plural}"


def _plan(verb: str, what: str, fit: Sequence[str], picked: int, lines: Sequence[Line], others: str) -> Plan:
    """The question, with the number typed where there are many; and a line about those that the action does not fit."""
    left = picked - len(fit)
    said = [*lines] if fit else []
    if left:
        stays = "is left as it is" if left == 1 else "are left as they are"
        said.append(line(muted(f"{left} of the {picked} picked {stays}: {others}.")))
    typed = str(len(fit)) if len(fit) >= TYPE_COUNT_FROM else ""
    return Plan(tuple(fit), Question(f"{verb} {counted(len(fit), what)}?", tuple(said), f"{verb} {len(fit)}", typed))


def _total(amounts: Sequence[Decimal]) -> str:
    return short_usd(sum(amounts, Decimal(0)))


def kill_runs(runs: Sequence[AgentRun]) -> Plan:
    """End runs of a group."""
    fit = [run for run in runs if not run_status(run).phase.ended]
    statuses = [run_status(run) for run in fit]
    flying = [status.in_flight_usd for status in statuses if status.in_flight_usd]
    freed = [
        run.spec.max_cost_usd - status.cost_usd
        for run, status in zip(fit, statuses, strict=True)
        if status.phase.going and run.spec.max_cost_usd is not None and run.spec.max_cost_usd > status.cost_usd
    ]
    lines = [
        line(
            "Their cases stay unscored. ", strong(f"{_total([each.cost_usd for each in statuses])} is spent"), " and transcripts are kept."
        )
    ]
    if flying:
        lines.append(line(Span(f"{counted(len(flying), 'call')} in flight: charged at worst case, {_total(flying)} together.", Tone.WARN)))
    if freed:
        lines.append(
            line(f"{_total(freed)} that is set aside for {counted(len(freed), 'run')} is freed, less what calls in flight are charged.")
        )
    return _plan("Kill", "run", [run.name for run in fit], len(runs), lines, "ended already")


def retry_runs(runs: Sequence[AgentRun], group: AgentGroup | None) -> Plan:
    """Run cases again that ended unscored."""
    fit = [run for run in runs if _can_run_again(run)]
    caps = [run.spec.max_cost_usd for run in fit if run.spec.max_cost_usd is not None]
    left = f" {display_usd(status_of(group).money.left_usd)} is left of the group's cap." if group is not None else ""
    lines = [
        line(strong(counted(len(fit), "case")), " ended unscored and will run again; ", f"all together up to {_total(caps)}.{left}"),
        line(muted(f"{_total([run_status(run).cost_usd for run in fit])} was spent on what ended. Verdicts stand and are not run again.")),
    ]
    return _plan("Retry", "run", [run.name for run in fit], len(runs), lines, "scored, or not ended yet")


def _can_run_again(run: AgentRun) -> bool:
    status = run_status(run)
    scored = status.verdict is not None and status.verdict.scored
    return status.phase.ended and status.phase is not RunPhase.SUPERSEDED and not scored and run.spec.group is not None and status.current


def kill_groups(groups: Sequence[AgentGroup]) -> Plan:
    """End whole groups."""
    fit = [group for group in groups if killable(group)]
    statuses = [status_of(group) for group in fit]
    stopped = sum(map(stopped_cases, statuses))
    pending, going = sum(each.pending for each in statuses), sum(each.going for each in statuses)
    reserved = sum((money_parts(each.money).reserved for each in statuses), Decimal(0))
    spent, verdicts = _total([each.money.model_usd for each in statuses]), sum(each.coverage.scored for each in statuses)
    lines = (
        line(strong(f"{pending} of {sum(each.coverage.total for each in statuses)} cases"), " have not ended; they stay unscored."),
        *((line(strong(counted(stopped, "case")), " that a budget stopped go on no more."),) if stopped else ()),
        line(f"{counted(going, 'run')} going: calls in flight are charged their worst case." if going else "No run is going."),
        *_freed(reserved, going),
        line(muted(f"{verdicts} verdicts and {spent} of spend are kept.")),
    )
    plan = _plan("Kill", "group", [group.name for group in fit], len(groups), lines, "ended already")
    # What matters is how many cases end with them.
    typed = str(len(fit)) if max(len(fit), pending + stopped) >= TYPE_COUNT_FROM else ""
    return Plan(plan.names, Question(plan.question.title, plan.question.lines, plan.question.go, typed))


def _freed(reserved: Decimal, going: int) -> tuple[Line, ...]:
    """What of the caps is free again; nothing where nothing is set aside."""
    less = ", less what those calls are charged" if going else ""
    return (line(f"{short_usd(reserved)} that is still set aside is freed{less}."),) if reserved else ()


def retry_groups(groups: Sequence[AgentGroup], unscored: Sequence[int]) -> Plan:
    """Run the unscored cases of groups again; how many each has stands beside it."""
    fit = [(group, count) for group, count in zip(groups, unscored, strict=True) if count]
    left = [status_of(group).money.left_usd for group, _ in fit]
    cases = sum(count for _, count in fit)
    lines = (
        line(strong(counted(cases, "case")), " ended unscored and will run again, each under its group's cap."),
        line(muted(f"{_total(left)} is left of those caps together. Verdicts stand and are not run again.")),
    )
    return _plan("Retry", "group", [group.name for group, _ in fit], len(groups), lines, "no case of it ended unscored")


def kill_jobs(jobs: Sequence[AnyJob], now: datetime) -> Plan:
    """End jobs."""
    fit = [job for job in jobs if not job_status(job).ended or waits_for_budget(job)]
    users = sorted({user for job in fit for serving in (job_status(job).serving,) if serving is not None for user in serving.users})
    lines = [
        line("They are asked to end (SIGTERM); what has not ended after its grace is killed."),
        line(
            strong(f"{_total([cost_now(job, now) for job in fit])} is spent"),
            f" of {_total([cap_of(job) for job in fit])}; logs and outputs are kept.",
        ),
    ]
    if users:
        lines.insert(0, line(Span(f"Used by {', '.join(users[:_KINDS_TOLD])}{_more(users)}: runs wait then.", Tone.WARN)))
    return _plan("Kill", "job", [job.name for job in fit], len(jobs), lines, "ended already")


def retry_jobs(jobs: Sequence[AnyJob], now: datetime) -> Plan:
    """Begin the next attempts of jobs."""
    fit = [job for job in jobs if not retry_problem(job)]
    lines = (
        line("Each begins its next attempt in its work folder as it is; its log goes on."),
        line(
            strong(_total([cost_now(job, now) for job in fit])),
            f" of {_total([cap_of(job) for job in fit])} is spent; attempts count under one cap.",
        ),
    )
    return _plan("Retry", "job", [job.name for job in fit], len(jobs), lines, "succeeded, or not ended yet")


def kill_boxes(boxes: Sequence[Sandbox], now: datetime) -> Plan:
    """Stop sandboxes."""
    fit = [box for box in boxes if not box_status(box).ended]
    lines = (
        line(strong(f"{_total([box_cost(box, now) for box in fit])} is spent"), ". What runs in them is killed; their files are kept."),
    )
    return _plan("Kill", "sandbox", [box.name for box in fit], len(boxes), lines, "ended already")


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - _KINDS_TOLD} more" if len(names) > _KINDS_TOLD else ""


class Refusal(Struct, frozen=True):
    """One of many that was not done, and why."""

    name: str
    detail: str


def outcome_words(done: str, changed: int, asked: int, refusals: Sequence[Refusal], what: str, how: str = "") -> str:
    """`killed 9 of 12 runs; 2 × has ended (Succeeded), 1 × …`: refusals of one kind are told once, with their number.

    `how` stands behind the number, such as `to $0.12`.
    """
    said = f"{done} {changed} of {counted(asked, what)}" + (f" {how}" if how else "")
    if not refusals:
        return said
    kinds = Counter(" ".join(each.detail.replace(each.name, "").split()).strip(" :") or each.detail for each in refusals)
    told = [f"{count} × {kind}" for kind, count in kinds.most_common(_KINDS_TOLD)]
    rest = sum(kinds.values()) - sum(count for _, count in kinds.most_common(_KINDS_TOLD))
    return f"{said}; not done: {'; '.join(told)}{f'; {rest} for other reasons' if rest else ''}"
