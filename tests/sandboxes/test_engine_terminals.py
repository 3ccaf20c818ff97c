"""Engine suite: programs on a terminal in a sandbox, and signals to a program's session."""

import signal

import pytest
from engine_suite import PYTHON, said, sandbox_of, until

from local_backend.sandboxes.interface import Process, SandboxEngine, TerminalSize, User


async def reads(process: Process, words: bytes) -> bytes:
    """Output up to these words."""
    seen = b""
    while words not in seen:
        piece = await process.read()
        assert piece is not None, seen
        assert piece[0] == "stdout"
        seen += piece[1]
    return seen


async def rest(process: Process) -> bytes:
    seen = b""
    while (piece := await process.read()) is not None:
        seen += piece[1]
    return seen


SHOW = 'stty size; tty; test -t 0 && test -t 1 && test -t 2 && echo "all three of $(id -u)"; : >"$(tty)" && echo by its name'


@pytest.mark.parametrize("user", list(User))
async def test_a_program_gets_a_terminal_of_its_user(engine: SandboxEngine, user: User) -> None:
    async with sandbox_of(engine, "terminal") as sandbox:
        process = await sandbox.spawn(["sh", "-c", SHOW], user=user, terminal=TerminalSize(33, 101))
        shown = await rest(process)
        assert await process.wait() == 0
        assert shown.splitlines()[0] == b"33 101"
        assert shown.splitlines()[1].startswith(b"/dev/pts/")
        assert f"all three of {user}".encode() in shown
        assert b"by its name" in shown
        await process.aclose()


LISTENS = """
import os, signal, sys
def tell(*words): os.write(1, (" ".join(map(str, words)) + "\\n").encode())
signal.signal(signal.SIGWINCH, lambda *_: tell("winch", os.get_terminal_size(0).lines, os.get_terminal_size(0).columns))
signal.signal(signal.SIGINT, lambda *_: tell("int"))
tell("up")
for line in sys.stdin:
    tell("got", line.rstrip())
sys.exit(5)
"""


async def test_a_terminal_echoes_makes_signals_and_tells_its_new_size(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "typing") as sandbox:
        process = await sandbox.spawn([*PYTHON, LISTENS], terminal=TerminalSize())
        await reads(process, b"up\r\n")
        await process.write(b"hello\n")
        assert await reads(process, b"got hello\r\n") == b"hello\r\ngot hello\r\n"
        await process.resize(TerminalSize(50, 132))
        await reads(process, b"winch 50 132\r\n")
        await process.write(b"\x03")
        await reads(process, b"int\r\n")
        await process.close_stdin()
        await rest(process)
        assert await process.wait() == 5
        await process.aclose()
        await process.resize(TerminalSize(1, 1))  # It has ended: no matter.


async def test_all_bytes_pass_a_raw_terminal_unchanged(engine: SandboxEngine) -> None:
    data = bytes(range(256)) * 40
    async with sandbox_of(engine, "raw") as sandbox:
        process = await sandbox.spawn(["sh", "-c", f"stty raw -echo; echo up; exec head -c {len(data)}"], terminal=TerminalSize())
        assert await reads(process, b"up\n") == b"up\n"
        await process.write(data)
        assert await rest(process) == data
        assert await process.wait() == 0
        await process.aclose()


async def test_a_terminals_jobs_are_the_shells(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "job-control") as sandbox:
        process = await sandbox.spawn(["bash", "--norc", "-i"], environ={"PS1": "$ ", "TERM": "dumb"}, terminal=TerminalSize())
        await reads(process, b"$ ")
        await process.write(b"sleep 900\n")
        await until(lambda: _runs(sandbox, "sleep"))
        await process.write(b"\x1a")
        await reads(process, b"Stopped")
        await process.write(b"exit 3\n")
        await reads(process, b"stopped jobs")
        await process.write(b"exit 3\n")
        await rest(process)
        assert await process.wait() == 3
        await process.aclose()


async def _runs(sandbox: object, which: str) -> bool:
    return await said(sandbox, f"pgrep -u 1000 -c {which} || true") == "1\n"  # type: ignore[arg-type]


@pytest.mark.parametrize("terminal", [None, TerminalSize()])
async def test_a_signal_reaches_all_of_a_programs_session_and_nobody_else(engine: SandboxEngine, terminal: TerminalSize | None) -> None:
    async with sandbox_of(engine, "signals") as sandbox:
        other = await sandbox.spawn(["sh", "-c", "echo up; exec sleep 901"])
        assert await other.read() == ("stdout", b"up\n")
        process = await sandbox.spawn(
            ["sh", "-c", "trap 'echo term; exit 9' TERM; sleep 902 & echo up; while :; do wait; done"], terminal=terminal
        )
        await reads(process, b"up")
        # Until it has become its program, the shell's child has the shell's trap, and may take a signal and do nothing.
        await until(lambda: _runs(sandbox, "-f '^sleep 902'"))
        await process.signal(signal.SIGTERM)
        assert b"term" in await rest(process)
        assert await process.wait() == 9
        assert await said(sandbox, "pgrep -u 1000 -f '^sleep 902' -c || true") == "0\n"
        assert await said(sandbox, "pgrep -u 1000 -f '^sleep 901' -c || true") == "1\n"
        await process.signal(signal.SIGKILL)  # It has ended: no matter.
        await process.aclose()
        await other.aclose()


async def test_what_makes_processes_all_the_time_is_killed_with_its_session(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "makers") as sandbox:
        process = await sandbox.spawn(["bash", "-c", "trap '' HUP TERM INT; echo up; while :; do sleep 0.01 & sleep 0.01; done"])
        await reads(process, b"up")
        await process.signal(signal.SIGHUP)
        await process.signal(signal.SIGKILL)
        assert await process.wait() == 137
        await process.aclose()
        assert await said(sandbox, "pgrep -u 1000 -c bash || true") == "0\n"


async def test_a_terminal_ends_with_its_sandbox(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "ends-with") as sandbox:
        process = await sandbox.spawn(["sh", "-c", "echo up; exec sleep 900"], terminal=TerminalSize())
        await reads(process, b"up")
        await sandbox.aclose()
        with pytest.raises(Exception, match=r"ended|gone|live"):
            await process.wait()
        await process.aclose()
