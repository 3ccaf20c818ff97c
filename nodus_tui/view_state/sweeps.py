"""The sweeps view: every Sweep with its phase, how many of its cells have ended, its money, its axes; and a sweep's facts in lines."""

from collections.abc import Mapping
from datetime import datetime

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.money import display_usd, nano_from_usd
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.sweep import Sweep, SweepStatus
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
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
from nodus_tui.view_state.folding import sweep_after
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.labelled_bars import BarPart, LabelledBar, bar_lines
from nodus_tui.view_state.money import money_of, shorter_money_of
from nodus_tui.view_state.pass_rates import honesty_marks
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.words import GROUP_SIGNS

_PHASE_ORDER = {phase: place for place, phase in enumerate(GroupPhase)}


def sweep_status(sweep: Sweep) -> SweepStatus:
    """The status that a backend's sweeps always have; ValueError says which one lacks it."""
    if sweep.status is None:
        raise ValueError(f"the backend gave Sweep {sweep.name} without a status")
    return sweep.status


def seconds_left(sweep: Sweep, now: datetime, begun: float | None = None) -> float | None:
    """A forecast from the pace so far, in seconds; None where there is no pace to go by or nothing that goes on by itself.

    `begun` is how many cells those that are going amount to, where that is known. Where it is not, the pace can be told only when the
    cells that started first have ended.
    """
    status = sweep_status(sweep)
    if status.phase is not GroupPhase.RUNNING or status.started_at is None:
        return None
    done = status.ended + (begun or 0.0)
    if done < (1 if begun is not None else min(sweep.spec.max_parallel, status.cells)):
        return None
    return seconds_between(status.started_at, now) / done * (status.cells - done)


def forecast_line(left: float | None) -> Line:
    """The forecast in words; nothing where there is none."""
    return () if left is None else line(Span(f"{forecast_text(left)} left", Tone.MARK))


def axes_text(sweep: Sweep) -> str:
    """`AgentGroup: 2 agents × 3 shards`."""
    matrix = sweep.spec.matrix
    counts: Mapping[str, int] = {
        "accelerators": len(matrix.accelerators),
        "agents": len(matrix.agents),
        **{name: len(values) for name, values in matrix.parameters.items()},
        "shards": matrix.shards if matrix.shards > 1 else 0,
        "repetitions": sweep.spec.repetitions if sweep.spec.repetitions > 1 else 0,
    }
    return f"{sweep.spec.template.kind}: " + (" × ".join(f"{count} {name}" for name, count in counts.items() if count) or "one cell")


def _progress_cell(sweep: Sweep, _now: datetime) -> Line:
    status = sweep_status(sweep)
    return bar(share(status.ended, status.cells), 10, Tone.GOOD if status.phase is GroupPhase.COMPLETED else Tone.INFO)


def _going_cell(sweep: Sweep, _now: datetime) -> Line:
    status = sweep_status(sweep)
    if status.phase.ended:
        return line(NOTHING)
    return line(str(status.going), muted(f"/{sweep.spec.max_parallel}"))


def _eta_cell(sweep: Sweep, now: datetime) -> Line:
    left = seconds_left(sweep, now)
    return line(NOTHING) if left is None else line(Span(forecast_text(left), Tone.MARK))


def _shorter_eta(sweep: Sweep, now: datetime) -> tuple[Line, ...]:
    left = seconds_left(sweep, now)
    return () if left is None else (line(Span(f"~{coarse_span_text(left)}", Tone.MARK)),)


def _note_cell(sweep: Sweep, _now: datetime) -> Line:
    status = sweep_status(sweep)
    return line(Span("simulated" if status.simulated else "notional" if status.notional_price else "", Tone.MARK))


