"""One that waits: who, for what, since when, until when. Made from runs, groups, jobs, Sandboxes and sweeps alike. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, UntilKind
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.values import replace
from nodus_tui.view_state.any_job import AnyJob, job_status
from nodus_tui.view_state.boxes import box_status
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.figures import clock_text
from nodus_tui.view_state.run_columns import run_status, task_mark
from nodus_tui.view_state.sweeps import sweep_status
from nodus_tui.view_state.words import BOX_SIGNS, GROUP_SIGNS, REASON_WORDS, RUN_SIGNS, Sign, job_sign, run_sign

WhenKind = Literal["Exact", "About", "AtLatest", "Forecast", "Unknown", "ByHand"]
"""How a wait ends: as a backend told (`UntilKind`), by a forecast of the console's own, nobody knows when, or when a person acts."""


class When(Struct, frozen=True):
    """The end of a wait."""

    kind: WhenKind
    at: datetime | None = None
    """Null where it is not known."""

    @property
    def order(self) -> float:
        """The nearer, the smaller; what nobody knows comes after that, and what waits for a person last."""
        if self.at is not None:
            return self.at.timestamp()
        return _UNKNOWN_ORDER if self.kind == "Unknown" else _BY_HAND_ORDER


_UNKNOWN_ORDER, _BY_HAND_ORDER = 1e11, 2e11
UNKNOWN, BY_HAND = When("Unknown"), When("ByHand")


class Waiter(Struct, frozen=True):
    """One row of the queue, or several of one group and reason that are told in one."""

    key: str
    kind: str
    """Of the resource: `AgentRun`, `AgentGroup`, `Job`, `TrainingJob`, `Sandbox`, `Sweep`."""
    name: str
    """Of the resource; of a bundle the first one's."""
    group: str
    """The AgentGroup that it belongs to, or is; empty for none."""
    who: str
    """For people."""
    sign: Sign
    reason: str
    """The contract's word; empty where it has none."""
    wants: str
    """What it waits for, in few words."""
    message: str
    """The backend's sentence."""
    since: datetime
    end: When
    last: When | None = None
    """Of a bundle: when the last one's wait ends."""
    ahead: int | None = None
    """How many of its group start before it; null where there is no line."""
    count: int = 1
    """How many wait in this row: runs of a bundle, cells of a sweep, cases of a group."""
    cost: Decimal = Decimal(0)
    behind: str = ""
    """Of a bundle: the order of the row behind which it stands, the last of those that are told by themselves."""
    bundle: str = ""
    """The bundle that it is, or that it was taken out of; empty for none."""
    case: int = 0
    mark: str = ""
    """Behind who it is: which repetition and try of its task."""

    @property
    def is_bundle(self) -> bool:
        """Whether it stands for several runs."""
        return self.key.startswith("more/")

    @property
    def order(self) -> str:
        """By which the queue is sorted: who is next, of several who waits longest; the same whatever came in which order."""
        own = f"{self.end.order + (self.ahead or 0) * 1e-3:018.3f} {self.since.timestamp():018.3f} {self.group}/{self.case:06d} {self.key}"
        return max(own, f"{self.behind} more") if self.behind else own


def when_of(until: datetime | None, kind: UntilKind, other: When = UNKNOWN) -> When:
    """The end of a wait as a backend told it."""
    return other if until is None else When(kind, until)


_FARTHEST = timedelta(days=36_525)
"""A century: what would come later than that is a pace gone wrong, as by a clock that was set while a run went, and no forecast."""


def foreseen(now: datetime, seconds: float | None) -> When:
    """What comes in so many seconds, as far as a calendar and a person care; unknown without any, and beyond that."""
    return When("Forecast", now + timedelta(seconds=seconds)) if seconds is not None and seconds <= _FARTHEST.total_seconds() else UNKNOWN


_SOON = timedelta(seconds=10)
"""A forecast that is nearer than this is told as `soon`: nobody knows it that well."""


