"""The console opens where it was left also where that is a view of several names, of a job's results, or the editor of a file."""

import asyncio
from pathlib import Path

import pytest
from console_driver import console, press, screen_text, settled
from queue_records import queue_world
from result_worlds import result_world
from scripted_backend import ScriptedBackend
from test_console_last_place import arrived, views

from nodus_tui.app import NodusApp
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.choice_list import ChoiceList
from nodus_tui.screens.spec_editor import SpecEditor
from nodus_tui.view_state.views import View

SPEC = "apiVersion: nodus.dev/v1\nkind: Agent\nmetadata: {name: adder}\nspec:\n  model: {families: [quick]}\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only spec file where the console is started."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "agent.yaml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("nodus_tui.authoring.finding.examples_folder", lambda: None)
    return folder / "agent.yaml"


def shown(app: NodusApp) -> tuple[View, tuple[str, ...], tuple[str, ...]]:
    """The view that is open, of what it is, and where it says to be."""
    view = next(screen for screen in reversed(app.screen_stack) if isinstance(screen, ViewScreen))
    return view.VIEW, view.names(), view.crumbs()


async def until_open(app: NodusApp, pilot, kind: type) -> None:
    while not isinstance(app.screen, kind):
        await pilot.pause(0.01)
        await settled(app, pilot)


@pytest.mark.parametrize(
    ("made", "keys", "view"),
    [
        (queue_world, ("w", "M"), View.WHAT_IF),
        (queue_world, ("w", "T"), View.TIMELINE),
        (result_world, ("slash", *"plain", "enter", "v"), View.RESULTS),
        (result_world, ("slash", *"plain", "enter", "v", "c", *"careful", "enter"), View.COMPARISON),
        (result_world, ("J", "end", "v"), View.RESULTS),
    ],
    ids=("what-if", "timeline", "results", "compared", "results of a job"),
)
async def test_views_of_names_are_opened_again(made, keys: tuple[str, ...], view: View, tmp_path: Path) -> None:
    async with console(made(), state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, *keys)
        await arrived(app, pilot)
        there = shown(app)
        app.exit(0)
    assert there[0] is view
    async with console(made(), state_folder=tmp_path) as (app, pilot):
        await arrived(app, pilot)
        assert shown(app) == there
        # Back leads to what it is of, not out at once.
        await press(app, pilot, "escape")
        assert shown(app)[1] == there[1][:1]


async def test_one_of_two_that_is_gone_is_told(tmp_path: Path) -> None:
    async with console(result_world(), state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "slash", *"plain", "enter", "v", "c", *"careful", "enter")
        second = shown(app)[1][1]
        app.exit(0)
    backend = result_world()
    del backend.groups[second]
    async with console(backend, state_folder=tmp_path) as (app, pilot):
        await arrived(app, pilot)
        assert views(app) == [View.CAMPAIGNS]
        assert f"The group {second}, where you were last, is not there any more." in " ".join(screen_text(app).split())


async def test_the_editor_opens_its_file_again_and_offers_what_was_typed(file: Path, tmp_path: Path) -> None:
    async with console(ScriptedBackend(), state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "F")
        while "agent.yaml" not in screen_text(app):
            await settled(app, pilot)
        await press(app, pilot, "enter")
        await until_open(app, pilot, SpecEditor)
        app.exit(0)
    async with console(ScriptedBackend(), state_folder=tmp_path) as (app, pilot):
        await until_open(app, pilot, SpecEditor)
        assert shown(app)[1] == (str(file),)
        assert views(app) == [View.CAMPAIGNS, View.SPECS, View.SPEC]
        await press(app, pilot, "ctrl+end", *"# mine")
        app.exit(0)
    async with console(ScriptedBackend(), state_folder=tmp_path) as (app, pilot):
        await until_open(app, pilot, ChoiceList)
        await press(app, pilot, "enter")
        await until_open(app, pilot, SpecEditor)
        assert isinstance(app.screen, SpecEditor)
        assert app.screen.editing.true_text == f"{SPEC}# mine"


async def test_a_file_that_is_gone_is_told_where_files_are_listed(file: Path, tmp_path: Path) -> None:
    async with console(ScriptedBackend(), state_folder=tmp_path) as (app, pilot):
        await press(app, pilot, "F")
        while "agent.yaml" not in screen_text(app):
            await settled(app, pilot)
        await press(app, pilot, "enter")
        await until_open(app, pilot, SpecEditor)
        app.exit(0)
    await asyncio.to_thread(file.unlink)
    async with console(ScriptedBackend(), state_folder=tmp_path, size=(120, 30)) as (app, pilot):
        while "there is no file" not in screen_text(app):
            await settled(app, pilot)
        assert views(app) == [View.CAMPAIGNS, View.SPECS]
