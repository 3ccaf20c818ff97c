"""Sandboxes that people asked for: their table and the facts of one. What each has cost, and what will stop it first."""

from datetime import datetime
from decimal import Decimal

from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.money import NANO_PER_USD, display_usd, usd_from_nano
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxStatus
from nodus_tui.contract.sandbox_exec import ExecEnd
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.devices import given_words, hardware_words, waiting_words
from nodus_tui.view_state.figures import (
    NOTHING,
    age_text,
    bar,
    clock_text,
    column_span_text,
    exact_span_text,
    seconds_between,
    share,
    short_usd,
    span_text,
)
from nodus_tui.view_state.filtering import Filter, Searchable
from nodus_tui.view_state.folding import sandbox_after
from nodus_tui.view_state.image_names import short_image
from nodus_tui.view_state.money import money_of, shorter_money_of
from nodus_tui.view_state.proposals import Question
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.words import BOX_SIGNS

KIND = "Sandbox"
_PHASE_ORDER = {phase: place for place, phase in enumerate(BOX_SIGNS)}
_HOUR_SECONDS = 3600
_SOON_SECONDS = 60.0
"""An end that is nearer than this stands out."""
_FULL = 0.9
"""From this part of the cap on the bar warns."""


def box_status(box: Sandbox) -> SandboxStatus:
    """The status that a backend's Sandboxes always have; ValueError says which one lacks it."""
    if box.status is None:
        raise ValueError(f"the backend gave Sandbox {box.name} without a status")
    return box.status


def cost_now(box: Sandbox, now: datetime) -> Decimal:
    """What it has cost: booked when it has stopped, its time at its rate while it runs."""
    status = box_status(box)
    if status.started_at is None or status.ended_at is not None:
        return status.cost_usd
    nano = Decimal(seconds_between(status.started_at, now)) * status.rate_usd * NANO_PER_USD / _HOUR_SECONDS
    return min(box.spec.max_cost_usd, max(status.cost_usd, usd_from_nano(int(nano))))


def idle_end(box: Sandbox) -> datetime | None:
    """When it is stopped if no other command runs in it; None while one does, and while it does not run."""
    since = box_status(box).idle_since
    return None if since is None else since + box.spec.idle_timeout


def _left(end: datetime, now: datetime) -> Span:
    seconds = seconds_between(now, end)
    return Span(span_text(seconds), Tone.WARN if seconds < _SOON_SECONDS else Tone.PLAIN)


def _idle_cell(box: Sandbox, now: datetime) -> Line:
    status, end = box_status(box), idle_end(box)
    if status.phase != "Running":
        return line(NOTHING)
    if end is None:
        return line(Span(f"busy {status.commands}" if status.commands > 1 else "busy", Tone.INFO))
    return line(_left(end, now), muted(" left"))


def _latest_cell(box: Sandbox, now: datetime) -> Line:
    end = box_status(box).stops_at
    return line(NOTHING) if end is None else line(_left(end, now))


def _took(box: Sandbox, now: datetime) -> Line:
    status = box_status(box)
    if status.started_at is None:
        return line(NOTHING)
    if status.ended_at is None:
        return line(column_span_text(seconds_between(status.started_at, now), going=True))
    return line(column_span_text(seconds_between(status.started_at, status.ended_at)))


def _seconds(box: Sandbox) -> float | None:
    status = box_status(box)
    return None if status.started_at is None or status.ended_at is None else seconds_between(status.started_at, status.ended_at)


def _share_cell(box: Sandbox, now: datetime) -> Line:
    used = share(cost_now(box, now), box.spec.max_cost_usd)
    return bar(used, 6, Tone.WARN if used >= _FULL else Tone.INFO)


def _waiting(status: SandboxStatus, now: datetime) -> str:
    return waiting_words(status.message, status.until, status.until_kind, now)


def image_words(box: Sandbox) -> str:
    """What it runs."""
    return box.spec.image or "base image"


def _what_cell(box: Sandbox, now: datetime) -> Line:
    status = box_status(box)
    return line(muted(_waiting(status, now) or status.reason or image_words(box)))


def _end_stamp(end: datetime | None) -> float | None:
    return None if end is None else end.timestamp()


