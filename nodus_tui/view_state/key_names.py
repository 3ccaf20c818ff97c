"""Names of keys: as people write and read them, and which ones never reach a program in a terminal. Pure; it knows no action.

The names inside are those of the terminal library (`question_mark`, `ctrl+x`, `X`). A character may be written as itself.
"""

import unicodedata
from collections.abc import Mapping

from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.wording import quoted

_OTHER_NAMES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Characters that are not called as Unicode calls them."""

_WORDS: Mapping[str, str] = {
    "enter": "Enter",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "escape": "Esc",
    "backspace": "Backspace",
    "delete": "Del",
    "insert": "Ins",
    "space": "Space",
    "home": "Home",
    "end": "End",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
"""Keys without a character, as people read them."""

_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "page_up": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "page_down": "pagedown",
    "backtab": "shift+tab",
    "period": "full_stop",
    "dot": "full_stop",
    "hash": "number_sign",
    "pipe": "vertical_line",
}
_MODIFIERS = {"control": "ctrl", "option": "alt", "cmd": "super", "command": "super", "win": "super"}

_SAME_BYTE = {
    "ctrl+h": "Backspace",
    "ctrl+i": "Tab",
    "ctrl+j": "Enter",
    "ctrl+m": "Enter",
    "ctrl+left_square_bracket": "Escape",
}
_TAKEN: Mapping[str, str] = {
    **{key: f"a terminal sends the same for it as for {other}" for key, other in _SAME_BYTE.items()},
    "ctrl+a": "GNU screen keeps it for its own commands",
    "ctrl+b": "tmux keeps it for its own commands",
    "ctrl+c": "it always leaves the console",
    "ctrl+q": "a terminal's flow control takes it: it lets the output go on",
    "ctrl+s": "a terminal's flow control takes it: it holds the output, and the screen seems to hang",
    "ctrl+v": "several terminals paste with it",
    "ctrl+z": "it suspends programs everywhere else",
    "ctrl+backslash": "it ends programs everywhere else, and some session keepers detach with it",
    "ctrl+right_square_bracket": "telnet and serial lines take it",
    "f10": "several terminals open their menu with it",
    "f11": "most terminals fill the screen with it",
    "shift+insert": "terminals paste with it",
    "ctrl+insert": "terminals copy with it",
    **dict.fromkeys(("shift+pageup", "shift+pagedown", "shift+home", "shift+end"), "terminals scroll back with it"),
    **dict.fromkeys(("ctrl+pageup", "ctrl+pagedown", "ctrl+tab", "ctrl+shift+tab"), "terminals change their tabs with it"),
    **dict.fromkeys(("ctrl+plus", "ctrl+minus", "ctrl+equals_sign", "ctrl+0"), "terminals change the size of their letters with it"),
}
"""What never comes, or comes with something that nobody meant, and why."""

_LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
_ARROWS = ("up", "down", "left", "right")


def _character_name(character: str) -> str:
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return _OTHER_NAMES.get(name, name)


_SIGNS = {_character_name(sign): sign for sign in map(chr, range(0x21, 0x7F)) if not sign.isalnum()}
_KNOWN = frozenset(
    (
        *_WORDS,
        *_SIGNS,
        *(f"ctrl+{letter}" for letter in _LETTERS),
        *(f"alt+{letter}" for letter in _LETTERS),
        *(f"{modifier}+{arrow}" for modifier in ("ctrl", "shift", "alt") for arrow in _ARROWS),
        *("ctrl+home", "ctrl+end", "ctrl+delete"),
    )
)


class KeyNameError(ValueError):
    """A text that names no key which can be used: a sentence, and the name that was likely meant."""

    def __init__(self, sentence: str, suggestion: str = "") -> None:
        super().__init__(sentence)
        self.suggestion = suggestion


def shown_key(key: str) -> str:
    """A key as people read it: `/`, `Esc`, `ctrl+x`."""
    modifiers, plus, name = key.rpartition("+")
    return _WORDS.get(key) or f"{modifiers}{plus}{_WORDS.get(name) or _SIGNS.get(name) or name}"


def prints(key: str) -> bool:
    """Whether a key puts a character into a line that is typed in."""
    return len(key) == 1 or key == "space" or key in _SIGNS


def key_of(text: str) -> str:
    """The key that a person means by a text: a character, a name (`Esc`, `pgdn`, `slash`), or one with `ctrl+`, `alt+`, `shift+`.

    Raises KeyNameError for what names no key, and for keys that do not reach a program in a terminal.
    """
    if len(text) == 1:
        return _of_character(text)
    *before, name = text.replace(" ", "").split("+")
    modifiers = sorted({_MODIFIERS.get(each.lower(), each.lower()) for each in before})
    if not before and "-" in text:
        # As others write it.
        raise KeyNameError(f"{quoted(text)} is no key: a modifier is joined with +", text.replace("-", "+").lower())
    if not name and "" in modifiers:
        modifiers, name = modifiers[1:], "plus"
    if modifiers == ["shift"] and len(name) == 1:
        raise KeyNameError(f"{quoted(text)} is written as the character that it gives", name.upper() if name.isalpha() else "")
    plain = _plain_name(name)
    key = "+".join((*modifiers, plain))
    if reason := _TAKEN.get(key) or _taken_with(modifiers, plain):
        raise KeyNameError(f"{shown_key(key)} cannot be used: {reason}")
    if key not in _KNOWN:
        raise KeyNameError(f"{quoted(text)} is no key", nearest(key, sorted(_KNOWN - _TAKEN.keys())))
    return key


def _of_character(text: str) -> str:
    name = _character_name(text)
    if name == "space" or (name and text.isprintable()):
        return name
    raise KeyNameError("a character that is not printed is no key: write its name, such as enter")


def _plain_name(name: str) -> str:
    if len(name) == 1:
        return _character_name(name.lower())
    lowered = name.lower()
    return _ALIASES.get(lowered, lowered)


def _taken_with(modifiers: list[str], name: str) -> str:
    """Why a key with modifiers does not come, as a rule."""
    reason = ""
    if {"super", "meta", "hyper"} & set(modifiers):
        reason = "the desktop keeps it; it does not reach a terminal"
    elif len(modifiers) > 1:
        reason = "terminals keep it for themselves, or send the same as with fewer modifiers"
    elif modifiers in (["ctrl"], ["alt"]) and name.isdigit():
        reason = "terminals do not send it, or change their tabs with it"
    elif modifiers and name in {"enter", "space", "backspace", "escape"}:
        reason = "few terminals tell it from the key alone"
    elif modifiers and name.startswith("f") and name[1:].isdigit():
        reason = "desktops and terminals keep it for themselves"
    return reason
