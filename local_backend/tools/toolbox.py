"""An agent's tools over its sandbox: takes a model's calls, gives results for the model.

What a model gets wrong, and what fails in its work, is an error result that says so. A `SandboxError` passes through: the sandbox or its
engine failed, which is nothing that the model could mend.
"""

import asyncio
from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

from local_backend.models.wire import ToolCall, ToolDefinition, ToolResult
from local_backend.sandboxes.interface import ENGINE_SECONDS, Sandbox
from local_backend.tools.arguments import (
    ArgumentsError,
    BashArguments,
    EditArguments,
    ReadArguments,
    SubmitArguments,
    WriteArguments,
    read_arguments,
)
from local_backend.tools.definitions import definitions, seconds_text
from local_backend.tools.files import FILE_SECONDS, Files, FileToolError
from local_backend.tools.output import on_own_line
from local_backend.tools.shell import FLOOD_BYTES, SHOWN_BYTES, CommandEnd, CommandResult, Shell
from nodus_tui.contract.resources.agent import ToolName
from nodus_tui.contract.wording import alternatives, escaped, quoted

_SIGNAL_KILL = 137


class ToolOutcome(Struct, frozen=True):
    """What one call came to."""

    result: ToolResult
    submitted: str | None = None
    """The answer that this call handed in."""
    exit_code: int | None = None
    """Of a command; None for other tools, and for a command that was killed."""
    seconds: float = 0.0
    """How long it took, at the sandbox."""


class ToolboxState(Struct, frozen=True):
    """What of an agent's tools goes with it to another sandbox."""

    folder: str
    """Where its shell is."""
    submitted: bool = False


class Toolbox:
    """One agent's tools in one sandbox. Calls are answered one at a time, in the order in which they come."""

    def __init__(
        self,
        sandbox: Sandbox,
        tools: Sequence[ToolName],
        *,
        command_seconds: float,
        workdir: str | None = None,
        shown_bytes: int = SHOWN_BYTES,
        flood_bytes: int = FLOOD_BYTES,
        file_seconds: float = FILE_SECONDS,
        grace_seconds: float = ENGINE_SECONDS,
    ) -> None:
        """`command_seconds` is what one command may take at most; `workdir` is where relative paths start, the sandbox's own by default.

        A command's output is shown up to `shown_bytes`, and the command is killed above `flood_bytes`. `file_seconds` bounds one file
        operation, `grace_seconds` each request to the engine; a call that the engine does not serve by then raises SandboxError.
        """
        self._tools = tuple(dict.fromkeys(tools))
        self._command_seconds = command_seconds
        self._workdir = workdir or sandbox.workdir
        self._shell = Shell(sandbox, folder=self._workdir, shown_bytes=shown_bytes, flood_bytes=flood_bytes, grace_seconds=grace_seconds)
        self._files = Files(sandbox, self._shell.make_room, self._workdir, file_seconds, grace_seconds)
        self._flood_bytes = flood_bytes
        self._submitted = False
        self._lock = asyncio.Lock()

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools as the model is told of them."""
        return definitions(self._tools, command_seconds=self._command_seconds, workdir=self._workdir)

    def state(self) -> ToolboxState:
        """What to give to `restore` of the toolbox over the agent's next sandbox."""
        return ToolboxState(self._shell.folder, self._submitted)

    def restore(self, state: ToolboxState) -> None:
        """Go on where another toolbox was. To be called before the first call."""
        self._shell.go_to(state.folder)
        self._submitted = state.submitted

    async def call(self, call: ToolCall) -> ToolOutcome:
        """Do what a call asks. Raises SandboxError, and nothing else but CancelledError.

        After a call was cancelled, what it had started is killed before the next one begins.
        """
        async with self._lock:
            if self._submitted:
                return _refused(call, "Not run: the answer has been submitted, and nothing can be done after it.")
            tool = next((tool for tool in self._tools if tool == call.name), None)
            if tool is None:
                return _refused(call, self._no_such_tool(call.name))
            started = asyncio.get_running_loop().time()
            try:
                outcome = await self._do(call, tool)
            except (ArgumentsError, FileToolError) as error:
                outcome = _refused(call, str(error))
            return ToolOutcome(outcome.result, outcome.submitted, outcome.exit_code, asyncio.get_running_loop().time() - started)

    async def aclose(self) -> None:
        """Let go of the sandbox. Its processes may go on; whoever owns it ends it."""
        await self._shell.aclose()

    def _no_such_tool(self, name: str) -> str:
        if not self._tools:
            return f"There is no tool {quoted(name)}: this agent has none."
        return (
            f"There is no tool {quoted(name)}. The tools are {', '.join(self._tools)}."
            if len(self._tools) > 1
            else (f"There is no tool {quoted(name)}. The only tool is {alternatives(self._tools)}.")
        )

    async def _do(self, call: ToolCall, tool: ToolName) -> ToolOutcome:
        arguments = read_arguments(tool, call.arguments)
        match arguments:
            case BashArguments():
                return await self._bash(call, arguments)
            case ReadArguments():
                return _told(call, await self._files.read(arguments))
            case WriteArguments():
                return _told(call, await self._files.write(arguments))
            case EditArguments():
                return _told(call, await self._files.edit(arguments))
            case SubmitArguments(answer):
                self._submitted = True
                return ToolOutcome(_told(call, "Submitted.").result, submitted=answer)
            case _:
                assert_never(arguments)

    async def _bash(self, call: ToolCall, arguments: BashArguments) -> ToolOutcome:
        asked = arguments.timeout_seconds
        seconds = self._command_seconds if asked is None else min(asked, self._command_seconds)
        result = await self._shell.run(arguments.command, seconds)
        killed = result.end in {CommandEnd.TIMED_OUT, CommandEnd.FLOODED}
        text = "".join(f"[{news}]\n" for news in result.news) + on_own_line(result.output) + f"[{self._ending(result, seconds)}]"
        return ToolOutcome(ToolResult(call.id, call.name, text, is_error=killed), exit_code=result.exit_code)

    def _ending(self, result: CommandResult, seconds: float) -> str:
        fresh = f"The next command gets a new shell in {escaped(self._shell.folder)}; variables and functions are gone."
        match result.end:
            case CommandEnd.FINISHED:
                return "exit code unknown" if result.exit_code is None else f"exit code {result.exit_code}"
            case CommandEnd.SHELL_ENDED:
                how = "was killed, perhaps for want of memory" if result.exit_code == _SIGNAL_KILL else "ended"
                return f"exit code {result.exit_code}: the shell {how}. {fresh}"
            case CommandEnd.TIMED_OUT:
                most = ", which is the most that a command may take" if seconds == self._command_seconds else ""
                return f"The command was killed after {seconds_text(seconds)}{most}, with every process that you had started. {fresh}"
            case CommandEnd.FLOODED:
                most = f"{self._flood_bytes:,} bytes"
                return f"The command was killed, with every process that you had started, for it wrote more than {most}. {fresh}"
            case _:
                assert_never(result.end)


def _told(call: ToolCall, text: str) -> ToolOutcome:
    return ToolOutcome(ToolResult(call.id, call.name, text))


def _refused(call: ToolCall, text: str) -> ToolOutcome:
    return ToolOutcome(ToolResult(call.id, call.name, text, is_error=True))
