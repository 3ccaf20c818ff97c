"""What is told when something happens that a person waits for: one sentence each, with the figures that decide what to do next. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from nodus_tui.contract.money import display_usd
from nodus_tui.contract.phases import GroupPhase, Verdict
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.sweep import SWEEP_LABEL, Sweep
from nodus_tui.view_state.any_job import KIND_WORDS, AnyJob, job_status
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, Tone, line
from nodus_tui.view_state.figures import clock_text, short_usd
from nodus_tui.view_state.pass_rates import pass_rate_words
from nodus_tui.view_state.sweeps import sweep_status
from nodus_tui.view_state.words import BUDGET_SIGNS, GROUP_SIGNS, JOB_SIGNS, VERDICT_SIGNS, Sign

_FULL = 100
"""Percent of a budget from which on something is blocked, or would be."""
_GROUP_VERBS = {
    GroupPhase.COMPLETED: "has completed",
    GroupPhase.STALLED: "has stalled",
    GroupPhase.FAILED: "has failed",
    GroupPhase.CANCELLED: "was cancelled",
    GroupPhase.INTERRUPTED: "is interrupted",
}
_JOB_VERBS = {
    "Succeeded": "has succeeded",
    "Failed": "has failed",
    "Cancelled": "was cancelled",
    "Interrupted": "is interrupted",
}
_ENDED_WORDS = {
    GroupPhase.COMPLETED: "completed",
    GroupPhase.FAILED: "failed",
    GroupPhase.CANCELLED: "cancelled",
}


DONE = Sign("✓", "Done", Tone.GOOD)
REFUSED = Sign("!", "Refused", Tone.BAD)
"""The outcome of what a person asked for."""


class Notice(Struct, frozen=True):
    """One thing that happened."""

    number: int
    """In the order in which they came."""
    at: datetime | None
    """When it happened; None where nobody can tell."""
    glyph: str
    tone: Tone
    text: str
    """The sentence, with words that others wrote in it: it is painted, or made safe, like any other foreign text."""
    kind: str = ""
    """Of what it is about; empty where that is nothing that can be gone to."""
    name: str = ""
    at_latest: bool = False
    """Whether it happened before that time: a later look showed it."""

    def line(self) -> Line:
        """Sign and sentence."""
        return line(Span(f"{self.glyph} {self.text}", self.tone))


class Happening(Struct, frozen=True):
    """A sentence with its sign, before anybody was told."""

    sign: Sign
    text: str


def group_happening(group: AgentGroup) -> Happening | None:
    """What a group's phase tells a person who waits for it; None for one that goes on, and for a cell of a sweep, whose sweep tells."""
    status = status_of(group)
    if status.phase not in _GROUP_VERBS or SWEEP_LABEL in group.metadata.labels:
        return None
    facts = status.message
    if status.phase is GroupPhase.COMPLETED:
        scored = pass_rate_words(status) if group.spec.evaluation is not None else f"{group.spec.cases} inputs answered"
        facts = f"{scored}, {short_usd(status.money.model_usd)} spent"
    return Happening(GROUP_SIGNS[status.phase], _sentence("group", group.name, _GROUP_VERBS[status.phase], facts))


def sweep_happening(sweep: Sweep) -> Happening | None:
    """The same of a sweep."""
    status = sweep_status(sweep)
    if status.phase not in _GROUP_VERBS:
        return None
    facts = status.message
    if status.phase is GroupPhase.COMPLETED:
        broken = f", {status.failed} of them broken" if status.failed else ""
        facts = f"{status.ended} of {status.cells} cells have ended{broken}, {short_usd(status.cost_usd)} spent"
    return Happening(GROUP_SIGNS[status.phase], _sentence("sweep", sweep.name, _GROUP_VERBS[status.phase], facts))


def job_happening(job: AnyJob) -> Happening | None:
    """The same of a job of either kind."""
    status = job_status(job)
    if status.phase not in _JOB_VERBS or SWEEP_LABEL in job.metadata.labels:
        return None
    cost = f"{short_usd(status.cost_usd)} spent" if status.ended else ""
    facts = ", ".join(part for part in (status.message, cost) if part)
    return Happening(JOB_SIGNS[status.phase], _sentence(KIND_WORDS[job.kind], job.name, _JOB_VERBS[status.phase], facts))


def budget_happening(budget: Budget, percent: int) -> Happening:
    """A threshold that was reached."""
    blocks = budget.status is not None and budget.status.blocking
    spent = budget.status.spent_usd if budget.status is not None else budget.spec.limit_usd
    tone = BUDGET_SIGNS["blocking" if blocks else "over"].tone if percent >= _FULL else Tone.WARN
    facts = f"{short_usd(spent)} of {display_usd(budget.spec.limit_usd)} is spent"
    return Happening(Sign("!", "Threshold", tone), f"budget {budget.name} has reached {percent}%: {facts}")


def burst_happening(count: int, groups: Sequence[str], message: str) -> Happening:
    """Several runs that failed for no fault of the model."""
    named = ", ".join(groups[:2]) + (f" and {len(groups) - 2} more" if len(groups) > 2 else "")
    where = f" in {named}" if named else ""
    why = f": {message}" if message else ""
    sign = VERDICT_SIGNS[Verdict.INFRASTRUCTURE_FAILURE]
    return Happening(sign, f"{count} infrastructure failures within a minute{where}{why}")


def _sentence(what: str, name: str, verb: str, facts: str) -> str:
    return f"{what} {name} {verb}" + (f": {facts}" if facts else "")


def away_text(groups: Iterable[AgentGroup], jobs: Iterable[AnyJob], sweeps: Iterable[Sweep], *, since: datetime, now: datetime) -> str:
    """`while you were away, since 14:02:10: 3 groups completed, 1 job failed`; empty where nothing ended after that moment."""
    counts: dict[tuple[str, str], int] = {}

    def add(what: str, word: str, ended_at: datetime | None) -> None:
        if word and ended_at is not None and ended_at > since:
            counts[what, word] = counts.get((what, word), 0) + 1

    for group in groups:
        if SWEEP_LABEL not in group.metadata.labels:
            add("group", _ENDED_WORDS.get(status_of(group).phase, ""), status_of(group).ended_at)
    for sweep in sweeps:
        add("sweep", _ENDED_WORDS.get(sweep_status(sweep).phase, ""), sweep_status(sweep).ended_at)
    for job in jobs:
        if SWEEP_LABEL not in job.metadata.labels:
            add("job", job_status(job).phase.lower() if job_status(job).ended else "", job_status(job).ended_at)
    parts = [f"{count} {what}{'s' if count != 1 else ''} {word}" for (what, word), count in counts.items()]
    return f"while you were away, since {clock_text(since, now)}: {', '.join(parts)}" if parts else ""
