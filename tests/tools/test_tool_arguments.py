import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from local_backend.tools.arguments import (
    Arguments,
    ArgumentsError,
    BashArguments,
    EditArguments,
    ReadArguments,
    SubmitArguments,
    WriteArguments,
    read_arguments,
)
from local_backend.tools.definitions import TOOL_FIELDS, definitions
from nodus_tui.contract.resources.agent import ToolName

ALL: tuple[ToolName, ...] = ("bash", "read", "write", "edit", "submit")


def test_definitions_come_in_the_agents_order_and_once() -> None:
    told = definitions(("submit", "bash", "submit"), command_seconds=90, workdir="/srv/app")
    assert [tool.name for tool in told] == ["submit", "bash"]
    assert "90 seconds" in told[1].description
    assert "/srv/app" in told[1].description


def test_definitions_of_no_tools() -> None:
    assert definitions((), command_seconds=1, workdir="/task") == ()


def test_schemas_are_valid_and_closed() -> None:
    for tool in definitions(ALL, command_seconds=120, workdir="/task"):
        Draft202012Validator.check_schema(dict(tool.parameters))
        assert tool.parameters["additionalProperties"] is False
        json.dumps(tool.parameters)


VALID: list[tuple[ToolName, dict[str, object], Arguments]] = [
    ("bash", {"command": "ls"}, BashArguments("ls")),
    ("bash", {"command": "ls", "timeoutSeconds": 2.5}, BashArguments("ls", 2.5)),
    ("read", {"path": "a"}, ReadArguments("a")),
    ("read", {"path": "a", "firstLine": 3, "lines": 10}, ReadArguments("a", 3, 10)),
    ("write", {"path": "a", "content": ""}, WriteArguments("a", "")),
    ("edit", {"path": "a", "old": "x", "new": ""}, EditArguments("a", "x", "")),
    ("edit", {"path": "a", "old": "x", "new": "y", "all": True}, EditArguments("a", "x", "y", all=True)),
    ("submit", {"answer": "42"}, SubmitArguments("42")),
]


@pytest.mark.parametrize(("tool", "given", "expected"), VALID)
def test_what_the_schema_allows_is_read(tool: ToolName, given: dict[str, object], expected: Arguments) -> None:
    (definition,) = definitions((tool,), command_seconds=120, workdir="/task")
    Draft202012Validator(dict(definition.parameters)).validate(given)
    assert read_arguments(tool, json.dumps(given)) == expected


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        ("bash", '{"command": "ls", "timeoutSeconds": "30"}', BashArguments("ls", 30.0)),
        ("bash", '{"command": "ls", "timeoutSeconds": null}', BashArguments("ls")),
        ("bash", '{"command": "a\nb"}', BashArguments("a\nb")),  # A line break as it is inside a JSON string.
        ("bash", json.dumps(json.dumps({"command": "ls"})), BashArguments("ls")),
        ("read", '{"path": "a", "firstLine": "7", "lines": 3.0}', ReadArguments("a", 7, 3)),
        ("read", '{"path": "a", "firstLine": "7.0"}', ReadArguments("a", 7)),
        ("edit", '{"path": "a", "old": "x", "new": "y", "all": "True"}', EditArguments("a", "x", "y", all=True)),
        ("write", '{"path": "a", "content": "x\\u0000y"}', WriteArguments("a", "x\0y")),
    ],
)
def test_common_slips_are_understood(tool: ToolName, text: str, expected: Arguments) -> None:
    assert read_arguments(tool, text) == expected


