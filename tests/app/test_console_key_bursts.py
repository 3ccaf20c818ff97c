"""Keys that come all at once, as over a slow link: each acts where the one before it led."""

import asyncio
from collections.abc import Callable

import pytest
from console_driver import Driver, console, press, screen_text, settled
from console_records import every_kind_of_run, group, run
from scripted_backend import ScriptedBackend
from test_console_journeys import SPEC, estimate
from textual.events import Key

from nodus_tui import key_gate
from nodus_tui.app import NodusApp
from nodus_tui.contract.phases import RunPhase
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.jobs import JobsScreen
from nodus_tui.screens.launch import EstimateScreen
from nodus_tui.widgets.dialogs import ConfirmDialog, PromptDialog
from nodus_tui.widgets.text_entry import TextEntry


def fleets() -> ScriptedBackend:
    return ScriptedBackend([group("fleet"), group("other")], every_kind_of_run())


def burst(app: NodusApp, *keys: str) -> None:
    """As the terminal's input gives them: all before the first of them is handled."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else "\r" if key == "enter" else None))


async def until(app: NodusApp, pilot: Driver, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
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


def hold(app: NodusApp) -> None:
    """As a key that is held down comes."""
    burst(app, *["enter"] * 30)


@pytest.fixture
def held_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is held down until another one is pressed, however long a test takes in between."""
    monkeypatch.setattr(key_gate, "HELD_SECONDS", float("inf"))


@pytest.mark.usefixtures("held_on")
async def test_an_enter_that_is_held_down_shows_the_estimate_and_launches_nothing() -> None:
    backend = fleets()
    backend.estimates = (estimate(),)
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "l")
        app.screen.query_one(TextEntry).value = str(SPEC)
        hold(app)
        await until(app, pilot, lambda: isinstance(app.screen, EstimateScreen) and "Enter launches" in screen_text(app))
        hold(app)
        await until(app, pilot, lambda: "held down" in screen_text(app))
        assert backend.applied == []
        await press(app, pilot, "L")
        assert len(backend.applied) == 1


async def test_an_enter_after_a_look_launches() -> None:
    backend = fleets()
    backend.estimates = (estimate(),)
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "l")
        app.screen.query_one(TextEntry).value = str(SPEC)
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: "Enter launches" in screen_text(app))
        hold(app)
        await until(app, pilot, lambda: bool(backend.applied))
        assert len(backend.applied) == 1


@pytest.mark.usefixtures("held_on")
async def test_an_enter_that_comes_alone_and_not_at_once_is_a_press_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # Any time at all counts as not at once.
    monkeypatch.setattr(key_gate, "TWICE_SECONDS", 0.0)
    backend = fleets()
    backend.estimates = (estimate(),)
    async with console(backend, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "l")
        app.screen.query_one(TextEntry).value = str(SPEC)
        burst(app, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, EstimateScreen) and "Enter launches" in screen_text(app))
        burst(app, "enter")
        await until(app, pilot, lambda: bool(backend.applied))
        assert len(backend.applied) == 1


@pytest.mark.usefixtures("held_on")
async def test_an_enter_that_is_held_down_chooses_an_action_and_agrees_to_nothing() -> None:
    for words, dialog in (("extend", PromptDialog), ("kill", ConfirmDialog)):
        backend = fleets()
        async with console(backend) as (app, pilot):
            await press(app, pilot, "ctrl+p", *words)
            hold(app)
            await until(app, pilot, lambda dialog=dialog: isinstance(app.screen, dialog))
            hold(app)
            await settled(app, pilot)
            assert isinstance(app.screen, dialog), "nor is it taken away unread"
            assert backend.acted == []


@pytest.mark.usefixtures("held_on")
async def test_an_enter_that_is_held_down_behind_a_typed_number_leads_to_the_button_only() -> None:
    backend = ScriptedBackend([group()], [run(number, phase=RunPhase.PENDING) for number in range(120)])
    async with console(backend, start_at="fleet") as (app, pilot):
        await press(app, pilot, "a", "x")
        burst(app, *"120")
        hold(app)
        await until(app, pilot, lambda: app.screen.focused is not None and app.screen.focused.id == "choices")
        await settled(app, pilot)
        assert backend.acted == []
        await press(app, pilot, "left", "right", "enter")
        await until(app, pilot, lambda: len(backend.acted) == 120)
