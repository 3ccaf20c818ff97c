"""Conversations with tool calls as they go out: valid by each protocol, whatever the model wrote."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.models.providers import anthropic_messages, openai_chat
from local_backend.models.providers.sending import arguments_text_to_send, arguments_to_send, name_to_send, sendable
from local_backend.models.wire import CallOutcome, ChatMessage, ModelCallError, ModelRequest, ToolCall, ToolDefinition, ToolResult

BASH = ToolDefinition("bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]})
USER = ChatMessage("user", "List the files.")


def reply(*calls: ToolCall, text: str = "") -> ChatMessage:
    return ChatMessage("assistant", text, tool_calls=calls)


def results(*given: ToolResult) -> ChatMessage:
    return ChatMessage("tool", "", tool_results=given)


def call(own: str = "a", arguments: str = '{"command": "ls"}', name: str = "bash") -> ToolCall:
    return ToolCall(own, name, arguments)


def openai(*messages: ChatMessage, tools: tuple[ToolDefinition, ...] = (BASH,)) -> dict[str, Any]:
    return openai_chat.request_body(ModelRequest("", messages, 16, tools=tools), model="m", base_url="http://127.0.0.1:1/v1")


def anthropic(*messages: ChatMessage, tools: tuple[ToolDefinition, ...] = (BASH,)) -> dict[str, Any]:
    return anthropic_messages.request_body(ModelRequest("", messages, 16, tools=tools), model="m")


CONVERSATION = (
    USER,
    reply(call("a"), call("b", '{"command": "pwd"}'), text="I look."),
    results(ToolResult("a", "bash", "x.py\n"), ToolResult("b", "bash", "no such folder", is_error=True)),
)


class TestOpenAI:
    def test_definitions(self) -> None:
        assert openai(USER)["tools"] == [
            {"type": "function", "function": {"name": "bash", "description": "Run a command.", "parameters": dict(BASH.parameters)}}
        ]
        assert "tools" not in openai(USER, tools=())

    def test_a_result_is_a_message(self) -> None:
        assert openai(*CONVERSATION)["messages"][1:] == [
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
                    {"id": "b", "type": "function", "function": {"name": "bash", "arguments": '{"command": "pwd"}'}},
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "x.py\n"},
            {"role": "tool", "tool_call_id": "b", "content": "no such folder"},
        ]

    def test_no_words_beside_a_call_are_null(self) -> None:
        assert openai(USER, reply(call()), results(ToolResult("a", "bash", "")))["messages"][1]["content"] is None


class TestAnthropic:
    def test_definitions(self) -> None:
        assert anthropic(USER)["tools"] == [{"name": "bash", "description": "Run a command.", "input_schema": dict(BASH.parameters)}]
        assert "tools" not in anthropic(USER, tools=())

    def test_results_are_one_message_of_the_user(self) -> None:
        assert anthropic(*CONVERSATION)["messages"][1:] == [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}},
                    {"type": "tool_use", "id": "b", "name": "bash", "input": {"command": "pwd"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "x.py\n"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "no such folder", "is_error": True},
                ],
            },
        ]

    def test_what_the_user_says_next_stands_behind_the_results(self) -> None:
        messages = anthropic(*CONVERSATION, reply(text=" \n"), ChatMessage("user", "Go on."), ChatMessage("user", "Please."))["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "user"]
        assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "tool_result", "text", "text"]
        assert messages[2]["content"][2] == {"type": "text", "text": "Go on."}

    def test_no_text_is_empty(self) -> None:
        empty, failed = ToolResult("a", "bash", " "), ToolResult("b", "bash", "", is_error=True)
        messages = anthropic(USER, reply(call("a"), call("b"), text="  "), results(empty, failed))["messages"]
        assert [block["type"] for block in messages[1]["content"]] == ["tool_use", "tool_use"]
        assert messages[2]["content"][0] == {"type": "tool_result", "tool_use_id": "a"}
        assert messages[2]["content"][1]["content"].strip()

    def test_an_id_that_the_protocol_refuses_is_replaced_on_both_sides(self) -> None:
        messages = anthropic(USER, reply(call("functions.bash:0")), results(ToolResult("functions.bash:0", "bash", "x")))["messages"]
        assert messages[1]["content"][0]["id"] == messages[2]["content"][0]["tool_use_id"] == "call_1"


MALFORMED = ["", "ls -la", '{"command": "ls"', "[1]", '"ls"', "null", "7", '{"a": NaN}', '{"a": 1e999}', '{"a":' * 2000 + "1" + "}" * 2000]


class TestArguments:
    @pytest.mark.parametrize("text", MALFORMED, ids=lambda text: text[:12])
    def test_what_is_no_object_goes_back_inside_one(self, text: str) -> None:
        wrapped = {"unreadable_arguments": text}
        assert arguments_to_send(text) == wrapped
        assert json.loads(arguments_text_to_send(text)) == wrapped
        conversation = (USER, reply(call(arguments=text)), results(ToolResult("a", "bash", "no JSON", is_error=True)))
        assert json.loads(openai(*conversation)["messages"][1]["tool_calls"][0]["function"]["arguments"]) == wrapped
        assert anthropic(*conversation)["messages"][1]["content"][0]["input"] == wrapped

    def test_the_models_own_writing_is_kept(self) -> None:
        own = '{"command":   "ls", "n":[1,2],"e":"\\u00e9"}'
        assert arguments_text_to_send(own) == own

    def test_lone_surrogates_are_replaced_even_where_they_are_escaped(self) -> None:
        assert arguments_to_send('{"a\\udc00": ["\\ud800", "\\ud83d\\ude00"]}') == {"a\ufffd": ["\ufffd", "\U0001f600"]}
        assert json.loads(arguments_text_to_send('{"a": "\\ud800"}')) == {"a": "\ufffd"}
        assert arguments_to_send("\ud800") == {"unreadable_arguments": "\ufffd"}


@pytest.mark.parametrize(
    ("name", "sent"), [("bash", "bash"), ("functions.bash", "functions_bash"), ("", "_"), ("é\x1b[2J", "___2J"), ("x" * 100, "x" * 64)]
)
def test_names(name: str, sent: str) -> None:
    assert name_to_send(name) == sent


class TestIds:
    def test_repeated_ids_differ_in_what_is_sent_and_results_follow_their_calls(self) -> None:
        """Some servers count from zero in each reply, and two providers refuse an id that comes again."""
        conversation: tuple[ChatMessage, ...] = (USER,)
        for turn in range(3):
            given = (ToolResult("b", "bash", f"b{turn}"), ToolResult("a", "bash", f"a{turn}"))
            conversation += (reply(call("a"), call("b")), results(*given))
        sent = sendable(conversation, re.compile("[a-z0-9_]+"))
        ids = [each.id for message in sent for each in message.tool_calls]
        assert len(set(ids)) == 6
        assert ids[:2] == ["a", "b"]
        assert [each.call_id for message in sent for each in message.tool_results] == ids
        assert [each.text for message in sent for each in message.tool_results] == ["a0", "b0", "a1", "b1", "a2", "b2"]
        assert sendable(conversation[:5], re.compile("[a-z0-9_]+")) == sent[:5]

    @pytest.mark.parametrize(
        "messages",
        [
            (USER, reply(call())),
            (USER, reply(call()), ChatMessage("user", "Well?")),
            (USER, reply(call()), reply(text="I did it.")),
            (USER, results(ToolResult("a", "bash", "x"))),
            (USER, reply(text="no call"), results(ToolResult("a", "bash", "x"))),
            (USER, reply(call("a"), call("b")), results(ToolResult("a", "bash", "x"))),
            (USER, reply(call("a")), results(ToolResult("b", "bash", "x"))),
            (USER, reply(call("a")), results(ToolResult("a", "bash", "x"), ToolResult("a", "bash", "y"))),
        ],
    )
    @pytest.mark.parametrize("body", [openai, anthropic])
    def test_calls_and_results_that_do_not_belong_together_are_not_sent(self, body: Any, messages: tuple[ChatMessage, ...]) -> None:
        with pytest.raises(ModelCallError, match="cannot be sent") as caught:
            body(*messages)
        assert (caught.value.outcome, caught.value.retryable) == (CallOutcome.FREE, False)


texts = st.text() | st.text(st.characters(codec=None))
calls = st.lists(st.tuples(st.text(max_size=4), texts, texts), max_size=3, unique_by=lambda each: each[0])
turns = st.lists(st.tuples(texts, calls, st.booleans(), texts), max_size=4)


@given(turns)
def test_whatever_a_model_and_its_tools_say_the_protocols_rules_hold(said: list[tuple[str, list[tuple[str, str, str]], bool, str]]) -> None:
    conversation: tuple[ChatMessage, ...] = (USER,)
    for text, asked, is_error, given_back in said:
        conversation += (reply(*(ToolCall(*each) for each in asked), text=text),)
        if asked:
            conversation += (results(*(ToolResult(each[0], each[1], given_back, is_error) for each in asked)),)
        conversation += (ChatMessage("user", given_back),)
    _check_openai(json.loads(json.dumps(openai(*conversation)).encode()))
    _check_anthropic(json.loads(json.dumps(anthropic(*conversation)).encode()))


def _check_openai(body: dict[str, Any]) -> None:
    waiting: list[str] = []
    seen: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            message["content"].encode()
            continue
        assert not waiting
        for each in message.get("tool_calls", []):
            assert each["id"] not in seen
            seen.add(each["id"])
            waiting.append(each["id"])
            assert re.fullmatch("[A-Za-z0-9_-]{1,64}", each["function"]["name"])
            assert isinstance(json.loads(each["function"]["arguments"]), dict)
            each["function"]["arguments"].encode()
    assert not waiting


def _check_anthropic(body: dict[str, Any]) -> None:
    seen: set[str] = set()
    before: dict[str, Any] = {"role": "", "content": ""}
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
        kinds = [block["type"] for block in blocks]
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        asked = [block["id"] for block in before["content"] if isinstance(block, dict) and block["type"] == "tool_use"]
        assert [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] == asked
        assert kinds[: len(asked)] == ["tool_result"] * len(asked)
        for block in blocks:
            if block["type"] == "tool_use":
                assert block["id"] not in seen
                seen.add(block["id"])
                assert re.fullmatch("[A-Za-z0-9_-]{1,64}", block["name"])
                assert isinstance(block["input"], dict)
        before = message if isinstance(message["content"], list) else {"content": ""}
    json.dumps(body, ensure_ascii=False).encode()
