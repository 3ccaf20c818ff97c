"""The campaigns view: every AgentGroup with its phase, progress, pass rate, money and time left."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from nodus_tui.contract.phases import GroupPhase, Reason
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupStatus
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, plain, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.figures import (
    NOTHING,
    age_text,
    bar,
    clock_text,
    coarse_span_text,
    forecast_text,
    seconds_between,
    share,
    short_usd,
)
from nodus_tui.view_state.filtering import Filter, Searchable
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.money import money_of, money_parts, shorter_money_of
from nodus_tui.view_state.pass_rates import honesty_marks, pass_rate_cell, pass_rate_words, shorter_pass_rate_cells
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.words import GROUP_SIGNS
from nodus_tui.view_state.wrapping import between

if TYPE_CHECKING:
    from nodus_tui.contract.events import Event, Snapshot

_CASES_BEFORE_FORECAST = 3
_PHASE_ORDER = {phase: place for place, phase in enumerate(GroupPhase)}


def status_of(group: AgentGroup) -> AgentGroupStatus:
    """The status that a backend's groups always have; ValueError says which one lacks it."""
    if group.status is None:
        raise ValueError(f"the backend gave AgentGroup {group.name} without a status")
    return group.status


def stopped_cases(status: AgentGroupStatus) -> int:
    """Cases that a budget stopped: they go on by themselves when it has room, also of a group that has ended, unless it is killed."""
    return status.verdicts.get(Reason.BUDGET_EXCEEDED.value, 0)


def killable(group: AgentGroup) -> bool:
    """Whether a kill would end something of it, if only that it goes on when a budget has room."""
    return not status_of(group).phase.ended or stopped_cases(status_of(group)) > 0


def ended_cases(status: AgentGroupStatus) -> int:
    """Cases that have ended, scored or not."""
    return status.coverage.total - status.pending


_CUT_SHORT = frozenset(
    reason.value
    for reason in (Reason.KILLED, Reason.BUDGET_EXCEEDED, Reason.EVALUATION_TIMEOUT, Reason.INTERRUPTED, Reason.PREPARATION_FAILED)
)
"""Reasons of cases that were ended from outside: how long they took says nothing of those that are left."""


def finished_cases(status: AgentGroupStatus) -> int:
    """Cases whose run came to its own end, scored or not."""
    return ended_cases(status) - sum(count for word, count in status.verdicts.items() if word in _CUT_SHORT)


def can_forecast(status: AgentGroupStatus) -> bool:
    """Whether something goes on by itself, and enough cases came to their own ends to go by."""
    return status.phase is GroupPhase.RUNNING and status.started_at is not None and finished_cases(status) >= _CASES_BEFORE_FORECAST


def seconds_left(group: AgentGroup, now: datetime) -> float | None:
    """How long the open cases take, in seconds; None where there is nothing to go by.

    It goes by what a run held its slot for, as the forecasts of the queue do: time that runs waited at a cap is no time at work. Its runs
    are not known here, so a going one is taken to be halfway. Before a run came to an answer it goes by how cases ended since the start.
    """
    status = status_of(group)
    if not can_forecast(status) or status.started_at is None:
        return None
    if status.mean_run_seconds is None:
        return seconds_between(status.started_at, now) / finished_cases(status) * status.pending
    at_once = max(1, min(group.spec.max_active, status.pending))
    return status.mean_run_seconds * (status.pending - status.going / 2) / at_once


def runs_short(status: AgentGroupStatus) -> bool:
    """Whether the cap comes to its end before the cases do, if those that have not begun cost what those did that came to an answer."""
    if status.mean_run_usd is None:
        return False
    return status.money.model_usd + status.mean_run_usd * (status.pending - status.going) > status.money.cap_usd


def _eta_cell(group: AgentGroup, now: datetime) -> Line:
    left = seconds_left(group, now)
    if left is not None and runs_short(status_of(group)):
        return line(Span("stalls", Tone.WARN))
    return line(NOTHING) if left is None else line(Span(forecast_text(left), Tone.MARK))


def _shorter_eta(group: AgentGroup, now: datetime) -> tuple[Line, ...]:
    left = seconds_left(group, now)
    return () if left is None or runs_short(status_of(group)) else (line(Span(f"~{coarse_span_text(left)}", Tone.MARK)),)


def _age_cell(group: AgentGroup, now: datetime) -> Line:
    return line(muted(age_text(status_of(group).created_at, now)))


def _active_cell(group: AgentGroup, _now: datetime) -> Line:
    status = status_of(group)
    if status.phase.at_rest:
        return line(NOTHING)
    return line(str(status.going), muted(f"/{group.spec.max_active}"))


def _shorter_active(group: AgentGroup, _now: datetime) -> tuple[Line, ...]:
    return (line(str(status_of(group).going)),)


