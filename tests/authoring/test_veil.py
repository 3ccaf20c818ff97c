"""What a terminal obeys is never in the text that is edited, and what is saved is what was there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.authoring.veil import Veil
from nodus_tui.text import safe_text


@pytest.mark.parametrize(
    "text",
    [
        "a: \x1b]52;c;aGk=\x07",
        "a\x00b\x0b\x0c\x1c\x85\u2028\u2029",
        "\u202eevil\u2066",
        "a\u200db\ufe0f",
        "z" + "\u0301" * 40,
        "👍🏽",
    ],
)
def test_hostile_characters_are_stand_ins_while_they_are_edited(text: str) -> None:
    veil = Veil(text)
    shown = veil.shown(text)
    assert len(shown) == len(text)
    assert len(shown.splitlines()) <= 1
    assert safe_text(shown) == shown
    assert veil.true(shown) == text


@given(st.text())
def test_every_text_comes_back_as_it_was(text: str) -> None:
    veil = Veil(text)
    assert veil.true(veil.shown(text)) == text


def test_a_stand_in_that_the_text_has_itself_is_not_taken() -> None:
    text = "\u241b and \x1b"
    veil = Veil(text)
    shown = veil.shown(text)
    assert shown.startswith("\u241b")
    assert not shown.endswith("\u241b")
    assert veil.true(shown) == text


def test_what_is_put_in_later_is_veiled_too() -> None:
    veil = Veil("a: b")
    assert veil.true(veil.shown("\x1b[31m")) == "\x1b[31m"
    assert "\x1b" not in veil.shown("\x1b[31m")


def test_half_a_character_is_refused_for_no_file_can_hold_it() -> None:
    with pytest.raises(ValueError, match="no file can hold"):
        Veil("").shown("a\udc80")


@given(st.lists(st.text(alphabet="a\x1b\x00\u241b\u2400\u25a0\u202e"), max_size=5))
def test_whatever_is_put_in_one_after_the_other_comes_back_as_it_was(texts: list[str]) -> None:
    veil = Veil()
    shown = [veil.shown(text) for text in texts]
    assert [veil.true(text) for text in shown] == texts
