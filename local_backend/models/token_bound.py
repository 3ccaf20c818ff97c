"""An upper bound of the input tokens of a call, made before it is sent, so that its worst case can be reserved. Pure.

It knows no tokenizer. A byte-level tokenizer never makes more tokens than a text has UTF-8 bytes; one that normalises first (NFKC) never
more than the normalised text has. That bounds a first call. Later calls start from what the server itself reported for the beginning of
the same conversation, which is far tighter.

What is added on top covers what servers put around the texts: role marks, the template's own words, and the system prompt that some
templates insert when none is given.
"""

import unicodedata
from dataclasses import dataclass

from local_backend.models.wire import ChatMessage, ModelRequest, Usage

FRAME_TOKENS = 128
"""Around a conversation. Role marks need under 20; templates that announce channels and dates to every conversation need about 80."""

DEFAULT_SYSTEM_TOKENS = 640
"""For the system prompt that a server's template may insert when the request has none; the longest in use have about 500 tokens."""

MESSAGE_TOKENS = 32
"""Around each further message. Templates use 3 to 8."""

REPLACEMENT = "\ufffd"
"""Shown for bytes that are no UTF-8: one generated token may come back as a character of three bytes, so as three tokens."""

MAX_BYTES_PER_TOKEN = 16
"""A prompt or a reply whose reported tokens are fewer than one for so many bytes was not counted honestly: its report is not built upon."""


@dataclass(frozen=True)
class LastCall:
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
    """Input tokens that the request can have at most, its system prompt included.

    Without `last`: Σ bytes, plus the frame, plus a fixed amount for each message after the first. With it: last input + last output +
    Σ bytes of the new messages + 32 for each new message and for the reply. Both are upper bounds, so the lower one is given.
    """
    from_bytes = _from_bytes(request)
    if last is None or not _usable(request, last):
        return from_bytes
    return min(from_bytes, _from_report(request, last))


def _from_bytes(request: ModelRequest) -> int:
    frame = FRAME_TOKENS if request.system else FRAME_TOKENS + DEFAULT_SYSTEM_TOKENS
    further = max(0, len(request.messages) - 1) * MESSAGE_TOKENS
    return frame + further + text_bound(request.system) + sum(text_bound(message.text) for message in request.messages)


def _from_report(request: ModelRequest, last: LastCall) -> int:
    reply = request.messages[last.messages]
    new = request.messages[last.messages + 1 :]
    lost_bytes = 3 * reply.text.count(REPLACEMENT)
    around = MESSAGE_TOKENS * (1 + len(new))
    return last.usage.input_tokens + last.usage.output_tokens + lost_bytes + around + sum(text_bound(message.text) for message in new)


def _usable(request: ModelRequest, last: LastCall) -> bool:
    sent = request.messages[: last.messages]
    if len(request.messages) <= last.messages or request.messages[last.messages].role != "assistant":
        return False
    believed = last.usage.input_tokens * MAX_BYTES_PER_TOKEN >= _plain_bytes(request.system, sent)
    return believed and last.usage.output_tokens * MAX_BYTES_PER_TOKEN >= _plain_bytes("", (request.messages[last.messages],))


def _plain_bytes(system: str, messages: tuple[ChatMessage, ...]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in (system, *(message.text for message in messages)))
