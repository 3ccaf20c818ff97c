"""Tool definitions for the model tests, about as long as an agent's real ones."""

from local_backend.models.wire import ToolDefinition


def _texts(**described: str) -> dict[str, object]:
    properties = {name: {"type": "string", "description": text} for name, text in described.items()}
    return {"type": "object", "properties": properties, "required": list(described), "additionalProperties": False}


BASH = ToolDefinition(
    "bash",
    "Run a command in a shell that stays. Gives what it wrote and its exit code; the middle of a long output is left out. " * 3,
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "One line, or a whole script: <&'> and all."},
            "timeoutSeconds": {"type": "number", "exclusiveMinimum": 0},
        },
        "required": ["command"],
    },
)
READ = ToolDefinition("read", "Read a text file.", _texts(path="The file."))
WRITE = ToolDefinition("write", "Write a file: its whole content is replaced.", _texts(path="The file.", content="What it holds then."))
SUBMIT = ToolDefinition("submit", "Hand in the final answer and end the work.", _texts(answer="The final answer."))
ALL = (BASH, READ, WRITE, SUBMIT)
