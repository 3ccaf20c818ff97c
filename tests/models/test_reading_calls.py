"""Reading tool calls out of replies: what the model wrote is kept, what servers do differently is brought to one form."""

import json
from typing import Any

import pytest

from local_backend.models.providers import anthropic_messages, openai_chat
from local_backend.models.providers.reading import UnreadableAnswerError, parse_object
from local_backend.models.providers.reading_calls import MAX_CALLS
from local_backend.models.wire import ModelReply, ToolCall


def openai(*calls: Any, content: Any = None, finish: str = "tool_calls") -> ModelReply:
    return openai_chat.read_reply(
        {
            "model": "m",
            "choices": [{"finish_reason": finish, "message": {"role": "assistant", "content": content, "tool_calls": list(calls)}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20},
        }
    )


def function(own: Any = "a", name: Any = "bash", arguments: Any = '{"command": "ls"}') -> dict[str, Any]:
    return {"id": own, "type": "function", "function": {"name": name, "arguments": arguments}}


def anthropic(*content: Any, stop: str = "tool_use") -> ModelReply:
    return anthropic_messages.read_reply(
        {"model": "m", "content": list(content), "stop_reason": stop, "usage": {"input_tokens": 5, "output_tokens": 20}}
    )


def tool_use(own: Any = "a", name: Any = "bash", given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": own, "name": name, "input": {"command": "ls"} if given is None else given}


ONE = (ToolCall("a", "bash", '{"command": "ls"}'),)


class TestOpenAI:
    @pytest.mark.parametrize("content", [None, "", []])
    @pytest.mark.parametrize("finish", ["tool_calls", "stop", "length", "function_call"])
    def test_calls_without_words(self, content: Any, finish: str) -> None:
        reply = openai(function(), content=content, finish=finish)
        assert (reply.text, reply.tool_calls, reply.stop_reason) == ("", ONE, finish)

    def test_words_beside_several_calls(self) -> None:
        reply = openai(function("x"), function("y", "submit", '{"answer": "4"}'), content="I know.")
        assert reply.text == "I know."
        assert reply.tool_calls == (ToolCall("x", "bash", '{"command": "ls"}'), ToolCall("y", "submit", '{"answer": "4"}'))

    def test_absent_and_null_calls_are_none(self) -> None:
        assert openai(content="4", finish="stop").tool_calls == ()
        whole = {"choices": [{"finish_reason": "stop", "message": {"content": "4", "tool_calls": None}}]}
        assert openai_chat.read_reply(whole | {"usage": {"prompt_tokens": 1, "completion_tokens": 1}}).tool_calls == ()

    def test_a_call_without_its_type_or_with_more_than_needed(self) -> None:
        assert openai({"id": "a", "index": 0, "function": function()["function"], "extra": {"x": 1}}).tool_calls == ONE

    def test_no_words_and_no_calls_are_no_answer(self) -> None:
        with pytest.raises(UnreadableAnswerError, match="no `content`"):
            openai()

    @pytest.mark.parametrize("calls", [{}, "x", 7, ["x"], [{"id": "a"}], [{"id": "a", "function": None}], [function(name=None)]], ids=str)
    def test_what_is_no_list_of_calls(self, calls: Any) -> None:
        message = {"content": "4", "tool_calls": calls}
        whole = {"choices": [{"finish_reason": "stop", "message": message}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        with pytest.raises(UnreadableAnswerError):
            openai_chat.read_reply(whole)


class TestAnthropic:
    def test_words_beside_several_calls(self) -> None:
        blocks = ({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I "}, tool_use("x"), {"type": "text", "text": "look."})
        reply = anthropic(*blocks, tool_use("y", "read", {"path": "é"}))
        assert (reply.text, reply.stop_reason) == ("I look.", "tool_use")
        assert reply.tool_calls == (ToolCall("x", "bash", '{"command": "ls"}'), ToolCall("y", "read", '{"path": "é"}'))

    def test_calls_of_the_servers_own_tools_are_not_ours(self) -> None:
        assert anthropic({**tool_use(), "type": "server_tool_use"}, {"type": "text", "text": "4"}).tool_calls == ()

    @pytest.mark.parametrize("name", [None, 7, ["bash"]])
    def test_a_call_without_a_name_is_no_answer(self, name: Any) -> None:
        with pytest.raises(UnreadableAnswerError, match="no name"):
            anthropic({"type": "tool_use", "id": "a", "name": name, "input": {}})


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ('{"command": "ls"}', '{"command": "ls"}'),
        ('{"command":', '{"command":'),
        ("ls -la", "ls -la"),
        ("", "{}"),
        (" \n", "{}"),
        (None, "{}"),
        ({}, "{}"),
        ({"command": "é\n"}, '{"command": "é\\n"}'),
        (["ls"], '["ls"]'),
        (7, "7"),
        ('{"a": "\ud800"}', '{"a": "\ufffd"}'),
        ({"a": "\ud800"}, '{"a": "\ufffd"}'),
    ],
)
def test_arguments(given: Any, read: str) -> None:
    assert openai(function(arguments=given)).tool_calls[0].arguments == read
    block = {"type": "tool_use", "id": "a", "name": "bash", "input": given}
    assert anthropic(block).tool_calls[0].arguments == read


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["x", "y"], ["x", "y"]),
        ([None, None], ["call_1", "call_2"]),
        (["", ""], ["call_1", "call_2"]),
        (["x", "x", "x"], ["x", "call_1", "call_2"]),
        (["call_1", None, "call_2"], ["call_1", "call_3", "call_2"]),
        ([None, "call_1"], ["call_2", "call_1"]),
        ([7, ["x"], {}], ["call_1", "call_2", "call_3"]),
        (["a b", "\x1b[2J", "é", "\ud800"], ["call_1", "call_2", "call_3", "call_4"]),
        (["x" * 4096, "x" * 4097], ["x" * 4096, "call_1"]),
    ],
)
def test_ids(given: list[Any], read: list[str]) -> None:
    assert [call.id for call in openai(*map(function, given)).tool_calls] == read
    assert [call.id for call in anthropic(*map(tool_use, given)).tool_calls] == read


@pytest.mark.parametrize(("given", "read"), [(" bash\n", "bash"), ("", ""), ("a\ud800", "a\ufffd"), ("x" * 5000, "x" * 128)])
def test_names(given: str, read: str) -> None:
    assert openai(function(name=given)).tool_calls[0].name == read
    assert anthropic(tool_use(name=given)).tool_calls[0].name == read


def test_a_flood_of_calls_is_not_believed() -> None:
    assert len(openai(*[function("same")] * MAX_CALLS).tool_calls) == MAX_CALLS
    for read, call in ((openai, function()), (anthropic, tool_use())):
        with pytest.raises(UnreadableAnswerError, match="more than 256"):
            read(*[call] * (MAX_CALLS + 1))


def test_arguments_that_are_nested_without_end_are_read_or_refused() -> None:
    """The deepest that the JSON reader lets through must not break the writer."""
    for depth in (900, 950, 980, 990, 1000):
        body = json.dumps({"type": "tool_use", "id": "a", "name": "x", "input": "DEEP"}).replace(
            '"DEEP"', '{"a":' * depth + "1" + "}" * depth
        )
        try:
            block = parse_object(body.encode())
            (call,) = anthropic(block).tool_calls
        except UnreadableAnswerError:
            continue
        assert call.arguments.count("{") == depth
