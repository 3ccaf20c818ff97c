"""Writing for people and programs."""

import json

from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.cli.output import json_text, pairs_text, table_text


@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.text()), lambda inner: st.lists(inner, max_size=3)))
def test_json_is_the_same_value_and_harmless(value: object) -> None:
    text = json_text(value)  # type: ignore[arg-type]  # hypothesis gives JSON values
    assert json.loads(text) == value
    assert all(char == "\n" or (char.isprintable() or ord(char) > 0x9F) for char in text)
    assert "\u202e" not in text


def test_columns_stand_under_their_titles() -> None:
    text = table_text(("NAME", "COST"), [("a", "$1.00"), ("日本", "$10.00")], right=frozenset({"COST"}))
    assert text.splitlines() == ["NAME    COST", "a      $1.00", "日本  $10.00"]


def test_an_empty_table_is_its_titles() -> None:
    assert table_text(("NAME", "COST"), []) == "NAME  COST"


def test_pairs_leave_out_what_is_empty_and_indent_what_goes_on() -> None:
    assert pairs_text([("A", "1"), ("Long name", "x\ny"), ("None", "")]) == "A:          1\nLong name:  x\n            y"
