"""Names of keys: every printed character by itself, names as people write them, and a reason for each key that never comes."""

import string

import pytest
from textual.keys import _character_to_key

from nodus_tui.view_state.key_names import KeyNameError, key_of, prints, shown_key


@pytest.mark.parametrize("character", [*(string.digits + string.ascii_letters + string.punctuation), "é", "ß", "д", "§"])
def test_a_character_is_called_as_the_terminal_library_calls_it_and_shown_as_itself(character: str) -> None:
    assert key_of(character) == _character_to_key(character)
    if character.isascii() or character.isalnum():
        assert shown_key(key_of(character)) == character
        assert prints(key_of(character))


@pytest.mark.parametrize(
    ("written", "key", "shown"),
    [
        ("Esc", "escape", "Esc"),
        ("ESCAPE", "escape", "Esc"),
        ("Return", "enter", "Enter"),
        ("pgdn", "pagedown", "PgDn"),
        ("page_up", "pageup", "PgUp"),
        ("Del", "delete", "Del"),
        ("F5", "f5", "F5"),
        (" ", "space", "Space"),
        ("slash", "slash", "/"),
        ("Ctrl+X", "ctrl+x", "ctrl+x"),
        ("control+x", "ctrl+x", "ctrl+x"),
        ("alt+x", "alt+x", "alt+x"),
        ("shift+up", "shift+up", "shift+↑"),
        ("shift+tab", "shift+tab", "Shift-Tab"),
    ],
)
def test_names_are_read_as_people_write_them(written: str, key: str, shown: str) -> None:
    assert key_of(written) == key
    assert shown_key(key) == shown


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("ctrl+s", "flow control"),
        ("ctrl+q", "flow control"),
        ("ctrl+z", "suspends"),
        ("ctrl+a", "GNU screen"),
        ("ctrl+b", "tmux"),
        ("ctrl+c", "always leaves"),
        ("ctrl+v", "paste"),
        ("ctrl+h", "Backspace"),
        ("ctrl+i", "Tab"),
        ("ctrl+j", "Enter"),
        ("ctrl+m", "Enter"),
        ("ctrl+[", "Escape"),
        ("ctrl+]", "telnet"),
        ("ctrl+\\", "ends programs"),
        ("f10", "menu"),
        ("F11", "fill the screen"),
        ("shift+pageup", "scroll back"),
        ("shift+insert", "paste"),
        ("ctrl+PageDown", "tabs"),
        ("ctrl++", "size of their letters"),
        ("ctrl+shift+c", "terminals keep it"),
        ("ctrl+alt+t", "terminals keep it"),
        ("cmd+k", "desktop"),
        ("super+k", "desktop"),
        ("alt+1", "tabs"),
        ("ctrl+enter", "few terminals"),
        ("alt+f4", "desktops"),
    ],
)
def test_a_key_that_never_comes_is_refused_with_the_reason(written: str, reason: str) -> None:
    with pytest.raises(KeyNameError, match="cannot be used") as refused:
        key_of(written)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("entr", "enter"),
        ("ctrl-x", "ctrl+x"),
        ("shift+x", "X"),
        ("pagedwn", "pagedown"),
        ("question", "question_mark"),
        ("xx", ""),
        ("", ""),
    ],
)
def test_what_is_no_key_is_told_with_the_nearest(written: str, meant: str) -> None:
    with pytest.raises(KeyNameError) as refused:
        key_of(written)
    assert refused.value.suggestion == meant


def test_a_suggestion_is_never_a_key_that_cannot_be_used() -> None:
    for letter in string.ascii_lowercase:
        with pytest.raises(KeyNameError) as refused:
            key_of(f"ctlr+{letter}")
        if refused.value.suggestion:
            key_of(refused.value.suggestion)
