"""The queue, a group's timeline and what-if as text and as JSON: the same rows as the console's. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from pydantic import JsonValue

from nodus_tui.cli.output import table_text
from nodus_tui.contract.money import display_usd, usd_from_nano, usd_text
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.text import safe_text, width_of
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.queue_columns import KIND_WORDS
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.run_story import STORY_SIGNS, end_sign, story, story_words
from nodus_tui.view_state.time_window import TimeWindow
from nodus_tui.view_state.waiting import Waiter, since_text, when_text
from nodus_tui.view_state.what_if import WhatIfRow, allowed_text, end_text, left_text

QUEUE_TITLES = ("WHO", "GROUP", "KIND", "STATE", "WAITS FOR", "SINCE", "UNTIL", "AHEAD", "WHY")
WHAT_IF_TITLES = ("MAXACTIVE", "ENDS", "LEFT", "AT ONCE", "RESERVED", "CAP ALLOWS", "NEVER START")
TIMELINE_TITLES = ("CASE", "RUN", "TASK")
_LEAST_CELLS, _MOST_CELLS = 20, 400


def utc_json(moment: datetime | None) -> str | None:
    """A moment as JSON carries it."""
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def queue_table(waiters: Sequence[Waiter], now: datetime, *, of_one_group: bool = False) -> str:
    """One line a row, who is next first; `of_one_group` says that its name stands elsewhere already."""
    rows = [_queue_row(each, now) for each in waiters]
    kept = [place for place, title in enumerate(QUEUE_TITLES) if not (of_one_group and title == "GROUP")]
    return table_text([QUEUE_TITLES[place] for place in kept], [[row[place] for place in kept] for row in rows], right=frozenset({"AHEAD"}))


def _queue_row(waiter: Waiter, now: datetime) -> tuple[str, ...]:
    until = when_text(waiter.end, now) + (f"–{when_text(waiter.last, now)}" if waiter.last is not None else "")
    named = waiter.kind != "AgentRun" or waiter.is_bundle
    return (
        waiter.who if named else f"{waiter.name} {waiter.who}",
        waiter.group or "-",
        KIND_WORDS.get(waiter.kind, waiter.kind),
        waiter.sign.word,
        waiter.wants,
        since_text(waiter.since, now),
        until,
        "-" if waiter.ahead is None else str(waiter.ahead),
        waiter.message,
    )


def queue_document(waiter: Waiter) -> dict[str, JsonValue]:
    """One row for programs: never a bundle."""
    return {
        "kind": waiter.kind,
        "name": waiter.name,
        "group": waiter.group,
        "state": waiter.sign.word,
        "reason": waiter.reason or None,
        "waitsFor": waiter.wants,
        "message": waiter.message,
        "count": waiter.count,
        "since": utc_json(waiter.since),
        "until": utc_json(waiter.end.at),
        "untilKind": waiter.end.kind,
        "ahead": waiter.ahead,
    }


def timeline_text(runs: Sequence[AgentRun], now: datetime, width: int) -> str:
    """A line a run on one axis, as wide as the terminal; what the signs mean stands below."""
    if not runs:
        return ""
    names = [(str(run.spec.case), run.name, safe_text(run.spec.task_id) or "-") for run in runs]
    widths = [max(len(title), *(width_of(row[place]) for row in names)) for place, title in enumerate(TIMELINE_TITLES)]
    cells = max(_LEAST_CELLS, min(_MOST_CELLS, width - sum(widths) - 2 * len(widths)))
    window = TimeWindow()
    first = min(run_status(run).created_at for run in runs)
    last = max(part.end for run in runs for part in story(run, now))
    window.settle(first, last, cells, going=False)
    head = "  ".join(title.ljust(each) for title, each in zip(TIMELINE_TITLES, widths, strict=True))
    lines = [f"{head}  {plain(window.axis(cells, now))}".rstrip()]
    for run, row in zip(runs, names, strict=True):
        left = "  ".join(text + " " * (each - width_of(text)) for text, each in zip(row, widths, strict=True))
        lines.append(f"{left}  {plain(window.cells(story(run, now), cells, end_sign(run)))}".rstrip())
    signs = "  ".join(f"{sign.glyph} {sign.word}" for sign in STORY_SIGNS.values())
    return "\n".join([*lines, "", f"{signs}    {window.words().partition(',')[0]}"])


def timeline_document(run: AgentRun, now: datetime) -> dict[str, JsonValue]:
    """What one run did when, for programs."""
    status = run_status(run)
    stretches: list[JsonValue] = [
        {"activity": part.activity, "begin": utc_json(part.begin), "end": utc_json(part.end), "seconds": round(part.seconds, 3)}
        for part in story(run, now)
    ]
    return {
        "run": run.name,
        "case": run.spec.case,
        "taskId": run.spec.task_id,
        "attempt": run.spec.attempt,
        "phase": status.phase.value,
        "verdict": status.verdict.value if status.verdict else None,
        "ended": status.ended_at is not None,
        "summary": story_words(run, now),
        "stretches": stretches,
    }


def what_if_table(rows: Iterable[WhatIfRow], now: datetime) -> str:
    """One line for each value of maxActive."""
    made = [
        (
            f"{row.forecast.max_active}{' (now)' if row.is_present else ''}",
            end_text(row, now),
            left_text(row),
            str(row.forecast.peak_active),
            display_usd(usd_from_nano(row.forecast.peak_reserved)),
            allowed_text(row),
            str(row.forecast.stranded) if row.forecast.stranded else "-",
        )
        for row in rows
    ]
    return table_text(WHAT_IF_TITLES, made, right=frozenset({"AT ONCE", "RESERVED", "NEVER START"}))


def what_if_document(row: WhatIfRow) -> dict[str, JsonValue]:
    """One value for programs; `null` where nothing is known of how long runs take."""
    found = row.forecast
    return {
        "maxActive": found.max_active,
        "present": row.is_present,
        "secondsLeft": None if found.seconds is None else round(found.seconds, 3),
        "endsAt": utc_json(row.end),
        "peakActive": found.peak_active,
        "peakReservedUSD": usd_text(usd_from_nano(found.peak_reserved)),
        "admittedByCap": found.admitted,
        "heldByCap": found.held_by_cap,
        "neverStart": found.stranded,
    }
