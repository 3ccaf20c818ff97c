"""Saving what the editor of a spec has, and leaving it: no file is overwritten that is another by now, and no text goes unasked."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nodus_tui.authoring.places import place_words
from nodus_tui.authoring.text_file import NO_FILE, ChangedOnDiskError, Stamp, TextFileError, read_text, write_text
from nodus_tui.screens.choice_list import Choice, ChoiceList
from nodus_tui.view_state.cells import Tone, line
from nodus_tui.view_state.proposals import Question
from nodus_tui.widgets.dialogs import ConfirmDialog, PromptDialog

if TYPE_CHECKING:
    from nodus_tui.screens.spec_editor import SpecEditor

_SAVE, _KEEP, _DROP = "save", "keep", "drop"


async def save(editor: "SpecEditor") -> bool:
    """Write the text to its file; gives whether it stands there."""
    path: Path | None = editor.path
    expected: Stamp | None = editor.read.stamp
    if editor.example:
        path = await _asked_path(editor)
        expected = None if path == editor.path else NO_FILE
    if path is None:
        editor.notice("Nothing was saved.", Tone.MUTED)
        return False
    text = editor.editing.true_text
    data = editor.read.data(text)
    try:
        try:
            await asyncio.to_thread(write_text, path, data, expected=expected)
        except ChangedOnDiskError as error:
            question = Question(
                f"Overwrite {path.name}?",
                (line(f"{error}: somebody else's text is in it now, and would go."),),
                "Overwrite",
            )
            if not await editor.app.push_screen_wait(ConfirmDialog(question)):
                editor.notice("Nothing was saved; your text is still here.", Tone.WARN)
                return False
            await asyncio.to_thread(write_text, path, data, expected=None)
        # What stands there now: line ends that were added belong to the file from now on.
        read = await asyncio.to_thread(read_text, path)
    except TextFileError as error:
        editor.notice(f"! {error}. Your text is still here, and kept as a draft.", Tone.BAD)
        return False
    before = editor.path
    editor.now_is(path, read if read.text == text else replace(read, text=text))
    editor.example = editor.example and path == before
    await asyncio.to_thread(editor.drafts.forget, before)
    editor.notice(f"✓ Saved {place_words(path, editor.services.folder)}.", Tone.GOOD)
    editor.check_soon()
    editor.show()
    return True


async def _asked_path(editor: "SpecEditor") -> Path | None:
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

    lines = (line("This is one of the examples: your copy goes into your own folder. A file that is there already is asked about."),)
    answer = await editor.app.push_screen_wait(PromptDialog("Save as", lines, value=editor.path.name, problem=problem))
    return None if answer is None else place(answer[0])


async def may_leave(editor: "SpecEditor") -> bool:
    """Whether the editor can be closed: asks what becomes of a text that is not saved."""
    if not editor.modified:
        # The view below looks for drafts as soon as it is seen.
        await asyncio.to_thread(editor.drop)
        return True
    answer = await editor.app.push_screen_wait(
        ChoiceList(
            f"{editor.path.name} is not saved",
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
        await asyncio.to_thread(editor.drop)
        return True
    if answer == _KEEP:
        problem = await asyncio.to_thread(editor.drafts.keep, editor.draft())
        if problem:
            editor.notice(f"! It cannot be kept as a draft: {problem}. Save it, or throw it away.", Tone.BAD)
        return not problem
    return False
