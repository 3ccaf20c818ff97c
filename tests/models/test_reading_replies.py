"""Reading answers: what the two protocols report is brought to one meaning, and nothing else than an answer or a refusal comes out."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.models.providers import anthropic_messages, openai_chat
from local_backend.models.providers.foreign_text import one_line
from local_backend.models.providers.reading import UnreadableAnswerError, parse_object
from local_backend.models.wire import ChatMessage, ModelRequest, Usage


def openai(message: dict[str, Any] | None = None, *, finish: str = "stop", **usage: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "choices": [{"finish_reason": finish, "message": {"content": "yes"} if message is None else message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, **usage},
    }


def anthropic(*content: dict[str, Any], **usage: Any) -> dict[str, Any]:
    return {"model": "m", "content": list(content), "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 20, **usage}}


class TestOpenAI:
    def test_cached_and_reasoning_tokens(self) -> None:
        details = {
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            "completion_tokens_details": {"reasoning_tokens": 15},
        }
        assert openai_chat.read_reply(openai(**details)).usage == Usage(100, 20, 60, 30, 15)

    def test_reasoning_that_is_missing_from_the_completion_is_counted(self) -> None:
        assert openai_chat.read_reply(openai(total_tokens=300)).usage.output_tokens == 200
        assert openai_chat.read_reply(openai(completion_tokens_details={"reasoning_tokens": 70})).usage.output_tokens == 70

    def test_absent_details_may_be_null(self) -> None:
        null = openai(total_tokens=None, prompt_tokens_details=None, completion_tokens_details={"reasoning_tokens": None})
        assert openai_chat.read_reply(null).usage == Usage(100, 20)

    @pytest.mark.parametrize(
        ("message", "finish", "text"),
        [
            ({"content": "4", "reasoning_content": "2 + 2"}, "stop", "4"),
            ({"content": None, "reasoning_content": "2 + 2"}, "stop", ""),
            ({"content": None}, "length", ""),
            ({"content": None, "refusal": "I will not"}, "stop", "I will not"),
            ({"content": ""}, "stop", ""),
            (
                {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                "stop",
                "ab",
            ),
            ({"content": "a\ud800b"}, "stop", "a\ufffdb"),
        ],
    )
    def test_texts(self, message: dict[str, Any], finish: str, text: str) -> None:
        assert openai_chat.read_reply(openai(message, finish=finish)).text == text


class TestAnthropic:
    def test_cached_tokens_are_added_to_the_input(self) -> None:
        reply = anthropic_messages.read_reply(
            anthropic({"type": "text", "text": "yes"}, cache_read_input_tokens=60, cache_creation_input_tokens=30)
        )
        assert reply.usage == Usage(95, 20, 60, 30)

    def test_thinking_stays_out_of_the_text_and_in_the_tokens(self) -> None:
        blocks = ({"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "4"})
        reply = anthropic_messages.read_reply(anthropic(*blocks, output_tokens_details={"thinking_tokens": 12}))
        assert (reply.text, reply.usage.output_tokens, reply.usage.reasoning_tokens) == ("4", 20, 12)

    def test_a_turn_that_ends_without_text(self) -> None:
        assert anthropic_messages.read_reply(anthropic()).text == ""

    def test_empty_messages_are_left_out_of_the_request(self) -> None:
        messages = (ChatMessage("user", "a"), ChatMessage("assistant", " \n"), ChatMessage("user", "b"))
        body = anthropic_messages.request_body(ModelRequest(" ", messages, 5), model="m")
        assert body == {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}


names = st.sampled_from(
    [
        "choices",
        "message",
        "content",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "model",
        "type",
        "text",
        "stop_reason",
        "refusal",
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "tool_calls",
        "function",
        "id",
        "name",
        "arguments",
        "input",
    ]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 2**40)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["stop", "text", "length", "tool_use", "\ud800"])
)
json_values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=6), max_leaves=20)


some_calls = st.lists(
    st.fixed_dictionaries({}, optional={"id": json_values, "function": json_values, "name": json_values, "input": json_values})
)


@given(st.dictionaries(names, json_values, max_size=6), st.sampled_from([openai(), anthropic({"type": "text", "text": "x"})]), some_calls)
def test_any_json_is_an_answer_or_a_refusal_to_read_it(changes: dict[str, Any], whole: dict[str, Any], calls: list[Any]) -> None:
    asks_for_tools = openai({"content": None, "tool_calls": calls})
    with_blocks = anthropic(*({"type": "tool_use", **call} for call in calls))
    for read in (openai_chat.read_reply, anthropic_messages.read_reply):
        for answer in (whole | changes, asks_for_tools | changes, asks_for_tools, with_blocks):
            with contextlib.suppress(UnreadableAnswerError):
                reply = read(answer)
                assert reply.usage.input_tokens >= reply.usage.cached_input_tokens + reply.usage.cache_write_tokens >= 0
                assert reply.usage.output_tokens >= 0
                reply.text.encode()
                assert len({call.id for call in reply.tool_calls}) == len(reply.tool_calls)
                for call in reply.tool_calls:
                    assert call.id.isascii()
                    (call.name + call.arguments).encode()


@given(st.binary(max_size=200) | st.text().map(lambda text: json.dumps({"a": text}).encode()))
def test_any_bytes_are_an_object_or_unreadable(body: bytes) -> None:
    with contextlib.suppress(UnreadableAnswerError):
        assert isinstance(parse_object(body), dict)


@given(st.text(), st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=4, max_size=40), st.text())
def test_a_line_for_people_never_holds_the_key(before: str, key: str, after: str) -> None:
    line = one_line(f"{before}{key}{after}", key=key)
    assert line.isprintable()
    assert len(line) <= 300
    assert key not in line or key in "[key]"
