"""The tables of event_latency.py: medians of the trials with the least and the most, in Markdown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Generic, TypeVar

from arrivals import Percentiles
from msgspec import Struct

MARKS = ("<!-- event latency: written by benchmarks/event_latency.py --write -->", "<!-- end of event latency -->")
_MIB = 1024 * 1024


class Window(Struct, frozen=True):
    """One stretch of time during which one reader, or nobody, watched all runs."""

    latency: Percentiles | None
    """In milliseconds; None where nobody watched."""
    events_per_second: float
    events_per_batch: float | None
    lag: Percentiles
    """How late the scheduler's event loop was, in milliseconds."""
    machine_lag: Percentiles
    """How late a process was that had nothing to do, in milliseconds."""
    processor_share: float
    """Processor time of the scheduler's process over the time of the window."""


class Memory(Struct, frozen=True):
    """Resident bytes of one trial."""

    idle: int
    """The scheduler before its first run."""
    active: int
    """With all runs active, before anybody watched."""
    after: int
    """With all runs active, after the last window."""
    graders: int
    """All grader processes together, pages that they share counted for each."""


class SnapshotTaken(Struct, frozen=True):
    """One snapshot of all runs."""

    ms: float
    pause_ms: float
    """The longest that the scheduler's event loop was held up meanwhile."""


T = TypeVar("T")


class Figure(Struct, Generic[T], frozen=True):
    """A column of a table."""

    name: str
    value: Callable[[T], float | None]
    digits: int


_WINDOW_FIGURES: tuple[Figure[Window], ...] = (
    Figure("p50 (ms)", lambda each: each.latency.p50 if each.latency else None, 1),
    Figure("p95 (ms)", lambda each: each.latency.p95 if each.latency else None, 1),
    Figure("p99 (ms)", lambda each: each.latency.p99 if each.latency else None, 1),
    Figure("events a batch", lambda each: each.events_per_batch, 1),
    Figure("events/s", lambda each: each.events_per_second, 0),
    Figure("loop lag p99 (ms)", lambda each: each.lag.p99, 1),
    Figure("loop lag, most (ms)", lambda each: each.lag.most, 0),
    Figure("idle process's lag p99 (ms)", lambda each: each.machine_lag.p99, 1),
    Figure("scheduler's processor share (%)", lambda each: 100 * each.processor_share, 0),
)
_MEMORY_FIGURES: tuple[Figure[Memory], ...] = (
    Figure("scheduler, idle (MiB)", lambda each: each.idle / _MIB, 0),
    Figure("with the runs active (MiB)", lambda each: each.active / _MIB, 0),
    Figure("after all windows (MiB)", lambda each: each.after / _MIB, 0),
    Figure("its graders together (MiB)", lambda each: each.graders / _MIB, 0),
)
_SNAPSHOT_FIGURES: tuple[Figure[SnapshotTaken], ...] = (
    Figure("time (ms)", lambda each: each.ms, 0),
    Figure("longest pause of the scheduler's loop (ms)", lambda each: each.pause_ms, 0),
)


@dataclass
class Measurements:
    """Everything of one run of the benchmark."""

    runs: int
    windows: dict[str, list[Window]] = field(default_factory=dict)
    """By who watched."""
    standstills: int = 0
    """Windows that were measured again because the machine stood still in them."""
    memory: list[Memory] = field(default_factory=list)
    finished_runs: int = 0
    snapshots: dict[str, list[SnapshotTaken]] = field(default_factory=dict)
    """By the way on which it was asked for."""
    snapshot_bytes: int = 0


def tables(measured: Measurements) -> str:
    """All tables."""
    size = f"{measured.snapshot_bytes:,} bytes of JSON over the sockets, uncompressed ({measured.snapshot_bytes / _MIB:.1f} MiB)"
    parts = [
        f"Latency of events with {measured.runs:,} active runs:",
        figures_table("watched", measured.windows, _WINDOW_FIGURES),
        f"Memory with {measured.runs:,} active runs:",
        figures_table("", {"resident memory": measured.memory}, _MEMORY_FIGURES),
        f"A snapshot of {measured.finished_runs:,} runs, {size}:",
        figures_table("asked for", measured.snapshots, _SNAPSHOT_FIGURES),
    ]
    return "\n\n".join(parts)


def figures_table(head: str, rows: dict[str, list[T]], figures: Sequence[Figure[T]]) -> str:
    """One row for each label, one column for each figure; each cell `median (least to most)`."""
    lines = [row([head, *(figure.name for figure in figures)]), row(["---", *("---:" for _ in figures)])]
    lines += [row([label, *(_cell(trials, figure) for figure in figures)]) for label, trials in rows.items()]
    return "\n".join(lines)


def row(cells: Sequence[str]) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def _cell(trials: Sequence[T], figure: Figure[T]) -> str:
    values = [value for value in (figure.value(each) for each in trials) if value is not None]
    if not values:
        return "–"
    low, middle, high = (f"{value:,.{figure.digits}f}" for value in (min(values), median(values), max(values)))
    return f"**{middle}** ({low} to {high})"
