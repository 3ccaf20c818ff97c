"""From trials to the table: least, median and most over the repeats, ratios of medians, and its place in the document."""

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from measuring import BenchmarkError, Measured
from msgspec import Struct

MARK_BEGIN = "<!-- throughput: written by benchmarks/throughput.py --write -->"
MARK_END = "<!-- end of throughput -->"
_MIB = 1024 * 1024


class Trial(Struct, frozen=True):
    """One repeat of one subject."""

    start_up: Measured
    """The same command with a single run."""
    full: Measured
    runs: int

    @property
    def runs_per_second(self) -> float:
        """Net of start-up: the runs after the first, over the time that they added. Raises BenchmarkError when that is not measurable."""
        added = self.full.wall_seconds - self.start_up.wall_seconds
        if added <= 0:
            raise BenchmarkError(f"{self.runs} runs took no longer than one: too few to measure; ask for more with --runs")
        return (self.runs - 1) / added

    @property
    def cpu_ms_per_run(self) -> float:
        """Processor milliseconds of each further run, on all cores and in all processes."""
        return 1000 * (self.full.cpu_seconds - self.start_up.cpu_seconds) / (self.runs - 1)


@dataclass
class Series:
    """All repeats of one subject."""

    label: str
    trials: list[Trial] = field(default_factory=list)

    def of(self, figure: "Figure") -> list[float]:
        """One figure of each repeat."""
        return [figure.value(trial) for trial in self.trials]


class Figure(Struct, frozen=True):
    """A column of the table."""

    name: str
    value: Callable[[Trial], float]
    digits: int


RATE = Figure("runs/s, net", lambda trial: trial.runs_per_second, 0)
PROCESSOR = Figure("processor time a run (ms)", lambda trial: trial.cpu_ms_per_run, 2)
MEMORY = Figure("memory, largest process (MiB)", lambda trial: trial.full.rss_bytes / _MIB, 0)
TREE_MEMORY = Figure("memory, all processes (MiB)", lambda trial: trial.full.tree_rss_bytes / _MIB, 0)
FIGURES = (
    Figure("start-up, one run (s)", lambda trial: trial.start_up.wall_seconds, 2),
    Figure("whole process (s)", lambda trial: trial.full.wall_seconds, 2),
    RATE,
    PROCESSOR,
    MEMORY,
    TREE_MEMORY,
)


def table(series: Sequence[Series], peer: Series | None) -> str:
    """The results in Markdown: one row a subject, each cell `median (least to most)`; below, ours over the peer's."""
    heads = ["", *(figure.name for figure in FIGURES)]
    lines = [_row(heads), _row(["---", *("---:" for _ in FIGURES)])]
    everyone = [*series, peer] if peer is not None else list(series)
    lines += [_row([each.label, *(_cell(each, figure) for figure in FIGURES)]) for each in everyone]
    if peer is None:
        return "\n".join([*lines, "", "The peer was not measured in this run."])
    compared = (RATE, PROCESSOR, MEMORY, TREE_MEMORY)
    lines += ["", _row(["ours ÷ the peer's, of medians", *(figure.name for figure in compared)])]
    lines += [_row(["---", *("---:" for _ in compared)])]
    lines += [_row([each.label, *(_ratio(each, peer, figure) for figure in compared)]) for each in series]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(series: Series, figure: Figure) -> str:
    values = series.of(figure)
    low, middle, high = (f"{value:,.{figure.digits}f}" for value in (min(values), median(values), max(values)))
    return f"**{middle}** ({low} to {high})"


def _ratio(series: Series, peer: Series, figure: Figure) -> str:
    return f"{median(series.of(figure)) / median(peer.of(figure)):.3g}×"


def machine_facts(load: tuple[float, float]) -> str:
    """What of the machine matters to the figures; nothing that says whose it is."""
    return (
        f"{os.cpu_count()} cores, {platform.system()} on {platform.machine()}, Python {platform.python_version()}; "
        f"load average of the last minute {load[0]:.1f} before and {load[1]:.1f} after."
    )


def write(document: Path, text: str, *, marks: tuple[str, str] = (MARK_BEGIN, MARK_END)) -> None:
    """Put the text between the marks of the document. Raises BenchmarkError when it has none."""
    old = document.read_text("utf-8")
    before, begin, rest = old.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise BenchmarkError(f"{document} has no place for the figures: put the lines {marks[0]} and {marks[1]} into it")
    document.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", "utf-8")
