"""What the console costs whoever keeps it open, and what the verbs cost whoever types them: each figure beside its budget.

    python benchmarks/console_budget.py [--only idle,rows,…] [--repeat 3] [--seconds 8] [--write]

Everything runs on terminals of its own (pty_driving.py); what it shows is scripted (console_subjects.py), but for the verbs and the first
paint, which are those of the installed command on a real workspace. docs/benchmarks.md says what each figure is.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from measuring import BenchmarkError
from pty_driving import NO_LINK, SIZE, Link, TerminalProgram, Window
from report import machine_facts, write
from seen import Screen, latencies_ms

_ROOT = Path(__file__).parents[1]
_DOCUMENT = _ROOT / "docs" / "benchmarks.md"
_SUBJECTS = Path(__file__).parent / "console_subjects.py"
_SPEC = _ROOT / "examples" / "hello-simulated.yaml"
_GROUP = "hello-simulated"
MARKS = ("<!-- console budget: written by benchmarks/console_budget.py --write -->", "<!-- end of console budget -->")
_DOWN, _ENTER = b"\x1b[B", b"\r"
_QUIET_SECONDS = 2.5
"""A place is at rest when nothing was written for so long."""
_KEYS_A_SECOND = 5.0
THIN = Link(bytes_per_second=256_000 / 8, round_trip=0.150)
_SEED = 5
_MIB = 1024 * 1024


@dataclass
class Figure:
    """One thing that was measured several times."""

    name: str
    unit: str
    budget: float | None = None
    """At most; None where there is none."""
    digits: int = 0
    values: list[float] = field(default_factory=list)

    def row(self) -> str:
        low, middle, high = (f"{value:,.{self.digits}f}" for value in (min(self.values), median(self.values), max(self.values)))
        if self.budget is None:
            budget, holds = "–", ""
        else:
            budget = f"{self.budget:,g}"
            # Other programs only ever add to a figure: the least is the nearest to what the console itself takes.
            holds = "yes" if median(self.values) <= self.budget else "at best" if min(self.values) <= self.budget else "**no**"
        return f"| {self.name} | {self.unit} | {budget} | **{middle}** ({low} to {high}) | {holds} |"


class Figures:
    """All figures by name, in the order in which they were first measured."""

    def __init__(self) -> None:
        self.known: dict[str, Figure] = {}

    def add(self, name: str, unit: str, value: float, *, budget: float | None = None, digits: int = 0) -> None:
        self.known.setdefault(name, Figure(name, unit, budget, digits)).values.append(value)
        print(f"  {name}: {value:,.{digits}f} {unit}", flush=True)

    def table(self) -> str:
        heads = ["| what | unit | budget, at most | measured: median (least to most) | holds |", "|---|---|---:|---:|---|"]
        return "\n".join([*heads, *(figure.row() for figure in self.known.values())])

    def ratio(self, ours: str, stock: str) -> str:
        return f"{median(self.known[ours].values) / median(self.known[stock].values):.3g}×"


def _environ(home: Path) -> dict[str, str]:
    # Compiled modules are kept, as an installation keeps them.
    dropped = {"NO_COLOR", "TEXTUAL", "LC_ALL", "PYTHONDONTWRITEBYTECODE"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "NODUS_HOME": str(home), "LANG": "C.UTF-8"}


def _subject(*what: object) -> list[str]:
    return [sys.executable, str(_SUBJECTS), *(str(each) for each in what)]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of them, from 0 to 1, lies below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def keys_down(seconds: float) -> list[tuple[float, bytes]]:
    """Presses of the key down, not in step with any timer of the program."""
    chance, at, keys = random.Random(_SEED), 0.5, []
    while at < seconds - 1.5:
        keys.append((at, _DOWN))
        at += (0.6 + 0.8 * chance.random()) / _KEYS_A_SECOND
    return keys


def measure_idle(figures: Figures, options: argparse.Namespace, home: Path) -> None:
    """Every registered view on recorded values of which none changes."""
    for view, stop in _stops():
        ready = home / "ready"
        ready.unlink(missing_ok=True)
        with TerminalProgram(_subject("stop", stop, ready), environ=_environ(home)) as program:
            limit = time.perf_counter() + 60
            while not ready.exists():
                if time.perf_counter() > limit:
                    raise BenchmarkError(f"the view {view} was not reached; the last that was written: {program.last()!r}")
                program.watch(0.1)
            program.until_quiet(_QUIET_SECONDS)
            window = program.watch(options.seconds)
        figures.add(f"idle, {view}: bytes", "B/s", window.bytes_per_second, budget=0)
        figures.add(f"idle, {view}: processor", "%", window.cpu_percent, budget=1, digits=2)


def _stops() -> Iterator[tuple[str, str]]:
    """Each registered view with the first stop that shows it."""
    sys.path += [str(_ROOT / "tests" / "app"), str(_ROOT / "tests" / "view_state")]
    from console_stops import STOPS  # noqa: PLC0415 - the tests' worlds, wanted for this measurement only

    from nodus_tui.view_state.views import VIEWS  # noqa: PLC0415

    by_view = {}
    for name, stop in STOPS.items():
        by_view.setdefault(stop.view, name)
    for entry in VIEWS:
        if entry.view not in by_view:
            print(f"  no stop of tests/app/console_stops.py shows the view {entry.view.value}: it is not measured", file=sys.stderr)
            continue
        yield entry.view.value, by_view[entry.view]


@contextmanager
def _opened(kind: str, rows: int, changes: int, batches: int, home: Path, link: Link = NO_LINK) -> Iterator[tuple[TerminalProgram, float]]:
    """A table of so many rows on the screen, and the seconds that opening it took; how many changes it took stands in `report` then."""
    with TerminalProgram(_subject(kind, rows, changes, batches, home / "report"), environ=_environ(home), link=link) as program:
        wanted = f"1 of {rows}".encode()
        if kind == "rows":
            program.until(b"fleet")
            program.watch(1.0)
            began = time.perf_counter()
            program.press(_ENTER)
            opening = program.seen(wanted) - began
        else:
            opening = program.until(wanted)
        program.watch(2.0)
        yield program, opening


def _pressed(program: TerminalProgram, rows: int, seconds: float) -> tuple[list[float], list[float], Window]:
    """From keys to the selected row, and to its place, in milliseconds."""
    screen = Screen(*SIZE)
    screen.feed(program.written)
    window = program.watch(seconds, keys_down(seconds))
    return *latencies_ms(window, screen, rows, 2), window


def _rows_of(figures: Figures, kind: str, label: str, options: argparse.Namespace, home: Path) -> None:
    ours = kind == "rows"
    with _opened(kind, 200, 40, 2, home) as (program, _):
        window = program.watch(options.seconds)
    figures.add(f"{label}200 rows at 2 Hz: bytes", "B/s", window.bytes_per_second, budget=4000 if ours else None)
    figures.add(f"{label}200 rows at 2 Hz: processor", "%", window.cpu_percent, budget=2 if ours else None, digits=2)
    with _opened(kind, 200, 0, 1, home) as (program, _):
        cursor, place, window = _pressed(program, 200, options.seconds + 4)
    for what, latencies in (("row", cursor), ("place", place)):
        figures.add(f"{label}key to {what}, nothing else changes: p50", "ms", percentile(latencies, 0.5), digits=1)
        budget = 15 if ours else None
        figures.add(f"{label}key to {what}, nothing else changes: p95", "ms", percentile(latencies, 0.95), budget=budget, digits=1)
    figures.add(f"{label}key, nothing else changes: processor", "ms a key", 1000 * window.cpu_seconds / len(cursor), digits=1)
    written = sum(len(chunk.data) for chunk in window.chunks) / len(cursor)
    figures.add(f"{label}key, nothing else changes: bytes", "a key", written)
    with _opened(kind, 200, 40, 2, home, THIN) as (program, _):
        _, place, _ = _pressed(program, 200, options.seconds + 4)
    figures.add(f"{label}256 kbit/s, 150 ms, 200 rows at 2 Hz: key p95", "ms", percentile(place, 0.95), budget=300 if ours else None)


def measure_rows(figures: Figures, options: argparse.Namespace, home: Path) -> None:
    """Two hundred rows of which a tenth changes twice a second."""
    _rows_of(figures, "rows", "", options, home)


def measure_stock(figures: Figures, options: argparse.Namespace, home: Path) -> None:
    """The same in Textual's own table."""
    _rows_of(figures, "stock", "DataTable, ", options, home)


