"""Anthropic's Messages protocol."""

import json
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
from local_backend.models.wire import CallOutcome, ModelCallError, ModelReply, ModelRequest, Usage

VERSION = "2023-06-01"
"""The protocol's version, sent with each request."""


def request_body(request: ModelRequest, *, model: str) -> dict[str, Any]:
    """The request in the protocol's words. Messages without any text are left out: the protocol refuses them."""
    messages = [{"role": message.role, "content": without_surrogates(message.text)} for message in request.messages if message.text.strip()]
    body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "messages": messages}
    if request.system.strip():
        body["system"] = without_surrogates(request.system)
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def read_reply(answer: dict[str, Any]) -> ModelReply:
    """The reply in an answer; thinking stays out of its text. Raises UnreadableAnswerError."""
    usage = _usage(member(answer, "usage"))
    content = answer.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise UnreadableAnswerError("its `content` is missing or no list of blocks")
    text = "".join(text_of(block, "text") for block in content if block.get("type") == "text")
    stop_reason = text_of(answer, "stop_reason")
    return ModelReply(without_surrogates(text), usage, short(stop_reason), reported_model=short(optional_text(answer, "model")))


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
