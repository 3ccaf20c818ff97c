"""What the console costs beside other terminal programs of its field, in one run on the same machine, as ratios.

    python benchmarks/console_peers.py [--repeat 3] [--seconds 8] [--peer-venv DIR] [--write]

The programs are in terminal_peers.py, the terminal in pty_driving.py. docs/benchmarks.md says what is compared and what is not the same.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import platformdirs
from console_budget import keys_down, percentile
from latency_report import Figure, figures_table, row
from measuring import BenchmarkError
from msgspec import Struct
from pty_driving import Window
from report import machine_facts, write
from terminal_peers import TerminalSubject, ours, peers

_DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
MARKS = ("<!-- console peers: written by benchmarks/console_peers.py --write -->", "<!-- end of console peers -->")
_QUIET_SECONDS, _AT_MOST = 5.5, 6.5
"""Until a program at its list wrote nothing for so long, for one takes a notice away; but no longer than that, for one shows a clock."""
_MIB = 1024 * 1024


class Sight(Struct, frozen=True):
    """One repeat of one program."""

    first_paint_ms: float
    bytes_per_second: float
    """Nobody presses a key."""
    cpu_percent: float
    """Of one core, nobody presses a key."""
    key_ms: tuple[float, ...]
    """From each press that was answered to the first byte after it."""
    presses: int
    memory_bytes: int


FIGURES: tuple[Figure[Sight], ...] = (
    Figure("first paint (ms)", lambda each: each.first_paint_ms, 0),
    Figure("bytes/s, no key", lambda each: each.bytes_per_second, 0),
    Figure("CPU, no key (%)", lambda each: each.cpu_percent, 2),
    Figure("key to first byte, p50 (ms)", lambda each: percentile(each.key_ms, 0.5) if each.key_ms else None, 1),
    Figure("key to first byte, p95 (ms)", lambda each: percentile(each.key_ms, 0.95) if each.key_ms else None, 1),
    Figure("memory, all processes (MiB)", lambda each: each.memory_bytes / _MIB, 0),
)


@dataclass
class Compared:
    """All programs of one run of the benchmark."""

    ours: Sequence[TerminalSubject]
    others: Sequence[TerminalSubject]
    sights: dict[str, list[Sight]] = field(default_factory=dict)
    """By label: of those that were measured in every repeat."""
    refused: dict[str, str] = field(default_factory=dict)
    """By label: why a peer was not measured."""

    def attempt(self, subject: TerminalSubject, refusal: str, job: Callable[[Path], Sight | None]) -> None:
        """Do it in an empty folder, and keep the sight. A peer that fails is left out from then on; ours raises BenchmarkError."""
        if subject.label in self.refused:
            return
        try:
            with tempfile.TemporaryDirectory(prefix="nodus-console-peers-", ignore_cleanup_errors=True) as folder:
                sight = job(Path(folder))
        except (BenchmarkError, OSError) as error:
            if subject in self.ours:
                raise
            print(f"  {subject.label}: {error}", file=sys.stderr)
            self.refused[subject.label] = refusal
            self.sights.pop(subject.label, None)
            return
        if sight is not None:
            self.sights.setdefault(subject.label, []).append(sight)


def first_bytes_ms(window: Window) -> tuple[float, ...]:
    """From each press to the first byte that came after it and before the next one, in milliseconds; of those presses that had any."""
    answers = []
    for pressed, until in zip(window.presses, [*window.presses[1:], window.ended], strict=True):
        at = next((chunk.at for chunk in window.chunks if pressed < chunk.at <= until), None)
        if at is not None:
            answers.append(1000 * (at - pressed))
    return tuple(answers)


def look(subject: TerminalSubject, folder: Path, seconds: float, *, quiet: float = _QUIET_SECONDS) -> Sight:
    """Start it in an empty folder and measure it once; `seconds` for each of the two windows. Raises BenchmarkError."""
    with subject.opened(folder) as opened:
        program = opened.program
        program.until_quiet(quiet, _AT_MOST)
        still = program.watch(seconds)
        pressed = program.watch(seconds, keys_down(seconds))
        return Sight(
            first_paint_ms=1000 * opened.first_paint_seconds,
            bytes_per_second=still.bytes_per_second,
            cpu_percent=still.cpu_percent,
            key_ms=first_bytes_ms(pressed),
            presses=len(pressed.presses),
            memory_bytes=program.memory(),
        )


def compare(own: Sequence[TerminalSubject], others: Sequence[TerminalSubject], *, repeat: int, seconds: float) -> Compared:
    """All in turn, so that a busy minute of the machine meets every one."""
    compared, subjects = Compared(own, others), [*own, *others]
    with tempfile.TemporaryDirectory(prefix="nodus-console-peers-") as shared:
        for subject in subjects:
            compared.attempt(subject, "it could not be installed", lambda _, each=subject: each.prepare(Path(shared)))
            if subject in own[1:]:
                continue  # The same programs as the first.
            # Not counted: it fills the file cache and compiles what was never imported.
            print(f"{subject.label}, once uncounted", flush=True)
            compared.attempt(
                subject, "it did not start, or did not come to its list", lambda folder, each=subject: _only_open(each, folder)
            )
        for turn in range(repeat):
            for subject in subjects:
                print(f"{subject.label}, {turn + 1} of {repeat}", flush=True)
                compared.attempt(subject, "it ended while it was measured", lambda folder, each=subject: look(each, folder, seconds))
    return compared


def _only_open(subject: TerminalSubject, folder: Path) -> None:
    with subject.opened(folder):
        pass


def table(compared: Compared) -> str:
    """The figures, ours over each peer's, what was looked at, and who was not measured."""
    measured = [each for each in compared.others if each.label in compared.sights]
    everyone = [*compared.ours, *measured]
    parts = [figures_table("", {each.label: compared.sights[each.label] for each in everyone}, FIGURES)]
    if measured:
        lines = [row(["ours ÷ theirs, of medians", *(figure.name for figure in FIGURES)])]
        lines += [row(["---", *("---:" for _ in FIGURES)])]
        for each in compared.ours:
            lines += [row([f"{each.label} ÷ {other.label}", *_ratios(compared, each, other)]) for other in measured]
        parts.append("\n".join(lines))
    parts.append("\n".join(_looked_at(each) for each in everyone))
    told = [f"{label} was not measured: {why}." for label, why in compared.refused.items()]
    for label, sights in compared.sights.items():
        if silent := sum(sight.presses - len(sight.key_ms) for sight in sights):
            told.append(f"{label} wrote nothing between {silent} of {sum(sight.presses for sight in sights)} presses and the next one.")
    return "\n\n".join([*parts, *told])


