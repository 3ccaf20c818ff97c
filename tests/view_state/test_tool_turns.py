"""Tool calls and results in words, from whatever a model or a sandbox wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.contract.resources.agent_run import ToolCallRecord, ToolResultRecord
from nodus_tui.view_state.cells import cut_line, line_width, plain
from nodus_tui.view_state.tool_turns import ToolUse, call_words, hidden_arguments, result_sign, use_line, use_text


def call(arguments: object, name: str = "bash") -> ToolCallRecord:
    return ToolCallRecord(id="1", name=name, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments))


def result(text: str, **more: object) -> ToolResultRecord:
    return ToolResultRecord.model_validate({"callId": "1", "name": "bash", "text": text, **more})


@pytest.mark.parametrize(
    ("arguments", "gist", "rest"),
    [
        ({"command": "ls"}, "ls", ()),
        ({"path": "a.py", "content": "x = 1\n"}, "a.py", (("content", "x = 1\n"),)),
        ({"answer": "42"}, "42", ()),
        ({"command": 3}, '{"command": 3}', ()),
        ({"path": "a", "lines": 4}, "a", (("lines", "4"),)),
        ({}, "", ()),
        ("not json", "not json", ()),
        ("[1]", "[1]", ()),
        ("[" * 100_000, "[" * 100_000, ()),
    ],
)
def test_what_a_call_asks_for(arguments: object, gist: str, rest: tuple[tuple[str, str], ...]) -> None:
    words = call_words(call(arguments))
    assert (words.gist, words.rest) == (gist, rest)


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"exitCode": 0}, "✓ exit 0"),
        ({"exitCode": 137}, "! exit 137"),
        ({}, "! killed"),
        ({"name": "read"}, "✓ done"),
        ({"isError": True}, "! error"),
        ({"isError": True, "exitCode": 2}, "! error, exit 2"),
    ],
)
def test_how_it_came_out(more: dict[str, object], shown: str) -> None:
    sign = result_sign(result("", **more))
    assert f"{sign.glyph} {sign.word}" == shown


def test_a_call_and_its_result_as_text() -> None:
    use = ToolUse(call({"path": "a.py", "content": "x = 1\n", "mode": "w"}, "write"), result("done\n", name="write"))
    assert use_text(use) == "write: a.py\ncontent:\n  x = 1\n\nmode: w\ndone"
    assert hidden_arguments(use) == ("content:\n  x = 1\n", "mode: w")
    long = ToolUse(call({"command": "echo one && echo two && echo three"}), None)
    assert hidden_arguments(long) == ("echo one && echo two && echo three",)
    assert hidden_arguments(ToolUse(None, result("x"))) == ()


@given(st.text(), st.text(), st.booleans(), st.integers(min_value=10, max_value=120))
def test_nothing_in_it_is_obeyed_or_wider_than_the_screen(name: str, text: str, unfolded: bool, width: int) -> None:
    for use in (ToolUse(call({"command": text, "more": name}), None), ToolUse(call(text, name), result(text, name=name))):
        shown = cut_line(use_line(use, width, unfolded=unfolded), 1000)
        assert line_width(shown) <= width
        assert plain(shown).isprintable()


def test_where_there_is_no_room_what_is_asked_for_goes_before_how_it_came_out() -> None:
    use = ToolUse(call({"command": "make test"}), result("x" * 2000, exitCode=0))
    assert plain(use_line(use, 60)) == "  ▸ bash  make test                ✓ exit 0 · 0.0s · 2.0 KiB"
    assert plain(use_line(use, 24)) == "  ▸ bash  make test"
