"""The words of a spec get tones; nothing that is typed makes it fail."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.authoring import tokens
from nodus_tui.authoring.tokens import Highlighter, tokens_of
from nodus_tui.view_state.cells import Tone


def words(text: str) -> list[tuple[str, Tone]]:
    lines = text.split("\n")
    return [(line[each.start : each.end], each.tone) for line, found in zip(lines, tokens_of(lines), strict=True) for each in found]


def test_names_texts_numbers_and_comments() -> None:
    assert words('spec: {tasks: 20, on: true}  # why\nname: "a # b"\nwait: 30m') == [
        ("spec", Tone.KEY),
        (":", Tone.MARK),
        ("{", Tone.MARK),
        ("tasks", Tone.KEY),
        (":", Tone.MARK),
        ("20", Tone.INFO),
        (",", Tone.MARK),
        ("on", Tone.KEY),
        (":", Tone.MARK),
        ("true", Tone.INFO),
        ("}", Tone.MARK),
        ("# why", Tone.MUTED),
        ("name", Tone.KEY),
        (":", Tone.MARK),
        ('"a # b"', Tone.GOOD),
        ("wait", Tone.KEY),
        (":", Tone.MARK),
        ("30m", Tone.INFO),
    ]


def test_a_block_of_text_is_one_text_until_the_indentation_ends() -> None:
    found = words("command:\n  - |\n    echo key: 1\n\n    done\nnext: 1")
    assert ("echo key: 1", Tone.GOOD) in found
    assert ("done", Tone.GOOD) in found
    assert found[-3] == ("next", Tone.KEY)


def test_a_list_item_may_have_a_name() -> None:
    assert words("- name: x")[:2] == [("-", Tone.MARK), ("name", Tone.KEY)]


def test_a_change_is_looked_at_again_from_its_line_on() -> None:
    lines = ["a: |", "  text", "b: 1"]
    highlighter = Highlighter()
    assert highlighter.tokens(1, lines.__getitem__)[0].tone is Tone.GOOD
    lines[0] = "a:"
    highlighter.changed(0)
    assert not highlighter.tokens(1, lines.__getitem__)


@given(st.lists(st.text(alphabet="ab:-#{}[]|>,'\" \t0%&*!?"), max_size=6))
def test_no_text_makes_it_fail_and_tokens_stand_in_order(lines: list[str]) -> None:
    for line, found in zip(lines, tokens_of(lines), strict=True):
        ends = [0]
        for token in found:
            assert ends[-1] <= token.start < token.end <= len(line)
            ends.append(token.end)


@given(st.text(st.sampled_from("a:|>[]{}\"'#- \n"), max_size=120), st.data())
def test_a_line_has_the_tokens_that_it_has_when_all_before_it_are_looked_at(text: str, data: st.DataObject) -> None:
    lines = text.split("\n")
    highlighter = Highlighter()
    for row in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=5)):
        assert highlighter.tokens(row, lines.__getitem__) == tokens_of(lines)[row]
        highlighter.changed(data.draw(st.integers(0, len(lines) - 1)))


def test_of_lines_that_are_not_shown_no_word_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(tokens, "_line_tokens", lambda text, depth: looked.append(text) or ([], False, depth))
    lines = [f"name-{row}: value" for row in range(10_000)]
    Highlighter().tokens(9_999, lines.__getitem__)
    assert looked == [lines[-1]]