def _looked_at(subject: TerminalSubject) -> str:
    return f"- {subject.label}: first paint is the first frame with `{subject.waits_for}`; then {subject.shows}."


def _ratios(compared: Compared, own: TerminalSubject, other: TerminalSubject) -> list[str]:
    pairs = [[_median(compared.sights[each.label], figure) for each in (own, other)] for figure in FIGURES]
    return [f"{above / below:.3g}×" if above is not None and below else "–" for above, below in pairs]


def _median(sights: Sequence[Sight], figure: Figure[Sight]) -> float | None:
    values = [value for value in map(figure.value, sights) if value is not None]
    return median(values) if values else None


def main(given: Sequence[str]) -> int:
    """Measure, print, and write where asked. The exit status says only whether ours could be measured."""
    cache = platformdirs.user_cache_path("nodus-tui") / "benchmark-console-peers"
    parser = argparse.ArgumentParser(description="Measure what the console costs beside other terminal programs.")
    parser.add_argument("--repeat", type=int, default=3, help="looks at each program, taken in turns (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each of the two windows, 3 or more (default %(default)s)")
    parser.add_argument(
        "--peer-venv", type=Path, default=cache, metavar="DIR", help="the peers' environments, made when missing (default %(default)s)"
    )
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args(given)
    if options.repeat < 1 or options.seconds < 3:
        parser.error("--repeat is 1 or more, --seconds 3 or more")
    before = os.getloadavg()[0]
    try:
        compared = compare(ours(), peers(options.peer_venv.resolve()), repeat=options.repeat, seconds=options.seconds)
        facts = machine_facts((before, os.getloadavg()[0]))
        looks = f"Medians (least to most) of looks taken in turns: {options.repeat} of each, {options.seconds:g} s a window."
        text = f"{looks} {facts}\n\n{table(compared)}"
        print(f"\n{text}")
        if options.write:
            command = f"python benchmarks/console_peers.py --repeat {options.repeat} --seconds {options.seconds:g}"
            write(_DOCUMENT, f"`{command}`\n\n{text}", marks=MARKS)
    except BenchmarkError as error:
        print(f"console_peers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
