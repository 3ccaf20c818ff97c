"""From a few answers to verdicts, by keys, on the embedded backend: real store, scheduler and graders; only the model is simulated."""

from pathlib import Path

import pytest
from console_driver import console, press, screen_text
from draft_files import answers_kept, left_answers
from scripted_backend import ScriptedBackend
from test_console_on_local_backend import CONFIGURATION, until
from textual.pilot import Pilot

from local_backend.backend import open_backend
from nodus_tui.app import NodusApp
from nodus_tui.contract.backend import BackendOptions
from nodus_tui.screens.choice_list import ChoiceList
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.launch import EstimateScreen
from nodus_tui.screens.spec_editor import SpecEditor
from nodus_tui.screens.spec_form import SpecForm
from nodus_tui.screens.specs import SpecsScreen
from nodus_tui.values import replace


async def test_author_estimate_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, folder = tmp_path / "config.yaml", tmp_path / "here"
    config.write_text(CONFIGURATION, encoding="utf-8")
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("nodus_tui.authoring.finding.examples_folder", lambda: None)
    async with await open_backend(BackendOptions(home=tmp_path / "home", config=config, role="work")) as backend:
        app = NodusApp(backend, state_folder=tmp_path)
        async with app.run_test(size=(80, 24)) as pilot:
            await press(app, pilot, "F")
            await until(app, pilot, lambda: "No spec files in" in screen_text(app), "the empty folder")
            await press(app, pilot, "c", "enter")
            await until(app, pilot, lambda: isinstance(app.screen, SpecForm), "the form")
            form = app.screen
            assert isinstance(form, SpecForm)
            await until(app, pilot, lambda: "quick" in form.names.models, "the models of the workspace")
            # Another name, the family that the catalogue has, two tasks.
            await press(app, pilot, "end", "ctrl+u", *"sums", "tab")
            while form.answers["family"] != "quick":
                await press(app, pilot, "ctrl+n")
            await press(app, pilot, "tab", "tab", "tab", "end", "ctrl+u", "2")
            await until(app, pilot, lambda: "at most $0.20" in screen_text(app), "the estimate beside the answers")
            await press(app, pilot, "ctrl+o")
            await until(app, pilot, lambda: isinstance(app.screen, SpecEditor), "the editor")
            await until(app, pilot, lambda: "✓ no problem" in screen_text(app), "the text is checked")
            assert not list(folder.iterdir())
            await press(app, pilot, "ctrl+o")
            await until(app, pilot, lambda: (folder / "sums.yaml").exists() and "not saved" not in screen_text(app), "it is saved")
            await press(app, pilot, "ctrl+l")
            await until(app, pilot, lambda: isinstance(app.screen, EstimateScreen) and "$0.20" in screen_text(app), "the estimate")
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: isinstance(app.screen, GroupScreen), "the group")
            await until(app, pilot, lambda: "2/2" in screen_text(app), "all cases scored")
            # Back in the editor, as the footer says; the text is what is applied.
            assert "Esc back to sums.yaml" in screen_text(app)
            await press(app, pilot, "escape")
            await until(app, pilot, lambda: isinstance(app.screen, SpecEditor), "the editor again")
            await until(app, pilot, lambda: "· as applied" in screen_text(app), "it is applied")


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without specs or examples, in which the console is started; gives where its state is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nodus_tui.authoring.finding.examples_folder", lambda: None)
    return tmp_path / "state"


async def test_a_wrong_answer_is_told_and_goes_nowhere(alone: Path) -> None:
    async with console(ScriptedBackend(), state_folder=alone) as (app, pilot):
        await press(app, pilot, "F", "c", "enter", *"  !")
        assert isinstance(app.screen, SpecForm)
        assert "! Name: 1 to 50 small letters" in screen_text(app)
        await press(app, pilot, "ctrl+o")
        assert isinstance(app.screen, SpecForm)
        await press(app, pilot, "escape")
        assert not isinstance(app.screen, SpecForm)


async def test_what_is_chosen_replaces_the_answer_and_is_replaced_by_what_is_typed_next(alone: Path) -> None:
    async with console(ScriptedBackend(), state_folder=alone) as (app, pilot):
        await press(app, pilot, "F", "c", "enter", "tab")
        form = app.screen
        assert isinstance(form, SpecForm)
        form.names = replace(form.names, models=("simulated", "simulated-weak"))
        await press(app, pilot, "ctrl+n")
        assert form.answers["family"] == "simulated-weak"
        await press(app, pilot, *"pret")
        assert form.answers["family"] == "pret"


async def test_answers_are_kept_when_the_form_is_left_and_offered_again(alone: Path) -> None:
    async with console(ScriptedBackend(), state_folder=alone) as (app, pilot):
        await press(app, pilot, "F", "c", "enter", *"sums", "tab", "tab", *"Add up.", "escape")
        await until(app, pilot, lambda: "Your answers are kept: c, then a few questions, offers them again." in screen_text(app), "told")
        await press(app, pilot, "c", "enter")
        await until(app, pilot, lambda: "Go on with what was answered" in screen_text(app), "they are offered")
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecForm), "the form")
        assert (app.screen.answers["name"], app.screen.answers["system"]) == ("sums", "Add up.")
        await press(app, pilot, "ctrl+o")
        await until(app, pilot, lambda: isinstance(app.screen, SpecEditor), "the editor")
        assert answers_kept(alone / "drafts") == {}, "the editor's text has them now"


