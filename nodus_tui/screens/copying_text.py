"""Putting a text where a person can take it from: the clipboard by OSC 52, and a file, for not every terminal takes the first."""

from typing import TYPE_CHECKING

from nodus_tui.view_state.cells import Tone

if TYPE_CHECKING:
    from nodus_tui.screens.base import ViewScreen


def copy_text(screen: "ViewScreen", text: str, what: str) -> None:
    """Copy a text, which is called `what` in the sentence that tells of it."""
    screen.app.copy_to_clipboard(text)
    target = screen.services.copy_file
    if target is None:
        screen.notice(f"Copied {what} to the clipboard, where the browser allows it.", Tone.GOOD)
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n", encoding="utf-8", errors="replace")
    except OSError as error:
        screen.notice(f"Copied to the clipboard, where the terminal allows it; {target} cannot be written: {error.strerror}.", Tone.WARN)
        return
    screen.notice(f"Copied {what} to the clipboard; also in {target}.", Tone.GOOD)
