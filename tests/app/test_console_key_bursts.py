"""Keys that come all at once, as over a slow link: each acts where the one before it led."""

import asyncio
from collections.abc import Callable

from console_driver import Driver, console, screen_text, settled
from console_records import every_kind_of_run, group
from scripted_backend import ScriptedBackend
from textual.events import Key

from nodus_tui.app import NodusApp
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.jobs import JobsScreen


def fleets() -> ScriptedBackend:
    return ScriptedBackend([group("fleet"), group("other")], every_kind_of_run())


def burst(app: NodusApp, *keys: str) -> None:
    """As the terminal's input gives them: all before the first of them is handled."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else "\r" if key == "enter" else None))


async def until(app: NodusApp, pilot: Driver, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await settled(app, pilot)


async def test_a_view_is_gone_to_by_its_name_typed_at_once() -> None:
    async with console(fleets()) as (app, pilot):
        burst(app, "colon", *"jobs", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, JobsScreen))
        assert len(app.screen_stack) == 3, "no other view was opened on the way"


async def test_what_a_filter_keeps_is_what_enter_opens() -> None:
    for name in ("fleet", "other"):
        async with console(fleets()) as (app, pilot):
            burst(app, "slash", *name, "enter", "enter")
            await until(app, pilot, lambda: isinstance(app.screen, GroupScreen))
            assert app.screen.group_name == name


async def test_letters_of_a_filter_are_no_keys_of_the_view() -> None:
    async with console(fleets()) as (app, pilot):
        burst(app, "slash", *"xqlFJ")
        await until(app, pilot, lambda: "xqlFJ" in screen_text(app))
        assert len(app.screen_stack) == 2
        assert app.is_running


async def test_who_leaves_while_a_view_is_being_opened_has_left() -> None:
    for view in ("jobs", "budgets", "queue", "gpus", "specs", "sweeps", "log"):
        async with console(fleets()) as (app, _):
            app.action_go_to(view)
            await asyncio.sleep(0)
            app.exit(0)
        assert app.failure is None, view
        assert app.return_value == 0
