"""The token bound with tools, against every way in which servers are known to write calls, results and definitions.

The tokenizer here is the worst one: a token for each UTF-8 byte. `§` stands for the marks that are one token in every tokenizer.
"""

import html
import json
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
import tools_told
from hypothesis import given
from hypothesis import strategies as st

from local_backend.models.providers.sending import arguments_to_send
from local_backend.models.token_bound import FRAME_TOKENS, MESSAGE_TOKENS, TOOL_TOKENS, TOOLS_TOKENS, LastCall, input_bound
from local_backend.models.wire import ChatMessage, ModelRequest, ToolCall, ToolDefinition, ToolResult, Usage
from nodus_tui.values import replace

TOOLS = tools_told.ALL
SYSTEM = "S"


def as_definition(tool: ToolDefinition) -> dict[str, Any]:
    told = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": told}


def html_safe(text: str) -> str:
    """As template engines write JSON that may stand in a page."""
    for mark in "<>&'":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def plain_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def marks(message: ChatMessage) -> str:
    """`<tool_call>` around JSON, results as they are."""
    text = f"§{message.role}\n{message.text}"
    for call in message.tool_calls:
        text += "<tool_call>\n" + plain_json({"name": call.name, "arguments": arguments_to_send(call.arguments)}) + "\n</tool_call>\n"
    for result in message.tool_results:
        text += f"<tool_response>\n{result.text}\n</tool_response>\n"
    return text + "§\n"


def channels(message: ChatMessage) -> str:
    """The recipient named in the header, arguments in the model's own writing."""
    text = f"§{message.role}§{message.text}§"
    for call in message.tool_calls:
        text += f"§assistant to=functions.{call.name}§commentary json§{call.arguments}§"
    for result in message.tool_results:
        text += f"§functions.{result.name} to=assistant§commentary§{result.text}§"
    return text


def indented(message: ChatMessage) -> str:
    """Calls and results as indented JSON with ids, for models that know no tools."""
    text = f"§{message.role}: {message.text}"
    if message.tool_calls:
        told = [{"name": call.name, "arguments": arguments_to_send(call.arguments), "id": call.id} for call in message.tool_calls]
        text += json.dumps({"tool_calls": told}, indent=2, ensure_ascii=False)
    for result in message.tool_results:
        told_back = {"tool": result.name, "content": result.text, "tool_call_id": result.call_id}
        text += json.dumps({"tool_response": told_back}, indent=2, ensure_ascii=False)
    return text + "§"


def json_in_json(message: ChatMessage) -> str:
    """Arguments as a JSON string inside JSON, results as a JSON string, all of it ASCII and safe for a page."""
    text = f"§{message.role}§{message.text}"
    for call in message.tool_calls:
        arguments = json.dumps(json.dumps(arguments_to_send(call.arguments)))
        text += html_safe(f'{{"name": {json.dumps(call.name[:8])}, "arguments": {arguments}}}')
    for result in message.tool_results:
        text += f"§{html_safe(json.dumps(result.text))}"
    return text + "§"


def parameters(message: ChatMessage) -> str:
    """A mark for each argument."""
    text = f"§{message.role}\n{message.text}"
    for call in message.tool_calls:
        text += f"<tool_call>\n<function={call.name}>\n"
        for name, value in arguments_to_send(call.arguments).items():
            text += f"<parameter={name}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"
        text += "</function>\n</tool_call>\n"
    for result in message.tool_results:
        text += f"<tool_response>\n{result.text}\n</tool_response>\n"
    return text + "§\n"


WRITERS = [marks, channels, indented, json_in_json, parameters]
HEADS = [
    lambda tools: json.dumps([as_definition(tool) for tool in tools], indent=4, ensure_ascii=False),
    lambda tools: html_safe(json.dumps([as_definition(tool) for tool in tools])),
    lambda tools: "\n".join(html.unescape(plain_json(as_definition(tool))) for tool in tools),
]
PREAMBLE = "You may call tools. " * 25
"""About what servers tell of tools in general."""


Counter = Callable[[str], int]


def count(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def count_normalised(text: str) -> int:
    return count(unicodedata.normalize("NFKC", text))


def prompt_tokens(request: ModelRequest, writer: Any, head: Any, counted: Counter) -> int:
    """What a server with the worst tokenizer counts."""
    told = PREAMBLE + head(request.tools) if request.tools else ""
    return counted(request.system + told + "".join(map(writer, request.messages)))


short_texts = (
    st.text(max_size=20)
    | st.text(st.characters(codec=None), max_size=20)
    | st.text(st.sampled_from("<>&'\"\\\n\x00漢\U0001f600\ufdfaa "), max_size=8)
)
texts = st.builds(str.__mul__, short_texts, st.sampled_from([1, 1, 7, 90]))
names = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=64)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=4,
)
written = st.one_of(
    texts,
    st.dictionaries(st.sampled_from(["command", "path", "content"]), json_values, max_size=3).map(json.dumps),
    st.dictionaries(st.sampled_from(["command", "path", "content"]), texts, max_size=3).map(plain_json),
)
calls = st.lists(
    st.builds(ToolCall, st.text(st.sampled_from("abc0123456789"), min_size=1, max_size=24), names, written),
    max_size=3,
    unique_by=lambda call: call.id,
)
exchanges = st.lists(st.tuples(texts, calls, texts), min_size=1, max_size=4)


