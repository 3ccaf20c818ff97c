"""safe_text: nothing that a terminal obeys or miscounts gets through, whatever is thrown at it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nodus_tui.text import char_for_char, cut, safe_text, width_of, wrap

ANYTHING = st.text(st.characters(), max_size=200)
"""Every code point, lone surrogates included."""

HOSTILE = {
    "osc 52 clipboard": ("\x1b]52;c;ZXZpbA==\x07", "␛]52;c;ZXZpbA==␇"),
    "window title": ("\x1b]0;owned\x1b\\", "␛]0;owned␛\\"),
    "c1 csi": ("\x9b31mred", "\\x9b31mred"),
    "right to left override": ("a\u202etxt.exe", "a<U+202E>txt.exe"),
    "isolate": ("\u2066x\u2069", "<U+2066>x<U+2069>"),
    "zero width": ("pass\u200bword\ufeff", "password"),
    "lone surrogate": ("a\ud83db", "a\\ud83db"),
    "tag smuggling": ("ok\U000e0041\U000e0042", "ok"),
    "nul and delete": ("\x00\x7f", "␀␡"),
    "newline in a cell": ("one\ntwo", "one␤two"),
    "carriage return": ("real\rfake", "real␍fake"),
    "flag": ("\U0001f1eb\U0001f1ee", "FI"),
    "family": ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\U0001f469\U0001f467"),
    "markup stays as it is": ("[@click=app.kill_all]x[/]", "[@click=app.kill_all]x[/]"),
}


@pytest.mark.parametrize(("given_text", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_obeyed_is_shown_instead(given_text: str, shown: str) -> None:
    assert safe_text(given_text) == shown


def forbidden(char: str, *, newlines: bool) -> bool:
    if char == "\n":
        return not newlines
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}


@given(ANYTHING, st.booleans())
def test_no_control_direction_or_surrogate_gets_through(text: str, newlines: bool) -> None:
    shown = safe_text(text, newlines=newlines)
    assert not [char for char in shown if forbidden(char, newlines=newlines)]
    shown.encode()


@given(ANYTHING, st.booleans())
def test_twice_is_as_good_as_once(text: str, newlines: bool) -> None:
    once = safe_text(text, newlines=newlines)
    assert safe_text(once, newlines=newlines) == once


@given(ANYTHING, st.integers(0, 40))
def test_width_is_never_exceeded(text: str, width: int) -> None:
    shown = safe_text(text, width=width)
    assert cell_len(shown) <= width
    if shown != safe_text(text):
        assert shown == "" or shown.endswith("…")


@given(ANYTHING)
def test_width_is_the_sum_of_the_characters(text: str) -> None:
    shown = safe_text(text)
    assert width_of(shown) == sum(cell_len(char) for char in shown)


@given(ANYTHING, st.integers(2, 30))
def test_wrapping_keeps_every_word_character_in_order(text: str, width: int) -> None:
    shown = safe_text(text, newlines=True)
    lines = wrap(shown, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(shown.split())


def test_wrapping_breaks_at_spaces_and_only_long_words_inside() -> None:
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert wrap("abcdefghijkl", 5) == ["abcde", "fghij", "kl"]
    assert wrap("a\n\nb", 5) == ["a", "", "b"]


def test_marks_cannot_be_stacked() -> None:
    assert safe_text("e" + "\u0301" * 40) == "e\u0301\u0301"
    assert safe_text("\u0301start") == "start"


def test_length_is_bounded_before_anything_else() -> None:
    assert safe_text("x" * 100, limit=10) == "x" * 9 + "…"
    assert len(safe_text("\x9b" * 1_000_000, limit=100)) <= 400


def test_wide_characters_are_cut_between_not_through() -> None:
    assert cut("日本語", 4) == "日…"


@given(ANYTHING)
def test_char_for_char_is_as_long_as_the_text_and_harmless(text: str) -> None:
    shown = char_for_char(text)
    assert len(shown) == len(text)
    assert safe_text(shown) == shown
    assert char_for_char(shown) == shown


def test_char_for_char_keeps_what_people_write_and_stands_in_for_the_rest() -> None:
    assert char_for_char("/tmp/e\u0301té/日本.yaml") == "/tmp/e\u0301té/日本.yaml"
    assert char_for_char("\x1b]0;owned\x07\u202e\udcff") == "␛]0;owned␇\ufffd\ufffd"
