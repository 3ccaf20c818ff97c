"""Calls of a model against a sandbox: which are done, which are refused, and what is told."""

import json

import pytest

from local_backend.models.wire import ToolCall
from local_backend.sandboxes.interface import Sandbox
from local_backend.tools.toolbox import Toolbox, ToolboxState, ToolOutcome

pytestmark = pytest.mark.every_engine


async def call(toolbox: Toolbox, tool: str, number: int = 1, **arguments: object) -> ToolOutcome:
    outcome = await toolbox.call(ToolCall(f"call-{number}", tool, json.dumps(arguments)))
    assert (outcome.result.call_id, outcome.result.name) == (f"call-{number}", tool)
    return outcome


async def test_a_small_piece_of_work(sandbox: Sandbox) -> None:
    toolbox = Toolbox(sandbox, ("bash", "read", "write", "edit", "submit"), command_seconds=60)
    assert [tool.name for tool in toolbox.definitions] == ["bash", "read", "write", "edit", "submit"]
    assert sandbox.workdir in toolbox.definitions[0].description
    await call(toolbox, "write", path="add.sh", content="echo $(($1 - $2))\n")
    assert (await call(toolbox, "bash", command="sh add.sh 2 3")).result.text == "-1\n[exit code 0]"
    await call(toolbox, "edit", path="add.sh", old="-", new="+")
    outcome = await call(toolbox, "bash", command="sh add.sh 2 3; exit_code() { return 9; }; exit_code")
    assert (outcome.result.text, outcome.exit_code, outcome.result.is_error) == ("5\n[exit code 9]", 9, False)
    assert outcome.seconds > 0
    outcome = await call(toolbox, "submit", 7, answer="done ✓")
    assert (outcome.submitted, outcome.result.text, outcome.exit_code) == ("done ✓", "Submitted.", None)
    await toolbox.aclose()


async def test_nothing_is_done_after_the_answer(sandbox: Sandbox) -> None:
    toolbox = Toolbox(sandbox, ("bash", "submit"), command_seconds=60)
    assert (await call(toolbox, "submit", answer="")).submitted == ""
    for tool, arguments in (("bash", {"command": "touch late"}), ("submit", {"answer": "again"}), ("nope", {})):
        outcome = await call(toolbox, tool, **arguments)
        assert outcome.result.is_error
        assert outcome.submitted is None
        assert outcome.result.text.startswith("Not run: the answer has been submitted")
    other = Toolbox(sandbox, ("bash",), command_seconds=60)
    assert (await call(other, "bash", command="ls")).result.text == "[exit code 0]"
    await other.aclose()


async def test_only_the_tools_of_the_agent_exist(sandbox: Sandbox) -> None:
    toolbox = Toolbox(sandbox, ("read", "submit"), command_seconds=60)
    assert (await call(toolbox, "bash", command="touch x")).result.text == 'There is no tool "bash". The tools are read, submit.'
    assert (await call(toolbox, "\x1b[2J")).result.text == r'There is no tool "\x1b[2J". The tools are read, submit.'
    one = Toolbox(sandbox, ("read",), command_seconds=60)
    assert (await call(one, "bash", command="touch x")).result.text == 'There is no tool "bash". The only tool is read.'
    none = Toolbox(sandbox, (), command_seconds=60)
    assert (await call(none, "bash", command="touch x")).result.text == 'There is no tool "bash": this agent has none.'
    assert none.definitions == ()


async def test_arguments_that_cannot_be_read_do_nothing(sandbox: Sandbox) -> None:
    toolbox = Toolbox(sandbox, ("bash", "submit"), command_seconds=60)
    for arguments in ('{"cmd": "touch x"}', "touch x", '{"command": 1}'):
        outcome = await toolbox.call(ToolCall("1", "bash", arguments))
        assert outcome.result.is_error
        assert "bash expects" in outcome.result.text
    outcome = await toolbox.call(ToolCall("1", "submit", "42"))
    assert (outcome.submitted, outcome.result.is_error) == (None, True)
    assert (await call(toolbox, "bash", command="ls")).result.text == "[exit code 0]"
    await toolbox.aclose()


async def test_what_a_model_is_told_of_a_killed_command(sandbox: Sandbox) -> None:
    toolbox = Toolbox(sandbox, ("bash",), command_seconds=3, flood_bytes=100_000)
    fresh = f"The next command gets a new shell in {sandbox.workdir}; variables and functions are gone.]"
    outcome = await call(toolbox, "bash", command="echo a; sleep 1000", timeoutSeconds=1000)
    assert (outcome.result.is_error, outcome.exit_code) == (True, None)
    assert outcome.result.text == (
        "a\n[The command was killed after 3 seconds, which is the most that a command may take, with every process that you had "
        f"started. {fresh}"
    )
    outcome = await call(toolbox, "bash", command="sleep 1000", timeoutSeconds=0.25)
    assert outcome.result.text.startswith("[The command was killed after 0.2 seconds, with every")
    outcome = await call(toolbox, "bash", command="yes")
    assert outcome.result.is_error
    assert outcome.result.text.endswith(f"for it wrote more than 100,000 bytes. {fresh}")
    outcome = await call(toolbox, "bash", command="printf x; exit 3")
    assert (outcome.result.is_error, outcome.exit_code) == (False, 3)
    assert outcome.result.text == f"x\n[exit code 3: the shell ended. {fresh}"
    outcome = await call(toolbox, "bash", command="kill -9 $$")
    assert "[exit code 137: the shell was killed, perhaps for want of memory. The next" in outcome.result.text
    assert (await call(toolbox, "bash", command="echo ok")).result.text == "ok\n[exit code 0]"
    await toolbox.aclose()


async def test_the_folder_goes_along_to_another_sandbox(sandbox: Sandbox) -> None:
    first = Toolbox(sandbox, ("bash",), command_seconds=60)
    await call(first, "bash", command="mkdir sub; cd sub")
    state = first.state()
    await first.aclose()
    assert state == ToolboxState(f"{sandbox.workdir}/sub")
    second = Toolbox(sandbox, ("bash",), command_seconds=60)
    second.restore(state)
    assert second.state() == state
    assert (await call(second, "bash", command="pwd")).result.text == f"{sandbox.workdir}/sub\n[exit code 0]"
    await second.aclose()
    third = Toolbox(sandbox, ("bash",), command_seconds=60)
    third.restore(ToolboxState(f"{sandbox.workdir}/never", submitted=False))
    text = (await call(third, "bash", command="pwd")).result.text
    assert text == f"[The folder {sandbox.workdir}/never is gone; the shell is in {sandbox.workdir}.]\n{sandbox.workdir}\n[exit code 0]"
    await third.aclose()


@pytest.mark.parametrize("submitted", [True, False])
async def test_an_answer_stays_given(sandbox: Sandbox, submitted: bool) -> None:
    toolbox = Toolbox(sandbox, ("bash",), command_seconds=60)
    toolbox.restore(ToolboxState(sandbox.workdir, submitted=submitted))
    assert (await call(toolbox, "bash", command="true")).result.is_error is submitted
    await toolbox.aclose()
