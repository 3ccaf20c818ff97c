"""What the conversation loop says to a model and hears back, whichever protocol lies between."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, Protocol

from msgspec import Struct
from pydantic import JsonValue


class ToolDefinition(Struct, frozen=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    """JSON Schema of its arguments: an object."""


class ToolCall(Struct, frozen=True):
    """A tool that a reply asks for. All of it is data from a model."""

    id: str
    """The provider's own; made up where it gives none. Unique in its reply."""
    name: str
    arguments: str
    """JSON text, or whatever the model wrote in its place."""


class ToolResult(Struct, frozen=True):
    """What a call gave. Its text is data from a sandbox."""

    call_id: str
    name: str
    text: str
    is_error: bool = False


class ChatMessage(Struct, frozen=True):
    """One message. Its text is data from a task or a model."""

    role: Literal["user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of role assistant."""
    tool_results: tuple[ToolResult, ...] = ()
    """Of role tool, which answers each call of the reply before it, in order."""


class ModelRequest(Struct, frozen=True):
    """One call."""

    system: str
    messages: tuple[ChatMessage, ...]
    max_tokens: int
    temperature: float | None = None
    tools: tuple[ToolDefinition, ...] = ()
    case_key: str = ""
    """Names the case and the turn for a simulated provider, so that it behaves the same each time; real ones never see it."""


class Usage(Struct, frozen=True):
    """Tokens as the provider reported them, brought to one meaning."""

    input_tokens: int
    """All of them, cached ones and cache writes included."""
    output_tokens: int
    """All of them, reasoning ones included."""
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


class ModelReply(Struct, frozen=True):
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


class ModelCallError(Exception):
    """A call that gave no usable answer.

    `message`: a sentence for people: what happened, with status and host, without keys. `retryable`: only ever true with outcome FREE,
    for nothing that may have been paid is repeated by itself. `retry_after`: seconds that the server asked for.
    """

    def __init__(
        self,
        message: str,
        outcome: CallOutcome,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        rate_limited: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.outcome = outcome
        self.retryable = retryable
        self.retry_after = retry_after
        self.rate_limited = rate_limited
        self.status = status

    def to_be_repeated(self) -> "ModelCallError":
        """The same of a call that costs nobody anything, whatever became of it."""
        return ModelCallError(
            self.message, self.outcome, retryable=True, retry_after=self.retry_after, rate_limited=self.rate_limited, status=self.status
        )


class Provider(Protocol):
    """One protocol spoken to one endpoint. Safe for many calls at once."""

    async def complete(self, request: ModelRequest, *, timeout: float) -> ModelReply:
        """Send the request once. Raises ModelCallError, and nothing else but CancelledError; `timeout` is in seconds."""
        ...

    async def aclose(self) -> None:
        """Close its connections."""
        ...
