"""Commands in a Sandbox by their sessions: offsets both ways, bounded output that holds the command up, and clients that are gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from engine_suite import PYTHON, connect, said, sandbox_of

from local_backend.sandbox_kind import session as session_module
from local_backend.sandbox_kind import sessions as sessions_module
from local_backend.sandbox_kind.session import Session
from local_backend.sandbox_kind.sessions import Sessions
from local_backend.sandboxes.interface import Sandbox, TerminalSize
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.sandbox_exec import INPUT_BYTES, SHELL, WINDOW_BYTES, ExecEnd, ExecPiece, ExecRequest, TerminalShape

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    engine = await connect("bubblewrap")
    async with sandbox_of(engine, "sessions") as made:
        yield made
    await engine.aclose()


@pytest.fixture
async def sessions(sandbox: Sandbox) -> AsyncIterator[Sessions]:
    made = Sessions(sandbox, {}, lambda: None)
    yield made
    await made.close("Killed", "the test is over", lost=False)


async def started(sessions: Sessions, *command: str, **request: object) -> Session:
    return await sessions.start(ExecRequest.model_validate({"command": command, **request}), "")


async def taken(session: Session, after: int = 0, seconds: float = 30) -> list[ExecPiece | ExecEnd]:
    """One answer."""
    async with aclosing(session.output(after, seconds)) as pieces:
        return [piece async for piece in pieces]


def text_of(pieces: list[ExecPiece | ExecEnd], stream: str = "stdout") -> bytes:
    return b"".join(piece.data for piece in pieces if isinstance(piece, ExecPiece) and piece.stream == stream)


def place_after(pieces: list[ExecPiece | ExecEnd], before: int = 0) -> int:
    return max([before, *(piece.offset + len(piece.data) for piece in pieces if isinstance(piece, ExecPiece))])


async def whole(session: Session) -> tuple[bytes, ExecEnd]:
    """All its output from the start, answer after answer."""
    text, at = b"", 0
    while True:
        pieces = await taken(session, at)
        text, at = text + text_of(pieces), place_after(pieces, at)
        if pieces and isinstance(pieces[-1], ExecEnd):
            return text, pieces[-1]


async def test_output_is_given_again_until_it_has_arrived(sessions: Sessions) -> None:
    session = await started(sessions, "sh", "-c", "printf abcdef; printf gh >&2; exit 3")
    first = await taken(session)
    assert (text_of(first), text_of(first, "stderr")) == (b"abcdef", b"gh")
    assert first[-1] == ExecEnd(offset=8, exit_code=3)
    assert text_of(await taken(session, 2)) == b"cdef"
    assert text_of(await taken(session, 2)) == b"cdef", "asking says what has arrived, not what was sent"
    assert (await taken(session, 8)) == [ExecEnd(offset=8, exit_code=3)]
    for place in (1, 9):
        with pytest.raises(NodusError) as caught:
            await taken(session, place)
        assert caught.value.code is ErrorCode.INVALID_REQUEST


async def test_an_answer_comes_as_it_is_written_and_ends_in_time(sessions: Sessions) -> None:
    session = await started(sessions, "sh", "-c", "echo first; read -r line; echo $line")
    async with aclosing(session.output(0, 30)) as pieces:
        first = await anext(pieces)
        assert isinstance(first, ExecPiece)
        assert first.data == b"first\n"
        await session.input(b"second\n", offset=0, end=False)
        second = await anext(pieces)
        assert isinstance(second, ExecPiece)
        assert second.data == b"second\n"
    assert text_of(await taken(await started(sessions, "sleep", "600"), 0, 0)) == b""


async def test_a_flood_is_held_up_and_comes_whole(sessions: Sessions, sandbox: Sandbox) -> None:
    size = 5 * WINDOW_BYTES + 12_345
    session = await started(sessions, "sh", "-c", f"head -c {size} /dev/zero; echo over >/tmp/over")
    first = await taken(session)
    assert place_after(first) == WINDOW_BYTES
    assert not isinstance(first[-1], ExecEnd)
    assert await said(sandbox, "ls /tmp") == "", "it waits until somebody takes what it wrote"
    text, end = await whole(session)
    assert (len(text), end.exit_code, end.offset) == (size, 0, size)
    assert await said(sandbox, "ls /tmp") == "over\n"


async def test_two_streams_in_turns_are_bounded_and_come_whole(sessions: Sessions) -> None:
    rounds = 3 * session_module._MOST_PIECES
    script = f"import os\nfor n in range({rounds}):\n    os.write(1, b'o')\n    os.write(2, b'e')"
    session = await started(sessions, *PYTHON, script)
    text, end = await whole(session)
    assert (text, end.exit_code, end.offset) == (b"o" * rounds, 0, 2 * rounds)


async def test_the_last_one_who_asks_gets_the_output(sessions: Sessions) -> None:
    session = await started(sessions, "sh", "-c", "read -r line; echo $line")
    first = asyncio.create_task(taken(session))
    await asyncio.sleep(0)
    second = asyncio.create_task(taken(session))
    assert await first == []
    await session.input(b"x\n", offset=0, end=False)
    assert text_of(await second) == b"x\n"


async def test_input_is_taken_once_and_never_with_a_gap(sessions: Sessions) -> None:
    session = await started(sessions, "cat")
    assert (await session.input(b"abc", offset=0, end=False)).next_offset == 3
    assert (await session.input(b"abc", offset=0, end=False)).next_offset == 3, "a repeated one is known"
    assert (await session.input(b"bcde", offset=1, end=True)).next_offset == 5
    with pytest.raises(NodusError) as caught:
        await session.input(b"x", offset=7, end=False)
    assert caught.value.code is ErrorCode.INVALID_REQUEST
    text, end = await whole(session)
    assert (text, end.exit_code) == (b"abcde", 0)
    assert (await session.input(b"x", offset=5, end=False)).closed


async def test_input_waits_for_a_command_that_reads_later(sessions: Sessions, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_ROOM_SECONDS", 0.05)
    session = await started(sessions, "sh", "-c", "until [ -e /tmp/go ]; do sleep 0.05; done; cat >/dev/null")
    fed = 0
    while (answer := await session.input(bytes(INPUT_BYTES), offset=fed, end=False)).next_offset > fed:
        fed = answer.next_offset
        assert fed < 4 * INPUT_BYTES, "it takes no more than it has room for"
    assert not answer.closed
    await (await sandbox.spawn(["touch", "/tmp/go"])).wait()
    await session.input(b"\n", offset=fed, end=True)
    while not (await session.input(b"", offset=fed, end=True)).closed:
        await asyncio.sleep(0)
    assert (await whole(session))[1].exit_code == 0


async def test_a_command_that_reads_no_more_says_so(sessions: Sessions) -> None:
    session = await started(sessions, "sh", "-c", "exec <&-; echo closed; sleep 600")
    async with aclosing(session.output(0, 30)) as pieces:
        await anext(pieces)
        fed = 0
        while not (answer := await session.input(bytes(65_536), offset=fed, end=False)).closed:
            fed = answer.next_offset


async def test_a_repeated_request_starts_one_command(sessions: Sessions, sandbox: Sandbox) -> None:
    request = ExecRequest(command=("sh", "-c", "echo x >>/tmp/starts; sleep 600"))
    both = await asyncio.gather(sessions.start(request, "id-1"), sessions.start(request, "id-1"))
    assert both[0] is both[1]
    assert await sessions.start(request, "id-1") is both[0]
    assert await sessions.start(request, "id-2") is not both[0]
    while len((await said(sandbox, "cat /tmp/starts 2>/dev/null || true")).split()) < 2:
        await asyncio.sleep(0)
    assert sessions.running == 2


async def test_no_more_commands_than_may_be(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "MOST", 2)
    for _ in range(2):
        await started(sessions, "sleep", "600")
    with pytest.raises(NodusError) as caught:
        await started(sessions, "true")
    assert caught.value.code is ErrorCode.CONFLICT


async def test_signals_reach_the_command(sessions: Sessions) -> None:
    session = await started(sessions, "sh", "-c", "trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done")
    async with aclosing(session.output(0, 30)) as pieces:
        await anext(pieces)
    await session.signal("TERM")
    assert (await whole(session))[1].exit_code == 9
    await session.signal("KILL")  # It has ended: no matter.


async def test_a_terminal_has_the_size_and_the_name_that_were_asked_for(sessions: Sessions) -> None:
    shape = TerminalShape(rows=31, columns=97)
    session = await sessions.start(ExecRequest(command=("sh", "-c", "stty size; echo $TERM; read -r x; stty size"), terminal=shape), "")
    async with aclosing(session.output(0, 30)) as pieces:
        text = b""
        while b"xterm" not in text:
            piece = await anext(pieces)
            assert isinstance(piece, ExecPiece)
            text += piece.data
    await session.resize(TerminalSize(50, 132))
    await session.input(b"\n", offset=0, end=False)
    text, end = await whole(session)
    assert text.startswith(b"31 97\r\nxterm\r\n")
    assert text.endswith(b"50 132\r\n")
    assert end.exit_code == 0


async def test_what_nobody_asks_for_is_hung_up_and_forgotten(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await started(sessions, *SHELL, terminal=TerminalShape(rows=24, columns=80))
    stubborn = await started(sessions, "sh", "-c", "trap '' HUP; echo up; while :; do sleep 0.05; done")
    watched = await started(sessions, "sleep", "600")
    reading = asyncio.create_task(taken(watched, 0, 600))
    while not text_of(await taken(stubborn, 0, 1)):
        await asyncio.sleep(0)
    sessions.look()
    assert sessions.running == 3
    monkeypatch.setattr(session_module, "_HANG_UP_SECONDS", 0.2)
    monkeypatch.setattr(sessions_module, "GONE_SECONDS", 0)
    sessions.look()
    while sessions.running > 1:
        await asyncio.sleep(0.01)
    assert sessions.find(watched.id) is watched
    assert (await whole(stubborn))[1].exit_code == 137
    assert (await whole(session))[1].exit_code == 129
    sessions.look()
    for gone in (session, stubborn):
        with pytest.raises(NodusError) as caught:
            sessions.find(gone.id)
        assert caught.value.code is ErrorCode.NOT_FOUND
    reading.cancel()


async def test_what_a_command_leaves_running_does_not_hold_its_end_up(sessions: Sessions, sandbox: Sandbox) -> None:
    session = await started(sessions, "sh", "-c", "echo started; setsid sleep 900 & exit 4")
    text, end = await whole(session)
    assert (text, end.exit_code) == (b"started\n", 4)
    assert await said(sandbox, "pgrep -u 1000 -c sleep") == "1\n"
    assert sessions.running == 0


async def test_clients_are_told_why_the_sandbox_was_stopped(sandbox: Sandbox) -> None:
    sessions = Sessions(sandbox, {}, lambda: None)
    session = await started(sessions, "sh", "-c", "echo before; sleep 600")
    assert text_of(await taken(session, 0, 1)) == b"before\n"
    await sessions.close("IdleTimeout", "the sandbox was stopped", lost=False)
    pieces = await taken(session)
    assert text_of(pieces) == b"before\n"
    end = pieces[-1]
    assert isinstance(end, ExecEnd)
    assert (end.reason, end.message, end.exit_code) == ("IdleTimeout", "the sandbox was stopped", 129)
    with pytest.raises(NodusError) as caught:
        await started(sessions, "true")
    assert caught.value.code is ErrorCode.INVALID_ACTION


async def test_a_command_that_cannot_begin_is_the_callers_fault(sessions: Sessions) -> None:
    with pytest.raises(NodusError) as caught:
        await started(sessions, "true", workdir="/no/such/folder")
    assert (caught.value.code, "/no/such/folder" in caught.value.detail) == (ErrorCode.INVALID_REQUEST, True)
    assert (await whole(await started(sessions, "no-such-program")))[1].exit_code == 127
    assert sessions.running == 0
