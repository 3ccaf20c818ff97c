"""What a run did when, as a timeline shows it: stretches with their ends, their signs, and how it ended. Pure."""

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from nodus_tui.contract.phases import RunActivity, RunPhase
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.view_state.cells import Tone
from nodus_tui.view_state.figures import exact_span_text, seconds_between, span_text
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.words import RUN_SIGNS, VERDICT_SIGNS, Sign

STORY_SIGNS: dict[RunActivity, Sign] = {
    "Queued": Sign("⋅", "queued", Tone.MUTED),
    "Preparing": Sign("▒", "prepared", Tone.MARK),
    "Working": Sign("█", "worked", Tone.INFO),
    "Paused": Sign("~", "held up", Tone.WARN),
    "Grading": Sign("▓", "graded", Tone.GOOD),
    "AtCap": Sign("‖", "at its cap", Tone.WARN),
    "Interrupted": Sign("¦", "interrupted", Tone.WARN),
}
"""Each has a glyph of its own, in ASCII too."""


class Part(Struct, frozen=True):
    """What a run did from a moment to another."""

    activity: RunActivity
    begin: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """How long."""
        return seconds_between(self.begin, self.end)


_AT_REST: dict[RunPhase, RunActivity] = {RunPhase.WAITING: "AtCap", RunPhase.INTERRUPTED: "Interrupted"}


def story(run: AgentRun, now: datetime) -> tuple[Part, ...]:
    """What a run did, oldest first, up to its end or now. Of a run for which nothing was noted, what its own moments tell."""
    status = run_status(run)
    end = status.ended_at or now
    if status.stretches:
        begins = [(each.activity, each.since) for each in status.stretches]
    else:
        begins = [("Queued", status.created_at)]
        if status.started_at is not None:
            begins.append(("Grading" if status.phase is RunPhase.GRADING else "Working", status.started_at))
        if status.rested_at is not None:
            begins.append((_AT_REST.get(status.phase, "Queued"), status.rested_at))
    ends = [*(since for _, since in begins[1:]), end]
    return tuple(Part(activity, since, max(since, until)) for (activity, since), until in zip(begins, ends, strict=True))


def end_sign(run: AgentRun) -> Sign | None:
    """How it ended; None while it has not."""
    status = run_status(run)
    if not status.phase.ended:
        return None
    if status.verdict is not None:
        return VERDICT_SIGNS[status.verdict]
    return RUN_SIGNS[status.phase]


def seconds_by_activity(parts: Iterable[Part]) -> dict[RunActivity, float]:
    """How long a run did what, in the order of the signs; what it never did is left out."""
    found: dict[RunActivity, float] = {}
    for part in parts:
        found[part.activity] = found.get(part.activity, 0.0) + part.seconds
    return {activity: found[activity] for activity in STORY_SIGNS if activity in found}


def story_words(run: AgentRun, now: datetime) -> str:
    """`queued 3.0s, worked 18.4s, graded 0.2s`; of one that goes on to the coarser unit, which rarely changes."""
    text = exact_span_text if run_status(run).phase.ended else span_text
    return ", ".join(f"{STORY_SIGNS[activity].word} {text(seconds)}" for activity, seconds in seconds_by_activity(story(run, now)).items())
