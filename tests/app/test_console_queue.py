"""The queue, a group's timeline and what-if, by keys: what a person sees, where Enter leads, and what stays still."""

from datetime import timedelta

from console_driver import console, press, screen_lines, screen_text, settled
from console_records import NOW, changed
from queue_records import queue_world
from scripted_backend import ScriptedBackend
from textual import events

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.job import JobScreen
from nodus_tui.screens.queue import QueueScreen
from nodus_tui.screens.run import RunScreen
from nodus_tui.screens.timeline import TimelineScreen
from nodus_tui.screens.what_if import WhatIfScreen
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock


async def test_the_queue_says_who_waits_for_what_with_the_next_one_first_and_many_in_one_row() -> None:
    async with console(queue_world(), size=(110, 30)) as (app, pilot):
        await press(app, pilot, "w")
        text = screen_text(app)
        assert "33 for a slot · 1 for a device · 1 for its own cap · 1 for the rate limit" in text
        assert "30 more, cases 10–39" in text
        rows = [row for row in screen_lines(app) if "Pending" in row and " a slot " in row]
        assert "next" in rows[0]
        assert "soon" in rows[0]
        assert "~14:04" in rows[-1]
        await press(app, pilot, "end")
        assert "waits for its own cap" in screen_text(app)
        assert "until somebody acts" in screen_text(app)


async def test_enter_opens_what_waits_and_unfolds_what_is_told_in_one_row() -> None:
    async with console(queue_world(), size=(110, 30)) as (app, pilot):
        await press(app, pilot, "w")
        table = app.screen.query_one("#rows", LineTable)
        table.select("more/fleet/Pending/WaitingForSlot")
        await press(app, pilot, "enter")
        assert len(table.rows) == 36
        assert table.cursor_key == "run/fleet-0010-a1"
        await press(app, pilot, "o")
        assert len(table.rows) == 7
        table.select("job/train")
        await press(app, pilot, "enter")
        assert isinstance(app.screen, JobScreen)


async def test_a_run_of_the_queue_opens_with_its_group_below_it() -> None:
    backend = queue_world()

    async def get(_kind: str, name: str):
        return backend.runs[name]

    backend.get = get
    async with console(backend, size=(110, 30)) as (app, pilot):
        await press(app, pilot, "w", "enter")
        assert isinstance(app.screen, RunScreen)
        assert isinstance(app.screen_stack[-2], GroupScreen)


async def test_from_a_group_the_queue_is_that_groups_alone_and_from_elsewhere_everything() -> None:
    async with console(queue_world(), size=(110, 30)) as (app, pilot):
        await press(app, pilot, "enter", "w")
        assert app.screen.crumbs()[:2] in {("queue", "fleet"), ("queue", "small")}
        alone = app.screen.crumbs()[1]
        assert {each.group for each in app.screen.state.rows.items()} == {alone}
        assert " GROUP " not in screen_text(app), "the crumbs name it"
        await press(app, pilot, "a")
        assert "train" in screen_text(app)
        assert " GROUP " in screen_text(app)
        await press(app, pilot, "a")
        assert app.screen.crumbs()[0] == "queue"
        await press(app, pilot, "J", "w")
        assert isinstance(app.screen, QueueScreen)
        assert app.screen.crumbs() == ("queue",)


async def test_what_happens_is_in_the_queue_and_what_does_not_is_not_drawn_again() -> None:
    backend = queue_world()
    async with console(backend, size=(110, 30)) as (app, pilot):
        await press(app, pilot, "w")
        table = app.screen.query_one("#rows", LineTable)
        drawn = table.lines_refreshed
        assert not app.screen.moving()
        app._tick()
        await settled(app, pilot)
        assert table.lines_refreshed == drawn
        backend.emit(changed("AgentRun", "small-0001-a1", 101, of="small", phase="Cancelled"))
        await settled(app, pilot)
        assert "its own cap" not in screen_text(app)
        assert table.lines_refreshed - drawn <= 3


async def test_a_queue_that_cannot_be_read_says_so_and_one_without_rows_what_that_means() -> None:
    backend = queue_world()

    async def refuse(_kind: str, _query: object = None):
        raise NodusError(ErrorCode.UNAVAILABLE, "the disk is gone")

    backend.list = refuse
    async with console(backend) as (app, pilot):
        await press(app, pilot, "w")
        assert "the disk is gone" in screen_text(app)
    async with console(ScriptedBackend()) as (app, pilot):
        await press(app, pilot, "w")
        assert "nothing waits. Whatever there is to do goes on, or has ended." in screen_text(app)


