"""Sandboxes on their own and commands in them, whichever way the backend is reached. The sandboxes are real."""

import asyncio
import json
from contextlib import aclosing, suppress
from typing import Any, cast

import pytest
from test_backend_conformance import refused
from ways import Reached, bundle_of

from nodus_tui.contract.actions import Delete, Kill
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxStatus
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece, ExecRequest, TerminalShape
from nodus_tui.sandbox_commands.command import Command, Finished, run_command

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that needs no daemon."""
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "bubblewrap")


def box_text(**spec: Any) -> str:
    document = {"apiVersion": "nodus.dev/v1", "kind": "Sandbox", "metadata": {"name": "box"}}
    return json.dumps({**document, "spec": {"memoryGiB": 0.5, "diskGiB": 0.1, "processes": 64, "maxCostUSD": "5", **spec}})


async def status_of(backend: Backend) -> SandboxStatus:
    found = await backend.get("Sandbox", "box")
    assert isinstance(found, Sandbox)
    assert found.status is not None
    return found.status


async def running(there: Reached, **spec: Any) -> None:
    """Once the stream tells so."""
    cursor = (await there.backend.snapshot()).cursor
    await there.backend.apply(bundle_of(box_text(**spec)))
    async with aclosing(cast("Any", there.backend.watch(after=cursor))) as batches:
        async for batch in batches:
            if any(event.kind == "Sandbox" and event.status.get("phase") == "Running" for event in batch.events):
                return


async def run(there: Reached, *command: str, **request: Any) -> Finished:
    return await run_command(there.backend, "box", ExecRequest.model_validate({"command": command, **request}))


async def test_a_command_runs_alike_everywhere(there: Reached) -> None:
    await running(there, env={"WORD": "of the spec"})
    hostile = "$(id) \033[2J 'x\" \N{PILE OF POO}"
    done = await run(there, "sh", "-c", 'cat; printf %s "$1$WORD$OTHER"; printf "\\377\\0" >&2; exit 7', "sh", hostile, env={"OTHER": "\n"})
    assert (done.end.exit_code, done.stdout, done.stderr) == (7, f"{hostile}of the spec\n".encode(), b"\xff\0")
    large = await run(there, "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x")
    assert large.stdout == b"x" * 3_000_000
    assert (await run(there, "id", "-u", user="root")).stdout == b"0\n"
    assert (await run(there, "sh", "-c", "kill -9 $$")).end.exit_code == 137
    assert (await run(there, "none")).end.exit_code == 127
    failure = await refused(there.backend.exec_start("box", ExecRequest(command=("pwd",), workdir="/none")))
    assert failure.code is ErrorCode.INVALID_REQUEST
    assert (await refused(there.backend.exec_start("none", ExecRequest()))).code is ErrorCode.NOT_FOUND


async def test_input_is_taken_once_whatever_is_sent_again(there: Reached) -> None:
    await running(there)
    first = await there.backend.exec_start("box", ExecRequest(command=("cat",)), request_id="0" * 32)
    assert await there.backend.exec_start("box", ExecRequest(command=("cat",)), request_id="0" * 32) == first
    while (count := (await run(there, "pgrep", "-cx", "cat")).stdout) == b"0\n":  # It is called so once it has begun.
        pass
    assert count == b"1\n"
    assert (await there.backend.exec_input("box", first.id, b"abc", offset=0)).next_offset == 3
    assert (await there.backend.exec_input("box", first.id, b"abcdef", offset=0)).next_offset == 6
    assert (await refused(there.backend.exec_input("box", first.id, b"z", offset=9))).code is ErrorCode.INVALID_REQUEST
    assert (await there.backend.exec_input("box", first.id, b"", offset=6, end=True)).next_offset == 6
    assert await text_of(there.backend, first.id) == (b"abcdef", 0)
    assert await text_of(there.backend, first.id, after=4) == (b"ef", 0), "from where one asks on"
    assert await text_of(there.backend, first.id, after=6) == (b"", 0), "and the end can be asked for again"


async def text_of(backend: Backend, session: str, after: int = 0) -> tuple[bytes, int | None]:
    text, at = b"", after
    while True:
        async with aclosing(cast("Any", backend.exec_output("box", session, after=at))) as pieces:
            async for piece in pieces:
                if isinstance(piece, ExecEnd):
                    return text, piece.exit_code
                assert isinstance(piece, ExecPiece)
                assert piece.offset == at
                text, at = text + piece.data, at + len(piece.data)


async def test_a_terminal_is_typed_on_resized_and_signalled(there: Reached) -> None:
    await running(there)
    command = await Command.start(there.backend, "box", ExecRequest(terminal=TerminalShape(rows=20, columns=70)))
    seen, end = b"", None

    async def types(text: str, answer: bytes) -> None:
        nonlocal seen
        await command.feed(text.encode())
        while answer not in seen:
            piece = await anext(output)
            assert isinstance(piece, ExecPiece), (piece, seen)
            seen += piece.data
        seen = seen.partition(answer)[2]

    async with aclosing(cast("Any", command.output())) as output:
        await types("stty size\n", b"20 70\r\n")
        await command.resize(TerminalShape(rows=33, columns=99))
        await types("until [ \"$(stty size)\" = '33 99' ]; do sleep 0.02; done; echo si''zed\n", b"sized\r\n")
        await types("sh -c 'trap \"echo caught; exit\" TERM; echo ready; while :; do sleep 0.02; done'\n", b"ready\r\n")
        await command.signal("TERM")
        await types("", b"caught\r\n")
        # Its own word that it runs: before, the line editor has the terminal, which does not show what interrupts.
        await types("sh -c 'echo asl\"\"eep; exec sleep 900'\n", b"asleep\r\n")
        await types("\x03", b"^C")

        over = asyncio.Event()

        async def hang_up() -> None:
            # Once may be too little: a shell that is just about to read a line, and hears it before, waits for the line.
            while not over.is_set():
                with suppress(NodusError):
                    await command.signal("HUP")
                with suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), 0.5)

        hanging_up = asyncio.create_task(hang_up())
        async for piece in output:
            if isinstance(piece, ExecEnd):
                end = piece
        over.set()
        await hanging_up
    assert end is not None
    assert end.exit_code == 129


async def test_files_come_out_while_it_runs_and_afterwards_and_go_with_it(there: Reached) -> None:
    await running(there)
    odd = "a b?c=d&path=x#e%2e"
    await run(there, "sh", "-c", 'mkdir "$1" && printf x >"$1/f" && ln -s /etc/passwd "$1/l"', "sh", odd)

    async def looked_at() -> None:
        assert [(each.path, each.kind) for each in await there.backend.sandbox_files("box")] == [
            (odd, "folder"),
            (f"{odd}/f", "file"),
        ]
        assert b"".join([piece async for piece in there.backend.read_sandbox_file("box", f"{odd}/f")]) == b"x"
        for path in (f"{odd}/l", "none", "../x", "/etc/passwd"):

            async def read(path: str = path) -> list[bytes]:
                return [piece async for piece in there.backend.read_sandbox_file("box", path)]

            assert (await refused(read())).code in {ErrorCode.NOT_FOUND, ErrorCode.INVALID_REQUEST}

    await looked_at()
    sleeper = await there.backend.exec_start("box", ExecRequest(command=("sleep", "900")))
    assert [(each.run, each.purpose) for each in await there.backend.sandboxes() if each.mine] == [("box", "sandbox")]
    outcome = await there.backend.act(Kill(kind="Sandbox", name="box", author="somebody"))
    assert (outcome.changed, outcome.author) == (True, there.author)
    pieces = [piece async for piece in there.backend.exec_output("box", sleeper.id)]
    assert isinstance(pieces[-1], ExecEnd)
    assert (pieces[-1].exit_code, pieces[-1].reason) == (129, "Killed"), "it is hung up first"
    status = await status_of(there.backend)
    assert (status.phase, status.reason, status.files_kept) == ("Stopped", "Killed", True)
    assert await there.backend.get("Sandbox", "box") == await there.local.get("Sandbox", "box")
    assert (await there.backend.snapshot()).sandboxes == (await there.local.snapshot()).sandboxes
    await looked_at()
    assert (await refused(there.backend.exec_start("box", ExecRequest()))).code is ErrorCode.INVALID_ACTION
    await there.backend.act(Delete(kind="Sandbox", name="box"))
    for call in (there.backend.get("Sandbox", "box"), there.backend.sandbox_files("box")):
        assert (await refused(call)).code is ErrorCode.NOT_FOUND


async def test_what_is_asked_of_a_command_that_is_not_there_or_has_no_terminal_is_refused(there: Reached) -> None:
    await running(there)
    for session in ("none", "..", ""):
        assert (await refused(there.backend.exec_signal("box", session, "TERM"))).code is ErrorCode.NOT_FOUND
        assert (await refused(there.backend.exec_resize("box", session, TerminalShape(rows=1, columns=1)))).code is ErrorCode.NOT_FOUND
        assert (await refused(there.backend.exec_input("box", session, b"x", offset=0))).code is ErrorCode.NOT_FOUND
        assert (await refused(anext(aiter(there.backend.exec_output("box", session))))).code is ErrorCode.NOT_FOUND
    streams = await there.backend.exec_start("box", ExecRequest(command=("sleep", "900")))
    failure = await refused(there.backend.exec_resize("box", streams.id, TerminalShape(rows=1, columns=1)))
    assert failure.code is ErrorCode.INVALID_ACTION, "it has no terminal"
    async with asyncio.timeout(60):
        await there.backend.exec_signal("box", streams.id, "KILL")
        assert await text_of(there.backend, streams.id) == (b"", 137)


async def test_the_servers_own_environment_is_given_on_its_machine_only(there: Reached) -> None:
    text = box_text(envFrom=["PATH"])
    if there.way != "TCP with TLS":
        assert (await there.backend.apply(bundle_of(text))).documents[0].outcome == "created"
        return
    failure = await refused(there.backend.apply(bundle_of(text)))
    assert [fault.path for fault in failure.faults] == ["spec.envFrom"]
    assert not (await there.local.list("Sandbox")).items
