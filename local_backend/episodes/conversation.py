"""What comes next in a conversation: a call, tools, an end, or the answer. Pure."""

import json
from collections.abc import Sequence

from msgspec import Struct

from local_backend.models.wire import ChatMessage, ToolCall

SUBMIT = "submit"
"""The tool that ends a conversation: its argument `answer` is the answer."""


class CallModel(Struct, frozen=True):
    """The model speaks next."""

    messages: tuple[ChatMessage, ...]
    """The whole conversation up to and with the newest message to the model."""
    new_user_text: str | None
    """The message that opens this turn; None when it stands in the transcript already."""
    turn: int
    """Which reply this will be, from 1."""


class RunTools(Struct, frozen=True):
    """The last reply asked for tools, and nothing has answered it yet."""

    calls: tuple[ToolCall, ...]
    turn: int
    """The reply's number."""


class Answered(Struct, frozen=True):
    """The conversation is complete."""

    text: str
    """What was submitted, or the last reply: what is graded."""


class OutOfTurns(Struct, frozen=True):
    """The agent's `maxTurns` is used up before the conversation's end."""


def next_step(prompts: Sequence[str], messages: Sequence[ChatMessage], max_turns: int) -> CallModel | RunTools | Answered | OutOfTurns:
    """The next step after these messages.

    A reply without tool calls answers the prompt before it, and the reply to the last prompt is the answer. A reply with tool calls is
    followed by their results and the next reply; a submit that was taken ends the conversation, whichever prompt it answers.
    """
    replies = sum(message.role == "assistant" for message in messages)
    last = messages[-1] if messages else None
    if last is not None and last.role == "assistant":
        if last.tool_calls:
            return RunTools(last.tool_calls, replies)
        if sum(message.role == "user" for message in messages) == len(prompts):
            return Answered(last.text)
    if last is not None and last.role == "tool":
        submitted = submitted_answer(messages[-2].tool_calls, last)
        if submitted is not None:
            return Answered(submitted)
    if replies >= max_turns:
        return OutOfTurns()
    if last is not None and last.role != "assistant":
        return CallModel(tuple(messages), None, replies + 1)
    prompt = prompts[sum(message.role == "user" for message in messages)]
    return CallModel((*messages, ChatMessage("user", prompt)), prompt, replies + 1)


def submitted_answer(calls: Sequence[ToolCall], results: ChatMessage) -> str | None:
    """What these calls submitted, if one of them did and it was taken."""
    taken = {result.call_id for result in results.tool_results if not result.is_error}
    call = next((each for each in calls if each.name == SUBMIT and each.id in taken), None)
    return None if call is None else _answer(call.arguments)


def _answer(arguments: str) -> str:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    answer = value.get("answer", "") if isinstance(value, dict) else value
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