BOX_COLUMNS: tuple[Column[Sandbox], ...] = (
    Column(
        "name",
        "NAME",
        12,
        lambda box, _now: line(strong(box.name)),
        lambda box: box.name,
        prefer=18,
        grow=27,
        least=6,
        middle=True,
        measure=Measure.TEXT,
    ),
    Column(
        "phase",
        "PHASE",
        9,
        lambda box, _now: BOX_SIGNS[box_status(box).phase].spans(),
        lambda box: _PHASE_ORDER[box_status(box).phase],
    ),
    Column(
        "spent",
        "SPENT/CAP",
        13,
        lambda box, now: money_of(cost_now(box, now), box.spec.max_cost_usd),
        lambda box: box_status(box).cost_usd,
        prefer=16,
        grow=6,
        right=True,
        shorter=lambda box, now: shorter_money_of(cost_now(box, now), box.spec.max_cost_usd),
        least=9,
        measure=Measure.MONEY,
    ),
    Column(
        "share",
        "",
        6,
        _share_cell,
        lambda box: share(box_status(box).cost_usd, box.spec.max_cost_usd),
        priority=3,
        measure=Measure.SHARE,
        about="share of the cap",
    ),
    Column("idle", "IDLE STOP", 11, _idle_cell, lambda box: _end_stamp(idle_end(box)), priority=1),
    Column("latest", "ENDS IN", 7, _latest_cell, lambda box: _end_stamp(box_status(box).stops_at), priority=2, right=True),
    Column("took", "TIME", 6, _took, _seconds, priority=5, right=True, measure=Measure.SECONDS),
    Column(
        "age",
        "AGE",
        6,
        lambda box, now: line(muted(age_text(box_status(box).created_at, now))),
        lambda box: box_status(box).created_at.timestamp(),
        priority=4,
        right=True,
        since=True,
    ),
    Column("what", "WHAT", 10, _what_cell, image_words, priority=1, grow=120, measure=Measure.TEXT),
)


def _searchable(box: Sandbox) -> Searchable:
    status = box_status(box)
    states = (status.phase, *((status.reason,) if status.reason else ()))
    return Searchable(texts=(box.name, status.message, image_words(box), status.engine), states=states, cost=status.cost_usd)


class BoxesState:
    """All Sandboxes of that kind, and the cursor up to which they are true."""

    def __init__(self) -> None:
        self.rows: Rows[Sandbox] = Rows(BOX_COLUMNS, sort="age", descending=True, searchable=_searchable, asks=("state", "cost"))
        self.cursor = -1
        self.loaded = False

    def load(self, snapshot: Snapshot) -> None:
        """Take the Sandboxes of a snapshot instead of what was known."""
        self.rows.clear()
        for box in sorted(snapshot.sandboxes, key=lambda each: box_status(each).created_at):
            self.rows.put(box.name, box)
        self.cursor = snapshot.cursor
        self.loaded = True

    def fold(self, event: Event) -> bool:
        """Take one event; says whether anything here changed."""
        if event.kind != KIND or event.cursor <= self.cursor:
            return False
        known = self.rows.find(event.name)
        box = sandbox_after(known, event)
        if box is None:
            self.rows.remove(event.name)
            return known is not None
        self.rows.put(event.name, box)
        return True

    def filter(self, chosen: Filter | None) -> None:
        """Show those that a filter keeps, or all."""
        self.rows.filter(chosen)

    def going(self) -> tuple[str, ...]:
        """Those that have not ended."""
        return tuple(box.name for box in self.rows.items() if not box_status(box).ended)

    def moving(self) -> bool:
        """Whether one runs, so that its cost grows and its end comes nearer by itself."""
        return any(box_status(box).phase == "Running" for box in self.rows.items())

    def summary(self) -> Line:
        """How many are in which phase."""
        counts: dict[str, int] = {}
        for box in self.rows.items():
            phase = box_status(box).phase
            counts[phase] = counts.get(phase, 0) + 1
        return joined(
            [line(Span(f"{counts[phase]} {sign.word.lower()}", sign.tone)) for phase, sign in BOX_SIGNS.items() if phase in counts]
        )


