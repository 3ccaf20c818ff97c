"""What calls a person to the terminal: its bell, or a notification by OSC 9. No text is in it that was not made safe. Pure."""

from typing import Literal

from nodus_tui.ascii_cells import ascii_cells
from nodus_tui.text import cut, safe_text

NotifyBy = Literal["none", "bell", "osc9"]
BELL = "\a"
_MOST_CELLS = 160
"""Of a notification: desktops cut longer ones."""


def call_of(by: NotifyBy, text: str, *, only_ascii: bool = False) -> str:
    """What is sent to the terminal so that a person hears of the text; empty where they want nothing.

    The text may hold what others wrote. Nothing in it can end the sequence or begin another: safe_text leaves no control character.
    """
    if by == "bell":
        return BELL
    if by != "osc9":
        return ""
    # The name goes first: a text that begins with a number and a semicolon is a command of its own to some terminals.
    said = cut(f"nodus: {safe_text(text)}", _MOST_CELLS)
    return f"\x1b]9;{ascii_cells(said) if only_ascii else said}\x1b\\"
