"""The throughput benchmark measures what it says: real work in a real process, and the right arithmetic. No time is asserted."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def benchmark() -> Iterator[dict[str, ModuleType]]:
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        yield {name: importlib.import_module(name) for name in ("measuring", "subjects", "report")}
    finally:
        sys.path.remove(folder)


def measured(benchmark, *, wall, cpu, memory):
    mib = 1024 * 1024
    return benchmark["measuring"].Measured(
        wall_seconds=wall, cpu_seconds=cpu, rss_bytes=memory * mib, tree_rss_bytes=2 * memory * mib, stdout=""
    )


def series(benchmark, label, walls):
    made = benchmark["report"].Series(label)
    for wall in walls:
        start_up = measured(benchmark, wall=1.0, cpu=0.5, memory=50)
        made.trials.append(benchmark["report"].Trial(start_up, measured(benchmark, wall=wall, cpu=2.5, memory=100), runs=1001))
    return made


def test_runs_go_through_the_whole_command_in_batches(benchmark, tmp_path):
    done = benchmark["subjects"].Ours(max_active=10).run(101, tmp_path)
    assert {path.name for path in (tmp_path / "home").iterdir()} >= {"nodus.db"}
    assert done.cpu_seconds > 0
    assert done.tree_rss_bytes >= done.rss_bytes > 10_000_000


def test_a_failing_command_is_told_and_not_measured(benchmark, tmp_path):
    command = [sys.executable, "-c", "import sys; print('no disk left', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(benchmark["measuring"].BenchmarkError, match="status 3 and said: no disk left"):
        benchmark["measuring"].measure(command, environ=os.environ, folder=tmp_path)


def test_memory_of_descendants_is_added(benchmark):
    child = "kept = b'x' * 60_000_000; print('ready', flush=True); input()"
    parent = f"import subprocess, sys; kept = b'x' * 60_000_000; subprocess.run([sys.executable, '-c', {child!r}])"
    command = [sys.executable, "-c", parent]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        sampler = benchmark["measuring"]._TreeSampler(process.pid)
        both = sampler._now()
        process.communicate(b"\n")
    assert both > 120_000_000
    assert sampler._now() == 0


def test_rates_are_net_of_start_up_and_cells_are_medians(benchmark):
    text = benchmark["report"].table([series(benchmark, "ours", [3.0, 2.0, 5.0])], None)
    assert "| **500** (250 to 1,000) | **2.00** (2.00 to 2.00) | **100** (100 to 100) | **200** (200 to 200) |" in text
    assert "The peer was not measured in this run." in text


def test_ratios_are_ours_over_the_peers(benchmark):
    text = benchmark["report"].table([series(benchmark, "ours", [2.0])], series(benchmark, "peer", [11.0]))
    assert "| ours | 10× | 1× | 1× | 1× |" in text


def test_too_few_runs_to_measure_are_refused(benchmark):
    trial = series(benchmark, "ours", [1.0]).trials[0]
    with pytest.raises(benchmark["measuring"].BenchmarkError, match="ask for more with --runs"):
        _ = trial.runs_per_second


def test_the_figures_take_their_place_in_the_document(benchmark, tmp_path):
    report = benchmark["report"]
    document = tmp_path / "benchmarks.md"
    document.write_text(f"before\n{report.MARK_BEGIN}\nold\n{report.MARK_END}\nafter\n", "utf-8")
    report.write(document, "new")
    assert document.read_text("utf-8") == f"before\n{report.MARK_BEGIN}\n\nnew\n\n{report.MARK_END}\nafter\n"
    document.write_text("no place", "utf-8")
    with pytest.raises(benchmark["measuring"].BenchmarkError, match="has no place for the figures"):
        report.write(document, "new")
    shipped = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text("utf-8")
    assert report.MARK_BEGIN in shipped
    assert report.MARK_END in shipped
