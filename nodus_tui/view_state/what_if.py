"""What if: a group under another `maxActive`, beside the present: its end, what it reserves, whether the cap allows it. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from nodus_tui.contract.money import display_usd, usd_from_nano
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.statistics.queueing import Forecast, GroupLoad, what_if
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.figures import NOTHING, exact_span_text, forecast_text
from nodus_tui.view_state.group import GroupState
from nodus_tui.view_state.group_load import load_of
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.waiting import UNKNOWN, When, foreseen, when_text

SHOWN = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000)
"""The values of maxActive that are told as far as a group has so many runs left; its own and those that a person adds beside them."""
MOST = 1000
"""The largest maxActive."""


class WhatIfRow:
    """One value of maxActive, as it compares with the present."""

    __slots__ = ("added", "cap", "forecast", "made_at", "present")

    def __init__(self, found: Forecast, present: Forecast, cap: int, made_at: datetime, *, added: bool) -> None:
        self.forecast = found
        self.present = present
        self.cap = cap
        """The group's, in nano-dollars."""
        self.made_at = made_at
        self.added = added
        """Whether a person asked for it."""

    @property
    def is_present(self) -> bool:
        """Whether it is the group's own."""
        return self.forecast.max_active == self.present.max_active

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self.forecast.peak_active and not self.forecast.starts

    @property
    def stuck(self) -> bool:
        """Whether nothing goes, and nothing that waits can start: then there is no end to foresee."""
        return not self.forecast.peak_active and bool(self.forecast.starts)

    @property
    def end(self) -> datetime | None:
        """When the last run ends."""
        return foreseen(self.made_at, self.forecast.seconds).at

    @property
    def sooner(self) -> float | None:
        """Seconds by which the group ends sooner than it does now; below zero for later."""
        if self.forecast.seconds is None or self.present.seconds is None:
            return None
        return self.present.seconds - self.forecast.seconds


def _money(nano: int) -> str:
    return display_usd(usd_from_nano(nano))


def _value_cell(row: WhatIfRow, _now: datetime) -> Line:
    return line(strong(f"{row.forecast.max_active:,}"), Span(" now" if row.is_present else "", Tone.INFO))


def end_text(row: WhatIfRow, now: datetime) -> str:
    """`~14:31`, to the minute; `unknown` without a pace, and `-` where nothing can go."""
    if row.stuck:
        return "-"
    return when_text(When("Forecast", row.end) if row.end is not None else UNKNOWN, now)


def _end_cell(row: WhatIfRow, now: datetime) -> Line:
    if row.idle or row.stuck:
        return line(NOTHING)
    return line(Span(end_text(row, now), Tone.MARK if row.end is not None else Tone.MUTED))


def left_text(row: WhatIfRow) -> str:
    """How long it takes from now; `-` where nothing can go."""
    if row.stuck:
        return "-"
    return "unknown" if row.forecast.seconds is None else forecast_text(row.forecast.seconds)


def _left_cell(row: WhatIfRow, _now: datetime) -> Line:
    return line(Span(left_text(row), Tone.MARK)) if row.forecast.seconds is not None and not (row.idle or row.stuck) else line(NOTHING)


def allowed_text(row: WhatIfRow) -> str:
    """Whether the cap allows as many at once: `yes`, or `7 at once`."""
    return f"{row.forecast.admitted:,} at once" if row.forecast.held_by_cap else "yes"


def _allowed_cell(row: WhatIfRow, _now: datetime) -> Line:
    if row.forecast.held_by_cap:
        return line(Span(f"‖ {allowed_text(row)}", Tone.WARN))
    return line(Span("● yes", Tone.GOOD))


def _stranded_cell(row: WhatIfRow, _now: datetime) -> Line:
    return line(Span(f"{row.forecast.stranded:,}", Tone.WARN)) if row.forecast.stranded else line(NOTHING)


WHAT_IF_COLUMNS: tuple[Column[WhatIfRow], ...] = (
    Column("max_active", "MAXACTIVE", 10, _value_cell, lambda row: row.forecast.max_active, right=True),
    Column("end", "ENDS", 8, _end_cell, lambda row: row.forecast.seconds, prefer=12),
    Column("left", "LEFT", 8, _left_cell, lambda row: row.forecast.seconds, right=True),
    Column("peak", "AT ONCE", 7, lambda row, _now: line(f"{row.forecast.peak_active:,}"), lambda row: row.forecast.peak_active, right=True),
    Column(
        "reserved",
        "RESERVED",
        10,
        lambda row, _now: line(_money(row.forecast.peak_reserved)),
        lambda row: row.forecast.peak_reserved,
        right=True,
        figures=True,
    ),
    Column("allowed", "CAP ALLOWS", 15, _allowed_cell, lambda row: row.forecast.admitted, grow=10),
    Column("stranded", "NEVER START", 11, _stranded_cell, lambda row: row.forecast.stranded, priority=1, right=True),
)


