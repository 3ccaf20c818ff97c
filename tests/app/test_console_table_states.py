"""Every table says what it means that it has no rows, and what to do; the same for all views of rows."""

import pytest
from budget_records import some_budgets
from console_driver import console, press, screen_text
from console_records import every_kind_of_run, group
from job_records import job
from scripted_backend import UNREACHABLE, ScriptedBackend

from nodus_tui.contract.backend import Page
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.screens.catalogue import screen_class
from nodus_tui.screens.table_screen import TableScreen
from nodus_tui.view_state.views import View, ViewEntry, destinations

TABLES = [entry for entry in destinations() if issubclass(screen_class(entry), TableScreen) and entry.view is not View.SPECS]
"""Those of what a backend has: spec files are there without one."""
EVERY_TABLE = pytest.mark.parametrize("entry", TABLES, ids=lambda entry: entry.view.value)


async def go(app, pilot, entry: ViewEntry) -> str:
    await press(app, pilot, "colon", *entry.view.value, "enter")
    assert isinstance(app.screen, TableScreen)
    return " ".join(screen_text(app).split())


@EVERY_TABLE
async def test_without_items_it_says_how_the_first_comes_about(entry: ViewEntry) -> None:
    async with console(ScriptedBackend()) as (app, pilot):
        shown = await go(app, pilot, entry)
        assert f"No {app.screen.ITEM}" in shown
        assert "nodus-tui" in shown or "spec file" in shown


@EVERY_TABLE
async def test_without_a_backend_it_says_that_it_waits_for_it_and_when_it_is_asked_again(entry: ViewEntry) -> None:
    backend = ScriptedBackend()
    backend.lost = UNREACHABLE
    async with console(backend) as (app, pilot):
        shown = await go(app, pilot, entry)
        assert "The backend does not answer yet." in shown
        assert "Trying again at" in shown


@pytest.mark.parametrize("name", ["campaigns", "jobs", "budgets"])
async def test_rows_that_the_filter_hides_are_not_taken_for_none(name: str) -> None:
    backend = ScriptedBackend([group()], every_kind_of_run())
    backend.jobs = {"train": job("train")}
    backend.budgets = some_budgets()
    entry = next(entry for entry in TABLES if entry.view.value == name)
    async with console(backend) as (app, pilot):
        await go(app, pilot, entry)
        await press(app, pilot, "slash", *"qqqq", "enter")
        shown = " ".join(screen_text(app).split())
        assert f"No {app.screen.ITEM} passes the filter. Esc takes it away." in shown
        await press(app, pilot, "escape")
        assert "passes the filter" not in screen_text(app)


async def test_a_connection_that_is_lost_leaves_the_rows_and_says_that_they_are_old() -> None:
    backend = ScriptedBackend([group()], every_kind_of_run())
    async with console(backend) as (app, pilot):
        backend.break_off(UNREACHABLE)
        await pilot.pause()
        await press(app, pilot, "j")
        shown = " ".join(screen_text(app).split())
        assert "fleet" in shown
        assert "what you see is old" in shown


async def test_a_sentence_in_place_of_rows_is_shown_whole_in_the_narrowest_table(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_asked: object) -> Page:
        raise NodusError(ErrorCode.UNAVAILABLE, "the file of the workspace cannot be read: Input/output error")

    backend = ScriptedBackend([group()], every_kind_of_run())
    monkeypatch.setattr(backend, "list", broken)
    async with console(backend, size=(60, 15)) as (app, pilot):
        await press(app, pilot, "w")
        shown = " ".join(screen_text(app).split())
        assert "! The queue cannot be read: the file of the workspace cannot be read: Input/output error." in shown
        assert "Esc goes back; opening the queue again tries again." in shown


@pytest.mark.parametrize("name", ["gpus", "log", "sandboxes", "jobs"])
async def test_why_nothing_is_known_is_told_once_while_there_is_no_connection(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*_asked: object, **_how: object) -> None:
        raise UNREACHABLE

    backend = ScriptedBackend()
    backend.lost = UNREACHABLE
    for asked in ("gpus", "scheduler_view", "sandboxes"):
        monkeypatch.setattr(backend, asked, gone)
    async with console(backend) as (app, pilot):
        await press(app, pilot, "colon", *name, "enter")
        shown = " ".join(screen_text(app).split())
        assert shown.casefold().count("socket does not answer") == 1
        assert "The backend does not answer yet. It is asked again by itself; the line below says when." in shown
        assert "Trying again at" in shown
