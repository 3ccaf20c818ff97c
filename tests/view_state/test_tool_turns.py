"""Tool calls and results in words, from whatever a model or a sandbox wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.contract.resources.agent_run import ToolCallRecord, ToolResultRecord
from nodus_tui.view_state.cells import cut_line, line_width, plain
from nodus_tui.view_state.tool_turns import FOLDED_LINES, call_lines, call_words, result_lines, result_sign


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


@pytest.mark.parametrize(("lines", "shown", "more"), [(0, 0, 0), (1, 1, 0), (FOLDED_LINES + 1, FOLDED_LINES + 1, 0), (9, FOLDED_LINES, 5)])
def test_a_folded_result_says_how_much_it_leaves_out(lines: int, shown: int, more: int) -> None:
    told = [plain(each) for each in result_lines([result("x\n" * lines, exitCode=0)], 60, whole=False, key="o")]
    assert told.count("  x") == shown
    assert told[-1:] == ([f"  … {more} more lines (o shows all)"] if more else told[-1:])


@given(st.text(), st.text(), st.booleans(), st.integers(min_value=10, max_value=120))
def test_nothing_in_it_is_obeyed_or_wider_than_the_screen(name: str, text: str, whole: bool, width: int) -> None:
    calls = [call({"command": text, "more": name}), call(text, name)]
    shown = (*call_lines(calls, width, whole=whole), *result_lines([result(text, name=name)], width, whole=whole, key="o"))
    for each in shown:
        cut = cut_line(each, width)
        assert line_width(cut) <= width
        assert plain(cut).isprintable()