def measure_many(figures: Figures, options: argparse.Namespace, home: Path) -> None:
    """Ten thousand runs in one view, five thousand changes a second."""
    with _opened("rows", 10_000, 5_000, 50, home) as (program, opening):
        _, place, window = _pressed(program, 10_000, options.seconds + 4)
        memory = program.memory()
    taken = json.loads((home / "report").read_text(encoding="utf-8"))["changes_per_second"]
    figures.add("10,000 runs: opening the view", "ms", 1000 * opening, budget=300)
    figures.add("10,000 runs, 5,000 changes/s: key p95", "ms", percentile(place, 0.95), budget=50, digits=1)
    figures.add("10,000 runs, 5,000 changes/s: resident memory", "MiB", memory / _MIB, budget=150)
    figures.add("10,000 runs, 5,000 changes/s: processor", "%", window.cpu_percent)
    figures.add("10,000 runs: changes taken", "1/s", taken)


def measure_verbs(figures: Figures, _options: argparse.Namespace, home: Path) -> None:
    """The installed command on a workspace whose scheduler runs, and on the same one without it: its first output, and the first paint."""
    environ = _environ(home)
    command = str(Path(sys.executable).with_name("nodus-tui"))
    subprocess.run([command, "run", "-f", str(_SPEC)], env=environ, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    looks = ("get groups", "get runs", f"describe group/{_GROUP}", f"results {_GROUP}", f"estimate -f {_SPEC}", "sandboxes list", "gpus")
    try:
        _first_paint(figures, [command], environ)
        for verb in ("--version", "--help", f"validate -f {_SPEC}", "schema AgentGroup", "keys", *looks, "scheduler status"):
            _verb(figures, command, verb, environ)
        for verb in ("get", "run", "web"):
            _verb(figures, command, f"{verb} --help", environ)
    finally:
        subprocess.run([command, "scheduler", "stop"], env=environ, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for verb in looks:
        _verb(figures, command, verb, environ, where=", no scheduler")


def _verb(figures: Figures, command: str, verb: str, environ: dict[str, str], *, where: str = "") -> None:
    wall, cpu = _first_output([command, *verb.split()], environ)
    shown = verb.replace(str(_SPEC), "FILE").replace(_GROUP, "NAME")
    figures.add(f"`{shown}`{where}: first output", "ms", 1000 * wall, budget=200)
    figures.add(f"`{shown}`{where}: processor", "ms", 1000 * cpu)


def _first_paint(figures: Figures, command: Sequence[str], environ: dict[str, str]) -> None:
    with TerminalProgram(command, environ=environ) as program:
        figures.add("first paint of the console", "ms", 1000 * program.until(b"campaigns"), budget=450)
        figures.add("first data of the console", "ms", 1000 * program.until(_GROUP.encode()))


def _first_output(command: Sequence[str], environ: dict[str, str]) -> tuple[float, float]:
    """Seconds to its first byte, and of processor time until its end."""
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if process.stdout is None:
        raise BenchmarkError("a pipe was asked for and none was given")
    first = process.stdout.read(1)
    wall = time.perf_counter() - began
    rest = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or not first:
        raise BenchmarkError(f"{' '.join(command)} left with {process.returncode} and said: {(first + rest)[-500:]!r}")
    return wall, usage.ru_utime + usage.ru_stime


PARTS: dict[str, Callable[[Figures, argparse.Namespace, Path], None]] = {
    "idle": measure_idle,
    "rows": measure_rows,
    "stock": measure_stock,
    "many": measure_many,
    "verbs": measure_verbs,
}
_COMPARED = (
    "200 rows at 2 Hz: bytes",
    "200 rows at 2 Hz: processor",
    "key to row, nothing else changes: p95",
    "key to place, nothing else changes: p95",
    "key, nothing else changes: processor",
)
_LINKED = "256 kbit/s, 150 ms, 200 rows at 2 Hz: key p95"


def _text(figures: Figures, options: argparse.Namespace, load: tuple[float, float]) -> str:
    lines = [f"Repeats: {options.repeat}, of {options.seconds:g} s. {machine_facts(load)}", "", figures.table()]
    if {"rows", "stock"} <= options.only:
        lines += ["", "| ours ÷ Textual's DataTable, of medians | |", "|---|---:|"]
        lines += [f"| {name} | {figures.ratio(name, f'DataTable, {name}')} |" for name in (*_COMPARED, _LINKED)]
    return "\n".join(lines)


def _parts(text: str) -> frozenset[str]:
    named = frozenset(text.split(","))
    if unknown := named - PARTS.keys():
        raise argparse.ArgumentTypeError(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    return named


def main(given: Sequence[str]) -> int:
    """Measure, print, and write where asked. The exit status says only whether it could be measured."""
    parser = argparse.ArgumentParser(description="Measure what the console and the verbs cost, beside their budgets.")
    parser.add_argument("--only", type=_parts, default=frozenset(PARTS), help=f"parts, with commas between: {','.join(PARTS)}")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each window")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args(given)
    figures, before = Figures(), os.getloadavg()[0]
    try:
        for turn in range(options.repeat):
            for name in (each for each in PARTS if each in options.only):
                print(f"{name}, {turn + 1} of {options.repeat}", flush=True)
                with tempfile.TemporaryDirectory(prefix="nodus-console-budget-") as folder:
                    PARTS[name](figures, options, Path(folder))
        text = _text(figures, options, (before, os.getloadavg()[0]))
        print(f"\n{text}")
        if options.write:
            asked = [each for each in given if each != "--write"]
            write(_DOCUMENT, f"`{' '.join(['python benchmarks/console_budget.py', *asked])}`\n\n{text}", marks=MARKS)
    except BenchmarkError as error:
        print(f"console_budget: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
