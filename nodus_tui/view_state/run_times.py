"""Where a run's time went: queue, preparation, model, rate limit, tools, grading, as a bar with its figures. Pure."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from nodus_tui.contract.phases import Reason, RunActivity, RunPhase
from nodus_tui.contract.resources.agent_run import AgentRun, Transcript
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, line_width, muted
from nodus_tui.view_state.figures import exact_span_text, seconds_between, segments, span_text
from nodus_tui.view_state.run_columns import run_status

_LABEL = 7
_SHORTEST_BAR = 10
_LONGEST_BAR = 40
_LEAST = 0.05
"""Seconds below which a part is not told beside others."""


class TimeKind(Struct, frozen=True):
    """What a run spends time with."""

    name: str
    short: str
    glyph: str
    tone: Tone


QUEUE = TimeKind("queue", "queue", "⋅", Tone.MUTED)
PREPARATION = TimeKind("preparation", "prep", "▒", Tone.MARK)
MODEL = TimeKind("model", "model", "█", Tone.INFO)
RATE_LIMIT = TimeKind("waiting on rate limit", "rate limit", "~", Tone.WARN)
TOOLS = TimeKind("tools", "tools", "┼", Tone.PLAIN)
GRADING = TimeKind("grading", "grading", "▓", Tone.GOOD)
HELD_UP = TimeKind("held up otherwise", "held up", "!", Tone.WARN)
AT_REST = TimeKind("at rest", "at rest", "‖", Tone.WARN)
OTHER = TimeKind("other", "other", "░", Tone.MUTED)
"""Between the steps: the scheduler's own work, and waiting for a place among the provider's calls."""
WORK = TimeKind("model and tools", "work", "░", Tone.INFO)
"""Of a run whose conversation is not known: what is model, what tools and what other time is told there alone."""

TIME_KINDS = (QUEUE, PREPARATION, MODEL, WORK, RATE_LIMIT, TOOLS, GRADING, HELD_UP, AT_REST, OTHER)
_BY_ACTIVITY: dict[RunActivity, TimeKind] = {
    "Queued": QUEUE,
    "Preparing": PREPARATION,
    "Paused": HELD_UP,
    "Grading": GRADING,
    "AtCap": AT_REST,
    "Interrupted": AT_REST,
}
_RATE_LIMITS = frozenset({Reason.RATE_LIMITED, Reason.RETRYING})


class TimePart(Struct, frozen=True):
    """So many seconds of one kind."""

    kind: TimeKind
    seconds: float


def time_parts(run: AgentRun, transcript: Transcript | None, now: datetime) -> tuple[TimePart, ...]:
    """Where its time went up to its end, or now, in the order of the kinds; what took no time is left out.

    Model and tools come from the conversation; what lies between its steps is other time. Without one the time of work is told whole.
    """
    status = run_status(run)
    end = status.ended_at or now
    found = dict.fromkeys(TIME_KINDS, 0.0)
    working = 0.0
    if status.stretches:
        ends = [*(each.since for each in status.stretches[1:]), end]
        for stretch, until in zip(status.stretches, ends, strict=True):
            seconds = seconds_between(stretch.since, until)
            if stretch.activity == "Working":
                working += seconds
            elif stretch.activity == "Paused" and stretch.reason in _RATE_LIMITS:
                found[RATE_LIMIT] += seconds
            else:
                found[_BY_ACTIVITY[stretch.activity]] += seconds
    else:
        found[QUEUE] = status.queued_seconds if status.started_at is not None else seconds_between(status.created_at, end)
        working = seconds_between(status.started_at, status.rested_at or end) if status.started_at is not None else 0.0
    if transcript is not None:
        # A call may end after what is noted of the run: no part is longer than the time of work that there was.
        model = sum(seconds_between(call.started_at, call.ended_at or end) for call in transcript.calls)
        found[MODEL] = min(working, model)
        tools = sum(result.seconds for turn in transcript.turns for result in turn.tool_results) + _under_way(run, transcript, end)
        found[TOOLS] = min(working - found[MODEL], tools)
    found[WORK if transcript is None else OTHER] = max(0.0, working - found[MODEL] - found[TOOLS])
    return tuple(TimePart(kind, seconds) for kind, seconds in found.items() if round(seconds, 3) > 0)


def _under_way(run: AgentRun, transcript: Transcript, now: datetime) -> float:
    """Seconds for which the tools of the last reply have been at work."""
    status = run_status(run)
    last = transcript.turns[-1] if transcript.turns else None
    if status.phase is not RunPhase.RUNNING or status.reason is not None or last is None or not last.tool_calls:
        return 0.0
    return seconds_between(last.at, now)


def time_lines(parts: Sequence[TimePart], width: int, *, ended: bool) -> tuple[Line, ...]:
    """The bar with its legend, in two lines where one has no room for both. Figures of what goes on are coarse, for they move."""
    if not parts:
        return ()
    label = muted("time".ljust(_LABEL))
    told = _worth_telling(parts, _LEAST if ended else 1.0)
    room = width - _LABEL
    legend = next((form for form in _legends(told, ended=ended) if line_width(form) <= room), ())
    beside = room - line_width(legend) - 2
    shares = tuple((round(each.seconds * 1000), each.kind.tone, each.kind.glyph) for each in told)
    if beside < _SHORTEST_BAR:
        return ((label, *segments(shares, max(1, room))), (Span(" " * _LABEL), *legend))
    return ((label, *segments(shares, min(_LONGEST_BAR, beside)), Span("  "), *legend),)


def _legends(told: Sequence[TimePart], *, ended: bool) -> Iterator[Line]:
    """The legend in forms that get shorter: in whole units, with closer parts, then without the least of what is told."""
    if ended:
        yield _legend(told, exact_span_text)
    while told:
        yield _legend(told, span_text)
        yield _legend(told, span_text, gap=" ")
        least = min(told, key=lambda each: each.seconds)
        told = [each for each in told if each is not least]


def _legend(told: Sequence[TimePart], text: Callable[[float], str], *, gap: str = "  ") -> Line:
    return joined((line(Span(f"{each.kind.glyph} {each.kind.short} {text(each.seconds)}", each.kind.tone)) for each in told), gap)


def time_words(parts: Sequence[TimePart]) -> str:
    """`queue 3.0s, model 18.4s, grading 0.2s`."""
    return ", ".join(f"{each.kind.name} {exact_span_text(each.seconds)}" for each in _worth_telling(parts))


def _worth_telling(parts: Sequence[TimePart], least: float = _LEAST) -> Sequence[TimePart]:
    return [each for each in parts if each.seconds >= least] or parts
