"""Strict reading of a server's JSON: every field that counts must be there and have its type, or the answer is not one. Pure."""

import json
from typing import Any

MAX_TOKENS_REPORTED = 100_000_000
"""More than any model takes or gives in one call: a report above it is absurd."""


class UnreadableAnswerError(Exception):
    """The answer is not what the protocol says; the text is the end of a sentence that names what is wrong."""


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a body. Raises UnreadableAnswerError."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise UnreadableAnswerError("its body is not UTF-8") from None
    except (ValueError, RecursionError):
        raise UnreadableAnswerError("its body is not JSON") from None
    if not isinstance(value, dict):
        raise UnreadableAnswerError("its body is JSON, but no object")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def member(value: dict[str, Any], name: str) -> dict[str, Any]:
    """A field that must be an object."""
    found = value.get(name)
    if not isinstance(found, dict):
        raise UnreadableAnswerError(f"its `{name}` is missing or no object")
    return found


def optional_member(value: dict[str, Any], name: str) -> dict[str, Any]:
    """A field that may be absent or null; empty then."""
    return {} if value.get(name) is None else member(value, name)


def tokens(value: dict[str, Any], name: str) -> int:
    """A token count that must be there."""
    if value.get(name) is None:
        raise UnreadableAnswerError(f"it reports no `{name}`")
    return optional_tokens(value, name)


def optional_tokens(value: dict[str, Any], name: str) -> int:
    """A token count that may be absent or null; 0 then."""
    count = value.get(name)
    if count is None:
        return 0
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MAX_TOKENS_REPORTED:
        raise UnreadableAnswerError(f"its `{name}` is no possible count of tokens")
    return count


def text_of(value: dict[str, Any], name: str) -> str:
    """A field that must be a text."""
    found = value.get(name)
    if not isinstance(found, str):
        raise UnreadableAnswerError(f"its `{name}` is missing or no text")
    return found


def optional_text(value: dict[str, Any], name: str) -> str:
    """A text that may be absent or anything else; empty then."""
    found = value.get(name)
    return found if isinstance(found, str) else ""
