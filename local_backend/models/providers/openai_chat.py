"""OpenAI's chat completions protocol, as OpenAI and the servers that follow it (vLLM, Ollama, llama.cpp, LM Studio, …) speak it."""

import json
import re
from typing import Any

from local_backend.models.endpoints import is_openai_itself, takes_max_completion_tokens
from local_backend.models.providers.foreign_text import one_line, short, without_surrogates
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
from local_backend.models.providers.sending import arguments_text_to_send, name_to_send, sendable
from local_backend.models.wire import ChatMessage, ModelReply, ModelRequest, ToolCall, Usage

_MAY_BE_EMPTY = frozenset({"length", "content_filter"})
"""With these the whole reply may have gone into reasoning, or been held back: no text is then a complete answer."""

_REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put reasoning beside the content. Its text is not part of the answer; its tokens are in the usage."""

_ID = re.compile(r"[!-~]{1,4096}")
"""Ids of calls that are sent. The protocol has no rule for them; servers get their own back."""


def request_body(request: ModelRequest, *, model: str, base_url: str) -> dict[str, Any]:
    """The request in the protocol's words. Raises ModelCallError (Free) when its calls and results do not belong together."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": without_surrogates(request.system)}] if request.system else []
    for message in sendable(request.messages, _ID):
        messages += _messages(message)
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": False}
    if request.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}}
            for tool in request.tools
        ]
    body["max_completion_tokens" if takes_max_completion_tokens(base_url) else "max_tokens"] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if is_openai_itself(base_url):
        body["service_tier"] = "default"  # The tier whose price is known; a project may have a dearer one set as its own default.
    return body


def _messages(message: ChatMessage) -> list[dict[str, Any]]:
    """One message in the protocol's words: results of tools are a message each, and whether one is an error only its text says."""
    if message.role == "tool":
        return [
            {"role": "tool", "tool_call_id": result.call_id, "content": without_surrogates(result.text)} for result in message.tool_results
        ]
    text = without_surrogates(message.text)
    if not message.tool_calls:
        return [{"role": message.role, "content": text}]
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": name_to_send(call.name), "arguments": arguments_text_to_send(call.arguments)},
        }
        for call in message.tool_calls
    ]
    return [{"role": "assistant", "content": text or None, "tool_calls": calls}]


def read_reply(answer: dict[str, Any]) -> ModelReply:
    """The reply in an answer. Raises UnreadableAnswerError.

    Calls count whatever the reason to stop is: some servers say `stop` with them.
    """
    usage = _usage(member(answer, "usage"))
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise UnreadableAnswerError("it has no `choices`")
    stop_reason = text_of(choices[0], "finish_reason")
    message = member(choices[0], "message")
    calls = _calls(message)
    return ModelReply(
        text=_text(message, may_be_absent=bool(calls) or stop_reason in _MAY_BE_EMPTY),
        usage=usage,
        stop_reason=short(stop_reason),
        reported_model=short(optional_text(answer, "model")),
        tool_calls=calls,
    )


def _calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    raw = message.get("tool_calls")
    if raw is None:
        return ()
    if not isinstance(raw, list) or not all(isinstance(call, dict) for call in raw):
        raise UnreadableAnswerError("its `tool_calls` are no list of calls")
    functions = [(call, member(call, "function")) for call in raw]
    return tool_calls([RawCall(call.get("id"), function.get("name"), function.get("arguments")) for call, function in functions])


def _text(message: dict[str, Any], *, may_be_absent: bool) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return without_surrogates("".join(optional_text(part, "text") for part in parts))
    if isinstance(content, str):
        return without_surrogates(content)
    refusal = optional_text(message, "refusal")
    reasoned = any(optional_text(message, name) for name in _REASONING_FIELDS)
    if content is None and (refusal or reasoned or may_be_absent):
        return without_surrogates(refusal)
    raise UnreadableAnswerError("its message has no `content`")


def _usage(usage: dict[str, Any]) -> Usage:
    """Usage with reasoning in the output: some servers leave it out of `completion_tokens`, but not out of `total_tokens`."""
    read = tokens(usage, "prompt_tokens")
    written = tokens(usage, "completion_tokens")
    of_input = optional_member(usage, "prompt_tokens_details")
    cached = optional_tokens(of_input, "cached_tokens")
    cache_write = optional_tokens(of_input, "cache_write_tokens")
    if cached + cache_write > read:
        raise UnreadableAnswerError("it reports more cached input than input")
    reasoning = optional_tokens(optional_member(usage, "completion_tokens_details"), "reasoning_tokens")
    return Usage(
        input_tokens=read,
        output_tokens=max(written, reasoning, optional_tokens(usage, "total_tokens") - read),
        cached_input_tokens=cached,
        cache_write_tokens=cache_write,
        reasoning_tokens=reasoning,
    )


class OpenAIChat:
    """A provider that speaks OpenAI chat to one endpoint."""

    def __init__(self, connections: Connections, endpoint: Endpoint, *, model: str, base_url: str) -> None:
        self._connections = connections
        self._endpoint = endpoint
        self._model = model
        self._base_url = base_url

    async def complete(self, request: ModelRequest, *, timeout: float) -> ModelReply:
        """Send the request once. Raises ModelCallError; `timeout` is in seconds."""
        body = json.dumps(request_body(request, model=self._model, base_url=self._base_url)).encode()
        answer = await exchange(self._connections, self._endpoint, body, timeout)
        try:
            return read_reply(answer)
        except UnreadableAnswerError as error:
            raise unreadable(self._endpoint, f"{error}{_reported_error(answer, self._endpoint.key)}") from None

    async def aclose(self) -> None:
        """Nothing to close: the connections are shared."""


def _reported_error(answer: dict[str, Any], key: str | None) -> str:
    """What an answer of status 200 says of an error inside it, as some gateways send it."""
    error = answer.get("error")
    text = optional_text(error, "message") if isinstance(error, dict) else error
    return f"; it says: {one_line(text, key=key)}" if isinstance(text, str) and text else ""
