"""Commands in a Sandbox: how one is started, and what goes in and comes out of it. A lost connection resumes by offsets, both ways.

A command is a session of its own. Its output is kept until whoever asks for more of it says from where on, for what is before that has
arrived. What is not asked for holds the command up, as a pipe would; and where nobody asks for a while, the session is ended.
"""

import base64
import binascii
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.resources.hardware import Argument
from nodus_tui.contract.resources.meta import EnvironmentVariable
from nodus_tui.contract.resources.sandbox import SandboxReason

WINDOW_BYTES = 1 << 20
"""One answer holds at most so much of a command's output, and so much is kept of it until it is asked on."""

INPUT_BYTES = 1 << 20
"""At most so many bytes are typed or fed at once."""

GONE_SECONDS = 60.0
"""A session for which nobody has asked for so long is ended."""

SHELL = ("/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh")
"""The command where none is given: a shell, which is interactive on a terminal."""

ExecSignal = Literal["HUP", "INT", "QUIT", "TERM", "KILL"]


def _from_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError("these are no bytes in base64") from error


def _to_text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


Bytes = Annotated[
    bytes,
    BeforeValidator(_from_text),
    PlainSerializer(_to_text, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""Bytes, in JSON as base64."""


class TerminalShape(ContractModel):
    """The size of a terminal, in characters."""

    rows: int = Field(ge=1, le=10_000)
    columns: int = Field(ge=1, le=10_000)


class ExecRequest(ContractModel):
    """A command to run in a Sandbox."""

    command: tuple[Argument, ...] = Field(default=SHELL, min_length=1, max_length=1000)
    """A program and its arguments; no shell reads it."""
    user: Literal["agent", "root"] = "agent"
    """`root` is root in the sandbox alone, with few of its rights there: docs/sandboxes.md."""
    workdir: Argument | None = Field(default=None, min_length=1, max_length=4096)
    """Where it runs; absent means the sandbox's work folder."""
    env: dict[EnvironmentVariable, Argument] = Field(default_factory=dict, max_length=200)
    """Variables beside those of the sandbox's spec."""
    terminal: TerminalShape | None = None
    """A terminal of that size; absent means three streams of their own."""


class ExecSession(ContractModel):
    """A command that was started."""

    id: str
    """What it is called as long as it runs, and for a minute after its end was told."""
    sandbox: str


class ExecPiece(ContractModel):
    """Some of a command's output. It is foreign: a terminal would obey it."""

    offset: int
    """How many bytes came before it, of both streams together."""
    stream: Literal["stdout", "stderr"]
    """On a terminal always `stdout`."""
    data: Bytes


class ExecEnd(ContractModel):
    """The end of a command, after the last of its output."""

    offset: int
    """How many bytes it wrote."""
    exit_code: int | None
    """128 + N when signal N ended it; null where the sandbox ended with it."""
    reason: SandboxReason | None = None
    """Why the sandbox ended, where it did."""
    message: str = ""
    """A sentence about that."""


class ExecTaken(ContractModel):
    """How much of a command's input was taken."""

    next_offset: int
    """Bytes taken so far: where the next ones begin."""
    closed: bool = False
    """Whether it reads no more."""
