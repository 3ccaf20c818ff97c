"""Throughput and memory of single-turn runs with no model latency, beside a peer, in one run on one machine.

    python benchmarks/throughput.py [--runs 1000] [--repeat 3] [--peer] [--write]

docs/benchmarks.md says what is compared, how to prepare the peer, and what came out.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import platformdirs
from measuring import BenchmarkError, Measured
from peer_setup import prepare_peer
from report import Series, Trial, machine_facts, table, write
from subjects import Ours, Subject

_DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    cache = platformdirs.user_cache_path("nodus-tui") / "benchmark-peer"
    parser = argparse.ArgumentParser(description="Measure single-turn runs without model latency through the whole scheduler.")
    parser.add_argument("--runs", type=int, default=1000, help="runs of each trial, 2 or more; in groups of 100 (default 1000)")
    parser.add_argument("--repeat", type=int, default=3, help="trials of each subject, taken in turns (default 3)")
    parser.add_argument("--peer", action="store_true", help="measure inspect-ai with its mock model, too")
    parser.add_argument(
        "--peer-venv", type=Path, default=cache, metavar="DIR", help="the peer's environment, made when missing (default %(default)s)"
    )
    parser.add_argument("--peer-token-table", type=Path, metavar="FILE", help="o200k_base.tiktoken, where npm cannot get it")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args(given)
    if options.runs < 2 or options.repeat < 1:
        parser.error("--runs is 2 or more, --repeat 1 or more")
    return options


def _once(subject: Subject, runs: int) -> Measured:
    with tempfile.TemporaryDirectory(prefix="nodus-benchmark-") as folder:
        return subject.run(runs, Path(folder))


def _measure(subjects: Sequence[Subject], *, runs: int, repeat: int) -> list[Series]:
    """Every subject in turn, `repeat` times, so that a busy minute of the machine meets all of them."""
    series = [Series(subject.label) for subject in subjects]
    for subject in subjects:
        _once(subject, 1)  # Not counted: it fills the file cache and compiles what was never imported.
    for place in range(repeat):
        for subject, each in zip(subjects, series, strict=True):
            trial = Trial(start_up=_once(subject, 1), full=_once(subject, runs), runs=runs)
            each.trials.append(trial)
            print(f"{place + 1}/{repeat} {subject.label}: {trial.runs_per_second:,.0f} runs/s", file=sys.stderr)
    return series


def main(given: Sequence[str]) -> int:
    """Measure, print the table, and write it where asked. The exit status says only whether it could be measured."""
    options = _arguments(given)
    try:
        subjects: list[Subject] = [Ours(max_active=10), Ours(max_active=100)]
        if options.peer:
            subjects.append(prepare_peer(options.peer_venv.resolve(), options.peer_token_table))
        before = os.getloadavg()[0]
        series = _measure(subjects, runs=options.runs, repeat=options.repeat)
        peer = series.pop() if options.peer else None
        facts = machine_facts((before, os.getloadavg()[0]))
        lines = [
            f"{options.runs:,} runs a trial; medians (least to most) of trials taken in turns: {options.repeat} of each. {facts}",
            "",
            table(series, peer),
        ]
        text = "\n".join(lines)
        print(text)
        if options.write:
            command = f"python benchmarks/throughput.py --runs {options.runs} --repeat {options.repeat}{' --peer' if options.peer else ''}"
            write(_DOCUMENT, f"`{command}`\n\n{text}")
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