def when_text(end: When, now: datetime) -> str:
    """`14:20:05`, `~14:20`, `≤ 14:20`, `soon`, `unknown`, `by hand`. What is not exact is told to the minute that is not too early."""
    if end.at is None:
        return "unknown" if end.kind == "Unknown" else "by hand"
    if end.kind == "Exact":
        return clock_text(end.at, now)
    if end.kind == "Forecast" and end.at <= now + _SOON:
        return "soon"
    text = clock_text(end.at + timedelta(seconds=59, microseconds=999_999), now, seconds=False)
    return f"≤ {text}" if end.kind == "AtLatest" else f"~{text}"


def since_text(since: datetime, now: datetime) -> str:
    """Since when, by the clock to the minute: it never reads otherwise while the day is the same."""
    local = since.astimezone(now.tzinfo)
    return f"{local:%H:%M}" if local.date() == now.date() else f"{local:%d %b}"


# Runs


def waits(phase: RunPhase, reason: Reason | None) -> bool:
    """Whether a run waits for something, a going one for what holds up its next step."""
    return not phase.ended and (not phase.going or (phase is RunPhase.RUNNING and reason is not None))


def in_line(phase: RunPhase, reason: Reason | None) -> bool:
    """Whether a run starts by itself when its turn comes: for a slot, or when the group's cap has room."""
    return phase is RunPhase.PENDING and reason in {None, Reason.WAITING_FOR_SLOT, Reason.MAX_COST_REACHED}


def run_since(run: AgentRun) -> datetime:
    """Since when it waits."""
    status = run_status(run)
    if status.stretches:
        return status.stretches[-1].since
    return status.rested_at or (status.started_at if status.phase.going and status.started_at else status.created_at)


def run_wants(run: AgentRun) -> str:
    """What it waits for, in few words."""
    status = run_status(run)
    if status.phase is RunPhase.INTERRUPTED:
        return "a resume"
    if status.reason is Reason.MAX_COST_REACHED:
        return "its own cap" if status.phase is RunPhase.WAITING else "the group's cap"
    if status.reason is Reason.BUDGET_EXCEEDED:
        return "a budget"
    return REASON_WORDS[status.reason] if status.reason is not None else "its start"


def waiter_of_run(run: AgentRun, *, stalled: bool, start: When | None, ahead: int | None, bundle: str) -> Waiter:
    """The row of a run. `start` is when it starts by forecast, `stalled` whether its group goes on only when somebody acts."""
    status = run_status(run)
    by_hand = status.phase in {RunPhase.WAITING, RunPhase.INTERRUPTED} or (stalled and not status.phase.going)
    told = when_of(status.until, status.until_kind, BY_HAND if by_hand else start or UNKNOWN)
    return Waiter(
        key=f"run/{run.name}",
        kind="AgentRun",
        name=run.name,
        group=run.spec.group or "",
        who=run.spec.task_id or run.name,
        mark=task_mark(run),
        sign=run_sign(status.phase, status.reason),
        reason=status.reason.value if status.reason else "",
        wants=run_wants(run),
        message=status.message,
        since=run_since(run),
        end=told,
        ahead=ahead,
        cost=status.cost_usd,
        bundle=bundle,
        case=run.spec.case,
    )


def bundle_of(shown: Sequence[Waiter], head: Waiter, last: Waiter, count: int) -> Waiter:
    """The row in which those are told together that wait for the same as the `shown` ones before them: from `head` to `last`."""
    ends = sorted((head.end, last.end), key=lambda end: end.order)
    return replace(
        head,
        key=f"more/{head.bundle}",
        who=f"{count:,} more, cases {head.case}–{last.case}",
        mark="",
        end=ends[0],
        last=ends[1] if ends[0] != ends[1] else None,
        count=count,
        behind=max((each.order for each in shown), default=""),
    )


# Everything else