@pytest.mark.parametrize(
    ("tool", "text", "said"),
    [
        ("bash", "", "`command` is missing. bash expects"),
        ("bash", "{}", "`command` is missing"),
        ("bash", '{"cmd": "ls"}', '"cmd" is not an argument of bash; its name is `command`'),
        ("bash", '{"Command": "ls"}', "its name is `command`"),
        ("bash", '{"command": "ls", "restart": true}', '"restart" is not an argument of bash.'),
        ("bash", '{"command": "ls"', "not valid JSON"),
        ("bash", "ls -la", "not valid JSON"),
        ("bash", '["ls"]', "a list, not a JSON object"),
        ("bash", '{"command": ["ls", "-l"]}', "`command` is a list; it must be a text"),
        ("bash", '{"command": 5}', "`command` is the number 5"),
        ("bash", '{"command": "a\\u0000b"}', "NUL"),
        ("bash", '{"command": "a\\ud800b"}', "half a surrogate pair"),
        ("bash", '{"command": "ls", "timeoutSeconds": 0}', "`timeoutSeconds` is the number 0; it must be a number of seconds above 0"),
        ("bash", '{"command": "ls", "timeoutSeconds": NaN}', "a number that is nan"),
        ("bash", '{"command": "ls", "timeoutSeconds": 1e999}', "a number that is inf"),
        ("bash", '{"command": "ls", "timeoutSeconds": true}', "`timeoutSeconds` is true"),
        ("bash", '{"command": "ls", "timeoutSeconds": "soon"}', 'the text "soon"'),
        ("bash", f'{{"command": "ls", "timeoutSeconds": {"9" * 6000}}}', "far too long"),
        ("bash", "[" * 100_000, "nested too deeply"),
        ("read", '{"path": ""}', "`path` is empty"),
        ("read", '{"path": "~/x"}', "not expanded"),
        ("read", '{"path": "a\\u0000"}', "no path can have"),
        ("read", json.dumps({"path": "ü" * 3000}), "longer than 4,096 bytes"),
        ("read", '{"file_path": "a"}', "its name is `path`"),
        ("read", '{"path": "a", "firstLine": 0}', "whole number from 1 up"),
        ("read", '{"path": "a", "lines": 1.5}', "the number 1.5"),
        ("read", '{"path": "a", "offset": 3, "limit": 4}', "its name is `lines`"),
        ("edit", '{"path": "a", "old_string": "x", "new_string": "y"}', "its name is `old`"),
        ("edit", '{"path": "a", "old": "x", "new": "y", "all": 1}', "it must be true or false"),
        ("submit", '{"answer": null}', "`answer` is missing"),
        ("submit", '{"answer": 42}', "`answer` is the number 42; it must be a text"),
    ],
)
def test_what_is_wrong_is_said(tool: ToolName, text: str, said: str) -> None:
    with pytest.raises(ArgumentsError) as caught:
        read_arguments(tool, text)
    assert said in str(caught.value)


def test_many_unknown_names_make_a_short_sentence() -> None:
    text = json.dumps({"command": "ls", **{f"x{number}\x1b[2J": number for number in range(1000)}})
    with pytest.raises(ArgumentsError) as caught:
        read_arguments("bash", text)
    assert len(str(caught.value)) < 1000
    assert "\x1b" not in str(caught.value)
    assert "995 more are unknown" in str(caught.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)


@given(
    tool=st.sampled_from(ALL),
    values=st.dictionaries(st.sampled_from([field.name for fields in TOOL_FIELDS.values() for field in fields]), _JSON),
    exact=st.booleans(),
)
def test_any_json_gives_arguments_or_a_sentence(tool: ToolName, values: dict[str, object], exact: bool) -> None:
    names = {field.name for field in TOOL_FIELDS[tool]}
    chosen = {name: value for name, value in values.items() if name in names or not exact}
    _sentence_or_none(tool, json.dumps(chosen))


@given(tool=st.sampled_from(ALL), text=st.text(max_size=50))
def test_any_text_gives_arguments_or_a_sentence(tool: ToolName, text: str) -> None:
    _sentence_or_none(tool, text)


def _sentence_or_none(tool: ToolName, text: str) -> None:
    sentence = None
    try:
        read_arguments(tool, text)
    except ArgumentsError as error:
        sentence = str(error)
    if sentence is not None:
        assert sentence.endswith(".")
        sentence.encode()
