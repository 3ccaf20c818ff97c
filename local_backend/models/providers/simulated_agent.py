"""What a simulated model says and which tools it calls: its script, or a few looks around and then the answer. Pure.

Which turn it is, it reads from the conversation: the replies that stand in it.
"""

import json
import re
from collections.abc import Sequence

from msgspec import Struct
from pydantic import JsonValue

from local_backend.models.wire import ModelRequest, ToolCall, ToolDefinition
from nodus_tui.contract.configuration import ScriptedTurn, SimulatedBehaviour

SUBMIT = "submit"
"""The tool that hands in an answer."""

_TASK = re.compile(r"[^/]*/(?P<task>.*)#[0-9]+\.[0-9]+/[0-9]+", re.DOTALL)

_LOOKS = {
    "bash": ("ls -la", "pwd", "find . -type f | head -n 50", "cat README* 2>/dev/null | head -n 40", "wc -c * 2>/dev/null", "uname -sr"),
    "read": ("README.md", "main.py", "notes.txt", "test.py"),
    "write": ("notes.txt",),
    "edit": ("notes.txt",),
}
"""What the tools are called with, those that come first being preferred. A look may fail: then the model saw an error, as real ones do."""

_FIRST_WORDS = "I look at what is there."
_FILLER: dict[str, JsonValue] = {"string": "nothing", "integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}


class Said(Struct, frozen=True):
    """One reply."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    is_mark: bool = False
    """It is the mark alone, in words."""


def task_of(case_key: str) -> str:
    """The task's id in a case key `DIGEST/TASK#REPETITION.ATTEMPT/TURN`; empty for a key of another shape."""
    found = _TASK.fullmatch(case_key)
    return found["task"] if found else ""


def say(behaviour: SimulatedBehaviour, request: ModelRequest, mark: str, dice: Sequence[float]) -> Said:
    """The next reply. `mark` is what it answers with in the end; `dice` are numbers from 0 to below 1 that choose where it looks."""
    replies = sum(message.role == "assistant" for message in request.messages)
    script = behaviour.scripts.get(task_of(request.case_key), behaviour.script)
    if script:
        if replies < len(script):
            return _scripted(script[replies], replies)
        ending = script[-1]
        if not ending.tools or any(call.name == SUBMIT for call in ending.tools):
            return _scripted(ending, replies)
        return _answer(request.tools, mark, replies)
    last_user = max((place for place, message in enumerate(request.messages) if message.role == "user"), default=-1)
    looks = sum(message.role == "assistant" for message in request.messages[last_user + 1 :])
    tool = _looking_tool(request.tools)
    if tool is None or looks >= behaviour.tool_calls:
        return _answer(request.tools, mark, replies)
    choices = _LOOKS.get(tool.name, ("nothing",))
    chosen = choices[int(dice[looks % len(dice)] * len(choices))] if looks else choices[0]
    return Said("" if looks else _FIRST_WORDS, (_call(tool, chosen, replies),))


def _scripted(turn: ScriptedTurn, replies: int) -> Said:
    calls = tuple(
        ToolCall(
            f"call_{replies + 1}_{place}",
            call.name,
            call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False),
        )
        for place, call in enumerate(turn.tools, start=1)
    )
    return Said(turn.text, calls)


def _answer(tools: Sequence[ToolDefinition], mark: str, replies: int) -> Said:
    submit = next((tool for tool in tools if tool.name == SUBMIT), None)
    return Said(mark, is_mark=True) if submit is None else Said("", (_call(submit, mark, replies),))


def _looking_tool(tools: Sequence[ToolDefinition]) -> ToolDefinition | None:
    usable = [tool for tool in tools if tool.name != SUBMIT]
    order = [*_LOOKS]
    return min(usable, key=lambda tool: order.index(tool.name) if tool.name in order else len(order), default=None)


def _call(tool: ToolDefinition, text: str, replies: int) -> ToolCall:
    """A call that fits the tool's schema, with the text in the first of its required texts."""
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    arguments: dict[str, JsonValue] = {}
    if isinstance(properties, dict):
        unplaced = True
        for name in map(str, required) if isinstance(required, list) else properties:
            schema = properties.get(name)
            kind = schema.get("type") if isinstance(schema, dict) else None
            arguments[name] = text if kind == "string" and unplaced else _FILLER.get(str(kind))
            unplaced = unplaced and kind != "string"
    return ToolCall(f"call_{replies + 1}_1", tool.name, json.dumps(arguments, ensure_ascii=False))
