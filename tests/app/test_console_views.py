"""Going from view to view: by letter, by `:` and a name, back by Escape; every registered view has its screen."""

import asyncio
from importlib import import_module
from pkgutil import iter_modules

import pytest
from budget_records import some_budgets
from console_driver import Driver, console, press, screen_text, settled
from console_records import every_kind_of_run, group
from scripted_backend import ScriptedBackend

from nodus_tui import screens
from nodus_tui.app import NodusApp
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.catalogue import screen_class
from nodus_tui.view_state.key_actions import actions_of, opened_view
from nodus_tui.view_state.views import View, ViewEntry, destinations
from nodus_tui.widgets.line_table import LineTable


def world() -> ScriptedBackend:
    backend = ScriptedBackend([group()], every_kind_of_run())
    backend.budgets = some_budgets()
    return backend


def views_open(app: NodusApp) -> list[View]:
    return [screen.VIEW for screen in app.screen_stack if isinstance(screen, ViewScreen)]


async def gone_to(app: NodusApp, pilot: Driver, view: View) -> None:
    async with asyncio.timeout(60):
        while not isinstance(app.screen, ViewScreen) or app.screen.VIEW is not view:
            await pilot.pause(0.01)
    await settled(app, pilot)


@pytest.mark.parametrize("entry", destinations(), ids=lambda entry: entry.view.value)
async def test_every_registered_view_opens_by_its_name_and_escape_goes_back(entry: ViewEntry) -> None:
    assert screen_class(entry).VIEW is entry.view
    async with console(world()) as (app, pilot):
        await press(app, pilot, "enter", "colon", *entry.view.value, "enter")
        await gone_to(app, pilot, entry.view)
        if entry.view is View.CAMPAIGNS:
            assert views_open(app) == [View.CAMPAIGNS]
            return
        assert views_open(app) == [View.CAMPAIGNS, View.GROUP, entry.view]
        await press(app, pilot, "escape")
        assert views_open(app) == [View.CAMPAIGNS, View.GROUP]


def test_every_listed_action_has_its_doer() -> None:
    modules = [import_module(f"{screens.__name__}.{found.name}") for found in iter_modules(screens.__path__)]
    classes = {each for module in modules for each in vars(module).values() if isinstance(each, type) and issubclass(each, ViewScreen)}
    of_view = {each.VIEW: each for each in classes if hasattr(each, "VIEW")}
    assert of_view.keys() == set(View)
    listed = ((view, action.id) for view in View for action in actions_of(view) if opened_view(action.id) is None)
    assert [(view, action) for view, action in listed if not hasattr(of_view[view], f"do_{action}")] == []


async def test_a_few_letters_are_enough_and_tab_completes_them() -> None:
    async with console(world()) as (app, pilot):
        await press(app, pilot, "colon", "b", "u")
        assert "budgets" in screen_text(app)
        assert "Show all jobs" not in screen_text(app)
        await press(app, pilot, "tab")
        assert app.screen.query_one("#words").value == "budgets"
        await press(app, pilot, "enter")
        await gone_to(app, pilot, View.BUDGETS)


async def test_another_name_of_a_view_leads_to_it_and_an_unknown_one_nowhere() -> None:
    async with console(world()) as (app, pilot):
        await press(app, pilot, "colon", *"machine", "enter")
        await gone_to(app, pilot, View.GPUS)
        await press(app, pilot, "colon", *"qqqq", "enter")
        assert views_open(app) == [View.CAMPAIGNS, View.GPUS]


async def test_going_in_a_circle_leaves_no_pile_of_views_behind() -> None:
    async with console(world()) as (app, pilot):
        for key, view in (("J", View.JOBS), ("B", View.BUDGETS), ("d", View.GPUS), ("J", View.JOBS)):
            await press(app, pilot, key)
            await gone_to(app, pilot, view)
        assert views_open(app) == [View.CAMPAIGNS, View.JOBS]


async def test_the_palette_lists_the_views_and_the_footer_leads_to_them() -> None:
    async with console(world(), size=(120, 40)) as (app, pilot):
        assert ": go" in screen_text(app).splitlines()[-1]
        await press(app, pilot, "ctrl+p", *"budg")
        assert "Show all budgets" in screen_text(app)
        await press(app, pilot, "enter")
        await gone_to(app, pilot, View.BUDGETS)


async def test_the_palette_says_how_many_of_its_actions_are_meant() -> None:
    async with console(world(), size=(120, 40)) as (app, pilot):
        await press(app, pilot, "ctrl+p", *"ex")
        table = app.screen.query_one(LineTable)
        assert len(table.rows) > 1
        assert f"1 of {len(table.rows)} " in screen_text(app)
        await press(app, pilot, *["backspace"] * 2, *"zzzz")
        assert "Nothing has that name." in screen_text(app)
