"""Editing a file in the person's own editor: the console is put aside, $EDITOR has the terminal, and gives it back."""

import os
from pathlib import Path

from textual.app import SuspendNotSupported

from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.outside import lend_terminal, program_for
from nodus_tui.view_state.cells import Tone


async def edit_file(screen: ViewScreen, path: Path) -> bool:
    """Let the person's editor have a file; says how that went where it did not go well, and gives whether the editor ran."""
    try:
        command = program_for("editor", os.environ)
    except ValueError as error:
        screen.notice(f"! $EDITOR cannot be read as a command: {error}.", Tone.BAD)
        return False
    if not command:
        screen.notice("There is no editor on this machine; set $EDITOR to one.", Tone.WARN)
        return False
    try:
        code = await lend_terminal(screen.app, [*command, str(path)])
    except SuspendNotSupported:
        screen.notice(f"This console cannot lend its terminal; edit {path} in another one.", Tone.WARN)
        return False
    except OSError as error:
        screen.notice(f"! {command[0]} cannot be started: {error.strerror or error}. $EDITOR names another.", Tone.BAD)
        return False
    if code:
        screen.notice(f"{command[0]} ended with exit code {code}.", Tone.WARN)
    screen.show()
    return True
