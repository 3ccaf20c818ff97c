"""The comparison of the console with other terminal programs, of which a stand-in on a pty is measured here: no time is asserted."""

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import psutil
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
CHILD_BYTES = 60_000_000
STAND_IN = f"""
import subprocess, sys, tty
tty.setraw(0)
child = subprocess.Popen([sys.executable, "-c", "kept = b'x' * {CHILD_BYTES}; print('kept', flush=True); input()"], stdin=-1, stdout=-1)
child.stdout.readline()
print("the list", end="", flush=True)
while key := sys.stdin.buffer.raw.read(3):
    print("moved", end="", flush=True)
"""
"""Writes something at once for each key, nothing else, and has a child that holds memory."""


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: importlib.import_module(name) for name in ("console_peers", "terminal_peers", "pty_driving", "measuring")}
    finally:
        sys.path.remove(str(FOLDER))


class StandIn:
    """A program that is no peer, and is measured as one."""

    waits_for = "the list"
    shows = "nothing"

    def __init__(self, parts: dict[str, ModuleType], label: str, program: str) -> None:
        self.parts, self.label, self.command = parts, label, [sys.executable, "-c", program]
        self.children: list[psutil.Process] = []

    def prepare(self, folder: Path) -> None:
        assert folder.is_dir()

    @contextmanager
    def opened(self, folder: Path) -> Iterator[object]:
        with self.parts["pty_driving"].TerminalTree(self.command, environ=os.environ, folder=folder) as program:
            first_paint = program.until(self.waits_for.encode())
            self.children += program._process.children()
            yield self.parts["terminal_peers"].Opened(program, first_paint)


def test_a_program_on_a_terminal_is_measured_with_its_children(parts, tmp_path):
    stand_in = StandIn(parts, "stand-in", STAND_IN)
    sight = parts["console_peers"].look(stand_in, tmp_path, 2.5, quiet=0.2)
    assert sight.presses >= 2
    # On a busy machine an answer may come after the next press; after the last one comes none.
    assert 1 <= len(sight.key_ms) <= sight.presses
    assert (sight.bytes_per_second, sight.first_paint_ms > 0) == (0, True)
    assert sight.memory_bytes > CHILD_BYTES
    assert [each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in stand_in.children] == [False], "its child is gone, too"


def test_a_key_counts_to_the_first_byte_before_the_next_one(parts):
    chunk = parts["pty_driving"].Chunk
    chunks = [chunk(0.9, b"of before"), chunk(1.012, b"a"), chunk(1.015, b"b"), chunk(3.030, b"c")]
    window = parts["pty_driving"].Window(0.0, 4.0, chunks, presses=[1.0, 2.0, 3.0])
    assert [round(each) for each in parts["console_peers"].first_bytes_ms(window)] == [12, 30], "the second was answered by nothing"


def test_a_peer_that_does_not_start_or_install_is_said_so_and_ours_is_not_passed_over(parts, capsys):
    peers, error = parts["console_peers"], parts["measuring"].BenchmarkError
    mute = StandIn(parts, "mute 1.0", "print('a fault of its own')")

    class Missing(StandIn):
        def prepare(self, folder: Path) -> None:
            raise error("no such package")

    compared = peers.Compared([], [mute, Missing(parts, "missing 2.0", "")])
    sight = peers.Sight(200.0, 0.0, 1.0, (4.0, 8.0), 3, 2**20)
    own, other = StandIn(parts, "ours", ""), StandIn(parts, "other 3.0", "")
    compared = peers.compare([], compared.others, repeat=1, seconds=3.0)
    assert "a fault of its own" in capsys.readouterr().err
    compared = peers.Compared([own], [other, *compared.others], {"ours": [sight], "other 3.0": [sight, sight]}, compared.refused)
    text = peers.table(compared)
    assert "mute 1.0 was not measured: it did not start, or did not come to its list." in text
    assert "missing 2.0 was not measured: it could not be installed." in text
    assert "| ours ÷ other 3.0 | 1× | – | 1× | 1× | 1× | 1× |" in text, "nothing is divided by nothing"
    assert "other 3.0 wrote nothing between 2 of 6 presses and the next one." in text
    with pytest.raises(error):
        peers.compare([mute], [], repeat=1, seconds=3.0)


def test_the_document_has_a_place_for_the_figures(parts, tmp_path):
    shipped = (FOLDER.parent / "docs" / "benchmarks.md").read_text("utf-8")
    document = tmp_path / "benchmarks.md"
    document.write_text(shipped, "utf-8")
    report, marks = importlib.import_module("report"), parts["console_peers"].MARKS
    report.write(document, "the figures", marks=marks)
    before, after = shipped.partition(marks[0])[0], shipped.partition(marks[1])[2]
    assert document.read_text("utf-8") == f"{before}{marks[0]}\n\nthe figures\n\n{marks[1]}{after}"
