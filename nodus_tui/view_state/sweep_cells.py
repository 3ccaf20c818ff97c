"""One cell of a sweep as it stands now: what the sweep says of it, with the live figures of its group or job; its columns and its facts."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from nodus_tui.contract.money import display_usd
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent_group import AgentGroup, Coverage
from nodus_tui.contract.resources.sweep import scalar_text
from nodus_tui.contract.resources.training_job import TaskScore, TrainingJob
from nodus_tui.contract.sweep_results import PooledCells, SweepAxis, SweepCell
from nodus_tui.statistics.format import Rated, pass_rate_text
from nodus_tui.statistics.scores import COVERAGE, PASS_RATE, figure, of_environment
from nodus_tui.text import width_of
from nodus_tui.view_state.any_job import AnyJob, job_status, score_lines
from nodus_tui.view_state.campaigns import ended_cases, status_of
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.figures import NOTHING, clock_text, column_span_text, seconds_between, short_usd
from nodus_tui.view_state.filtering import Searchable
from nodus_tui.view_state.jobs import cost_now
from nodus_tui.view_state.money import money_of, shorter_money_of
from nodus_tui.view_state.pass_rates import honesty_marks, pass_rate_cell, shorter_pass_rate_cells
from nodus_tui.view_state.telling_apart import told_apart
from nodus_tui.view_state.words import GROUP_SIGNS, Sign

MARK = Span("*", Tone.KEY)
"""A cell that is marked to be compared."""
_PHASE_ORDER = {phase: place for place, phase in enumerate(GroupPhase)}
_LEAST_AXIS, _MOST_AXIS = 4, 24
"""Cells of the screen that a column of an axis has."""


class _Scored(Struct, frozen=True):
    """The pass rate of a TrainingJob that scored an Environment."""

    pass_rate: float | None
    standard_error: float | None
    ci95: tuple[float, float] | None
    coverage: Coverage

    @classmethod
    def of(cls, scores: Sequence[TaskScore]) -> "_Scored":
        by_metric = {score.metric: score for score in scores}
        rate, total = by_metric.get(PASS_RATE), by_metric[COVERAGE].samples
        if rate is None:
            return cls(None, None, None, Coverage(scored=0, total=total))
        return cls(rate.value, rate.standard_error, rate.ci95, Coverage(scored=rate.samples, total=total))


class CellNow(Struct, frozen=True):
    """A cell with what is known of its group or job at the moment."""

    cell: SweepCell
    place: int
    """In the order in which cells start."""
    group: AgentGroup | None = None
    job: AnyJob | None = None
    marked: bool = False

    @property
    def name(self) -> str:
        """Also that of its group or job."""
        return self.cell.name

    @property
    def sign(self) -> Sign:
        """How it stands."""
        return GROUP_SIGNS[self.cell.phase]

    @property
    def rated(self) -> Rated | None:
        """Where its pass rate stands; None where it has none."""
        if self.group is not None and self.group.spec.evaluation is not None:
            return status_of(self.group)
        return _Scored.of(self.scores) if of_environment(self.scores) else self.cell.rate

    @property
    def scores(self) -> tuple[TaskScore, ...]:
        """Of a TrainingJob."""
        live = self.job.status.scores if isinstance(self.job, TrainingJob) and self.job.status is not None else ()
        return live or self.cell.scores

    @property
    def exit_code(self) -> int | None:
        """Of a job that has ended."""
        return job_status(self.job).exit_code if self.job is not None else self.cell.exit_code

    @property
    def begun(self) -> float | None:
        """How much of it is done, from 0 to 1, where it says so."""
        if self.group is not None:
            status = status_of(self.group)
            return ended_cases(status) / max(1, status.coverage.total)
        return job_status(self.job).progress if self.job is not None else None

    def cost(self, now: datetime) -> Decimal:
        """Model spend of a group, cost of a job, those that are going included."""
        if self.group is not None:
            return status_of(self.group).money.model_usd
        return cost_now(self.job, now) if self.job is not None else self.cell.cost_usd

    def needed_cap(self) -> Decimal | None:
        """The least cap that lets a stalled group go on, where it says one."""
        return status_of(self.group).needed_cap_usd if self.group is not None else None


def outcome_forms(item: CellNow, now: datetime, *, timed: bool = True) -> tuple[Line, ...]:
    """What came of it, longest first: a pass rate, scores, or how a job ended; `timed` with how long that took."""
    cell = item.cell
    if not cell.launched:
        return (line(muted(cell.message or "waits")),)
    if item.rated is not None:
        return (pass_rate_cell(item.rated), *shorter_pass_rate_cells(item.rated))
    if item.scores:
        return _score_forms(item.scores)
    if item.group is not None:
        status = status_of(item.group)
        return (line(str(ended_cases(status)), muted(f"/{status.coverage.total} answered")),)
    code = "" if item.exit_code is None else f"exit {item.exit_code}"
    done = "" if item.begun is None or cell.phase.ended else f"{item.begun:.0%} done"
    return (line(muted(" · ".join(part for part in (code, done, took_text(item, now) if timed else "") if part))),)


def _score_forms(scores: Sequence[TaskScore]) -> tuple[Line, ...]:
    """The first of a benchmark's figures, and how many more there are."""
    first, *more = scores
    value, also = strong(figure(first.value)), muted(f" +{len(more)}" if more else "")
    return (line(f"{first.task} ", value, muted(f" {first.metric}"), also), line(value, muted(f" {first.metric}"), also), line(value, also))