async def test_a_form_that_was_begun_anew_forgets_what_was_answered(alone: Path) -> None:
    left_answers(alone / "drafts", {"name": "sums"})
    async with console(ScriptedBackend(), state_folder=alone) as (app, pilot):
        await press(app, pilot, "F", "c", "enter")
        await until(app, pilot, lambda: "It is called sums" in screen_text(app), "they are offered")
        await press(app, pilot, "down", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecForm), "the form")
        assert app.screen.answers["name"] == "my-evaluation"
        await press(app, pilot, "escape")
        assert answers_kept(alone / "drafts") == {}


async def test_a_console_that_ends_in_any_way_keeps_the_answers(alone: Path) -> None:
    async with console(ScriptedBackend(), state_folder=alone) as (app, pilot):
        await press(app, pilot, "F", "c", "enter", *"sums")
    assert answers_kept(alone / "drafts")["name"] == "sums"


@pytest.fixture
def full(alone: Path) -> Path:
    """The same, where no draft can be kept: a file lies in the way of their folder."""
    alone.mkdir()
    (alone / "drafts").touch()
    return alone


async def asked_in_the_form(app: NodusApp, pilot: Pilot[int]) -> SpecForm:
    """The form, where it is asked what becomes of its answers."""
    await press(app, pilot, "F", "c", "enter", *"sums")
    form = app.screen
    assert isinstance(form, SpecForm)
    await press(app, pilot, "escape")
    await until(app, pilot, lambda: "Your answers cannot be kept" in screen_text(app), "the question")
    return form


async def test_an_escape_that_is_held_down_throws_no_answers_away_that_cannot_be_kept(full: Path) -> None:
    async with console(ScriptedBackend(), state_folder=full) as (app, pilot):
        form = await asked_in_the_form(app, pilot)
        await press(app, pilot, *["escape"] * 9)
        await until(app, pilot, lambda: isinstance(app.screen, SpecForm | ChoiceList), "the form or its question")
        assert form in app.screen_stack
        assert form.answers["name"] == "sums"


async def test_the_footer_tells_the_keys_of_a_question_over_a_dialog_and_then_those_of_the_dialog_again(full: Path) -> None:
    def footer(app: NodusApp) -> str:
        return screen_text(app).splitlines()[-1].rstrip()

    async with console(ScriptedBackend(), state_folder=full) as (app, pilot):
        await asked_in_the_form(app, pilot)
        await until(app, pilot, lambda: footer(app) == " ↑ ↓ choose  Enter take it  Esc cancel", "the question's keys")
        await press(app, pilot, "escape")
        await until(app, pilot, lambda: footer(app).startswith(" Tab next  ctrl+n choose"), "the form's keys")


async def test_answers_that_cannot_be_kept_are_thrown_away_by_who_says_so(full: Path) -> None:
    async with console(ScriptedBackend(), state_folder=full) as (app, pilot):
        form = await asked_in_the_form(app, pilot)
        await press(app, pilot, "down", "down", "enter")
        await until(app, pilot, lambda: form not in app.screen_stack, "the form is gone")
        assert isinstance(app.screen, SpecsScreen)
        assert "Your answers are kept" not in screen_text(app)


async def test_answers_that_cannot_be_kept_go_on_in_the_editor(full: Path) -> None:
    async with console(ScriptedBackend(), state_folder=full) as (app, pilot):
        await asked_in_the_form(app, pilot)
        await press(app, pilot, "down", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecEditor), "the editor")
        assert "name: sums" in app.screen.editing.true_text


async def test_wrong_answers_that_cannot_be_kept_are_mended_or_thrown_away(full: Path) -> None:
    async with console(ScriptedBackend(), state_folder=full) as (app, pilot):
        await press(app, pilot, "F", "c", "enter", "!", "escape")
        await until(app, pilot, lambda: "Your answers cannot be kept" in screen_text(app), "the question")
        assert "Throw the answers away" in screen_text(app)
        assert "Go on to the editor" not in screen_text(app)


async def test_a_console_is_left_without_the_answers_after_a_question_only(full: Path) -> None:
    async with console(ScriptedBackend(), state_folder=full) as (app, pilot):
        await press(app, pilot, "F", "c", "enter", *"sums", "ctrl+c")
        await until(app, pilot, lambda: "Leave without your answers?" in screen_text(app), "the question")
        assert "What was answered is lost then" in screen_text(app)
        await press(app, pilot, "escape")
        await until(app, pilot, lambda: isinstance(app.screen, SpecForm), "the form")
        assert app.screen.answers["name"] == "sums"


async def test_answers_that_are_kept_hold_nobody_up_who_leaves_the_console(alone: Path) -> None:
    async with console(ScriptedBackend(), state_folder=alone) as (app, pilot):
        await press(app, pilot, "F", "c", "enter", *"sums", "ctrl+c")
        await until(app, pilot, lambda: not app.is_running, "it is left")
    assert answers_kept(alone / "drafts")["name"] == "sums"


async def test_a_file_that_was_written_here_is_the_selected_one_afterwards(alone: Path) -> None:
    for name in ("before", "zebra"):
        (alone.parent / f"{name}.yaml").write_text("apiVersion: nodus.dev/v1\nkind: Agent\nmetadata: {name: a}\n", encoding="utf-8")
    async with console(ScriptedBackend(), state_folder=alone) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: "zebra.yaml" in screen_text(app), "the files")
        await press(app, pilot, "c", *"sandbox", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecEditor), "the editor")
        await press(app, pilot, "ctrl+o")
        await until(app, pilot, (alone.parent / "sandbox.yaml").exists, "it is saved")
        await press(app, pilot, "escape")
        await until(app, pilot, lambda: isinstance(app.screen, SpecsScreen) and "sandbox.yaml" in screen_text(app), "the files again")
        assert isinstance(app.screen, SpecsScreen)
        selected = app.screen.table.cursor_item
        assert selected is not None
        assert selected.shown == "sandbox.yaml"
