"""The columns of the queue, its head, and the selected row in words."""

from collections.abc import Mapping
from datetime import datetime

from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.figures import NOTHING, age_text
from nodus_tui.view_state.filter_fields import Searchable
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.waiting import Waiter, When, since_text, when_text

KIND_WORDS = {"AgentRun": "run", "AgentGroup": "group", "Job": "job", "TrainingJob": "eval", "Sandbox": "sandbox", "Sweep": "sweep"}
_TONES = {"Forecast": Tone.MARK, "About": Tone.MARK, "AtLatest": Tone.MARK, "Unknown": Tone.MUTED, "ByHand": Tone.WARN}
_MOST_REASONS = 6
"""Reasons that the head counts; the rest are counted together."""


def when_line(end: When, now: datetime) -> Line:
    """The end of a wait in its tone."""
    return line(Span(when_text(end, now), _TONES.get(end.kind, Tone.PLAIN)))


def _until_cell(waiter: Waiter, now: datetime) -> Line:
    if waiter.last is None or when_text(waiter.last, now) == when_text(waiter.end, now):
        return when_line(waiter.end, now)
    # One mark of an estimate before both is enough.
    last = (span.saying(span.text.removeprefix("~")) for span in when_line(waiter.last, now))
    return line(*when_line(waiter.end, now), muted("–"), *last)


def _shorter_until(waiter: Waiter, now: datetime) -> tuple[Line, ...]:
    return (when_line(waiter.end, now),)


def _who_cell(waiter: Waiter, _now: datetime) -> Line:
    return line(muted(waiter.who) if waiter.is_bundle else strong(waiter.who), muted(waiter.mark))


def _shorter_who(waiter: Waiter, _now: datetime) -> tuple[Line, ...]:
    """Which cases a bundle has goes first: its row, opened, shows them."""
    return (line(muted(waiter.who.partition(",")[0])),) if waiter.is_bundle else ()


def _since_cell(waiter: Waiter, now: datetime) -> Line:
    return line(muted(since_text(waiter.since, now)))


def _ahead_cell(waiter: Waiter, _now: datetime) -> Line:
    if waiter.ahead is None:
        return line(NOTHING)
    if waiter.is_bundle:
        return line(muted(f"{waiter.ahead:,}+"))
    return line("next" if waiter.ahead == 0 else f"{waiter.ahead:,}")


QUEUE_COLUMNS: tuple[Column[Waiter], ...] = (
    Column(
        "who",
        "WHO",
        14,
        _who_cell,
        lambda waiter: waiter.who + waiter.mark,
        prefer=22,
        grow=8,
        least=8,
        shorter=_shorter_who,
        middle=True,
        measure=Measure.TEXT,
    ),
    Column(
        "group",
        "GROUP",
        8,
        lambda waiter, _now: line(waiter.group or NOTHING),
        lambda waiter: waiter.group,
        priority=1,
        prefer=14,
        grow=6,
        middle=True,
        measure=Measure.TEXT,
    ),
    Column("state", "STATE", 13, lambda waiter, _now: waiter.sign.spans(), lambda waiter: waiter.sign.word, priority=2, least=9),
    Column(
        "wants",
        "WAITS FOR",
        15,
        lambda waiter, _now: line(waiter.wants),
        lambda waiter: waiter.wants,
        prefer=18,
        least=9,
        measure=Measure.TEXT,
    ),
    Column("since", "SINCE", 6, _since_cell, lambda waiter: waiter.since.timestamp(), right=True),
    Column("until", "UNTIL", 8, _until_cell, lambda waiter: waiter.order, prefer=14, shorter=_shorter_until, figures=True),
    Column("ahead", "AHEAD", 6, _ahead_cell, lambda waiter: waiter.ahead, priority=3, right=True, measure=Measure.COUNT),
    Column(
        "kind",
        "KIND",
        7,
        lambda waiter, _now: line(muted(KIND_WORDS.get(waiter.kind, waiter.kind))),
        lambda waiter: KIND_WORDS.get(waiter.kind, waiter.kind),
        priority=5,
        measure=Measure.TEXT,
    ),
    Column("message", "WHY", 20, lambda waiter, _now: line(muted(waiter.message)), lambda waiter: waiter.message, priority=6, grow=160),
)


def searchable_waiter(waiter: Waiter) -> Searchable:
    """What the filter looks at."""
    texts = (waiter.who, waiter.name, waiter.group, waiter.wants, waiter.message, KIND_WORDS.get(waiter.kind, waiter.kind))
    states = (waiter.sign.word, *((waiter.reason,) if waiter.reason else ()))
    return Searchable(texts=texts, states=states, cost=waiter.cost)


def reasons_line(reasons: Mapping[str, int]) -> Line:
    """How many wait for what, the most first."""
    counts = sorted(((count, wants) for wants, count in reasons.items() if count), key=lambda each: (-each[0], each[1]))
    shown = [line(strong(f"{count:,}"), muted(f" for {wants}")) for count, wants in counts[:_MOST_REASONS]]
    rest = sum(count for count, _ in counts[_MOST_REASONS:])
    return joined([*shown, *([line(strong(f"{rest:,}"), muted(" for something else"))] if rest else [])])


def waiter_details(waiter: Waiter, now: datetime, key: KeyNamer = own_key) -> tuple[Line, ...]:
    """The selected row in words: who, for what, since when, until when and how sure that is, and what can be done."""
    named = waiter.who if waiter.is_bundle else f"{KIND_WORDS.get(waiter.kind, waiter.kind)} {waiter.name}"
    of_group = f" of {waiter.group}" if waiter.group and waiter.kind == "AgentRun" else ""
    waits = " wait for " if waiter.is_bundle else " waits for "
    who = line(strong(named), muted(of_group), muted(waits), waiter.wants)
    why = line(waiter.message) if waiter.message and waiter.message != waiter.wants else ()
    since = line(muted(f"since {since_text(waiter.since, now)} ({age_text(waiter.since, now)})"))
    return (joined((who, since)), *((why,) if why else ()), _end_line(waiter, now, key))


def _end_line(waiter: Waiter, now: datetime, key: KeyNamer) -> Line:
    end = waiter.end
    if end.kind == "ByHand":
        return line(Span("until somebody acts: ", Tone.WARN), muted(_remedy(waiter, key)))
    if end.kind == "Unknown":
        why = " (no run of the group has come to an answer yet)" if waiter.ahead is not None else ""
        return line(muted(f"until when is not known{why}"))
    text = when_text(end, now)
    if end.kind == "Forecast":
        span = f" to {when_text(waiter.last, now)}" if waiter.last is not None and waiter.last.at is not None else ""
        return line(Span(f"starts {text}{span}", Tone.MARK), muted(" by forecast: what a run took so far, slots, cap, who is ahead"))
    sure = {"Exact": "", "About": ", roughly", "AtLatest": ", at the latest"}.get(end.kind, "")
    sooner = ": the month of its budget ends then" if waiter.reason == "BudgetExceeded" else ""
    return line(f"until {text.removeprefix('≤ ')}", muted(f"{sure}{sooner}"))


def _remedy(waiter: Waiter, key: KeyNamer) -> str:
    if waiter.kind == "AgentRun" and waiter.reason == "MaxCostReached":
        if waiter.is_bundle or not key("extend"):
            return "a higher cap frees it"
        return f"{key('open')} opens it, {key('extend')} there gives it a higher cap"
    return f"{key('open')} opens it and says what frees it"
