"""What the conversation loop says to a model and hears back, whichever protocol lies between."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from pydantic import JsonValue


@dataclass(frozen=True)
class ToolDefinition:
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    """JSON Schema of its arguments: an object."""


@dataclass(frozen=True)
class ToolCall:
    """A tool that a reply asks for. All of it is data from a model."""

    id: str
    """The provider's own; made up where it gives none. Unique in its reply."""
    name: str
    arguments: str
    """JSON text, or whatever the model wrote in its place."""


@dataclass(frozen=True)
class ToolResult:
    """What a call gave. Its text is data from a sandbox."""

    call_id: str
    name: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class ChatMessage:
    """One message. Its text is data from a task or a model."""

    role: Literal["user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of role assistant."""
    tool_results: tuple[ToolResult, ...] = ()
    """Of role tool, which answers each call of the reply before it, in order."""


@dataclass(frozen=True)
class ModelRequest:
    """One call."""

    system: str
    messages: tuple[ChatMessage, ...]
    max_tokens: int
    temperature: float | None = None
    tools: tuple[ToolDefinition, ...] = ()
    case_key: str = ""
    """Names the case and the turn for a simulated provider, so that it behaves the same each time; real ones never see it."""


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider reported them, brought to one meaning."""

    input_tokens: int
    """All of them, cached ones and cache writes included."""
    output_tokens: int
    """All of them, reasoning ones included."""
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True)
class ModelReply:
    """A complete answer with its usage; anything less is a `ModelCallError`."""

    text: str
    usage: Usage
    stop_reason: str
    """The provider's own word: `stop`, `length`, `end_turn`, `max_tokens`, `tool_calls`, `tool_use`, …"""
    reported_model: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


class CallOutcome(StrEnum):
    """What is known of the cost of a call that failed."""

    FREE = "Free"
    """It certainly cost nothing: it never left, or the server refused it."""
    UNKNOWN = "Unknown"
    """It may have been paid: charge the worst case."""


@dataclass(eq=False)
class ModelCallError(Exception):
    """A call that gave no usable answer.

    Not frozen: context managers write the traceback onto an exception that passes through them.
    """

    message: str
    """A sentence for people: what happened, with status and host, without keys."""
    outcome: CallOutcome
    retryable: bool = False
    """Only ever true with outcome FREE: nothing that may have been paid is repeated by itself."""
    retry_after: float | None = None
    """Seconds that the server asked for."""
    rate_limited: bool = False
    status: int | None = field(default=None)

    def __str__(self) -> str:
        return self.message


class Provider(Protocol):
    """One protocol spoken to one endpoint. Safe for many calls at once."""

    async def complete(self, request: ModelRequest, *, timeout: float) -> ModelReply:
        """Send the request once. Raises ModelCallError, and nothing else but CancelledError; `timeout` is in seconds."""
        ...

    async def aclose(self) -> None:
        """Close its connections."""
        ...