def took_text(item: CellNow, now: datetime) -> str:
    """How long it took, or has been going; empty before."""
    cell = item.cell
    if cell.started_at is None:
        return ""
    if cell.ended_at is None:
        return column_span_text(seconds_between(cell.started_at, now), going=True)
    return column_span_text(seconds_between(cell.started_at, cell.ended_at))


def why_text(cell: SweepCell) -> str:
    """Why it is as it is, or what it waits for."""
    return cell.message or cell.reason or ""


def short_name(cell: SweepCell) -> str:
    """Its name without that of the sweep."""
    return cell.name.rpartition("-")[2]


def axes_words(cell: SweepCell) -> str:
    """`agent plain · shard 2`."""
    return " · ".join(f"{name} {scalar_text(value)}" for name, value in cell.axes.items())


def _axis_column(axis: SweepAxis) -> Column[CellNow]:
    places = {scalar_text(value): place for place, value in enumerate(axis.values)}
    width = min(_MOST_AXIS, max(width_of(text) for text in (axis.name, *places)))

    def text(item: CellNow) -> str:
        return scalar_text(item.cell.axes[axis.name])

    def shorter(item: CellNow, _now: datetime) -> tuple[Line, ...]:
        return tuple(line(told_apart(tuple(places), cells)[text(item)]) for cells in range(width, _LEAST_AXIS - 1, -1))

    return Column(
        f"axis.{axis.name}",
        axis.name.upper(),
        width,
        lambda item, _now: line(text(item)),
        lambda item: places[text(item)],
        shorter=shorter,
        least=_LEAST_AXIS,
    )


def _took_cell(item: CellNow, now: datetime) -> Line:
    return line(took_text(item, now) or NOTHING)


def _took_seconds(item: CellNow) -> float | None:
    cell = item.cell
    return None if cell.started_at is None or cell.ended_at is None else seconds_between(cell.started_at, cell.ended_at)


def _rate(item: CellNow) -> float | None:
    if item.rated is not None:
        return item.rated.pass_rate
    return item.scores[0].value if item.scores else item.exit_code


