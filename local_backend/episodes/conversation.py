"""What comes next in a conversation: a call, an end, or the answer. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from local_backend.models.wire import ChatMessage


@dataclass(frozen=True, slots=True)
class CallModel:
    """The model speaks next."""

    messages: tuple[ChatMessage, ...]
    """The whole conversation up to and with the user's newest message."""
    new_user_text: str | None
    """The message that opens this turn; None when it stands in the transcript already."""
    turn: int
    """Which reply this will be, from 1."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The conversation is complete."""

    text: str
    """The last reply: the one that is graded."""


@dataclass(frozen=True, slots=True)
class OutOfTurns:
    """The agent's `maxTurns` is used up before the conversation's end."""


def next_step(prompts: Sequence[str], messages: Sequence[ChatMessage], max_turns: int) -> CallModel | Answered | OutOfTurns:
    """The next step after these messages. Each prompt is followed by one reply; the reply to the last prompt is the answer."""
    replies = sum(message.role == "assistant" for message in messages)
    if replies == len(prompts):
        return Answered(messages[-1].text)
    if replies >= max_turns:
        return OutOfTurns()
    if messages and messages[-1].role == "user":
        return CallModel(tuple(messages), None, replies + 1)
    prompt = prompts[replies]
    return CallModel((*messages, ChatMessage("user", prompt)), prompt, replies + 1)
