"""A conversation with tool calls, made fit to be sent back to a server. Pure.

What a model wrote is kept as it came. What goes out must be right by the protocol, whatever the model wrote: arguments that are no JSON
object go back inside one, so that the model sees its mistake, names keep to the letters that providers take, and every call has an id
that no other call of the conversation has. What goes out for a message never depends on the messages after it, so that a server may keep
the beginning of a conversation in its cache.
"""

import json
import math
import re
from collections.abc import Sequence

from pydantic import JsonValue

from local_backend.models.providers.foreign_text import SURROGATES, without_surrogates
from local_backend.models.wire import CallOutcome, ChatMessage, ModelCallError, ToolCall, ToolResult
from nodus_tui.values import replace

UNREADABLE_ARGUMENTS = "unreadable_arguments"
"""The field under which arguments that are no JSON object go back to the model that wrote them."""

_NAME_LIMIT = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_DEEPEST = 64
"""Servers refuse arguments that are nested without end."""


def arguments_to_send(text: str) -> dict[str, JsonValue]:
    """The arguments as the object that goes back: as the model wrote them, or `{"unreadable_arguments": "…"}` when that is none."""
    value = _object(text)
    if value is None:
        return {UNREADABLE_ARGUMENTS: without_surrogates(text)}
    written = json.dumps(value, ensure_ascii=False)
    if SURROGATES.search(written):
        # Escaped in the model's text, and so not seen before it was read.
        cleaned: dict[str, JsonValue] = json.loads(without_surrogates(written))
        return cleaned
    return value


def arguments_text_to_send(text: str) -> str:
    """The same as JSON text: the model's own where it is one."""
    sent = arguments_to_send(text)
    return text if sent == _object(text) else json.dumps(sent, ensure_ascii=False)


def name_to_send(name: str) -> str:
    """A tool's name as providers take it; a model may have made one up."""
    return _NOT_IN_NAMES.sub("_", name)[:_NAME_LIMIT] or "_"


def sendable(messages: Sequence[ChatMessage], allowed_id: re.Pattern[str]) -> tuple[ChatMessage, ...]:
    """The messages with ids that differ over the whole conversation, and results in the order of their calls.

    An id that the pattern does not match, or that a call before has, gives way to one of ours. Raises ModelCallError (Free) when calls and
    results do not belong together: no server takes such a conversation.
    """
    used: set[str] = set()
    open_calls: dict[str, str] = {}
    sent: list[ChatMessage] = []
    for message in messages:
        if message.role == "tool":
            sent.append(replace(message, tool_results=_matched(message.tool_results, open_calls)))
            open_calls = {}
            continue
        if open_calls:
            break
        ids = [_id_to_send(call, used, allowed_id) for call in message.tool_calls]
        open_calls = {call.id: own for call, own in zip(message.tool_calls, ids, strict=True)}
        calls = tuple(replace(call, id=own) for call, own in zip(message.tool_calls, ids, strict=True))
        sent.append(replace(message, tool_calls=calls) if calls else message)
    if open_calls:
        raise _inconsistent("calls of tools have no results")
    return tuple(sent)


def _object(text: str) -> dict[str, JsonValue] | None:
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _fits(value, _DEEPEST) else None


def _refuse(word: str) -> float:
    raise ValueError(word)


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def _fits(value: JsonValue, levels: int) -> bool:
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_fits(part, levels - 1) for part in parts)
    return True


def _id_to_send(call: ToolCall, used: set[str], allowed: re.Pattern[str]) -> str:
    own = call.id
    if not allowed.fullmatch(own) or own in used:
        number = len(used) + 1
        while (own := f"call_{number}") in used:
            number += 1
    used.add(own)
    return own


def _matched(results: Sequence[ToolResult], open_calls: dict[str, str]) -> tuple[ToolResult, ...]:
    given = {result.call_id: result for result in results}
    if given.keys() != open_calls.keys() or len(given) != len(results):
        raise _inconsistent("results of tools do not answer the calls before them")
    return tuple(replace(given[call], call_id=own) for call, own in open_calls.items())


def _inconsistent(what: str) -> ModelCallError:
    return ModelCallError(f"the conversation cannot be sent: {what}", CallOutcome.FREE)
