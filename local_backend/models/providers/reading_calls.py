"""Reading the tool calls of a reply: strict about the protocol's own fields, lenient about what the model wrote into them. Pure."""

import itertools
import json
import re
from collections.abc import Sequence

from msgspec import Struct

from local_backend.models.providers.foreign_text import without_surrogates
from local_backend.models.providers.reading import UnreadableAnswerError
from local_backend.models.wire import ToolCall

MAX_CALLS = 256
"""Calls in one reply; a server that sends more is not believed."""

_NAME_LIMIT = 128
"""Characters of a name that are kept; providers take 64, and no tool's name is longer."""

_ID = re.compile(r"[!-~]{1,4096}")
"""Ids that are kept. Some gateways put what they must remember of a call into its id, so they may be long."""


class RawCall(Struct, frozen=True):
    """A call as a server sent it; each field is whatever JSON value stood there."""

    id: object
    name: object
    arguments: object


def tool_calls(found: Sequence[RawCall]) -> tuple[ToolCall, ...]:
    """The calls, each with an id that is unique among them. Raises UnreadableAnswerError.

    A missing, empty, strange or repeated id is replaced (several servers give none, or the same each time); arguments may come as an
    object in place of its text; none at all are `{}`. Arguments that are no JSON stay as they are: the tool tells the model.
    """
    if len(found) > MAX_CALLS:
        raise UnreadableAnswerError(f"it asks for {len(found)} tools at once, more than {MAX_CALLS}")
    given = {call.id for call in found if isinstance(call.id, str) and _ID.fullmatch(call.id)}
    reserved = frozenset(given)
    unused = (own for own in map("call_{}".format, itertools.count(1)) if own not in reserved)
    calls: list[ToolCall] = []
    for call in found:
        own = call.id if isinstance(call.id, str) and call.id in given else next(unused)
        given.discard(own)
        calls.append(ToolCall(own, _name(call.name), _arguments(call.arguments)))
    return tuple(calls)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise UnreadableAnswerError("a tool call of it has no name")
    return without_surrogates(name).strip()[:_NAME_LIMIT]


def _arguments(arguments: object) -> str:
    if isinstance(arguments, str):
        return without_surrogates(arguments) if arguments.strip() else "{}"
    if arguments is None:
        return "{}"
    try:
        return without_surrogates(json.dumps(arguments, ensure_ascii=False))
    except RecursionError:
        raise UnreadableAnswerError("the arguments of a tool call of it are nested too deeply") from None
