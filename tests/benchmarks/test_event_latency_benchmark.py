"""The benchmark of event latency measures what it says, on a small scale: real processes, each change accounted for; no time asserted."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
WAYS = ("in process", "over the unix socket", "over TCP with TLS", "over TCP with TLS, through `serve`")


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: importlib.import_module(name) for name in ("arrivals", "event_latency", "latency_report", "measuring", "report")}
    finally:
        sys.path.remove(str(FOLDER))


def test_a_small_measurement_from_end_to_end(parts, monkeypatch, capsys, tmp_path):
    benchmark = parts["event_latency"]
    document = tmp_path / "benchmarks.md"
    document.write_text("\n".join(["before", *parts["latency_report"].MARKS, "after"]), "utf-8")
    monkeypatch.setattr(benchmark, "_DOCUMENT", document)
    monkeypatch.setattr(benchmark, "_WARM_SECONDS", 0.1)
    monkeypatch.setattr(benchmark, "_STANDSTILL_MS", float("inf"))
    sizes = ["--groups", "2", "--cases", "4", "--call-seconds", "0.5", "--seconds", "0.5", "--settle", "0", "--finished", "5"]
    status = benchmark.main([*sizes, "--repeat", "1", "--write"])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    assert "Latency of events with 8 active runs:" in shown.out
    assert "A snapshot of 5 runs, " in shown.out
    for way in WAYS:
        assert shown.out.count(f"| {way} | **") == 2  # Once for its events, once for its snapshots.
    assert "| by nobody | – | – | – | – | **" in shown.out
    text = document.read_text("utf-8")
    assert f"`python benchmarks/event_latency.py {' '.join(sizes)} --repeat 1`" in text
    assert shown.out.strip() in text


def test_a_change_counts_from_its_own_time_to_the_batch_that_brought_it_or_took_it_in(parts):
    changes = [(3, 1_000_000), (4, 2_000_000), (7, 9_000_000)]
    batches = [(2, 500_000), (5, 6_000_000), (9, 10_000_000)]
    assert parts["arrivals"].latencies_ms(changes, batches) == [5.0, 4.0, 1.0]


def test_a_change_that_never_came_is_no_measurement(parts):
    with pytest.raises(parts["measuring"].BenchmarkError, match="cursor 6 had not arrived"):
        parts["arrivals"].latencies_ms([(6, 0)], [(5, 1)])


def test_percentiles_are_of_all_values(parts):
    found = parts["arrivals"].percentiles([float(value) for value in range(101)])
    assert (found.p50, found.p95, found.p99, found.most) == (50.0, 95.0, 99.0, 100.0)
    with pytest.raises(parts["measuring"].BenchmarkError, match="too few"):
        parts["arrivals"].percentiles([1.0])


def test_the_document_has_a_place_for_the_tables(parts):
    shipped = (FOLDER.parent / "docs" / "benchmarks.md").read_text("utf-8")
    begin, end = parts["latency_report"].MARKS
    assert 0 < shipped.index(begin) < shipped.index(end)
