"""Agents' conversations with tools, end to end through the model client, on servers that others wrote."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_servers import PROTOCOLS, Connect, aimock, answer, hostile, llmock_problem, need, read_request, says, until_it_ends
from tools_told import ALL, BASH

from local_backend.models.calls import ModelClient
from local_backend.models.catalogue import ResolvedModel
from local_backend.models.token_bound import LastCall, input_bound
from local_backend.models.wire import (
    CallOutcome,
    ChatMessage,
    ModelCallError,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolDefinition,
    ToolResult,
)

CallTool = Callable[[ToolCall], ToolResult]


def says_ok(call: ToolCall) -> ToolResult:
    return ToolResult(call.id, call.name, f"ran {call.arguments}")


async def converse(
    client: ModelClient, model: ResolvedModel, text: str, *, tools: tuple[ToolDefinition, ...] = ALL, run: CallTool = says_ok
) -> list[ModelReply]:
    """Ask, run what the replies ask for, and ask again until a reply only speaks."""
    messages: tuple[ChatMessage, ...] = (ChatMessage("user", text),)
    last: LastCall | None = None
    replies: list[ModelReply] = []
    for _ in range(8):
        request = ModelRequest("S", messages, 64, temperature=0.0, tools=tools)
        bound = input_bound(request, last)
        reply = await client.attempt(model, request)
        assert reply.usage.input_tokens <= bound
        last = LastCall(reply.usage, len(messages))
        replies.append(reply)
        if not reply.tool_calls:
            break
        results = tuple(map(run, reply.tool_calls))
        messages += (ChatMessage("assistant", reply.text, tool_calls=reply.tool_calls), ChatMessage("tool", "", tool_results=results))
    return replies


def fixture(match: dict[str, Any], **response: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730}
    return {"match": match, "response": {"usage": usage, **response}}


FIXTURES = [
    # Later steps first: the server takes the first that fits.
    fixture({"userMessage": "mend", "toolResultContains": "3 passed"}, content="Mended.", finishReason="stop"),
    fixture(
        {"userMessage": "mend", "toolCallId": "second", "hasToolResult": True},
        toolCalls=[{"id": "third", "name": "bash", "arguments": {"command": "pytest -q"}}],
    ),
    fixture(
        {"userMessage": "mend", "hasToolResult": False},
        content="I look and write.",
        toolCalls=[
            {"id": "first", "name": "bash", "arguments": {"command": "cat 'é.py' <&2"}},
            {"id": "second", "name": "write", "arguments": {"path": "a.py", "content": 'x = "\\n"\n'}},
        ],
    ),
    fixture({"userMessage": "broken", "toolResultContains": "is no JSON"}, content="I see."),
    fixture({"userMessage": "broken", "hasToolResult": False}, toolCalls=[{"id": "b", "name": "bash", "arguments": '{"command": "ls'}]),
    fixture({"userMessage": "only submit", "hasToolResult": False}, toolCalls=[{"name": "submit", "arguments": {"answer": "4"}}]),
    fixture({"userMessage": "only submit", "hasToolResult": True}, content="Done."),
]


@pytest.fixture(scope="module")
def tool_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}), encoding="utf-8")
    with aimock(fixtures) as url:
        yield url


@pytest.mark.parametrize("provider", PROTOCOLS)
class TestAimock:
    async def test_an_agents_whole_conversation(self, tool_server: str, connect: Connect, provider: str) -> None:
        ran: list[tuple[str, Any]] = []

        def run(call: ToolCall) -> ToolResult:
            ran.append((call.name, json.loads(call.arguments)))
            return ToolResult(call.id, call.name, "3 passed\n" if "pytest" in call.arguments else "")

        client, model = connect(tool_server, provider=provider, name="some-model")
        replies = await converse(client, model, "mend it", run=run)
        assert ran == [
            ("bash", {"command": "cat 'é.py' <&2"}),
            ("write", {"path": "a.py", "content": 'x = "\\n"\n'}),
            ("bash", {"command": "pytest -q"}),
        ]
        assert [reply.text for reply in replies] == ["I look and write.", "", "Mended."]
        assert [call.id for call in replies[0].tool_calls] == ["first", "second"]
        assert [reply.stop_reason for reply in replies] == (
            ["tool_calls", "tool_calls", "stop"] if provider == "openai" else ["tool_use", "tool_use", "end_turn"]
        )
        assert {(reply.usage.input_tokens, reply.usage.output_tokens) for reply in replies} == {(700, 30)}

    async def test_a_call_that_is_no_json_is_answered_by_the_tool(self, tool_server: str, connect: Connect, provider: str) -> None:
        """The server mends broken arguments itself for one of the two protocols; the conversation goes on in both."""
        written: list[str] = []

        def run(call: ToolCall) -> ToolResult:
            written.append(call.arguments)
            return ToolResult(call.id, call.name, "that is no JSON", is_error=True)

        client, model = connect(tool_server, provider=provider, name="some-model")
        assert [reply.text for reply in await converse(client, model, "broken", run=run)] == ["", "I see."]
        assert written == ['{"command": "ls' if provider == "openai" else "{}"]

    async def test_an_answer_by_a_tool(self, tool_server: str, connect: Connect, provider: str) -> None:
        client, model = connect(tool_server, provider=provider, name="some-model")
        first, _ = await converse(client, model, "only submit")
        (call,) = first.tool_calls
        assert (call.name, json.loads(call.arguments), bool(call.id)) == ("submit", {"answer": "4"}, True)


class TestLlmock:
    """llmock calls the tool that fits best, with arguments by its schema, and answers once a result is there."""

    @pytest.mark.parametrize("provider", PROTOCOLS)
    async def test_an_agents_loop_ends(self, request: pytest.FixtureRequest, connect: Connect, provider: str) -> None:
        need(llmock_problem())
        server = request.getfixturevalue("llmock")
        client, model = connect(server.base_url(provider), provider=provider, name="some-model")
        replies = await converse(client, model, "bash: run a command in a shell", tools=(BASH,))
        assert [[call.name for call in reply.tool_calls] for reply in replies] == [["bash"], []]
        assert "command" in json.loads(replies[0].tool_calls[0].arguments)
        assert replies[1].text

    @pytest.mark.parametrize("provider", PROTOCOLS)
    async def test_judges_the_retries_with_tools_resilient(self, request: pytest.FixtureRequest, connect: Connect, provider: str) -> None:
        need(llmock_problem())
        server = request.getfixturevalue("llmock")
        client, model = connect(server.base_url(provider), provider=provider, name="some-model")
        server.rate_limit(times=2, retry_after=0.2, provider=provider)
        asked = ModelRequest("", (ChatMessage("user", "Run it."),), 16, tools=(BASH,), case_key="one")
        reply = await until_it_ends(client, model, asked)
        assert isinstance(reply, ModelReply)
        server.fail(503, times=1, provider=provider)
        messages = (
            *asked.messages,
            ChatMessage("assistant", reply.text, tool_calls=reply.tool_calls),
            ChatMessage("tool", "", tool_results=tuple(map(says_ok, reply.tool_calls))),
        )
        assert isinstance(await until_it_ends(client, model, ModelRequest("", messages, 16, tools=(BASH,), case_key="two")), ModelReply)
        server.assert_resilient(strict=True)


RESULTS = {
    "a listing": "total 0\n" + "-rw-r--r-- 1 agent agent 120 <x> 'a b'\n" * 4,
    "cjk": "漢字仮名交じり文と한국어와中文。",
    "nothing": "",
    "escapes": '\x1b[31m"quoted"\x00\\\n' * 4,
}


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
async def test_llama_cpp_takes_tools_and_counts_below_the_bound(llama_url: str, connect: Connect, provider: str, result: str) -> None:
    """Its small model calls no tools, so the calls here are written for it, a malformed one among them."""
    client, model = connect(llama_url, provider=provider)
    calls = (
        ToolCall("1", "bash", json.dumps({"command": "cat > f << 'EOF'\nx = 1\nEOF"})),
        ToolCall("2", "bash", "no JSON \ud800"),
        ToolCall("3", "made<|up|>", '{"a": "\\ud800"}'),
    )
    messages: tuple[ChatMessage, ...] = (ChatMessage("user", "List the files."),)
    last: LastCall | None = None
    for text in ("", "I look."):
        request = ModelRequest("S", messages, 1, temperature=0.0, tools=ALL)
        reply = await client.attempt(model, request)
        assert 0 < reply.usage.input_tokens <= min(input_bound(request), input_bound(request, last))
        last = LastCall(reply.usage, len(messages))
        results = tuple(ToolResult(call.id, call.name, result, is_error=call.id == "2") for call in calls)
        messages += (ChatMessage("assistant", text, tool_calls=calls), ChatMessage("tool", "", tool_results=results))
    nudged = ModelRequest("S", (*messages, ChatMessage("user", "Go on.")), 1, temperature=0.0, tools=ALL)
    assert (await client.attempt(model, nudged)).usage.input_tokens <= input_bound(nudged)


OPENAI_CALL = {
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "bash", "arguments": {"command": "ls"}}}]},
        }
    ],
    "usage": {"prompt_tokens": 700, "completion_tokens": 20},
}


async def test_a_server_that_does_much_differently_is_understood(connect: Connect) -> None:
    """No id, no type, an object in place of the text, `stop` as the reason: all of it has been seen on self-hosted servers."""
    async with hostile(says(answer(OPENAI_CALL))) as url:
        client, model = connect(url)
        reply = await client.attempt(model, ModelRequest("", (ChatMessage("user", "hi"),), 16, tools=(BASH,)))
    assert reply.tool_calls == (ToolCall("call_1", "bash", '{"command": "ls"}'),)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_conversation_that_no_server_takes_is_not_sent(connect: Connect, provider: str) -> None:
    heard: list[bytes] = []

    async def listens(reader: Any, _writer: Any) -> None:
        heard.append((await read_request(reader))[1])

    async with hostile(listens) as url:
        client, model = connect(url, provider=provider)
        unanswered = (ChatMessage("user", "hi"), ChatMessage("assistant", "", tool_calls=(ToolCall("a", "bash", "{}"),)))
        with pytest.raises(ModelCallError, match="have no results") as caught:
            await client.attempt(model, ModelRequest("", unanswered, 16, tools=(BASH,)))
    assert (caught.value.outcome, heard) == (CallOutcome.FREE, [])
