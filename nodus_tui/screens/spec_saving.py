"""Saving what the editor of a spec has, and leaving it: no file is overwritten that is another by now, and no text goes unasked."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from nodus_tui.authoring.places import place_words
from nodus_tui.authoring.text_file import NO_FILE, ChangedOnDiskError, NoFileError, Stamp, TextFileError, read_text, stamp_of, write_text
from nodus_tui.screens.choice_list import Choice, ChoiceList
from nodus_tui.values import replace
from nodus_tui.view_state.cells import Tone, line
from nodus_tui.view_state.proposals import Question
from nodus_tui.widgets.dialogs import ConfirmDialog, PromptDialog

if TYPE_CHECKING:
    from nodus_tui.screens.spec_editor import SpecEditor

_SAVE, _KEEP, _DROP = "save", "keep", "drop"


async def save(editor: "SpecEditor", *, refused: str = "") -> bool:
    """Write the text to its file; gives whether it stands there. Where its file was `refused`, a person may name another one."""
    path: Path | None = editor.file.path
    expected = editor.file.read.stamp
    why = f"{refused}. Your text can go into another file." if refused else await _why_elsewhere(editor)
    if why:
        path = await _asked_path(editor, why)
        expected = editor.file.read.stamp if path == editor.file.path else NO_FILE
    if path is None:
        if refused:
            await _tell_unsaved(editor, refused)
        else:
            editor.notice("Nothing was saved.", Tone.MUTED)
        return False
    text = editor.editing.true_text
    data = editor.file.read.data(text)
    try:
        if not await _written(editor, path, data, expected):
            editor.notice("Nothing was saved; your text is still here.", Tone.WARN)
            return False
        # What stands there now: line ends that were added belong to the file from now on.
        read = await asyncio.to_thread(read_text, path)
    except TextFileError as error:
        if not why:
            return await save(editor, refused=str(error))
        await _tell_unsaved(editor, str(error))
        return False
    before = editor.file.path
    editor.file.now_is(path, read if read.text == text else replace(read, text=text))
    editor.example = editor.example and path == before
    await editor.keep_draft()
    editor.notice(f"✓ Saved {place_words(path, editor.services.folder)}.", Tone.GOOD)
    editor.check_soon()
    editor.show()
    return True


async def _tell_unsaved(editor: "SpecEditor", why: str) -> None:
    """Say why the text is in no file, and where it is kept instead."""
    unkept = await editor.keep_draft()
    kept = f"but in no file, and in no draft: {unkept}" if unkept else "and kept as a draft"
    editor.notice(f"! {why}. Your text is still here, {kept}.", Tone.BAD)


async def _written(editor: "SpecEditor", path: Path, data: bytes, expected: Stamp) -> bool:
    """Write it; where somebody else's text would go, only after a question. Raises TextFileError."""
    while True:
        try:
            await asyncio.to_thread(write_text, path, data, expected=expected)
        except ChangedOnDiskError as error:
            # What was asked about is overwritten, and nothing that comes meanwhile. In a file that is gone there is nothing to ask about.
            expected = await asyncio.to_thread(stamp_of, path)
            lines = (line(f"{error}: somebody else's text is in it now, and would go."),)
            if expected.exists and not await editor.app.push_screen_wait(
                ConfirmDialog(Question(f"Overwrite {path.name}?", lines, "Overwrite"))
            ):
                return False
        else:
            return True


async def _why_elsewhere(editor: "SpecEditor") -> str:
    """Why the text cannot go into its own file without another word; empty where it can."""
    if editor.example:
        return "This is one of the examples: your copy goes into your own folder."
    try:
        await asyncio.to_thread(read_text, editor.file.path)
    except NoFileError:
        return ""
    except TextFileError as error:
        return f"{error}. Your text can go into another file."
    return ""


async def _asked_path(editor: "SpecEditor", why: str) -> Path | None:
    folder = editor.services.folder

    def place(typed: str) -> Path:
        return folder / Path(typed.strip()).expanduser()

    def problem(typed: str) -> str:
        if not typed.strip():
            return "Type the name of a file."
        try:
            return "That is a folder: type the name of a file." if place(typed).is_dir() else ""
        except (OSError, RuntimeError, ValueError) as error:
            return f"That is no place on this machine: {error}"

    lines = (line(f"{why} A file that is there already is asked about."),)
    answer = await editor.app.push_screen_wait(PromptDialog("Save as", lines, value=editor.file.path.name, problem=problem))
    return None if answer is None else place(answer[0])


async def may_leave(editor: "SpecEditor") -> bool:
    """Whether the editor can be closed: asks what becomes of a text that is not saved."""
    await editor.look_at_disk()
    if not editor.file.modified:
        # The view below looks for drafts as soon as it is seen.
        await asyncio.to_thread(editor.file.drop)
        return True
    answer = await editor.app.push_screen_wait(
        ChoiceList(
            f"{editor.file.path.name} is not saved",
            (
                Choice("stay", "Go on editing", "Nothing happens."),
                Choice(_SAVE, "Save and leave", "The file becomes what you see."),
                Choice(_KEEP, "Leave, keep a draft", "The file stays as it is; the draft is offered when it is opened again."),
                Choice(_DROP, "Throw the changes away", "The file stays as it is; what you typed is gone."),
            ),
            editor.services.now,
            typed=False,
        )
    )
    if answer == _SAVE:
        return await save(editor)
    if answer == _DROP:
        await asyncio.to_thread(editor.file.drop)
        return True
    if answer == _KEEP:
        problem = await asyncio.to_thread(editor.file.keep_and_leave)
        if problem:
            editor.notice(f"! It cannot be kept as a draft: {problem}. Save it, or throw it away.", Tone.BAD)
        return not problem
    return False
