"""The simulated model with tools: a few looks and then the answer, or a script; one fate for each case."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools_told import ALL, BASH, READ, SUBMIT, WRITE

from local_backend.models.providers.simulated import Simulated
from local_backend.models.providers.simulated_agent import task_of
from local_backend.models.token_bound import LastCall, input_bound
from local_backend.models.wire import ChatMessage, ModelReply, ModelRequest, ToolDefinition, ToolResult
from nodus_tui.contract.configuration import SimulatedBehaviour
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER, UNREADABLE_REPLY, WRONG_PLACEHOLDER

MARKS = {REFERENCE_PLACEHOLDER, WRONG_PLACEHOLDER, UNREADABLE_REPLY}


def model(**behaviour: Any) -> Simulated:
    return Simulated(SimulatedBehaviour.model_validate(behaviour))


async def play(
    simulated: Simulated, case: str = "sha256:0/task#0.1", tools: tuple[ToolDefinition, ...] = ALL, *, turns: int = 60, result: str = "ok\n"
) -> list[ModelReply]:
    """A conversation until it submits or only speaks, or so many turns."""
    messages: tuple[ChatMessage, ...] = (ChatMessage("user", "Mend it."),)
    replies: list[ModelReply] = []
    last: LastCall | None = None
    for turn in range(1, turns + 1):
        request = ModelRequest("S", messages, 4000, tools=tools, case_key=f"{case}/{turn}")
        reply = await simulated.complete(request, timeout=60)
        assert 0 < reply.usage.input_tokens <= min(input_bound(request), input_bound(request, last))
        assert len({call.id for call in reply.tool_calls}) == len(reply.tool_calls)
        last = LastCall(reply.usage, len(messages))
        replies.append(reply)
        if not reply.tool_calls or any(call.name == "submit" for call in reply.tool_calls):
            break
        results = tuple(ToolResult(call.id, call.name, result) for call in reply.tool_calls)
        messages += (ChatMessage("assistant", reply.text, tool_calls=reply.tool_calls), ChatMessage("tool", "", tool_results=results))
    return replies


def called(replies: list[ModelReply]) -> list[str]:
    return [call.name for reply in replies for call in reply.tool_calls]


def answer_of(replies: list[ModelReply]) -> str:
    calls = replies[-1].tool_calls
    return json.loads(calls[-1].arguments)["answer"] if calls else replies[-1].text


class TestWithoutAScript:
    async def test_it_looks_and_submits(self) -> None:
        replies = await play(model(accuracy=1))
        assert called(replies) == ["bash", "bash", "submit"]
        assert json.loads(replies[0].tool_calls[0].arguments) == {"command": "ls -la"}
        assert answer_of(replies) == REFERENCE_PLACEHOLDER
        assert [reply.stop_reason for reply in replies] == ["tool_calls"] * 3
        assert all(reply.usage.output_tokens for reply in replies)

    async def test_what_is_there_is_used(self) -> None:
        assert called(await play(model(), tools=(SUBMIT, WRITE, READ))) == ["read", "read", "submit"]
        assert called(await play(model(), tools=(BASH,))) == ["bash", "bash"]
        other = ToolDefinition("other", "", {"type": "object", "properties": {"n": {"type": "integer"}, "x": {}}, "required": ["n", "x"]})
        replies = await play(model(accuracy=0), tools=(other,))
        assert [call.arguments for call in replies[0].tool_calls] == ['{"n": 1, "x": null}']
        assert answer_of(replies) == WRONG_PLACEHOLDER
        assert (replies[-1].tool_calls, replies[-1].stop_reason) == ((), "stop")

    async def test_arguments_fit_the_tools_schema(self) -> None:
        (first, *_) = await play(model(), tools=(WRITE,))
        assert json.loads(first.tool_calls[0].arguments) == {"path": "notes.txt", "content": "nothing"}

    @pytest.mark.parametrize("count", [0, 1, 50])
    async def test_as_many_calls_as_it_is_told(self, count: int) -> None:
        assert called(await play(model(toolCalls=count))) == ["bash"] * count + ["submit"]

    async def test_only_submit(self) -> None:
        assert called(await play(model(), tools=(SUBMIT,))) == ["submit"]

    async def test_each_prompt_of_a_longer_conversation_gets_its_looks(self) -> None:
        replies = await play(model(toolCalls=1), tools=(BASH,))
        call = replies[0].tool_calls[0]
        messages = (
            ChatMessage("user", "First."),
            ChatMessage("assistant", "", tool_calls=(call,)),
            ChatMessage("tool", "", tool_results=(ToolResult(call.id, "bash", "x"),)),
            ChatMessage("assistant", replies[1].text),
            ChatMessage("user", "Second."),
        )
        next_reply = await model(toolCalls=1).complete(ModelRequest("", messages, 100, tools=(BASH,), case_key="d/t#0.1/3"), timeout=1)
        assert [each.name for each in next_reply.tool_calls] == ["bash"]

    async def test_a_case_has_one_fate_whatever_the_turn_it_is_asked_in(self) -> None:
        simulated = model(accuracy=0.5, invalid=0.2)
        fates: dict[str, set[str]] = {}
        for case in range(40):
            for turn in (1, 2, 3, 17):
                key = f"sha256:0/task {case}#0.1/{turn}"
                for tools in ((), (SUBMIT,)):
                    request = ModelRequest("", (ChatMessage("user", "x"),), 100, tools=tools, case_key=key)
                    fates.setdefault(key.rpartition("/")[0], set()).add(answer_of([await simulated.complete(request, timeout=1)]))
        assert all(len(fate) == 1 for fate in fates.values())
        assert set().union(*fates.values()) == MARKS

    async def test_the_same_case_plays_the_same_way(self) -> None:
        behaviour = {"accuracy": 0.5, "toolCalls": 6, "outputSpread": 0.5}
        cases = [f"sha256:0/t{number}#0.1" for number in range(20)]
        forwards = [await play(model(**behaviour), case) for case in cases]
        backwards = [await play(model(**behaviour), case) for case in reversed(cases)]
        assert forwards == backwards[::-1]
        assert len({tuple(call.arguments for reply in played for call in reply.tool_calls[:1]) for played in forwards}) > 10


def turn(text: str = "", **calls: Any) -> dict[str, Any]:
    return {"text": text, "tools": [{"name": name, "arguments": arguments} for name, arguments in calls.items()]}


SOLVING = [
    turn("I write it.", write={"path": "a.py", "content": "x = 1\n"}, bash={"command": "python a.py"}),
    turn(submit={"answer": "done"}),
]


class TestScripts:
    async def test_it_is_played_in_order_and_its_end_counts(self) -> None:
        replies = await play(model(accuracy=1, script=SOLVING))
        assert [reply.text for reply in replies] == ["I write it.", ""]
        assert called(replies) == ["write", "bash", "submit"]
        assert json.loads(replies[0].tool_calls[0].arguments) == {"path": "a.py", "content": "x = 1\n"}
        assert answer_of(replies) == "done"

    async def test_a_script_without_an_end_is_ended_by_accuracy(self) -> None:
        replies = await play(model(accuracy=1, script=SOLVING[:1]))
        assert (called(replies), answer_of(replies)) == (["write", "bash", "submit"], REFERENCE_PLACEHOLDER)
        assert answer_of(await play(model(accuracy=0, script=SOLVING[:1]), tools=(BASH, WRITE))) == WRONG_PLACEHOLDER

    async def test_words_end_it_too(self) -> None:
        replies = await play(model(script=[*SOLVING[:1], turn("It is 4.")]))
        assert (answer_of(replies), replies[-1].tool_calls, replies[-1].stop_reason) == ("It is 4.", (), "stop")
        assert answer_of(await play(model(script=[turn("4")]), tools=())) == "4"

    async def test_whoever_asks_on_after_its_end_hears_the_end_again(self) -> None:
        for script, answer in ((SOLVING, "done"), ([turn("4")], "4")):
            simulated, conversation = model(script=script), (ChatMessage("user", "a"),)
            for asked in range(4):
                request = ModelRequest("", conversation, 100, tools=ALL, case_key=f"d/t#0.1/{asked + 1}")
                reply = await simulated.complete(request, timeout=1)
                conversation += (ChatMessage("assistant", reply.text), ChatMessage("user", "And?"))
            assert answer_of([reply]) == answer

    async def test_tasks_may_have_their_own(self) -> None:
        simulated = model(accuracy=1, script=SOLVING, scripts={"repair/7#x": [turn("mine")], "plain": []})
        assert answer_of(await play(simulated, "sha256:0/repair/7#x#2.1")) == "mine"
        assert answer_of(await play(simulated, "sha256:0/repair/7#0.1")) == "done"
        assert called(await play(simulated, "sha256:0/plain#0.1")) == ["bash", "bash", "submit"]

    async def test_arguments_may_be_no_json_and_tools_unknown(self) -> None:
        script = [{"tools": [{"name": "bash", "arguments": "ls -la"}, {"name": "nonsense"}]}]
        (first, *_) = await play(model(script=script))
        assert [(call.name, call.arguments) for call in first.tool_calls] == [("bash", "ls -la"), ("nonsense", "{}")]

    async def test_what_it_writes_is_paid_for(self) -> None:
        long = turn(write={"path": "a.py", "content": "x" * 8000})
        (first, *_) = await play(model(outputTokens=10, script=[long]))
        assert 2000 <= first.usage.output_tokens <= 4000


@pytest.mark.parametrize(
    ("key", "task"),
    [
        ("sha256:ab/add-17#0.1/1", "add-17"),
        ("sha256:ab/a/b#c/d#12.3/45", "a/b#c/d"),
        ("sha256:ab/two\nlines#0.1/1", "two\nlines"),
        ("case 3", ""),
        ("a/b/c", ""),
        ("", ""),
    ],
)
def test_the_task_of_a_case_key(key: str, task: str) -> None:
    assert task_of(key) == task


names = st.text(min_size=1, max_size=8)
arguments = st.text() | st.dictionaries(st.text(max_size=5), st.text(max_size=300), max_size=3)
scripted = st.builds(
    lambda text, tools: {"text": text, "tools": [{"name": name, "arguments": given} for name, given in tools]},
    st.text(min_size=1).filter(str.strip),
    st.lists(st.tuples(names, arguments), max_size=3),
)


@given(st.lists(scripted, max_size=4), st.integers(0, 300), st.text(max_size=200))
def test_usage_never_exceeds_the_bound(script: list[dict[str, Any]], output: int, result: str) -> None:
    """`play` holds every call against both bounds."""
    asyncio.run(play(model(script=script, outputTokens=output), result=result, turns=6))
