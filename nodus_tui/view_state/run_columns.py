"""The columns of the run table: where each run is, what it cost of its cap, what it waits for."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from nodus_tui.contract.money import enough_text
from nodus_tui.contract.phases import Reason, RunPhase, Verdict
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunStatus
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.devices import until_text
from nodus_tui.view_state.figures import (
    NOTHING,
    bar,
    clock_text,
    column_span_text,
    count_text,
    reward_text,
    seconds_between,
    share,
    shorter_reward_texts,
)
from nodus_tui.view_state.filtering import Searchable
from nodus_tui.view_state.money import money_of, shorter_money_of
from nodus_tui.view_state.words import REASON_WORDS, VERDICT_SIGNS, run_sign

_PHASE_ORDER = {
    phase: place
    for place, phase in enumerate(
        (
            RunPhase.WAITING,
            RunPhase.RUNNING,
            RunPhase.GRADING,
            RunPhase.PENDING,
            RunPhase.INTERRUPTED,
            RunPhase.FAILED,
            RunPhase.CANCELLED,
            RunPhase.SUPERSEDED,
            RunPhase.SUCCEEDED,
        ),
    )
}
"""What a person may have to act on comes first."""
_VERDICT_ORDER = {verdict: place for place, verdict in enumerate(Verdict)}


def run_status(run: AgentRun) -> AgentRunStatus:
    """The status that a backend's runs always have; ValueError says which one lacks it."""
    if run.status is None:
        raise ValueError(f"the backend gave AgentRun {run.name} without a status")
    return run.status


def task_line(run: AgentRun) -> Line:
    """The task of a run, and which repetition and try of it this is: what tells rows of one task apart, however narrow they are."""
    return line(run.spec.task_id or run.name, muted(task_mark(run)))


def task_mark(run: AgentRun) -> str:
    """` ·2 try 3`; empty of the first of both."""
    repeated = f" ·{run.spec.repetition}" if run.spec.repetition > 1 else ""
    again = f" try {run.spec.attempt}" if run.spec.attempt > 1 else ""
    return repeated + again


def verdict_line(status: AgentRunStatus) -> Line:
    """The verdict; of an ended run without one, that it is unscored."""
    if status.verdict is not None:
        return VERDICT_SIGNS[status.verdict].spans()
    if status.reason is Reason.ANSWERED:
        return line(muted("answered"))
    if status.phase.ended and status.phase is not RunPhase.SUPERSEDED:
        return line(muted("– unscored"))
    return line(NOTHING)


def _cap_of(run: AgentRun) -> Line:
    status = run_status(run)
    if run.spec.max_cost_usd is None:
        return line(NOTHING)
    return money_of(status.cost_usd, run.spec.max_cost_usd, unconfirmed=bool(status.unconfirmed_usd))


def _shorter_cap_of(run: AgentRun, _now: datetime) -> tuple[Line, ...]:
    status = run_status(run)
    return shorter_money_of(status.cost_usd, run.spec.max_cost_usd or Decimal(0), unconfirmed=bool(status.unconfirmed_usd))


def _share_cell(run: AgentRun, _now: datetime) -> Line:
    used = share(run_status(run).cost_usd, run.spec.max_cost_usd or 0)
    return bar(used, 5, Tone.WARN if used >= 0.9 else Tone.INFO)


def _tokens_cell(run: AgentRun, _now: datetime) -> Line:
    status = run_status(run)
    if not status.input_tokens and not status.output_tokens:
        return line(NOTHING)
    return line(count_text(status.input_tokens), muted("+"), count_text(status.output_tokens))


def _calls_cell(run: AgentRun, _now: datetime) -> Line:
    return line(str(run_status(run).calls or "–"))


def why_line(run: AgentRun, now: datetime) -> Line:
    """What a run waits for and until when, or why it ended without a verdict: few words first, then the backend's sentence."""
    status = run_status(run)
    if status.phase is RunPhase.SUCCEEDED and status.verdict is not None and status.verdict.scored:
        return ()
    until = until_text(status.until, status.until_kind, now) if status.until is not None else ""
    words = _reason_words(status)
    tone = run_sign(status.phase, status.reason).tone
    if words and not until and status.message.casefold().startswith(words.casefold()):
        # The sentence says the words itself.
        return line(Span(status.message, tone))
    head = " ".join(part for part in (words, until) if part)
    return line(Span(head, tone), muted(f" · {status.message}" if status.message and head else status.message))