def _done_cell(group: AgentGroup, _now: datetime) -> Line:
    status = status_of(group)
    return line(str(ended_cases(status)), muted(f"/{status.coverage.total}"))


def _shorter_done(group: AgentGroup, _now: datetime) -> tuple[Line, ...]:
    return (line(str(ended_cases(status_of(group)))),)


def _progress_cell(group: AgentGroup, _now: datetime) -> Line:
    status = status_of(group)
    return bar(share(ended_cases(status), status.coverage.total), 10, Tone.GOOD if status.phase is GroupPhase.COMPLETED else Tone.INFO)


def _spent_share_cell(group: AgentGroup, _now: datetime) -> Line:
    money = status_of(group).money
    used = share(money.model_usd, money.cap_usd)
    return bar(used, 6, Tone.WARN if used >= 0.9 else Tone.INFO)


def _money_cell(group: AgentGroup, _now: datetime) -> Line:
    money = status_of(group).money
    return money_of(money.model_usd, money.cap_usd, unconfirmed=bool(money.unconfirmed_usd))


def _shorter_money(group: AgentGroup, _now: datetime) -> tuple[Line, ...]:
    money = status_of(group).money
    return shorter_money_of(money.model_usd, money.cap_usd, unconfirmed=bool(money.unconfirmed_usd))


def _note_cell(group: AgentGroup, _now: datetime) -> Line:
    status = status_of(group)
    return line(Span("simulated" if status.simulated else "notional" if status.notional_price else "", Tone.MARK))


CAMPAIGN_COLUMNS: tuple[Column[AgentGroup], ...] = (
    Column(
        "name",
        "NAME",
        13,
        lambda group, _now: line(strong(group.name)),
        lambda group: group.name,
        prefer=17,
        grow=27,
        least=6,
        middle=True,
        measure=Measure.TEXT,
    ),
    Column(
        "phase",
        "PHASE",
        13,
        lambda group, _now: GROUP_SIGNS[status_of(group).phase].spans(),
        lambda group: _PHASE_ORDER[status_of(group).phase],
        least=9,
    ),
    Column(
        "progress",
        "PROGRESS",
        10,
        _progress_cell,
        lambda group: share(ended_cases(status_of(group)), group.spec.cases),
        priority=6,
        measure=Measure.SHARE,
    ),
    Column(
        "done",
        "DONE",
        7,
        _done_cell,
        lambda group: ended_cases(status_of(group)),
        priority=5,
        right=True,
        shorter=_shorter_done,
        measure=Measure.COUNT,
    ),
    Column(
        "pass",
        "PASS ±95% SCORED",
        18,
        lambda group, _now: pass_rate_cell(status_of(group)),
        lambda group: status_of(group).pass_rate,
        grow=6,
        figures=True,
        shorter=lambda group, _now: shorter_pass_rate_cells(status_of(group)),
        least=16,
        measure=Measure.SHARE,
    ),
    Column(
        "spent",
        "SPENT/CAP",
        13,
        _money_cell,
        lambda group: status_of(group).money.model_usd,
        prefer=16,
        grow=9,
        right=True,
        shorter=_shorter_money,
        least=9,
        measure=Measure.MONEY,
    ),
    Column(
        "share",
        "",
        6,
        _spent_share_cell,
        lambda group: share(status_of(group).money.model_usd, status_of(group).money.cap_usd),
        priority=7,
        measure=Measure.SHARE,
        about="share of the cap",
    ),
    Column(
        "active",
        "ACTIVE",
        6,
        _active_cell,
        lambda group: status_of(group).going,
        priority=2,
        right=True,
        shorter=_shorter_active,
        measure=Measure.COUNT,
    ),
    Column("eta", "ETA", 6, _eta_cell, lambda group: status_of(group).pending, priority=3, right=True, shorter=_shorter_eta),
    Column("age", "AGE", 6, _age_cell, lambda group: status_of(group).created_at.timestamp(), priority=4, right=True, since=True),
    Column("note", "NOTE", 9, _note_cell, lambda group: status_of(group).simulated, priority=1),
)


def searchable_group(group: AgentGroup) -> Searchable:
    """What the filter looks at."""
    status = status_of(group)
    evaluation = group.spec.evaluation
    texts = (group.name, group.spec.agent, status.model_family, status.message, evaluation.environment if evaluation else "")
    marks = ("simulated",) if status.simulated else ()
    return Searchable(
        texts=(*texts, *marks),
        states=(status.phase.value, *((status.reason.value,) if status.reason else ())),
        cost=status.money.model_usd,
    )