class WhatIfState:
    """The forecasts of one group."""

    def __init__(self, group: GroupState) -> None:
        self.group = group
        self.added: set[int] = set()
        """Values that a person asked for."""
        self.rows: Rows[WhatIfRow] = Rows(WHAT_IF_COLUMNS, sort="max_active")
        self.load: GroupLoad | None = None
        self._made_at: datetime | None = None

    def old(self, now: datetime, seconds: float) -> bool:
        """Whether the forecasts were made so long ago."""
        return self._made_at is None or now - self._made_at >= timedelta(seconds=seconds)

    def refresh(self, now: datetime) -> None:
        """Make all forecasts anew."""
        group = self.group.group
        if group is None or not self.group.loaded:
            self.load = None
            self.rows.clear()
            return
        self._made_at = now
        self.load, rows = what_if_rows(group, self.group.rows.items(), now, self.added)
        keys = {str(row.forecast.max_active) for row in rows}
        for key in [key for key in self.rows.keys() if key not in keys]:  # noqa: SIM118 - Rows is no dict
            self.rows.remove(key)
        for row in rows:
            self.rows.put(str(row.forecast.max_active), row)


def what_if_rows(
    group: AgentGroup, runs: Iterable[AgentRun], now: datetime, added: Iterable[int] = ()
) -> tuple[GroupLoad, tuple[WhatIfRow, ...]]:
    """The load of a group, and the forecasts for the usual values of maxActive, the group's own, and those that were added."""
    load = load_of(group, runs, now)
    extra = set(added)
    most = len(load.going) + len(load.waiting)
    values = {value for value in SHOWN if value < most} | {load.max_active} | extra
    if most and most <= MOST:
        values.add(most)
    found = what_if(load, sorted(values))
    present = next(each for each in found if each.max_active == load.max_active)
    cap = load.left + load.reserved
    return load, tuple(WhatIfRow(each, present, cap, now, added=each.max_active in extra) for each in found)


def value_problem(text: str) -> str:
    """What is wrong with a typed maxActive; empty when nothing is."""
    value = text.strip()
    if not value.isdecimal() or not 1 <= int(value) <= MOST:
        return f"Type a whole number from 1 to {MOST:,}."
    return ""


def head_lines(group: AgentGroup, load: GroupLoad) -> tuple[Line, ...]:
    """What the forecasts go by."""
    status = status_of(group)
    if not load.going and not load.waiting:
        yet = " yet, for its tasks are being made" if status.phase is GroupPhase.PENDING else ""
        return (line(f"No run of the group goes or waits in line{yet}: there is nothing to forecast."),)
    if load.mean_seconds is None:
        pace = line(muted("no run has come to an answer yet: nothing is known of how long one takes"))
    else:
        spent = "" if load.mean_spent is None else f" and {_money(load.mean_spent)}"
        pace = line("a run takes ", Span(f"~{exact_span_text(load.mean_seconds)}{spent}", Tone.MARK), muted(" on average so far"))
    work = joined(
        (
            line(strong(f"{len(load.going):,}"), muted(" going")),
            line(strong(f"{len(load.waiting):,}"), muted(" waiting in line")),
            line(f"{_money(load.reserved)} reserved, {_money(load.left)} left", muted(f" of {display_usd(status.money.cap_usd)}")),
        )
    )
    return (work, pace)


def row_words(row: WhatIfRow, now: datetime) -> tuple[Line, ...]:
    """One value in sentences, beside the present."""
    found = row.forecast
    if row.idle:
        return ()
    if row.stuck:
        words = f"Nothing goes, and none of the {found.stranded:,} in line can start, whatever maxActive is: the cap has no room for one."
        return (line(Span(words, Tone.WARN)), line(muted("A higher cap of the group lets them start.")))
    value = f"maxActive {found.max_active:,}"
    ends = "comes to a stop" if found.stranded else "ends"
    if row.end is None:
        first = line(strong(value), ": when the group ends is not known before the first run has come to an answer.")
    elif row.is_present:
        first = line(strong(value), f", as now: it {ends} {end_text(row, now)}, in {left_text(row)}.")
    else:
        first = line(strong(value), f": it {ends} {end_text(row, now)}, {_compared(row)}.")
    peak = f"At most {found.peak_active:,} go at once and reserve {_money(found.peak_reserved)}"
    empty = f", and the cap admits only {found.admitted:,} at once as it stands: the slots above that stay empty."
    cap = empty if found.held_by_cap else "."
    stranded = (
        (
            line(
                Span(
                    f"{found.stranded:,} never start, whatever maxActive is, unless the cap is raised: it has no room for them.", Tone.WARN
                )
            ),
        )
        if found.stranded
        else ()
    )
    return (first, line(peak, Span(cap, Tone.WARN if found.held_by_cap else Tone.PLAIN)), *stranded)


def _compared(row: WhatIfRow) -> str:
    sooner = row.sooner or 0.0
    if abs(sooner) < 1:
        return "as soon as now"
    return f"{forecast_text(abs(sooner))} {'sooner' if sooner > 0 else 'later'} than now"