_TOLD_ABOVE = frozenset(
    {Reason.WAITING_FOR_SLOT, Reason.WAITING_FOR_MODEL, Reason.BUDGET_EXCEEDED, Reason.DISK_ALMOST_FULL, Reason.MAX_COST_REACHED}
)
"""Reasons that many runs share: the sentence would stand in row after row, and stands once above the table or below it."""


def _why_cell(run: AgentRun, now: datetime) -> Line:
    status = run_status(run)
    if status.phase.ended or status.reason not in _TOLD_ABOVE:
        return why_line(run, now)
    frees = f", {enough_text(status.needed_cap_usd)} frees it" if status.needed_cap_usd is not None else ""
    return (*_why_words(run, now), *line(muted(frees)))


def _shorter_why(run: AgentRun, now: datetime) -> tuple[Line, ...]:
    """Fewer words of what many runs wait for; what else a cell says is cut where it does not fit."""
    return (_why_words(run, now),) if run_status(run).reason in _TOLD_ABOVE else ()


def _why_words(run: AgentRun, now: datetime) -> Line:
    status = run_status(run)
    until = until_text(status.until, status.until_kind, now) if status.until is not None else ""
    return line(Span(" ".join(part for part in (_reason_words(status), until) if part), run_sign(status.phase, status.reason).tone))


def _reason_words(status: AgentRunStatus) -> str:
    if status.reason is Reason.MAX_COST_REACHED and status.phase in {RunPhase.PENDING, RunPhase.WAITING}:
        return "the group's cap" if status.phase is RunPhase.PENDING else "its own cap"
    return REASON_WORDS[status.reason] if status.reason is not None and status.reason is not Reason.ANSWERED else ""


def waiting_at_own_caps(runs: Iterable[AgentRun]) -> tuple[AgentRun, ...]:
    """The current runs that a higher cap of their own lets go on, in order of their cases."""
    waiting = (run for run in runs if run_status(run).current and run_status(run).phase is RunPhase.WAITING)
    return tuple(sorted(waiting, key=lambda run: (run.spec.case, run.name)))


def run_seconds(run: AgentRun, now: datetime) -> float:
    """Seconds in conversation: from the start to the end, to where it came to rest, or to now."""
    status = run_status(run)
    if status.duration_seconds is not None:
        return status.duration_seconds
    return seconds_between(status.started_at, status.rested_at or now) if status.started_at is not None else 0.0


def queue_seconds(run: AgentRun, now: datetime) -> float:
    """Seconds from creation to the start, or to now."""
    status = run_status(run)
    return status.queued_seconds if _has_begun(run) else seconds_between(status.created_at, now)


def _at_rest(run: AgentRun) -> bool:
    """Whether its conversation takes no more time."""
    status = run_status(run)
    return status.duration_seconds is not None or status.started_at is None or status.rested_at is not None


def _has_begun(run: AgentRun) -> bool:
    status = run_status(run)
    return status.started_at is not None or status.phase.ended


def _time_cell(run: AgentRun, now: datetime) -> Line:
    status = run_status(run)
    if status.duration_seconds is not None:
        return line(column_span_text(status.duration_seconds))
    if status.started_at is not None:
        return line(Span(column_span_text(run_seconds(run, now), going=status.rested_at is None), Tone.INFO))
    return line(NOTHING)


def _queued_cell(run: AgentRun, now: datetime) -> Line:
    return line(muted(column_span_text(queue_seconds(run, now), going=not _has_begun(run))))


def _reward_cell(status: AgentRunStatus) -> Line:
    return line(NOTHING) if status.reward is None else line(reward_text(status.reward))


def _shorter_reward(run: AgentRun, _now: datetime) -> tuple[Line, ...]:
    reward = run_status(run).reward
    return () if reward is None else tuple(line(text) for text in shorter_reward_texts(reward))


def _verdict_sort(run: AgentRun) -> int | None:
    verdict = run_status(run).verdict
    return None if verdict is None else _VERDICT_ORDER[verdict]


def _clock_cell(at: datetime | None, now: datetime) -> Line:
    return line(NOTHING) if at is None else line(muted(clock_text(at, now)))


