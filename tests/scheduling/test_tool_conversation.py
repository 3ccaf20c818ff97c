import json

from local_backend.episodes.conversation import Answered, CallModel, OutOfTurns, RunTools, next_step
from local_backend.models.wire import ChatMessage, ToolCall, ToolResult

PROMPT = ChatMessage("user", "Mend it.")


def asks(*calls: ToolCall, text: str = "") -> ChatMessage:
    return ChatMessage("assistant", text, tool_calls=calls)


def gave(*results: ToolResult) -> ChatMessage:
    return ChatMessage("tool", "", tool_results=results)


LS = ToolCall("a", "bash", '{"command": "ls"}')
LS_RESULT = ToolResult("a", "bash", "main.py")


def submit(answer: object, call_id: str = "s") -> ToolCall:
    return ToolCall(call_id, "submit", json.dumps({"answer": answer}))


def test_a_reply_that_asks_for_tools_is_followed_by_them() -> None:
    assert next_step(["Mend it."], [PROMPT, asks(LS)], 50) == RunTools((LS,), 1)


def test_results_are_followed_by_the_next_reply_without_a_new_user_message() -> None:
    messages = [PROMPT, asks(LS), gave(LS_RESULT)]
    assert next_step(["Mend it."], messages, 50) == CallModel(tuple(messages), None, 2)


def test_a_reply_without_calls_after_tools_is_the_answer() -> None:
    messages = [PROMPT, asks(LS), gave(LS_RESULT), ChatMessage("assistant", "done")]
    assert next_step(["Mend it."], messages, 50) == Answered("done")


def test_a_submit_that_was_taken_ends_the_conversation_whatever_prompts_are_left() -> None:
    messages = [PROMPT, asks(submit("42")), gave(ToolResult("s", "submit", "submitted"))]
    assert next_step(["Mend it.", "And now?"], messages, 50) == Answered("42")


def test_a_submit_that_was_refused_does_not() -> None:
    messages = [PROMPT, asks(submit("42")), gave(ToolResult("s", "submit", "no such tool", is_error=True))]
    assert isinstance(next_step(["Mend it."], messages, 50), CallModel)


def test_an_answer_that_is_no_text_is_submitted_as_json() -> None:
    messages = [PROMPT, asks(submit([1, "ü"])), gave(ToolResult("s", "submit", "submitted"))]
    assert next_step(["Mend it."], messages, 50) == Answered('[1, "ü"]')


def test_tools_asked_for_by_the_last_reply_still_run_but_no_other_reply_follows() -> None:
    assert isinstance(next_step(["Mend it."], [PROMPT, asks(LS)], 1), RunTools)
    assert next_step(["Mend it."], [PROMPT, asks(LS), gave(LS_RESULT)], 1) == OutOfTurns()


def test_the_last_turn_may_submit() -> None:
    messages = [PROMPT, asks(submit("42")), gave(ToolResult("s", "submit", "submitted"))]
    assert next_step(["Mend it."], messages, 1) == Answered("42")


def test_the_second_prompt_follows_the_answer_to_the_first_however_many_replies_that_took() -> None:
    messages = [PROMPT, asks(LS), gave(LS_RESULT), ChatMessage("assistant", "done")]
    step = next_step(["Mend it.", "And now?"], messages, 50)
    assert step == CallModel((*messages, ChatMessage("user", "And now?")), "And now?", 3)
