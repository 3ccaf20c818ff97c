"""The tools as a model is told of them: names, descriptions and JSON Schemas. Pure.

The names of the arguments, which `arguments.py` reads by the same table:

- `bash` {`command`, `timeoutSeconds`?}
- `read` {`path`, `firstLine`?, `lines`?}
- `write` {`path`, `content`}
- `edit` {`path`, `old`, `new`, `all`?}
- `submit` {`answer`}
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from pydantic import JsonValue

from local_backend.models.wire import ToolDefinition
from nodus_tui.contract.resources.agent import ToolName

FieldKind = Literal["text", "path", "data", "whole", "seconds", "flag"]
"""`data` is a text that may hold NUL; `whole` a number from 1 up; `seconds` a number above 0."""


class ToolField(Struct, frozen=True):
    """One argument of a tool."""

    name: str
    kind: FieldKind
    description: str
    required: bool = True
    also_known_as: tuple[str, ...] = ()
    """What models call it elsewhere. Not accepted: the answer names the right field."""


TOOL_FIELDS: Mapping[ToolName, tuple[ToolField, ...]] = {
    "bash": (
        ToolField("command", "text", "The command: one line or a whole script.", also_known_as=("cmd", "script", "code", "input")),
        ToolField(
            "timeoutSeconds",
            "seconds",
            "A shorter time limit for this command, in seconds.",
            required=False,
            also_known_as=("timeout", "timeout_seconds", "timeout_ms"),
        ),
    ),
    "read": (
        ToolField("path", "path", "The file.", also_known_as=("file_path", "filePath", "filename", "file")),
        ToolField(
            "firstLine",
            "whole",
            "The first line to give, counted from 1.",
            required=False,
            also_known_as=("offset", "first_line", "start", "start_line", "line"),
        ),
        ToolField(
            "lines",
            "whole",
            "How many lines to give, at most.",
            required=False,
            also_known_as=("limit", "count", "line_count", "maxLines", "max_lines"),
        ),
    ),
    "write": (
        ToolField("path", "path", "The file.", also_known_as=("file_path", "filePath", "filename", "file")),
        ToolField("content", "data", "The whole new content, as it is.", also_known_as=("contents", "text", "file_text", "data")),
    ),
    "edit": (
        ToolField("path", "path", "The file.", also_known_as=("file_path", "filePath", "filename", "file")),
        ToolField(
            "old",
            "data",
            "The text to replace, exactly as it stands in the file, with its indentation.",
            also_known_as=("old_string", "old_str", "oldText", "old_text", "search"),
        ),
        ToolField(
            "new",
            "data",
            "What takes its place; empty to remove it.",
            also_known_as=("new_string", "new_str", "newText", "new_text", "replace"),
        ),
        ToolField(
            "all",
            "flag",
            "Replace every occurrence; without it there must be exactly one.",
            required=False,
            also_known_as=("replace_all", "replaceAll"),
        ),
    ),
    "submit": (ToolField("answer", "data", "The final answer.", also_known_as=("submission", "result", "final_answer", "text")),),
}
"""Each tool's arguments, in the order in which they are told."""


def definitions(tools: Sequence[ToolName], *, command_seconds: float, workdir: str) -> tuple[ToolDefinition, ...]:
    """The definitions of these tools, in this order, each once.

    `command_seconds` is the time that one command may take at most; `workdir` is where relative paths start.
    """
    told = _descriptions(command_seconds, workdir)
    return tuple(ToolDefinition(name, told[name], _schema(name)) for name in dict.fromkeys(tools))


def _descriptions(command_seconds: float, workdir: str) -> Mapping[ToolName, str]:
    paths = f"Relative paths start in {workdir}; nothing in a path is expanded."
    return {
        "bash": (
            "Run a command in a shell that stays: the folder, variables and functions of one command are there for the next. "
            f"It starts in {workdir}. Gives what the command wrote to standard output and standard error, in order, and its exit code; "
            "the middle of a long output is left out, so send it to a file or filter it. Standard input is empty and there is no "
            f"terminal: nothing can ask or be answered. A command may take {seconds_text(command_seconds)} at most; then it is killed "
            "with every process that you started, and the next one gets a new shell. Start what must go on running with & and its "
            "output sent to a file."
        ),
        "read": (
            "Read a text file, or some of its lines. The first line of the result says which lines of how many follow; the text "
            f"follows as it is, without line numbers. {paths}"
        ),
        "write": (
            f"Write a file: its whole content is replaced. Folders that are missing are made; a file that was there keeps its mode. {paths}"
        ),
        "edit": (
            "Replace a text in a file by another one. The old text must match exactly, white space included, and occur exactly once; add "
            f"lines around it until it does, or ask for all occurrences. {paths}"
        ),
        "submit": "Hand in the final answer and end the work. Nothing can be done after it.",
    }


def _schema(name: ToolName) -> Mapping[str, JsonValue]:
    fields = TOOL_FIELDS[name]
    return {
        "type": "object",
        "properties": {field.name: {**_KIND_SCHEMAS[field.kind], "description": field.description} for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }


_KIND_SCHEMAS: Mapping[FieldKind, Mapping[str, JsonValue]] = {
    "text": {"type": "string"},
    "path": {"type": "string"},
    "data": {"type": "string"},
    "whole": {"type": "integer", "minimum": 1},
    "seconds": {"type": "number", "exclusiveMinimum": 0},
    "flag": {"type": "boolean"},
}


def seconds_text(seconds: float) -> str:
    """A span for people and models: `90 seconds`, `1 second`, `0.5 seconds`."""
    number = f"{seconds:,.0f}" if seconds == round(seconds) else f"{seconds:,.1f}"
    return f"{number} second" if number == "1" else f"{number} seconds"