SWEEP_COLUMNS: tuple[Column[Sweep], ...] = (
    Column(
        "name",
        "NAME",
        16,
        lambda sweep, _now: line(strong(sweep.name)),
        lambda sweep: sweep.name,
        grow=27,
        least=6,
        middle=True,
        measure=Measure.TEXT,
    ),
    Column(
        "phase",
        "PHASE",
        13,
        lambda sweep, _now: GROUP_SIGNS[sweep_status(sweep).phase].spans(),
        lambda sweep: _PHASE_ORDER[sweep_status(sweep).phase],
        least=9,
    ),
    Column(
        "progress",
        "PROGRESS",
        10,
        _progress_cell,
        lambda sweep: share(sweep_status(sweep).ended, sweep_status(sweep).cells),
        priority=5,
        measure=Measure.SHARE,
    ),
    Column(
        "ended",
        "CELLS",
        8,
        lambda sweep, _now: line(str(sweep_status(sweep).ended), muted(f"/{sweep_status(sweep).cells}")),
        lambda sweep: sweep_status(sweep).ended,
        right=True,
        shorter=lambda sweep, _now: (line(str(sweep_status(sweep).ended)),),
        measure=Measure.COUNT,
    ),
    Column("going", "GOING", 5, _going_cell, lambda sweep: sweep_status(sweep).going, priority=2, right=True, measure=Measure.COUNT),
    Column(
        "spent",
        "SPENT/CAP",
        13,
        lambda sweep, _now: money_of(sweep_status(sweep).cost_usd, sweep_status(sweep).cap_usd),
        lambda sweep: sweep_status(sweep).cost_usd,
        prefer=16,
        grow=6,
        right=True,
        shorter=lambda sweep, _now: shorter_money_of(sweep_status(sweep).cost_usd, sweep_status(sweep).cap_usd),
        least=9,
        measure=Measure.MONEY,
    ),
    Column(
        "eta",
        "ETA",
        6,
        _eta_cell,
        lambda sweep: sweep_status(sweep).cells - sweep_status(sweep).ended,
        priority=3,
        right=True,
        shorter=_shorter_eta,
    ),
    Column(
        "age",
        "AGE",
        6,
        lambda sweep, now: line(muted(age_text(sweep_status(sweep).created_at, now))),
        lambda sweep: sweep_status(sweep).created_at.timestamp(),
        priority=4,
        right=True,
        since=True,
    ),
    Column("note", "NOTE", 9, _note_cell, lambda sweep: sweep_status(sweep).simulated, priority=6),
    Column("axes", "AXES", 14, lambda sweep, _now: line(muted(axes_text(sweep))), axes_text, priority=1, grow=100, measure=Measure.TEXT),
)


def searchable_sweep(sweep: Sweep) -> Searchable:
    """What the filter looks at."""
    status = sweep_status(sweep)
    states = (status.phase.value, *((status.reason,) if status.reason else ()))
    marks = ("simulated",) if status.simulated else ()
    return Searchable(texts=(sweep.name, status.message, axes_text(sweep), *marks), states=states, cost=status.cost_usd)


class SweepsState:
    """All sweeps, and the cursor up to which they are true."""

    def __init__(self) -> None:
        self.rows: Rows[Sweep] = Rows(SWEEP_COLUMNS, sort="age", descending=True, searchable=searchable_sweep, asks=("state", "cost"))
        self.cursor = -1
        self.loaded = False

    def load(self, snapshot: Snapshot) -> None:
        """Take the sweeps of a snapshot instead of what was known."""
        self.rows.clear()
        for sweep in snapshot.sweeps:
            self.rows.put(sweep.name, sweep)
        self.cursor = snapshot.cursor
        self.loaded = True

    def fold(self, event: Event) -> bool:
        """Take one event; says whether anything here changed."""
        if event.kind != "Sweep" or event.cursor <= self.cursor:
            return False
        known = self.rows.find(event.name)
        sweep = sweep_after(known, event)
        if sweep is None:
            self.rows.remove(event.name)
            return known is not None
        self.rows.put(event.name, sweep)
        return True

    def filter(self, chosen: Filter | None) -> None:
        """Show the sweeps that a filter keeps, or all."""
        self.rows.filter(chosen)

    def going(self) -> tuple[Sweep, ...]:
        """Those that go on by themselves."""
        return tuple(sweep for sweep in self.rows.items() if not sweep_status(sweep).phase.at_rest)

    def moving(self) -> bool:
        """Whether figures of time here change by themselves."""
        return bool(self.going())

    def summary(self) -> Line:
        """How many sweeps are in which phase."""
        counts: dict[GroupPhase, int] = {}
        for sweep in self.rows.items():
            phase = sweep_status(sweep).phase
            counts[phase] = counts.get(phase, 0) + 1
        return joined(
            [line(Span(f"{counts[phase]} {sign.word.lower()}", sign.tone)) for phase, sign in GROUP_SIGNS.items() if phase in counts]
        )

    def words(self, key: str = "W") -> Line:
        """For other views: how many go on or stall, and the key that shows them; nothing where there are none."""
        stalled = sum(sweep_status(sweep).phase is GroupPhase.STALLED for sweep in self.rows.items())
        going = len(self.going()) - stalled
        parts = [
            line(muted(f"{going} sweep{'s' if going != 1 else ''} going")) if going else (),
            line(Span(f"{GROUP_SIGNS[GroupPhase.STALLED].glyph} {stalled} stalled", Tone.WARN)) if stalled else (),
        ]
        return line(Span(f"{key} ", Tone.KEY, "do('sweeps')"), *joined(parts, ", ")) if going or stalled else ()


