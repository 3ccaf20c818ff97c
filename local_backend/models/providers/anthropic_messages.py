"""Anthropic's Messages protocol."""

import json
import re
from typing import Any

from local_backend.models.providers.foreign_text import short, without_surrogates
from local_backend.models.providers.http import Connections, Endpoint, exchange, unreadable
from local_backend.models.providers.reading import (
    UnreadableAnswerError,
    member,
    optional_member,
    optional_text,
    optional_tokens,
    text_of,
    tokens,
)
from local_backend.models.providers.reading_calls import RawCall, tool_calls
from local_backend.models.providers.sending import arguments_to_send, name_to_send, sendable
from local_backend.models.wire import CallOutcome, ChatMessage, ModelCallError, ModelReply, ModelRequest, ToolResult, Usage

VERSION = "2023-06-01"
"""The protocol's version, sent with each request."""


_ID = re.compile(r"[A-Za-z0-9_-]{1,256}")
"""Ids of calls that the protocol takes."""

_NOTHING_SAID = "the tool failed without a word"
"""The protocol refuses an error without text."""


def request_body(request: ModelRequest, *, model: str) -> dict[str, Any]:
    """The request in the protocol's words. Raises ModelCallError (Free) when its calls and results do not belong together.

    Messages without any text are left out: the protocol refuses them. What the user says after results of tools goes into the same
    message, behind them: the protocol wants results first, directly after their calls.
    """
    messages: list[dict[str, Any]] = []
    for message in sendable(request.messages, _ID):
        content = _content(message)
        if not content:
            continue
        if message.role == "user" and messages and messages[-1]["role"] == "user" and isinstance(messages[-1]["content"], list):
            messages[-1]["content"].append({"type": "text", "text": content})
        else:
            messages.append({"role": "user" if message.role == "tool" else message.role, "content": content})
    body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "messages": messages}
    if request.system.strip():
        body["system"] = without_surrogates(request.system)
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)} for tool in request.tools
        ]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def _content(message: ChatMessage) -> str | list[dict[str, Any]]:
    """A message's content; empty when there is nothing that the protocol takes."""
    if message.role == "tool":
        return [_result(result) for result in message.tool_results]
    text = without_surrogates(message.text) if message.text.strip() else ""
    if not message.tool_calls:
        return text
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": name_to_send(call.name), "input": arguments_to_send(call.arguments)}
        for call in message.tool_calls
    ]


def _result(result: ToolResult) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    if result.is_error:
        return block | {"content": without_surrogates(result.text) if result.text.strip() else _NOTHING_SAID, "is_error": True}
    return block | {"content": without_surrogates(result.text)} if result.text.strip() else block


def read_reply(answer: dict[str, Any]) -> ModelReply:
    """The reply in an answer; thinking stays out of its text, whatever lies between calls is one text. Raises UnreadableAnswerError."""
    usage = _usage(member(answer, "usage"))
    content = answer.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise UnreadableAnswerError("its `content` is missing or no list of blocks")
    text = "".join(text_of(block, "text") for block in content if block.get("type") == "text")
    calls = [RawCall(block.get("id"), block.get("name"), block.get("input")) for block in content if block.get("type") == "tool_use"]
    return ModelReply(
        text=without_surrogates(text),
        usage=usage,
        stop_reason=short(text_of(answer, "stop_reason")),
        reported_model=short(optional_text(answer, "model")),
        tool_calls=tool_calls(calls),
    )


def _usage(usage: dict[str, Any]) -> Usage:
    """Usage with cached input in the input, which the protocol counts apart."""
    cached = optional_tokens(usage, "cache_read_input_tokens")
    cache_write = optional_tokens(usage, "cache_creation_input_tokens")
    return Usage(
        input_tokens=tokens(usage, "input_tokens") + cached + cache_write,
        output_tokens=tokens(usage, "output_tokens"),
        cached_input_tokens=cached,
        cache_write_tokens=cache_write,
        reasoning_tokens=optional_tokens(optional_member(usage, "output_tokens_details"), "thinking_tokens"),
    )


class AnthropicMessages:
    """A provider that speaks Anthropic Messages to one endpoint."""

    def __init__(self, connections: Connections, endpoint: Endpoint, *, model: str) -> None:
        self._connections = connections
        self._endpoint = endpoint
        self._model = model

    async def complete(self, request: ModelRequest, *, timeout: float) -> ModelReply:
        """Send the request once. Raises ModelCallError; `timeout` is in seconds."""
        body = request_body(request, model=self._model)
        if not body["messages"]:
            raise ModelCallError("the conversation has no text to send: every message of it is empty", CallOutcome.FREE)
        answer = await exchange(self._connections, self._endpoint, json.dumps(body).encode(), timeout)
        try:
            return read_reply(answer)
        except UnreadableAnswerError as error:
            raise unreadable(self._endpoint, str(error)) from None

    async def aclose(self) -> None:
        """Nothing to close: the connections are shared."""
