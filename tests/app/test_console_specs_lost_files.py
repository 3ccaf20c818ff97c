"""The editor of a spec whose file goes, becomes another thing, or cannot be written: what was typed stays, and where it is kept is true."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from console_driver import console, press, screen_text, settled
from draft_files import draft_of, left_draft
from scripted_backend import ScriptedBackend
from test_console_specs import GOOD, editing, folder, state, until  # noqa: F401 - `folder` is a fixture

from nodus_tui.authoring.drafts import Draft
from nodus_tui.authoring.text_file import NO_FILE, Stamp, TextFileError, write_text
from nodus_tui.screens import spec_saving
from nodus_tui.screens.choice_list import ChoiceList
from nodus_tui.screens.spec_editor import SpecEditor
from nodus_tui.screens.specs import SpecsScreen
from nodus_tui.widgets.dialogs import ConfirmDialog, PromptDialog
from nodus_tui.widgets.text_entry import TextEntry

pytestmark = pytest.mark.timeout(60)


def kept(tmp_path: Path, file: Path) -> Draft | None:
    return draft_of(state(tmp_path) / "drafts", file)


async def saved(app, pilot) -> SpecEditor:
    """The editor after something was typed and saved."""
    editor = await editing(app, pilot)
    await press(app, pilot, "ctrl+end", *"# mine", "ctrl+o")
    await until(app, pilot, lambda: "✓ Saved" in screen_text(app))
    return editor


async def looked(app, pilot, editor: SpecEditor) -> None:
    """The file is looked at now, without the seconds between two looks."""
    await editor.look_at_disk()
    await settled(app, pilot)


async def test_text_whose_file_vanished_after_a_save_is_unsaved(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    file = folder / "agent.yaml"
    async with console(ScriptedBackend(), size=(120, 30), state_folder=state(tmp_path)) as (app, pilot):
        editor = await saved(app, pilot)
        file.unlink()
        await looked(app, pilot, editor)
        assert "agent.yaml is gone from the disk; your text is not touched." in screen_text(app)
        assert "● not saved" in screen_text(app)
        assert "writes it again" in screen_text(app)
        assert "✓ Saved" not in screen_text(app)
        await until(app, pilot, lambda: kept(tmp_path, file) is not None)
        await press(app, pilot, "escape")
        assert isinstance(app.screen, ChoiceList)
        await press(app, pilot, "down", "down", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecsScreen) and "draft agent.yaml" in screen_text(app))
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, ChoiceList))
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecEditor))
        assert app.screen.editing.true_text == GOOD + "# mine"
        await press(app, pilot, "ctrl+o")
        await until(app, pilot, file.exists)
        assert file.read_text(encoding="utf-8") == GOOD + "# mine"


async def test_a_file_that_vanished_a_moment_ago_is_asked_about_as_well(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        await saved(app, pilot)
        (folder / "agent.yaml").unlink()
        await press(app, pilot, "escape")
        await until(app, pilot, lambda: isinstance(app.screen, ChoiceList))


async def test_a_console_that_ends_keeps_a_text_whose_file_is_gone(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    file = folder / "agent.yaml"
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        await saved(app, pilot)
        file.unlink()
    draft = kept(tmp_path, file)
    assert draft is not None
    assert draft.text == GOOD + "# mine"


async def test_a_file_that_is_gone_is_written_again_without_a_question(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    file = folder / "agent.yaml"
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        await editing(app, pilot)
        file.unlink()
        await press(app, pilot, "ctrl+end", "#", "ctrl+o")
        await until(app, pilot, lambda: file.exists() or isinstance(app.screen, ConfirmDialog))
        assert file.read_text(encoding="utf-8") == GOOD + "#"


async def test_a_persons_editor_that_deletes_the_file_leaves_the_text_unsaved(
    folder: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def deleting(_: object, path: Path) -> bool:
        await asyncio.to_thread(path.unlink)
        return True

    monkeypatch.setattr("nodus_tui.screens.spec_editor.edit_file", deleting)
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        editor = await editing(app, pilot)
        await editor.do_own_editor()
        assert editor.file.modified
        await until(app, pilot, lambda: kept(tmp_path, folder / "agent.yaml") is not None)


async def test_what_is_gone_cannot_be_taken_and_takes_no_draft_with_it(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    async with console(ScriptedBackend(), state_folder=state(tmp_path)) as (app, pilot):
        editor = await editing(app, pilot)
        (folder / "agent.yaml").unlink()
        await looked(app, pilot, editor)
        await until(app, pilot, lambda: kept(tmp_path, folder / "agent.yaml") is not None)
        await editor.do_take_disk()
        assert editor.editing.true_text == GOOD
        assert kept(tmp_path, folder / "agent.yaml") is not None


def _a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _too_large(file: Path) -> None:
    file.write_bytes(GOOD.encode() + b"#" * (2 << 20))


def _not_utf_8(file: Path) -> None:
    file.write_bytes(b"a: \xff\n")


SPOILT = (_a_pipe, _a_folder, _too_large, _not_utf_8)


@pytest.mark.parametrize("spoil", SPOILT)
async def test_what_cannot_go_into_its_file_any_more_is_saved_under_another_name(
    spoil: Callable[[Path], None],
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    async with console(ScriptedBackend(), size=(120, 30), state_folder=state(tmp_path)) as (app, pilot):
        editor = await editing(app, pilot)
        await press(app, pilot, "ctrl+end", *"# mine")
        spoil(folder / "agent.yaml")
        await looked(app, pilot, editor)
        assert "your text is not touched" in " ".join(screen_text(app).replace("│", " ").split())
        await press(app, pilot, "ctrl+o")
        await until(app, pilot, lambda: isinstance(app.screen, PromptDialog))
        await press(app, pilot, "end", *["backspace"] * 10, *"other.yaml", "enter")
        await until(app, pilot, lambda: (folder / "other.yaml").exists() and "✓ Saved" in screen_text(app))
        assert (folder / "other.yaml").read_text(encoding="utf-8") == GOOD + "# mine"
        assert not editor.file.modified
        assert kept(tmp_path, folder / "agent.yaml") is None


@pytest.mark.parametrize("spoil", SPOILT)
async def test_a_draft_is_listed_and_offered_when_its_file_cannot_be_read(
    spoil: Callable[[Path], None],
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    left_draft(state(tmp_path) / "drafts", Draft(folder / "agent.yaml", GOOD + "# mine", NO_FILE))
    spoil(folder / "agent.yaml")
    async with console(ScriptedBackend(), size=(120, 30), state_folder=state(tmp_path)) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: "draft agent.yaml" in screen_text(app))
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, ChoiceList))
        await until(app, pilot, lambda: "can be saved under another name" in " ".join(screen_text(app).replace("│", " ").split()))
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecEditor))
        assert app.screen.editing.true_text == GOOD + "# mine"
        assert app.screen.file.modified


async def test_a_draft_of_a_spoilt_file_can_be_thrown_away(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    left_draft(state(tmp_path) / "drafts", Draft(folder / "agent.yaml", GOOD, NO_FILE))
    _a_folder(folder / "agent.yaml")
    async with console(ScriptedBackend(), size=(120, 30), state_folder=state(tmp_path)) as (app, pilot):
        await press(app, pilot, "F")
        await until(app, pilot, lambda: "draft agent.yaml" in screen_text(app))
        await press(app, pilot, "enter")
        await until(app, pilot, lambda: isinstance(app.screen, ChoiceList))
        await press(app, pilot, "down", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, SpecsScreen) and "draft agent.yaml" not in screen_text(app))
        assert kept(tmp_path, folder / "agent.yaml") is None


async def test_what_cannot_be_kept_is_said_and_tried_again(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    file = folder / "agent.yaml"
    drafts = state(tmp_path) / "drafts"
    drafts.parent.mkdir(exist_ok=True)
    # Where a file is, no folder can be made: as on a full disk, nothing can be written down.
    drafts.write_text("", encoding="utf-8")
    (folder / "full").write_text("", encoding="utf-8")
    async with console(ScriptedBackend(), size=(300, 30), state_folder=state(tmp_path)) as (app, pilot):
        editor = await editing(app, pilot)
        await press(app, pilot, "ctrl+end", *"# mine")
        _a_folder(file)
        await press(app, pilot, "ctrl+o")
        await until(app, pilot, lambda: isinstance(app.screen, PromptDialog))
        await press(app, pilot, "home", *"full/", "enter")
        await until(app, pilot, lambda: "Your text is still here, but in no file, and in no draft: " in screen_text(app))
        assert "kept as a draft" not in screen_text(app)
        await press(app, pilot, "ctrl+c")
        await until(app, pilot, lambda: "Leave without saving agent.yaml?" in screen_text(app))
        assert "What was typed is lost then" in screen_text(app)
        await press(app, pilot, "escape")
        drafts.unlink()
        await looked(app, pilot, editor)
        await until(app, pilot, lambda: kept(tmp_path, file) is not None and "✓ What you typed is kept as a draft now." in screen_text(app))


async def test_what_cannot_be_saved_and_is_kept_is_said_to_be(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    (folder / "full").write_text("", encoding="utf-8")
    async with console(ScriptedBackend(), size=(300, 30), state_folder=state(tmp_path)) as (app, pilot):
        await editing(app, pilot)
        await press(app, pilot, "ctrl+end", *"# mine")
        _a_folder(folder / "agent.yaml")
        await press(app, pilot, "ctrl+o")
        await until(app, pilot, lambda: isinstance(app.screen, PromptDialog))
        await press(app, pilot, "home", *"full/", "enter")
        await until(app, pilot, lambda: "Your text is still here, and kept as a draft." in screen_text(app))
        draft = kept(tmp_path, folder / "agent.yaml")
        assert draft is not None
        assert draft.text == GOOD + "# mine"


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_what_its_disk_does_not_take_can_be_saved_elsewhere(
    elsewhere: bool,
    folder: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A stand-in for a disk that is full: whoever runs the tests has no such disk to give.
    def full(path: Path, data: bytes, *, expected: Stamp | None) -> Stamp:
        if path.parent == folder:
            raise TextFileError(f"{path} cannot be written: No space left on device")
        return write_text(path, data, expected=expected)

    monkeypatch.setattr(spec_saving, "write_text", full)
    async with console(ScriptedBackend(), size=(300, 30), state_folder=state(tmp_path)) as (app, pilot):
        editor = await editing(app, pilot)
        await press(app, pilot, "ctrl+end", *"# mine", "ctrl+o")
        await until(app, pilot, lambda: isinstance(app.screen, PromptDialog))
        words = " ".join(screen_text(app).replace("│", " ").split())
        assert "No space left on device. Your text can go into another file." in words
        if elsewhere:
            other = tmp_path / "other.yaml"
            app.screen.query_one("#value", TextEntry).value = str(other)
            await press(app, pilot, "enter")
            await until(app, pilot, lambda: other.exists() and not editor.file.modified)
            assert other.read_text(encoding="utf-8") == GOOD + "# mine"
        else:
            await press(app, pilot, "escape")
            await until(app, pilot, lambda: "Your text is still here, and kept as a draft." in screen_text(app))
            assert kept(tmp_path, folder / "agent.yaml") is not None
        assert (folder / "agent.yaml").read_text(encoding="utf-8") == GOOD