def resting(sweep: Sweep) -> bool:
    """Whether it goes on only when it is resumed."""
    return sweep_status(sweep).phase is GroupPhase.INTERRUPTED or sweep_status(sweep).reason == "Paused"


def sweep_why(sweep: Sweep, key: KeyNamer = own_key) -> tuple[Line, ...]:
    """Why a sweep is as it is, and which key changes that; nothing where there is nothing to say beside its phase."""
    sign = GROUP_SIGNS[sweep_status(sweep).phase]
    sentence = ": ".join(
        part for part in (sweep_status(sweep).message, f"{key('resume')} lets it go on" if resting(sweep) and key("resume") else "") if part
    )
    return (line(Span(f"{sign.glyph} {sentence}", sign.tone)),) if sentence else ()


def sweep_bars(sweep: Sweep, width: int) -> tuple[Line, Line]:
    """The cells by how they stand, and spent | reserved | left of the cap: what going cells spent is spent, the rest of their caps
    reserved.
    """
    (cells,), (money,) = bar_lines((_cells_bar(sweep), _money_bar(sweep)), width, fold=False)
    return cells, money


def _cells_bar(sweep: Sweep) -> LabelledBar:
    status = sweep_status(sweep)
    waiting = status.cells - status.ended - status.going - status.stalled
    parts = (
        (status.ended - status.failed, Tone.GOOD, "█", "ended"),
        (status.failed, Tone.BAD, "!", "broken"),
        (status.going, Tone.INFO, "►", "going"),
        (status.stalled, Tone.WARN, "‖", "stalled"),
        (waiting, Tone.MUTED, "⋅", "waiting"),
    )
    return LabelledBar("cells", tuple(BarPart(count, tone, glyph, f"{count} {word}") for count, tone, glyph, word in parts if count > 0))


def _money_bar(sweep: Sweep) -> LabelledBar:
    status = sweep_status(sweep)
    reserved = status.spent_usd + status.reserved_usd - status.cost_usd
    left = f"{short_usd(status.left_usd)} left"
    return LabelledBar(
        "money",
        (
            BarPart(nano_from_usd(status.cost_usd), Tone.INFO, "█", f"{short_usd(status.cost_usd)} spent"),
            BarPart(nano_from_usd(reserved), Tone.WARN, "▒", f"{short_usd(reserved)} reserved"),
            BarPart(nano_from_usd(status.left_usd), Tone.TRACK, "░", f"{left} of {display_usd(status.cap_usd)}", left, said=Tone.PLAIN),
        ),
    )


def sweep_facts(sweep: Sweep, now: datetime, width: int, key: KeyNamer = own_key) -> tuple[Line, ...]:
    """One sweep in lines: its cells and its money as bars, what it is, why it is as it is."""
    status = sweep_status(sweep)
    when = f"ended {clock_text(status.ended_at, now)}" if status.ended_at is not None else f"created {clock_text(status.created_at, now)}"
    facts = joined(
        (
            honesty_marks(simulated=status.simulated, notional=status.notional_price),
            line(axes_text(sweep)),
            line(muted(f"{sweep.spec.max_parallel} at once")),
            line(muted(when)),
        )
    )
    return (*sweep_bars(sweep, width), facts, *sweep_why(sweep, key))
