"""An engine that hangs, a sandbox that dies, and no room for a process: errors by a deadline, never a frozen call and never a result."""

import asyncio
import json
from pathlib import Path

import pytest
from plain_processes import PlainSandbox

from local_backend.models.wire import ToolCall
from local_backend.sandboxes.interface import SandboxError, SandboxGoneError
from local_backend.tools.toolbox import Toolbox
from nodus_tui.values import replace

CALLS = [
    ("bash", {"command": "echo hi"}),
    ("read", {"path": "f"}),
    ("write", {"path": "f", "content": "x"}),
    ("edit", {"path": "f", "old": "a", "new": "b"}),
]


def toolbox_of(sandbox: PlainSandbox) -> Toolbox:
    """A patient one: what goes well may be slow."""
    return Toolbox(sandbox, ("bash", "read", "write", "edit"), command_seconds=60, file_seconds=60, grace_seconds=60)


def hurry(toolbox: Toolbox, *, grace_seconds: float = 0.2) -> None:
    """From here on it is known soon that something hangs."""
    toolbox._command_seconds = 0.2
    toolbox._shell._grace = grace_seconds
    toolbox._files = replace(toolbox._files, seconds=0.2, grace_seconds=grace_seconds)


async def call(toolbox: Toolbox, tool: str, **arguments: object) -> str:
    return (await toolbox.call(ToolCall("1", tool, json.dumps(arguments)))).result.text


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_an_engine_that_hangs_from_the_start(plain: PlainSandbox, tool: str, arguments: dict[str, object]) -> None:
    plain.hangs = True
    toolbox = toolbox_of(plain)
    hurry(toolbox)
    with pytest.raises(SandboxError):
        await call(toolbox, tool, **arguments)


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_an_engine_that_hangs_later(plain: PlainSandbox, tool: str, arguments: dict[str, object]) -> None:
    toolbox = toolbox_of(plain)
    await call(toolbox, "write", path="f", content="a")
    assert await call(toolbox, "bash", command="echo hi") == "hi\n[exit code 0]"
    hurry(toolbox)
    plain.hangs = True
    with pytest.raises(SandboxError):
        await call(toolbox, tool, **arguments)
    plain.hangs = False
    await toolbox.aclose()


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_a_sandbox_that_died_between_calls(plain: PlainSandbox, tool: str, arguments: dict[str, object]) -> None:
    toolbox = toolbox_of(plain)
    await call(toolbox, "bash", command="echo hi")
    await plain.die()
    with pytest.raises(SandboxGoneError):
        await call(toolbox, tool, **arguments)
    await toolbox.aclose()


async def test_a_sandbox_that_dies_under_a_command(plain: PlainSandbox) -> None:
    toolbox = toolbox_of(plain)
    working = asyncio.create_task(call(toolbox, "bash", command=": >started; sleep 1000"))
    while not (Path(plain.workdir) / "started").exists():
        await asyncio.sleep(0.005)
    await plain.die()
    with pytest.raises(SandboxGoneError):
        await working
    await toolbox.aclose()


async def test_a_shell_that_dies_alone_is_no_failure_of_the_sandbox(plain: PlainSandbox) -> None:
    toolbox = toolbox_of(plain)
    assert "exit code 137" in await call(toolbox, "bash", command="kill -9 $$")
    assert await call(toolbox, "bash", command="echo on") == "on\n[exit code 0]"
    await toolbox.aclose()


async def test_no_room_for_a_shell_is_made_by_killing_what_the_agent_started(plain: PlainSandbox) -> None:
    toolbox = toolbox_of(plain)
    plain.refuse_spawns = 1
    text = await call(toolbox, "bash", command="echo on")
    assert text == "[No new process could be started, so every process that you had started was killed.]\non\n[exit code 0]"
    assert plain.kills == 1
    plain.refuse_spawns = 2
    await call(toolbox, "bash", command="exit")
    with pytest.raises(SandboxError):
        await call(toolbox, "bash", command="echo on")
    await toolbox.aclose()


async def test_no_room_for_a_file_operation_is_made_likewise(plain: PlainSandbox) -> None:
    toolbox = toolbox_of(plain)
    await call(toolbox, "bash", command="x=1")
    plain.refuse_spawns = 1
    assert "Wrote" in await call(toolbox, "write", path="f", content="x")
    assert (await call(toolbox, "bash", command='echo "[$x]"')).startswith("[This is a new shell")
    await toolbox.aclose()


async def test_a_file_operation_that_hangs_is_killed_and_told(plain: PlainSandbox) -> None:
    toolbox = toolbox_of(plain)
    await call(toolbox, "bash", command="x=1")
    plain.instead = ("sleep", "1000")
    hurry(toolbox, grace_seconds=60)
    text = await call(toolbox, "write", path="f", content="x" * 1_000_000)
    assert text == "This took longer than 0.2 seconds and was killed, with every process that you had started."
    toolbox._command_seconds = 60
    assert (await call(toolbox, "bash", command='echo "[$x]"')) == (
        "[This is a new shell, for every process that you had started was killed: variables and functions are gone.]\n[]\n[exit code 0]"
    )
    await toolbox.aclose()


async def test_an_image_without_a_shell(plain: PlainSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local_backend.tools.shell._START", ("/bin/sh", "-c", "echo 'no shell here' >&2; exit 1"))
    toolbox = toolbox_of(plain)
    with pytest.raises(SandboxError, match=r"No shell starts in the sandbox .*: no shell here"):
        await call(toolbox, "bash", command="echo on")
    await toolbox.aclose()


async def test_a_cancelled_call_leaves_a_toolbox_that_works(plain: PlainSandbox) -> None:
    toolbox = toolbox_of(plain)
    for tool, arguments in (("bash", {"command": "sleep 1000"}), ("bash", {"command": "sleep 1000"}), ("read", {"path": "f"})):
        working = asyncio.create_task(call(toolbox, tool, **arguments))
        await asyncio.sleep(0)  # It has begun and waits for the sandbox.
        await asyncio.sleep(0)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
    assert await call(toolbox, "bash", command="echo on") == "on\n[exit code 0]"
    await toolbox.aclose()


async def test_calls_at_once_are_answered_one_after_the_other(plain: PlainSandbox) -> None:
    toolbox = toolbox_of(plain)
    texts = await asyncio.gather(*(call(toolbox, "bash", command=f"echo {number} >>f; cat f") for number in range(5)))
    assert texts[-1] == "0\n1\n2\n3\n4\n[exit code 0]"
    await toolbox.aclose()


async def test_the_event_loop_goes_on_during_a_flood(plain: PlainSandbox) -> None:
    toolbox = toolbox_of(plain)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await call(toolbox, "bash", command="yes | head -c 100000000")
    counting.cancel()
    assert turns > 100
    await toolbox.aclose()