async def test_the_timeline_shows_when_each_run_did_what_on_one_axis() -> None:
    async with console(queue_world(), size=(110, 30)) as (app, pilot):
        await press(app, pilot, "w", "T")
        assert isinstance(app.screen, TimelineScreen)
        lines = screen_lines(app)
        axis = next(row for row in lines if "╵14:00" in row)
        first = next(row for row in lines if "sum-001" in row)
        assert "▒" in first
        assert "~" in first
        assert "▓" in first
        assert first.rstrip("▄ ").endswith("✓")
        # What began with the group stands below its time.
        assert axis.index("╵14:00") == first.index("⋅")
        assert "queued 8.0s, prepared 8.0s, worked 36.0s, held up 10.0s, graded 6.0s" in screen_text(app)
        assert "a cell, all of it" in screen_text(app)
        await press(app, pilot, "enter")
        assert isinstance(app.screen, RunScreen)
        await press(app, pilot, "escape", "escape")
        assert isinstance(app.screen, QueueScreen)


async def test_the_timeline_zooms_moves_and_follows_by_keys_and_by_the_wheel() -> None:
    async with console(queue_world(), size=(110, 30)) as (app, pilot):
        await press(app, pilot, "w", "T")
        window = app.screen.state.window
        whole = window.step
        await press(app, pilot, "plus")
        assert window.step < whole
        begin = window.begin
        await press(app, pilot, "right")
        assert window.begin > begin
        await press(app, pilot, "left")
        assert window.begin == begin
        assert "stays here" in screen_text(app)
        await press(app, pilot, "f")
        assert "follows now" in screen_text(app)
        assert 0 <= window.cell_of(NOW) < 100
        await press(app, pilot, "f", "0")
        assert window.step == whole
        table = app.screen.query_one("#rows", LineTable)
        here = {"x": 60, "y": 3, "delta_x": 0, "delta_y": 1, "button": 0, "screen_x": 60, "screen_y": 8}
        table.post_message(events.MouseScrollUp(table, **here, shift=False, meta=False, ctrl=True))
        await settled(app, pilot)
        assert window.step < whole
        before = window.begin
        table.post_message(events.MouseScrollDown(table, **here, shift=True, meta=False, ctrl=False))
        await settled(app, pilot)
        assert window.begin > before


async def test_a_timeline_at_rest_draws_nothing_and_one_that_goes_on_not_each_second() -> None:
    async with console(queue_world(), size=(110, 30)) as (app, pilot):
        await press(app, pilot, "w", "T")
        assert not app.screen.moving()
        app.screen._drawn_at -= timedelta(minutes=1)
        assert app.screen.moving()
        table = app.screen.query_one("#rows", LineTable)
        drawn = table.lines_refreshed
        app._tick()
        await settled(app, pilot)
        # The time is the same: nothing reads otherwise.
        assert table.lines_refreshed == drawn
        axis = app.screen.query_one("#axis", SpanBlock).lines_refreshed
        app._tick()
        assert app.screen.query_one("#axis", SpanBlock).lines_refreshed == axis


async def test_the_state_of_a_group_lives_as_long_as_one_of_its_views() -> None:
    async with console(queue_world(), size=(110, 30)) as (app, pilot):
        await press(app, pilot, "enter")
        name = app.screen.group_name
        await press(app, pilot, "T", "M")
        assert isinstance(app.screen, WhatIfScreen)
        await press(app, pilot, "escape", "escape")
        assert isinstance(app.screen, GroupScreen)
        assert name in app.feed.groups
        await press(app, pilot, "escape")
        assert name not in app.feed.groups


async def test_another_max_active_is_forecast_beside_the_present() -> None:
    async with console(queue_world(), size=(110, 30)) as (app, pilot):
        await press(app, pilot, "w", "M")
        text = screen_text(app)
        assert "3 going · 33 waiting in line · $0.18 reserved" in text
        assert "3 now" in text
        assert "maxActive 3, as now" in text
        await press(app, pilot, "m", *["backspace"] * 2, "7", "enter")
        assert app.screen.table.cursor_key == "7"
        assert "maxActive 7: it ends ~14:" in screen_text(app)
        assert "sooner than now" in screen_text(app)
        await press(app, pilot, "m", "0", "0", "0", "enter")
        assert "Type a whole number from 1 to 1,000." in screen_text(app)
        await press(app, pilot, "escape", "T")
        assert isinstance(app.screen, TimelineScreen)


async def test_the_timeline_holds_in_ascii_and_in_the_smallest_terminal() -> None:
    async with console(queue_world(), size=(60, 15)) as (app, pilot):
        await press(app, pilot, "w", "T")
        assert max(len(row) for row in screen_lines(app)) <= 60
        first = next(row for row in screen_lines(app) if "sum-001" in row)
        assert "✓" in first
