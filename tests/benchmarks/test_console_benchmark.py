"""The benchmark of the console sees what a person sees: a row on the cursor's ground, and the place in words."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
GROUND, CURSOR = "48;2;1;2;3", "48;2;9;9;9"


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: importlib.import_module(name) for name in ("seen", "pty_driving")}
    finally:
        sys.path.remove(str(FOLDER))


def row(number: int, ground: str) -> bytes:
    return f"\x1b[{number + 2};1H\x1b[1;{ground}m  sum-{number:05d}\x1b[0m".encode()


def test_a_key_counts_to_its_row_and_to_its_place_however_they_come(parts):
    screen = parts["seen"].Screen(40, 10)
    screen.feed(row(0, CURSOR) + b"".join(row(number, GROUND) for number in (1, 2, 3)) + b"\x1b[9;1H1 of 40 ")
    assert (screen.selected(), screen.place(40)) == (0, 1)
    chunk = parts["pty_driving"].Chunk
    first = row(0, GROUND) + row(1, CURSOR)
    chunks = [
        chunk(1.010, first[:30]),
        chunk(1.012, first[30:]),
        # Only the digit that differs.
        chunk(1.040, b"\x1b[9;1H2"),
        chunk(2.007, row(1, GROUND) + row(2, CURSOR) + b"\x1b[9;1H3"),
    ]
    window = parts["pty_driving"].Window(0.0, 4.0, chunks, presses=[1.0, 2.0, 3.0])
    rows, places = parts["seen"].latencies_ms(window, screen, 40, 2)
    assert [round(each) for each in rows] == [12, 7, 1000], "the last never came"
    assert [round(each) for each in places] == [40, 7, 1000]