_WANTS: Mapping[str, str] = {
    "WaitingForMachine": "the machine",
    "WaitingForDevice": "a device",
    "WaitingForSandbox": "a sandbox",
    "WaitingForUsers": "somebody to use it",
    "WaitingForPort": "its port",
    "Restarting": "its next start",
    "DiskAlmostFull": "disk space",
    "BudgetExceeded": "a budget",
    "MaxCostReached": "its cap",
    "Paused": "a resume",
    "Interrupted": "a resume",
    "PreparationFailed": "a resume",
}
"""Reasons that are no run's, in few words."""


def waiter_of_group(group: AgentGroup) -> Waiter | None:
    """The row of a group whose runs cannot be told one by one: its tasks are being made, or it is at rest until somebody resumes it."""
    status = status_of(group)
    if status.phase not in {GroupPhase.PENDING, GroupPhase.INTERRUPTED}:
        return None
    pending = status.phase is GroupPhase.PENDING
    reason = status.reason.value if status.reason else ""
    return Waiter(
        key=f"group/{group.name}",
        kind="AgentGroup",
        name=group.name,
        group=group.name,
        who=f"{status.pending:,} cases" if status.pending != 1 else "1 case",
        sign=GROUP_SIGNS[status.phase],
        reason=reason,
        wants=_WANTS.get(reason, "its tasks" if pending else "a resume"),
        message=status.message,
        since=status.created_at if pending else status.started_at or status.created_at,
        end=UNKNOWN if pending else BY_HAND,
        count=max(1, status.pending),
        cost=status.money.model_usd,
    )


def waiter_of_job(job: AnyJob) -> Waiter | None:
    """The row of a job that has not started, or is interrupted."""
    status = job_status(job)
    if status.phase not in {"Pending", "Interrupted"}:
        return None
    by_hand = status.phase == "Interrupted"
    return Waiter(
        key=f"job/{job.name}",
        kind=job.kind,
        name=job.name,
        group="",
        who=job.name,
        sign=job_sign(status),
        reason=status.reason or "",
        wants="a retry" if by_hand else _WANTS.get(status.reason or "", "its start"),
        message=status.message,
        since=status.created_at,
        end=when_of(status.until, status.until_kind, BY_HAND if by_hand else UNKNOWN),
        cost=status.cost_usd,
    )


def waiter_of_box(box: Sandbox) -> Waiter | None:
    """The row of a Sandbox that does not run yet."""
    status = box_status(box)
    if status.phase != "Pending":
        return None
    return Waiter(
        key=f"sandbox/{box.name}",
        kind="Sandbox",
        name=box.name,
        group="",
        who=box.name,
        sign=BOX_SIGNS[status.phase],
        reason=status.reason or "",
        wants=_WANTS.get(status.reason or "", "its start"),
        message=status.message,
        since=status.created_at,
        end=when_of(status.until, status.until_kind),
        cost=status.cost_usd,
    )


def waiter_of_sweep(sweep: Sweep) -> Waiter | None:
    """The row of the cells of a sweep that were not launched yet."""
    status = sweep_status(sweep)
    waiting = status.cells - status.ended - status.going - status.stalled
    if status.phase.ended or waiting <= 0:
        return None
    by_hand = status.phase is not GroupPhase.RUNNING and status.phase is not GroupPhase.PENDING
    return Waiter(
        key=f"sweep/{sweep.name}",
        kind="Sweep",
        name=sweep.name,
        group="",
        who=f"{waiting:,} cell{'s' if waiting != 1 else ''} of {sweep.name}",
        sign=RUN_SIGNS[RunPhase.PENDING] if not by_hand else GROUP_SIGNS[status.phase],
        reason=status.reason or "",
        wants=_WANTS.get(status.reason or "", f"one of {sweep.spec.max_parallel} places"),
        message=status.message,
        since=status.started_at or status.created_at,
        end=BY_HAND if by_hand or status.reason in {"Paused", "Interrupted"} else UNKNOWN,
        count=waiting,
        cost=status.cost_usd,
    )