def conversations(exchanges: list[tuple[str, list[ToolCall], str]]) -> list[tuple[ChatMessage, ...]]:
    """The messages of each call of one conversation."""
    messages: tuple[ChatMessage, ...] = (ChatMessage("user", "Begin."),)
    sent = [messages]
    for text, asked, back in exchanges:
        messages += (ChatMessage("assistant", text, tool_calls=tuple(asked)),)
        if asked:
            messages += (ChatMessage("tool", "", tool_results=tuple(ToolResult(call.id, call.name, back) for call in asked)),)
        else:
            messages += (ChatMessage("user", back),)
        sent.append(messages)
    return sent


def made_of(reply: ChatMessage, counted: Counter) -> int:
    """The output tokens reported for a reply. One with calls may come back longer than it was made: here by as much as is still honest."""
    said = counted(reply.text)
    called = sum(count(call.name) + count(call.arguments) for call in reply.tool_calls)
    return (count(reply.text) + called) // 16 + 1 if reply.tool_calls else said


@pytest.mark.parametrize("counted", [count, count_normalised])
@pytest.mark.parametrize("writer", WRITERS)
@given(exchanges, st.sampled_from(HEADS), st.sampled_from([TOOLS, TOOLS[:1], TOOLS[3:]]))
def test_never_below_what_the_worst_tokenizer_counts(
    writer: Any, counted: Counter, exchanges: Any, head: Any, tools: tuple[ToolDefinition, ...]
) -> None:
    before: LastCall | None = None
    for messages in conversations(exchanges):
        request = ModelRequest(SYSTEM, messages, 100, tools=tools)
        truth = prompt_tokens(request, writer, head, counted)
        assert truth <= input_bound(request)
        if before is not None:
            last = replace(before, usage=replace(before.usage, output_tokens=made_of(messages[before.messages], counted)))
            assert truth <= input_bound(request, last)
        before = LastCall(Usage(truth, 0), len(messages))


def test_a_first_call_with_tools() -> None:
    tool = ToolDefinition("t", "", {})
    definition = json.dumps([as_definition(tool)], indent=2)
    request = ModelRequest("SYS", (ChatMessage("user", "hello"),), 10, tools=(tool,))
    assert input_bound(request) == 3 + 5 + FRAME_TOKENS + 2 * len(definition) + TOOLS_TOKENS


def later(result: str, *, output: int, arguments: str = '{"command": "ls"}', reported: int = 3000) -> tuple[ModelRequest, LastCall]:
    call = ToolCall("a", "bash", arguments)
    messages = (
        ChatMessage("user", "word " * 2000),
        ChatMessage("assistant", "", tool_calls=(call,)),
        ChatMessage("tool", "", tool_results=(ToolResult("a", "bash", result),)),
    )
    return ModelRequest("S", messages, 100, tools=TOOLS), LastCall(Usage(reported, output), 1)


def test_a_later_call_starts_from_what_was_reported() -> None:
    request, last = later("x.py\n", output=900)
    result = len(json.dumps("x.py\n")) + 2 * len("bash") + len("a") + TOOL_TOKENS
    assert input_bound(request, last) == 3000 + 900 + result + 2 * MESSAGE_TOKENS
    assert input_bound(request, last) < input_bound(request)


def test_a_reply_with_calls_counts_by_its_bytes_where_they_are_more() -> None:
    few, many = (input_bound(*later("", output=output)) for output in (5, 50))
    assert few == many > 3000 + 50
    assert input_bound(*later("", output=900)) > many


def test_a_report_that_leaves_out_the_calls_is_not_built_upon() -> None:
    request, last = later("", output=5, arguments=json.dumps({"command": "x" * 1000}))
    assert input_bound(request, last) == input_bound(request)
    request, last = later("", output=0)
    assert input_bound(request, last) == input_bound(request)


def test_a_report_that_leaves_out_results_or_tools_is_not_built_upon() -> None:
    request, _ = later("y" * 100_000, output=50)
    again = (*request.messages, ChatMessage("assistant", "done"), ChatMessage("user", "more"))
    request = ModelRequest("S", again, 100, tools=TOOLS)
    assert input_bound(request, LastCall(Usage(6000, 5), 3)) == input_bound(request)
    assert input_bound(request, LastCall(Usage(30_000, 5), 3)) < input_bound(request)
    short = ModelRequest("S", (ChatMessage("user", "hi"), ChatMessage("assistant", "ho"), ChatMessage("user", "hi")), 100, tools=TOOLS)
    assert input_bound(short, LastCall(Usage(10, 5), 1)) == input_bound(short)