def _stamp(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()


RUN_COLUMNS: tuple[Column[AgentRun], ...] = (
    Column(
        "case",
        "CASE",
        5,
        lambda run, _now: line(muted(str(run.spec.case))),
        lambda run: run.spec.case,
        right=True,
        measure=Measure.COUNT,
        still=True,
    ),
    Column(
        "task",
        "TASK",
        12,
        lambda run, _now: task_line(run),
        lambda run: run.spec.task_id,
        prefer=24,
        grow=60,
        least=12,
        middle=True,
        measure=Measure.TEXT,
        still=True,
    ),
    Column(
        "phase",
        "PHASE",
        13,
        lambda run, _now: run_sign(run_status(run).phase, run_status(run).reason).spans(),
        lambda run: _PHASE_ORDER[run_status(run).phase],
        grow=1,
        least=9,
        still=True,
    ),
    Column("verdict", "VERDICT", 12, lambda run, _now: verdict_line(run_status(run)), _verdict_sort, least=9, still=True),
    Column(
        "cost",
        "COST/CAP",
        15,
        lambda run, _now: _cap_of(run),
        lambda run: run_status(run).cost_usd,
        prefer=18,
        grow=4,
        right=True,
        shorter=_shorter_cap_of,
        least=9,
        measure=Measure.MONEY,
        still=True,
    ),
    Column(
        "share",
        "",
        5,
        _share_cell,
        lambda run: share(run_status(run).cost_usd, run.spec.max_cost_usd or 0),
        priority=6,
        measure=Measure.SHARE,
        about="share of the cap",
        still=True,
    ),
    Column(
        "tokens",
        "TOKENS",
        9,
        _tokens_cell,
        lambda run: run_status(run).input_tokens,
        priority=7,
        right=True,
        measure=Measure.COUNT,
        still=True,
    ),
    Column("calls", "CALLS", 5, _calls_cell, lambda run: run_status(run).calls, priority=5, right=True, measure=Measure.COUNT, still=True),
    Column(
        "time",
        "TIME",
        6,
        _time_cell,
        lambda run: run_status(run).duration_seconds,
        priority=4,
        right=True,
        measure=Measure.SECONDS,
        still_for=_at_rest,
    ),
    Column(
        "queued",
        "QUEUED",
        6,
        _queued_cell,
        lambda run: run_status(run).queued_seconds,
        priority=8,
        right=True,
        measure=Measure.SECONDS,
        still_for=_has_begun,
    ),
    Column(
        "why",
        "WAITS FOR / WHY",
        15,
        _why_cell,
        lambda run: run_status(run).message,
        prefer=23,
        grow=73,
        priority=1,
        shorter=_shorter_why,
        measure=Measure.TEXT,
        still_for=lambda run: run_status(run).until is None,
    ),
    Column(
        "run",
        "RUN",
        18,
        lambda run, _now: line(muted(run.name)),
        lambda run: run.name,
        priority=9,
        grow=24,
        middle=True,
        measure=Measure.TEXT,
        still=True,
    ),
    Column(
        "turns",
        "TURNS",
        5,
        lambda run, _now: line(str(run_status(run).turns or "–")),
        lambda run: run_status(run).turns,
        priority=10,
        right=True,
        measure=Measure.COUNT,
        still=True,
        extra=True,
    ),
    Column(
        "reward",
        "REWARD",
        6,
        lambda run, _now: _reward_cell(run_status(run)),
        lambda run: run_status(run).reward,
        grow=3,
        priority=10,
        right=True,
        shorter=_shorter_reward,
        measure=Measure.COUNT,
        still=True,
        extra=True,
    ),
    Column(
        "try",
        "TRY",
        3,
        lambda run, _now: line(str(run.spec.attempt)),
        lambda run: run.spec.attempt,
        priority=10,
        right=True,
        measure=Measure.COUNT,
        still=True,
        extra=True,
    ),
    Column(
        "started",
        "STARTED",
        8,
        lambda run, now: _clock_cell(run_status(run).started_at, now),
        lambda run: _stamp(run_status(run).started_at),
        priority=10,
        right=True,
        extra=True,
    ),
    Column(
        "ended",
        "ENDED",
        8,
        lambda run, now: _clock_cell(run_status(run).ended_at, now),
        lambda run: _stamp(run_status(run).ended_at),
        priority=10,
        right=True,
        extra=True,
    ),
)


def searchable_run(run: AgentRun) -> Searchable:
    """What the filter looks at."""
    status = run_status(run)
    return Searchable(
        texts=(run.name, run.spec.task_id, status.message),
        states=(status.phase.value, *((status.reason.value,) if status.reason else ())),
        verdict=status.verdict.value if status.verdict else "",
        cost=status.cost_usd,
    )