def cell_columns(axes: Sequence[SweepAxis], kind: str) -> tuple[Column[CellNow], ...]:
    """The columns of a sweep with these axes over a kind."""
    came = {"AgentGroup": "PASS ±95% SCORED", "TrainingJob": "SCORE"}.get(kind, "OUTCOME")
    return (
        Column("mark", "", 1, lambda item, _now: line(MARK if item.marked else ""), lambda item: not item.marked, about="mark"),
        Column("cell", "CELL", 5, lambda item, _now: line(strong(short_name(item.cell))), lambda item: item.place),
        *map(_axis_column, axes),
        Column("phase", "PHASE", 13, lambda item, _now: item.sign.spans(), lambda item: _PHASE_ORDER[item.cell.phase], least=9),
        Column(
            "outcome",
            came,
            16,
            lambda item, now: outcome_forms(item, now, timed=False)[0] if item.cell.launched else line(NOTHING),
            _rate,
            grow=8,
            figures=kind == "AgentGroup",
            shorter=lambda item, now: outcome_forms(item, now)[1:],
            least=12,
        ),
        Column(
            "spent",
            "SPENT/CAP",
            13,
            lambda item, now: money_of(item.cost(now), item.cell.cap_usd),
            lambda item: item.cell.cost_usd if item.group is None else status_of(item.group).money.model_usd,
            right=True,
            shorter=lambda item, now: shorter_money_of(item.cost(now), item.cell.cap_usd),
            least=8,
            measure=Measure.MONEY,
        ),
        Column("took", "TIME", 6, _took_cell, _took_seconds, priority=2, right=True, measure=Measure.SECONDS),
        Column(
            "why",
            "WHY",
            10,
            lambda item, _now: line(muted(why_text(item.cell))),
            lambda item: why_text(item.cell),
            priority=1,
            grow=120,
            measure=Measure.TEXT,
        ),
    )


def searchable_cell(item: CellNow) -> Searchable:
    """What the filter looks at."""
    cell = item.cell
    cost = cell.cost_usd if item.group is None else status_of(item.group).money.model_usd
    states = (cell.phase.value, *((cell.reason,) if cell.reason else ()))
    return Searchable(texts=(cell.name, axes_words(cell), cell.message), states=states, cost=cost)


def cell_facts(item: CellNow, pool: PooledCells | None, now: datetime) -> tuple[Line, ...]:
    """One cell in lines: which it is, what came of it and at what cost, what it comes to with its other shards and repetitions; last why it
    is as it is.
    """
    cell = item.cell
    marks = honesty_marks(simulated=cell.simulated, notional=cell.notional_price)
    lines = [joined((item.sign.spans(), marks, line(strong(cell.name)), line(axes_words(cell)))), _figures(item, now)]
    if pool is not None:
        shared = "".join(f"{name} {scalar_text(value)}, " for name, value in pool.axes.items())
        lines.append(
            line(
                muted(f"together ({shared}{len(pool.cells)} cells): "),
                _rate_words(pool.rate, ended=cell.phase.ended),
                muted(f", {short_usd(pool.cost_usd)}"),
            )
        )
    why = why_text(cell)
    return (*lines, line(Span(f"{item.sign.glyph} {why}", item.sign.tone))) if why else tuple(lines)


def _figures(item: CellNow, now: datetime) -> Line:
    cell, took = item.cell, took_text(item, now)
    came = (
        line(strong(_rate_words(item.rated, ended=cell.phase.ended)))
        if item.rated is not None
        else outcome_forms(item, now, timed=False)[0]
    )
    scores = score_lines(item.job) if item.job is not None else ()
    return joined(
        (
            *(scores or ((came,) if cell.launched else ())),
            line(f"{short_usd(item.cost(now))} of {display_usd(cell.cap_usd)}"),
            line(muted(f"+ {short_usd(cell.sandbox_usd)} sandboxes")) if cell.sandbox_usd else (),
            line(muted(f"{'took' if cell.ended_at else 'goes for'} {took}")) if took else (),
            line(muted(f"started {clock_text(cell.started_at, now)}")) if cell.started_at is not None else (),
        )
    )


def _rate_words(rate: Rated, *, ended: bool) -> str:
    return pass_rate_text(
        pass_rate=rate.pass_rate,
        standard_error=rate.standard_error,
        ci95=rate.ci95,
        scored=rate.coverage.scored,
        total=rate.coverage.total,
        ended=ended,
    )