def box_facts(box: Sandbox, now: datetime, width: int) -> tuple[Line, ...]:
    """One in lines: why it is as it is, its money, what stops it, what it is made of."""
    status, sign = box_status(box), BOX_SIGNS[box_status(box).phase]
    said = ": ".join(part for part in (status.reason or "", _waiting(status, now)) if part) or sign.word
    cost, cap = cost_now(box, now), box.spec.max_cost_usd
    used = share(cost, cap)
    money = line(
        *bar(used, min(20, width // 5), Tone.WARN if used >= _FULL else Tone.INFO),
        f" {short_usd(cost)} of {display_usd(cap)}",
        muted(f", {display_usd(status.rate_usd)} an hour"),
    )
    notes = tuple(line(Span(f"~ {note}", Tone.WARN)) for note in status.notes)
    return (line(Span(f"{sign.glyph} {said}", sign.tone)), money, joined(_ends(box, now)), joined(_made_of(box)), *notes)


def _ends(box: Sandbox, now: datetime) -> tuple[Line, ...]:
    status, end = box_status(box), idle_end(box)
    if status.started_at is None:
        return (line(muted(f"created {clock_text(status.created_at, now)}")),)
    if status.ended_at is not None:
        kept = "its files are kept" if status.files_kept else "its files are not kept"
        took = line("ran for ", strong(exact_span_text(seconds_between(status.started_at, status.ended_at))))
        return (took, line(muted(f"stopped {clock_text(status.ended_at, now)}")), line(muted(kept)))
    if end is not None:
        idle = line("idle: stopped in ", strong(_left(end, now).text))
    else:
        idle = line(f"{status.commands} command{'s' if status.commands != 1 else ''} in it")
    latest = line(muted(f"until {clock_text(status.stops_at, now)} at the latest")) if status.stops_at is not None else ()
    return (line("runs for ", strong(span_text(seconds_between(status.started_at, now)))), idle, latest)


def _made_of(box: Sandbox) -> tuple[Line, ...]:
    status, spec = box_status(box), box.spec
    asked = hardware_words(spec)
    devices = "" if asked == "CPU" else f"{given_words(status.hardware, status.device_names) or asked}, "
    machine = f"{devices}{spec.cpus:g} CPU, {spec.memory_gib:g} GiB" + (", network" if spec.network else ", no network")
    weaker = ", weaker isolation" if status.isolation == "weaker" else ""
    engine = line(muted(f"{status.engine}{weaker}")) if status.engine else ()
    return (line(image_words(box)), line(muted(machine)), engine)


def box_details(box: Sandbox, now: datetime, width: int) -> tuple[Line, ...]:
    """All of one: the facts, then what they leave out, and how it is used from a shell."""
    status, spec = box_status(box), box.spec
    limits = f"idle {duration_text(spec.idle_timeout)}, lifetime {duration_text(spec.max_lifetime)}, cost {display_usd(spec.max_cost_usd)}"
    environment = ", ".join([*spec.env, *(f"{name} (the scheduler's)" for name in spec.env_from)])
    rows = (
        ("Stopped by", f"{limits}: whichever comes first"),
        ("Room", f"{spec.disk_gib:g} GiB of files, {spec.processes:,} processes"),
        ("Image", short_image(status.image) or image_words(box)),
        ("Variables", environment),
        ("Devices", ", ".join(status.device_names)),
        ("Created", clock_text(status.created_at, now)),
        ("Started", clock_text(status.started_at, now) if status.started_at is not None else ""),
    )
    told = tuple(line(muted(f"{title:<11} "), text) for title, text in rows if text)
    return (*box_facts(box, now, width), (), *told, (), *_shell_lines(box))


def _shell_lines(box: Sandbox) -> tuple[Line, ...]:
    status, name = box_status(box), box.name
    commands = [f"nodus-tui exec {name} -- COMMAND", f"nodus-tui cp FILE sandbox/{name}:PATH"] if status.phase == "Running" else []
    if status.phase == "Running" or status.files_kept:
        commands.append(f"nodus-tui cp sandbox/{name}:PATH TARGET")
    return tuple(line(muted(f"$ {command}")) for command in commands)


def kill_box_question(box: Sandbox, now: datetime) -> Question:
    """Stopping one."""
    commands = box_status(box).commands
    hung_up = f"{commands} command{'s' if commands != 1 else ''} in it {'are' if commands != 1 else 'is'} hung up."
    lines = (
        *((line(Span(hung_up, Tone.WARN)),) if commands else ()),
        line("Its processes end; the files of its work folder are kept until it is deleted."),
        line(strong(f"{short_usd(cost_now(box, now))} is spent"), "."),
    )
    return Question(f"Kill sandbox {box.name}?", lines, "Kill")


def shell_problem(box: Sandbox) -> str:
    """Why no shell can be opened in it, as a sentence; empty where one can."""
    status = box_status(box)
    if status.phase == "Pending":
        return f"{box.name} does not run yet: {status.message or 'it is being started'}."
    if status.ended:
        return f"{box.name} does not run any more ({status.reason or status.phase})."
    return ""


def shell_end_words(name: str, end: ExecEnd | None) -> tuple[str, Tone]:
    """How a shell ended."""
    if end is None or (not end.exit_code and end.reason is None):
        return f"The shell in {name} has ended.", Tone.MUTED
    if end.reason is not None:
        return f"The shell in {name} ended with its sandbox: {end.message or end.reason}", Tone.WARN
    return f"The shell in {name} has ended with exit code {end.exit_code}.", Tone.MUTED
