"""The view of the scheduler: its facts, and its log, which follows, is filtered by level and words, and never obeyed."""

import asyncio

from console_driver import console, press, screen_text, settled
from environment_records import log_world

from nodus_tui.app import NodusApp
from nodus_tui.contract.scheduler_view import SchedulerFacts
from nodus_tui.screens.scheduler_log import SchedulerLogScreen

WIDE = (140, 30)


async def opened(app: NodusApp, pilot: object) -> SchedulerLogScreen:
    await press(app, pilot, "L")
    await looked(app, pilot)
    assert isinstance(app.screen, SchedulerLogScreen)
    return app.screen


async def looked(app: NodusApp, pilot: object) -> None:
    """The backend was asked once more, and what it answered is painted."""
    async with asyncio.timeout(60):
        app.screen.look()
        while app.screen._asking:
            await asyncio.sleep(0)
    await settled(app, pilot)


async def test_the_facts_stand_above_the_log() -> None:
    async with console(log_world(), size=WIDE) as (app, pilot):
        await opened(app, pilot)
        shown = screen_text(app)
        assert "process 4711 · up 1h05m · version 0.1.0 · answers on /home/ann/.nodus/scheduler.sock" in shown
        assert "! loop lag ≤ 1 ms, p99 ≤ 200 ms, most ≤ 200 ms of the last 1m · 2 event streams open" in shown
        assert "store 12 MiB · memory 77 MiB · 65 GiB of disk free" in shown
        assert "ERROR backend the workspace could not be looked after" in shown
        assert "the log follows" in shown


async def test_it_follows_until_the_reader_goes_up_and_again_on_demand() -> None:
    backend = log_world()
    backend.scheduler_log = "".join(f"2026-01-02 09:00:00,000 INFO a.b: line {n}\n" for n in range(100))
    async with console(backend, size=WIDE) as (app, pilot):
        await opened(app, pilot)
        backend.scheduler_log += "2026-01-02 09:00:00,000 INFO a.b: line 100\n"
        await looked(app, pilot)
        assert "line 100" in screen_text(app)
        await press(app, pilot, "home")
        backend.scheduler_log += "2026-01-02 09:00:00,000 INFO a.b: line 101\n"
        await looked(app, pilot)
        assert "line 101" not in screen_text(app)
        assert "f follows the log again" in screen_text(app)
        await press(app, pilot, "f")
        assert "line 101" in screen_text(app)


async def test_levels_words_and_long_lines_are_chosen() -> None:
    backend = log_world()
    backend.scheduler_log += "2026-01-02 09:00:05,000 INFO a.b: " + "long " * 60 + "end\n"
    async with console(backend, size=WIDE) as (app, pilot):
        await opened(app, pilot)
        assert "long end" in screen_text(app)
        await press(app, pilot, "m")
        assert "long end" not in screen_text(app)
        assert "long lines cut" in screen_text(app)
        await press(app, pilot, "v")
        shown = screen_text(app)
        assert all(words in shown for words in ("asks for a pause", "database is locked", "Traceback"))
        assert "snapshot" not in shown
        await press(app, pilot, "v")
        assert "asks for a pause" not in screen_text(app)
        await press(app, pilot, "v", "slash", *"gate", "enter")
        assert "2 found" in screen_text(app)
        await press(app, pilot, "o")
        shown = screen_text(app)
        assert "snapshot" in shown
        assert "Traceback" not in shown
        assert "only lines with “gate”" in shown
        await press(app, pilot, "n")
        assert "of 2 that are found" in screen_text(app)
        await press(app, pilot, "v")
        assert "No line passes." in screen_text(app)


async def test_a_log_that_began_anew_says_so_and_hostile_lines_are_text() -> None:
    backend = log_world()
    async with console(backend, size=WIDE) as (app, pilot):
        await opened(app, pilot)
        backend.scheduler_log = "\x1b[2J\x1b]0;title\x07[red]new[/]\n"
        await looked(app, pilot)
        shown = screen_text(app)
        assert "… the log began anew" in shown
        assert "[red]new[/]" in shown
        assert not {"\x1b", "\x07"} & set(shown)


async def test_a_viewer_and_nobody_at_work_and_no_log_are_told() -> None:
    backend = log_world()
    backend.scheduler = None
    async with console(backend, size=WIDE) as (app, pilot):
        await opened(app, pilot)
        assert "The scheduler's log cannot be read: you look on as a viewer" in screen_text(app)
        backend.scheduler, backend.scheduler_log = SchedulerFacts(home="/there"), ""
        await looked(app, pilot)
        shown = screen_text(app)
        assert "nobody does the work" in shown
        assert "Nothing is written yet." in shown
