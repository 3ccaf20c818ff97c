"""What the console wrote down for itself: whatever became of it opens a console, and two consoles write without losing a whole file."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from console_driver import console, screen_text
from worlds import job_world

from nodus_tui.console_memory import FILE_NAME, ConsoleMemory

DAMAGED = {
    "nested without end": b"[" * 100_000,
    "nested without end, and closed": b"[" * 100_000 + b"]" * 100_000,
    "half of a character": rb'{"places": {"somewhere": {"view": "specs", "name": "\ud800"}}}',
    "half of a character in a name": rb'{"pl\ud800aces": 1}',
    "a NUL": rb'{"places": {"somewhere": {"view": "spec", "name": "a\u0000b"}}}',
    "not UTF-8": b'{"places": "\xff"}',
    "a number without end": b'{"places": ' + b"1" * 10_000 + b"}",
    "another thing than facts": b"[1, 2]",
    "cut off": b'{"places": {"some',
    "nothing": b"",
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED.keys())
def test_what_cannot_be_read_is_as_if_never_written(damage: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(damage)
    memory = ConsoleMemory(tmp_path)
    assert memory.get("places") is None
    assert memory.keep("visits", {"here": "now"}) == ""
    assert json.loads((tmp_path / FILE_NAME).read_text()) == {"visits": {"here": "now"}}
    assert [each.name for each in tmp_path.iterdir()] == [FILE_NAME]


def test_a_path_that_is_not_utf_8_is_remembered(tmp_path: Path) -> None:
    name = "b\udcff.yaml"
    assert ConsoleMemory(tmp_path).keep("places", {"here": {"name": name}}) == ""
    assert ConsoleMemory(tmp_path).get("places") == {"here": {"name": name}}


def test_two_consoles_never_leave_half_a_file_or_fail_for_each_other(tmp_path: Path) -> None:
    def keep(who: int) -> list[str]:
        memory = ConsoleMemory(tmp_path)
        return [memory.keep(f"fact-{who}", "x" * 10_000) for _ in range(40)]

    with ThreadPoolExecutor(4) as consoles:
        problems = [problem for told in consoles.map(keep, range(4)) for problem in told]
    assert not any(problems)
    assert json.loads((tmp_path / FILE_NAME).read_text())
    assert [each.name for each in tmp_path.iterdir()] == [FILE_NAME]


async def test_the_console_opens_with_a_memory_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"[" * 100_000)
    async with console(job_world(), state_folder=tmp_path) as (app, _):
        assert "campaigns" in screen_text(app)
