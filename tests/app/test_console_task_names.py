"""Rows of one task are told apart by their repetition and try, in every table of them and however narrow it is."""

import pytest
from console_driver import console, press, screen_lines
from console_records import NOW, group, run
from scripted_backend import ScriptedBackend

TASK = "sum-eeb1c3db5a0f4e0d9a7711c2"


def world() -> ScriptedBackend:
    tries = [(1, 1), (2, 1), (3, 2), (12, 3)]
    runs = [
        run(case, task=TASK, name=f"red-{case:04d}-a{attempt}", of="red", repetition=repetition, attempt=attempt, started_at=NOW)
        for case, (repetition, attempt) in enumerate(tries)
    ]
    return ScriptedBackend([group("red", tasks=4, pending=4)], runs)


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize("keys", [(), ("Q",), ("T",)], ids=["group", "queue", "timeline"])
async def test_the_marks_of_repetition_and_try_are_never_cut(keys: tuple[str, ...], width: int) -> None:
    async with console(world(), start_at="red", size=(width, 24)) as (app, pilot):
        await press(app, pilot, *keys)
        rows = [each for each in screen_lines(app) if "sum-" in each or " try " in each]
        for mark in (" ·2 ", " ·3 try 2", " ·12 try 3"):
            assert any(mark in f"{row} " for row in rows), (mark, rows)
