"""An upper bound of the input tokens of a call, made before it is sent, so that its worst case can be reserved. Pure.

It knows no tokenizer. A byte-level tokenizer never makes more tokens than a text has UTF-8 bytes; one that normalises first (NFKC) never
more than the normalised text has. That bounds a first call. Later calls start from what the server itself reported for the beginning of
the same conversation, which is far tighter.

What is added on top covers what servers put around the texts: role marks, the template's own words, and the system prompt that some
templates insert when none is given.

Tools need more care, because servers write them anew: definitions as JSON of their own style, calls as JSON inside JSON or in marks,
results as they are or as JSON strings. So calls and results are bounded by the longest of these forms. A reply with calls, when it comes
back in the next prompt, need not have as many tokens as when it was made; so it counts by its bytes where those are more.
"""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from local_backend.models.providers.sending import arguments_to_send
from local_backend.models.wire import ChatMessage, ModelRequest, ToolCall, ToolDefinition, ToolResult, Usage

FRAME_TOKENS = 128
"""Around a conversation. Role marks need under 20; templates that announce channels and dates to every conversation need about 80."""

DEFAULT_SYSTEM_TOKENS = 640
"""For the system prompt that a server's template may insert when the request has none; the longest in use have about 500 tokens."""

MESSAGE_TOKENS = 32
"""Around each further message. Templates use 3 to 8."""

TOOLS_TOKENS = 768
"""For what servers tell of tools in general, once for a conversation; the longest in use have about 550 tokens."""

TOOL_TOKENS = 128
"""Around each call and each result. Marks need under 40; templates that write both as indented JSON need about 130 bytes."""

REPLACEMENT = "\ufffd"
"""Shown for bytes that are no UTF-8: one generated token may come back as a character of three bytes, so as three tokens."""

MAX_BYTES_PER_TOKEN = 16
"""A prompt or a reply whose reported tokens are fewer than one for so many bytes was not counted honestly: its report is not built upon."""

_INDENT = 8
"""Spaces before each line of a call's arguments when the call stands in a list in an object."""

_ESCAPE = len(r"\\u0027") - len("'")
"""What a character grows by that is escaped for HTML, in JSON inside JSON."""


class LastCall(Struct, frozen=True):
    """What the call before reported, in the same conversation, to the same model."""

    usage: Usage
    messages: int
    """How many of the messages it sent; the next one is its reply."""


def text_bound(text: str) -> int:
    """Tokens that a text can have at most: its UTF-8 bytes, before or after NFKC, whichever is more."""
    if text.isascii():
        return len(text)
    normalised = unicodedata.normalize("NFKC", text)
    return max(len(text.encode("utf-8", "surrogatepass")), len(normalised.encode("utf-8", "surrogatepass")))


def input_bound(request: ModelRequest, last: LastCall | None = None) -> int:
    """Input tokens that the request can have at most, its system prompt and its tools included.

    Without `last`: Σ bytes, plus the frame, plus a fixed amount for each message after the first, plus, with tools, 2 × the bytes of their
    definitions as indented JSON + 768. With it, where it sent the same system prompt and the same tools: last input + last output (or the
    reply's bytes, where it has calls and they are more) + Σ bytes of the new messages + 32 for each new message and for the reply. Calls
    and results count with 128 more each. Both are upper bounds, so the lower one is given.
    """
    if last is None or not _usable(request, last):
        return _from_bytes(request)
    from_report = _from_report(request, last)
    if from_report <= _plain_bytes(_texts(request.system, request.messages)):
        return from_report  # The other one cannot be lower, and takes long to make for a long conversation.
    return min(_from_bytes(request), from_report)


def _from_bytes(request: ModelRequest) -> int:
    frame = FRAME_TOKENS if request.system else FRAME_TOKENS + DEFAULT_SYSTEM_TOKENS
    further = max(0, len(request.messages) - 1) * MESSAGE_TOKENS
    texts = text_bound(request.system) + sum(map(_message_bound, request.messages))
    return frame + further + texts + _definitions_bound(request.tools)


def _from_report(request: ModelRequest, last: LastCall) -> int:
    reply = request.messages[last.messages]
    new = request.messages[last.messages + 1 :]
    written = last.usage.output_tokens + 3 * sum(text.count(REPLACEMENT) for text in _texts("", (reply,)))
    if reply.tool_calls:
        written = max(written, _message_bound(reply))
    return last.usage.input_tokens + written + MESSAGE_TOKENS * (1 + len(new)) + sum(map(_message_bound, new))


def _message_bound(message: ChatMessage) -> int:
    return text_bound(message.text) + sum(map(_call_bound, message.tool_calls)) + sum(map(_result_bound, message.tool_results))


def _call_bound(call: ToolCall) -> int:
    """By the arguments as JSON inside JSON, in the model's own writing or in a server's, or as indented JSON that stands further in."""
    sent = arguments_to_send(call.arguments)
    forms = (call.arguments, json.dumps(sent), json.dumps(sent, ensure_ascii=False))
    indented = json.dumps(sent, indent=2, ensure_ascii=False)
    written = max(*map(_as_json_bound, forms), text_bound(indented) + _INDENT * indented.count("\n"))
    return written + 2 * text_bound(call.name) + text_bound(call.id) + TOOL_TOKENS


def _result_bound(result: ToolResult) -> int:
    return _as_json_bound(result.text) + 2 * text_bound(result.name) + text_bound(result.call_id) + TOOL_TOKENS


def _definitions_bound(tools: Sequence[ToolDefinition]) -> int:
    if not tools:
        return 0
    told = [
        {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}}
        for tool in tools
    ]
    return 2 * max(text_bound(json.dumps(told, indent=2, ensure_ascii=escaped)) for escaped in (True, False)) + TOOLS_TOKENS


def _as_json_bound(text: str) -> int:
    """Tokens of a text that may be put into a JSON string, with or without escapes for what is not ASCII, or for HTML."""
    marks = sum(text.count(mark) for mark in "<>&'")
    plain = json.dumps(text)
    if text.isascii():
        return len(plain) + _ESCAPE * marks
    return max(len(plain), text_bound(json.dumps(text, ensure_ascii=False))) + _ESCAPE * marks


def _usable(request: ModelRequest, last: LastCall) -> bool:
    sent = request.messages[: last.messages]
    if len(request.messages) <= last.messages or request.messages[last.messages].role != "assistant":
        return False
    told = (text for tool in request.tools for text in (tool.name, tool.description))
    believed = last.usage.input_tokens * MAX_BYTES_PER_TOKEN >= _plain_bytes((*told, *_texts(request.system, sent)))
    return believed and last.usage.output_tokens * MAX_BYTES_PER_TOKEN >= _plain_bytes(_texts("", (request.messages[last.messages],)))


def _texts(system: str, messages: Sequence[ChatMessage]) -> Iterator[str]:
    """Every text of a conversation that costs tokens wherever it is written."""
    yield system
    for message in messages:
        yield message.text
        for call in message.tool_calls:
            yield call.name
            yield call.arguments
        for result in message.tool_results:
            yield result.text


def _plain_bytes(texts: Iterable[str]) -> int:
    return sum(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text in texts)
