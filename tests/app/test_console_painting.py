"""What a key changed is drawn at once and in one frame; data gives way to keys; what was just painted is not painted again."""

import asyncio
from datetime import timedelta

from console_driver import console, painted, screen_text, settled
from console_records import NOW, changed, every_kind_of_run, group, run
from rich.console import ColorSystem
from scripted_backend import ScriptedBackend
from stillness import still
from textual.events import Key

from nodus_tui.app import NodusApp
from nodus_tui.contract.phases import RunPhase
from nodus_tui.screens.feed import SLICE
from nodus_tui.terminal_changes import Shown

SIZE = (120, 40)


def fleet(count: int = 12) -> ScriptedBackend:
    runs = [run(case, phase=RunPhase.RUNNING, started_at=NOW, task=f"sum-{case:05d}") for case in range(count)]
    return ScriptedBackend([group()], runs)


def frames_of(app: NodusApp) -> list[str]:
    """Every frame from now on, as it would go to a terminal of many colours."""
    app.console._color_system = ColorSystem.TRUECOLOR
    frames: list[str] = []

    def display(_screen, update) -> None:
        if update is not None:
            frames.append(f"{update.render_segments(app.console)}\x1b[1;1H")

    app._display = display
    return frames


async def pressed(app: NodusApp, *keys: str) -> None:
    for key in keys:
        app.post_message(Key(key, None))
    await still()
    await app._key_gate.free()


async def test_one_key_draws_the_row_and_the_place_in_one_frame_of_few_bytes() -> None:
    async with console(fleet(), start_at="fleet", size=SIZE) as (app, _pilot):
        frames = frames_of(app)
        shown = Shown()
        app.screen.refresh()
        await painted(app)
        assert max(len(shown.changes(frame, SIZE)) for frame in frames) > 1000, "the whole screen"
        frames.clear()
        for place in ("2 of 12", "3 of 12"):
            await pressed(app, "down")
            assert len(frames) == 1
            assert "▌" in frames[0]
            assert place in frames[0]
            assert len(shown.changes(frames.pop(), SIZE)) < 1000


async def test_what_changes_in_a_view_that_is_covered_draws_nothing() -> None:
    async with console(fleet(), start_at="fleet", size=SIZE) as (app, _pilot):
        frames = frames_of(app)
        below, top = app.screen_stack[-2:]
        below.refresh(layout=True)
        await painted(app)
        below._on_timer_update()
        await painted(app)
        assert not frames
        app.pop_screen()
        await painted(app)
        assert app.screen is below
        assert "CASE" not in screen_text(app)
        assert top not in app.screen_stack


async def test_keys_that_come_at_once_are_drawn_when_the_last_is_handled() -> None:
    async with console(fleet(), start_at="fleet", size=SIZE) as (app, _pilot):
        frames = frames_of(app)
        await pressed(app, "down", "down", "down")
        assert len(frames) == 1
        assert "4 of 12" in frames[0]


async def test_a_line_more_is_laid_out_in_the_same_frame() -> None:
    async with console(ScriptedBackend([group()], every_kind_of_run()), start_at="fleet", size=SIZE) as (app, _pilot):
        await pressed(app, "slash", "x", "q", "q")
        assert "No run passes the filter." in screen_text(app)


async def test_data_waits_while_a_key_is_being_handled() -> None:
    backend = fleet(100)
    async with console(backend, start_at="fleet", size=SIZE) as (app, pilot):
        state = app.feed.groups["fleet"]
        app._key_gate._free.clear()
        backend.emit(*(changed("AgentRun", f"fleet-{case:04d}-a1", 101 + case, of="fleet", calls=77) for case in range(100)))
        await still()
        assert sum(each.status.calls == 77 for each in state.rows.items()) == 0
        app._key_gate._free.set()
        await settled(app, pilot)
        assert sum(each.status.calls == 77 for each in state.rows.items()) == 100


async def test_a_key_comes_in_between_two_slices_of_a_batch() -> None:
    backend = fleet(100)
    async with console(backend, start_at="fleet", size=SIZE) as (app, pilot):
        taken: list[int] = []
        take = app.feed.take

        def noted(batch) -> None:
            take(batch)
            taken.append(len(batch.events))
            if len(taken) == 1:
                asyncio.get_running_loop().call_soon(app._key_gate._free.clear)

        app.feed.take = noted
        backend.emit(*(changed("AgentRun", f"fleet-{case:04d}-a1", 101 + case, of="fleet", calls=77) for case in range(100)))
        await still()
        assert taken == [SLICE]
        app._key_gate._free.set()
        await settled(app, pilot)
        assert sum(taken) == 100


async def test_times_of_data_that_was_just_painted_are_not_painted_again() -> None:
    backend = fleet()
    async with console(backend, start_at="fleet", size=SIZE) as (app, pilot):
        now = NOW
        app.clock = lambda: now
        backend.emit(changed("AgentRun", "fleet-0001-a1", 101, of="fleet", calls=5))
        await settled(app, pilot)
        shows: list[None] = []
        app.screen.show_state = lambda: shows.append(None)
        app._tick()
        assert not shows
        now += timedelta(seconds=1)
        app._tick()
        assert shows