class CampaignsState:
    """All groups, and the cursor up to which they are true."""

    def __init__(self) -> None:
        self.rows: Rows[AgentGroup] = Rows(
            CAMPAIGN_COLUMNS, sort="age", descending=True, searchable=searchable_group, asks=("state", "cost")
        )
        self.cursor = -1
        self.loaded = False

    def load(self, snapshot: Snapshot) -> None:
        """Take the groups of a snapshot instead of what was known."""
        self.rows.clear()
        for group in snapshot.groups:
            self.rows.put(group.name, group)
        self.cursor = snapshot.cursor
        self.loaded = True

    def fold(self, event: Event) -> bool:
        """Take one event; says whether anything here changed."""
        if event.kind != "AgentGroup" or event.cursor <= self.cursor:
            return False
        from nodus_tui.view_state.folding import group_after  # noqa: PLC0415 - it knows all kinds, which come with the data

        group = group_after(self.rows.find(event.name), event)
        if group is None:
            known = self.rows.find(event.name) is not None
            self.rows.remove(event.name)
            return known
        self.rows.put(event.name, group)
        return True

    def filter(self, chosen: Filter | None) -> None:
        """Show the groups that a filter keeps, or all."""
        self.rows.filter(chosen)

    def moving(self) -> bool:
        """Whether some group goes on, so that its figures of time change by themselves."""
        return any(not status_of(group).phase.at_rest for group in self.rows.items())

    def summary(self) -> Line:
        """How many groups are in which phase, and what they spent together."""
        counts: dict[GroupPhase, int] = {}
        spent = Decimal(0)
        for group in self.rows.items():
            status = status_of(group)
            counts[status.phase] = counts.get(status.phase, 0) + 1
            if not (status.simulated or status.notional_price):
                spent += status.money.model_usd
        phases = [
            line(Span(f"{counts[phase]} {GROUP_SIGNS[phase].word.lower()}", GROUP_SIGNS[phase].tone))
            for phase in GroupPhase
            if phase in counts
        ]
        return joined((*phases, line(f"real spend {short_usd(spent)}")) if counts else ())


def group_title(group: AgentGroup) -> Line:
    """Who is scored on what."""
    return joined(_title_facts(group))


def _title_facts(group: AgentGroup) -> tuple[Line, ...]:
    status = status_of(group)
    evaluation = group.spec.evaluation
    model = f"{status.model_family} ({status.model_name})" if status.model_name else status.model_family
    scored = line(f"{group.spec.cases} inputs, graded by the caller")
    if evaluation is not None:
        repeated = f"×{evaluation.repetitions}" if evaluation.repetitions > 1 else ""
        scored = line(f"{evaluation.environment} {evaluation.split}, {evaluation.tasks}{repeated} tasks, seed {evaluation.seed}")
    return line(f"agent {group.spec.agent} r{status.agent_revision}"), line(model), scored


def group_why(group: AgentGroup, key: KeyNamer = own_key) -> Line:
    """Why a group is as it is, and which key changes that; only its phase where there is nothing to say."""
    status = status_of(group)
    sign = GROUP_SIGNS[status.phase]
    what_to_do = f"{key('resume')} lets it go on" if status.phase is GroupPhase.INTERRUPTED and key("resume") else ""
    sentence = ": ".join(part for part in (status.message, what_to_do) if part)
    return line(Span(f"{sign.glyph} {sentence or sign.word}", sign.tone))


def group_detail(group: AgentGroup, now: datetime, width: int | None, key: KeyNamer = own_key) -> tuple[Line, ...]:
    """The selected group in lines: why it is as it is (the one that may be long comes first), how it stands, its money, what it is.

    What does not fit into `width` cells goes on in a line of its own, fact by fact; None has one line for each of these.
    """
    status = status_of(group)
    money = status.money
    unconfirmed = line(Span(f"{short_usd(money.unconfirmed_usd)} unconfirmed", Tone.MARK)) if money.unconfirmed_usd else ()
    parts = money_parts(money)
    paid = joined(
        (
            line(f"{short_usd(parts.spent)} spent | {short_usd(parts.reserved)} reserved | {short_usd(parts.left)} left"),
            unconfirmed,
            honesty_marks(simulated=status.simulated, notional=status.notional_price, weaker_grader=bool(status.weaker_grader)),
        ),
    )
    why, rate, times, title = group_why(group, key), line(strong(pass_rate_words(status))), _times(group, now), _title_facts(group)
    # A phase that needs no sentence leaves room for when it began and ends.
    plain_phase = plain(why) == plain(GROUP_SIGNS[status.phase].spans())
    first, stands = ((why, *times), (rate,)) if plain_phase else ((why,), (rate, *times))
    if width is None:
        return (joined(first), joined(stands), paid, joined(title))
    return (joined(first), *between(stands, width), paid, *between(title, width))


def _times(group: AgentGroup, now: datetime) -> tuple[Line, ...]:
    status = status_of(group)
    created = line(muted(f"created {clock_text(status.created_at, now)}"))
    if status.ended_at is not None:
        return (line(muted(f"ended {clock_text(status.ended_at, now)}")), created)
    if status.deadline_at is not None:
        return (line(muted(f"times out {clock_text(status.deadline_at, now)}")), created)
    return (created,)
