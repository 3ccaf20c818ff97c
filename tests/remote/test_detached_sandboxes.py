"""Sandboxes under a detached scheduler, by the installed command: its streams and terminals, and what a dead scheduler leaves."""

import asyncio
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import uuid
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli_workspace import COMMAND
from detached import DetachedWorkspace, in_folder

sys.path.append(str(Path(__file__).parent.parent / "sandbox_kind"))
sys.path.append(str(Path(__file__).parent.parent / "sandboxes"))
sys.path.append(str(Path(__file__).parent.parent / "backend"))

from box_place import needs

pytestmark = pytest.mark.timeout(100)

SLEEPS = """sh -c 'echo asl""eep; exec sleep 900'\n"""
"""It says that it runs: before, the line editor has the terminal, which does not show what interrupts."""


def spec(place: DetachedWorkspace, name: str = "box", **more: Any) -> str:
    document = {
        "apiVersion": "nodus.dev/v1",
        "kind": "Sandbox",
        "metadata": {"name": name},
        "spec": {"memoryGiB": 0.5, "diskGiB": 0.1, "processes": 64, "maxCostUSD": "100", **more},
    }
    return place.write(json.dumps(document), f"{name}.json")


def configuration(engine: str) -> str:
    return f'sandboxes: {{engine: {engine}}}\nrates: {{CPU: "36"}}\n'


def with_box(place: DetachedWorkspace, name: str) -> str:
    """A Sandbox that runs."""
    done = place.installed("run", "-f", spec(place, name), "-o", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"]["phase"] == "Running"
    assert f"`nodus-tui exec {name}` opens a shell in it" in done.stderr
    return name


async def nodus(place: DetachedWorkspace, *arguments: str, text: str | None = None) -> "subprocess.CompletedProcess[str]":
    return await asyncio.to_thread(place.installed, *arguments, text=text)


async def status(place: DetachedWorkspace, name: str = "box") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await nodus(place, "get", f"sandbox/{name}", "-o", "json")).stdout)["status"]
    return found


@pytest.fixture(params=["bubblewrap", "docker"])
async def engine(request: pytest.FixtureRequest) -> str:
    await needs(request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DetachedWorkspace]:
    """A scheduler whose sandboxes are bubblewrap's: one for all who do not end it."""
    found = in_folder(tmp_path_factory.mktemp("sandboxes"))
    found.config.write_text(configuration("bubblewrap"), encoding="utf-8")
    started = found.installed("scheduler", "start")
    assert started.returncode == 0, started.stderr
    yield found
    found.installed("scheduler", "stop")


@pytest.fixture(scope="module")
def kept(place: DetachedWorkspace) -> str:
    """A Sandbox for all who leave it as it is."""
    return with_box(place, "kept")


@pytest.fixture
def box(place: DetachedWorkspace) -> str:
    """A Sandbox that the test ends."""
    return with_box(place, f"box-{uuid.uuid4().hex[:8]}")


async def test_a_commands_streams_and_exit_code_are_ours(place: DetachedWorkspace, kept: str) -> None:
    done = await nodus(place, "exec", kept, "--", "sh", "-c", "cat; printf 'out\\033[2J'; echo err >&2; exit 7", text="in\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, "in\nout\x1b[2J", "err\n")
    options = ("--user", "root", "-w", "/tmp", "-e", "A=1", "--env", "B=2 3")
    done = await nodus(place, "exec", f"sandbox/{kept}", *options, "sh", "-c", 'id -u; pwd; echo "$A $B"')
    assert (done.returncode, done.stdout) == (0, "0\n/tmp\n1 2 3\n"), done.stderr
    piped = await nodus(place, "exec", kept, text="echo from a script; exit 4\n")
    assert (piped.returncode, piped.stdout) == (4, "from a script\n"), "without a terminal the shell reads a script"
    for arguments, words in (
        (("exec", "none", "ls"), 'there is no Sandbox "none"'),
        (("exec", "-t", kept), "--tty needs a terminal"),
    ):
        done = await nodus(place, *arguments)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


async def test_files_go_in_and_come_out_whole(place: DetachedWorkspace, box: str) -> None:
    folder = place.folder / "project"
    (folder / "deep").mkdir(parents=True)
    large = os.urandom(3_000_000)
    (folder / "large").write_bytes(large)
    (folder / "deep" / "tool").write_text("#!/bin/sh\necho works\n")
    (folder / "deep" / "tool").chmod(0o755)
    done = await nodus(place, "cp", str(folder), f"sandbox/{box}:", "-o", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["target"], told["files"], told["bytes"]) == ("project", 2, 3_000_000 + 21)
    assert (await nodus(place, "exec", box, "project/deep/tool")).stdout == "works\n"
    back = place.folder / "back"
    assert (await nodus(place, "cp", f"sandbox/{box}:project/large", str(back))).returncode == 0
    assert back.read_bytes() == large
    assert (await nodus(place, "cp", f"sandbox/{box}:a", f"sandbox/{box}:b")).returncode == 2
    up = await nodus(place, "wait", f"sandbox/{box}", "-o", "json")
    assert (up.returncode, json.loads(up.stdout)["status"]["phase"]) == (0, "Running"), up.stderr
    assert (await nodus(place, "wait", "--for", "ended", "--timeout", "1s", f"sandbox/{box}")).returncode == 4
    assert (await nodus(place, "kill", "--yes", box)).returncode == 0
    ended = await nodus(place, "wait", "--for", "ended", f"sandbox/{box}")
    assert (ended.returncode, "has ended" in ended.stderr) == (0, True), ended.stderr
    assert (await nodus(place, "wait", f"sandbox/{box}")).returncode == 1
    after = json.loads((await nodus(place, "cp", f"sandbox/{box}:project/deep", "-o", "json")).stdout)
    assert [each["path"] for each in after] == ["project/deep", "project/deep/tool"]
    gone = await nodus(place, "cp", str(folder), f"sandbox/{box}:")
    assert (gone.returncode, "does not run any more: Killed" in gone.stderr) == (2, True)


class Terminal:
    """The installed command on a terminal of its own."""

    def __init__(self, place: DetachedWorkspace, *arguments: str, size: tuple[int, int] = (30, 100)) -> None:
        self.ours, theirs = pty.openpty()
        ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.seen = b""
        environment = {**place.environment, "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            ["setsid", "--ctty", COMMAND, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            cwd=place.folder,
        )

    def reads(self, pattern: str) -> "re.Match[bytes]":
        """Wait for this; the test's own time limit ends a wait in vain."""
        while (found := re.search(pattern.encode(), self.seen)) is None:
            select.select([self.ours], [], [])
            self.seen += os.read(self.ours, 65_536)
        self.seen = self.seen[found.end() :]
        return found

    def types(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def resize(self, rows: int, columns: int) -> None:
        ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def ended(self) -> int:
        """Its exit code; what it still writes is read meanwhile."""
        while self.process.poll() is None:
            if select.select([self.ours], [], [], 0.05)[0]:
                self.seen += os.read(self.ours, 65_536)
        return self.process.returncode

    def is_as_before(self) -> bool:
        return termios.tcgetattr(self.theirs) == self.before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def shell(place: DetachedWorkspace, kept: str) -> Iterator["Terminal"]:
    opened = Terminal(place, "exec", "-it", kept)
    yield opened
    opened.close()


def test_a_shell_on_a_terminal(shell: Terminal) -> None:
    shell.reads(r"\$ ")
    assert not shell.is_as_before()
    shell.types("stty size; echo $TERM; tty\n")
    shell.reads(r"30 100\r\n")
    shell.reads(r"xterm-256color\r\n")
    shell.reads(r"/dev/pts/\d+\r\n")
    shell.resize(40, 120)
    shell.types("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo re''sized\n")
    shell.reads(r"resized\r\n")
    shell.types(SLEEPS)
    shell.reads(r"asleep\r\n")
    shell.types("\x03")
    shell.reads(r"\^C")
    shell.types("printf '\\033]0;title\\007'; echo s''till here\n")
    shell.reads(r"\x1b]0;title\x07still here\r\n")
    shell.types("exit 9\n")
    assert shell.ended() == 9
    assert shell.is_as_before()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_from_outside_hangs_the_shell_up_and_gives_the_terminal_back(shell: Terminal, number: signal.Signals) -> None:
    shell.reads(r"\$ ")
    shell.process.send_signal(number)
    assert shell.ended() == 129
    assert shell.is_as_before()


@pytest.fixture
def console(place: DetachedWorkspace, kept: str) -> Iterator["Terminal"]:
    """The console, with the kept Sandbox selected: the first one that was made."""
    assert kept
    opened = Terminal(place, "--at", "campaigns")
    try:
        opened.reads("campaigns")
        opened.types("b")
        opened.reads("IDLE STOP")
        opened.types("G")  # The newest stands first.
        yield opened
    finally:
        opened.close()


def test_the_console_lends_its_terminal_to_a_shell_and_takes_it_back(console: Terminal) -> None:
    console.types("!")
    console.reads(r"\x1b\[\?1049l(?s:.)*Shell in sandbox kept")
    console.reads(r"\$ ")
    console.types("stty size; echo in$((1+1))side\n")
    console.reads(r"30 100\r\nin2side\r\n")
    console.resize(40, 120)
    console.types("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo re''sized\n")
    console.reads(r"resized\r\n")
    console.types(SLEEPS)
    console.reads(r"asleep\r\n")
    console.types("\x03")
    console.reads(r"\^C")
    console.types("exit 5\n")
    console.reads(r"\x1b\[\?1049h(?s:.)*has ended with exit code 5")
    console.types("q")
    assert console.ended() == 0
    assert console.is_as_before()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_the_console_with_the_shell_in_it(
    place: DetachedWorkspace, kept: str, console: Terminal, number: signal.Signals
) -> None:
    marker = f"8{os.getpid()}.{number}"
    console.types("!")
    await asyncio.to_thread(console.reads, r"\$ ")
    console.types(f"exec sleep {marker}\n")
    await asyncio.to_thread(until_there, marker)
    console.process.send_signal(number)
    assert await asyncio.to_thread(console.ended) == 128 + number
    assert console.is_as_before()
    assert (await nodus(place, "exec", kept, "--", "sh", "-c", f"while pgrep -f '^sleep {marker}'; do sleep 0.05; done")).returncode == 0


async def test_a_shell_ends_with_its_sandbox_and_says_why(place: DetachedWorkspace, box: str) -> None:
    shell = Terminal(place, "exec", box)
    try:
        await asyncio.to_thread(shell.reads, r"\$ ")
        assert (await nodus(place, "kill", "--yes", f"sandbox/{box}")).returncode == 0
        assert await asyncio.to_thread(shell.ended) == 129
        await asyncio.to_thread(shell.reads, "the sandbox was stopped: it was killed")
        assert shell.is_as_before()
    finally:
        shell.close()


async def test_what_goes_to_a_terminal_without_being_lent_is_not_obeyed(place: DetachedWorkspace, kept: str) -> None:
    shown = Terminal(place, "exec", kept, "--", "printf", "a\\033[2Jb\\377\\n")
    try:
        await asyncio.to_thread(shown.reads, "a\N{SYMBOL FOR ESCAPE}\\[2Jb\N{REPLACEMENT CHARACTER}\r\n")
        assert await asyncio.to_thread(shown.ended) == 0
    finally:
        shown.close()


async def test_ctrl_c_is_the_commands_and_a_closed_pipe_ends_it(place: DetachedWorkspace, kept: str) -> None:
    script = "trap 'echo int; exit 5' INT; echo up; while :; do sleep 0.05; done"
    process = await asyncio.create_subprocess_exec(
        COMMAND, "exec", kept, "--", "sh", "-c", script, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=place.environment
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    assert await process.stdout.readline() == b"int\n"
    assert await process.wait() == 5
    flood = await asyncio.create_subprocess_exec(
        COMMAND, "exec", kept, "--", "yes", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=place.environment
    )
    assert flood.stdout is not None
    assert await flood.stdout.readline() == b"y\n"
    flood.stdout._transport.close()  # type: ignore[attr-defined]  # the reader goes away
    assert await flood.wait() == 128 + signal.SIGPIPE
    # The scheduler hears of it after the client has ended.
    assert (await nodus(place, "exec", kept, "--", "sh", "-c", "while pgrep -x yes; do sleep 0.05; done >/dev/null")).returncode == 0


def inside(marker: str) -> list[psutil.Process]:
    """Processes of this machine that have a word in their command line, those in sandboxes included."""
    return [each for each in psutil.process_iter(["cmdline"]) if marker in (each.info["cmdline"] or [])]


def until_there(marker: str) -> None:
    """The test's own time limit ends a wait in vain."""
    while not inside(marker):
        time.sleep(0.05)


async def test_a_killed_scheduler_leaves_no_sandbox_and_the_next_one_books_its_time(engine: str, tmp_path: Path) -> None:
    place = in_folder(tmp_path)
    place.config.write_text(configuration(engine), encoding="utf-8")
    marker = f"9{os.getpid()}.25"
    try:
        done = await nodus(place, "run", "-f", spec(place, idleTimeout="1m"))
        assert done.returncode == 0, done.stderr
        shell = Terminal(place, "exec", "box")
        try:
            shell.types(f"exec sleep {marker}\n")
            await asyncio.to_thread(until_there, marker)
            await place.kill_scheduler()
            # The next one, which the shell's own questions may start.
            done = await nodus(place, "scheduler", "start")
            assert done.returncode == 0, done.stderr
            assert await asyncio.to_thread(shell.ended) == 2
            assert shell.is_as_before()
            await asyncio.to_thread(shell.reads, "InfrastructureFailure")
        finally:
            shell.close()
        over = await status(place)
        assert (over["phase"], over["reason"], over["filesKept"]) == ("Failed", "InfrastructureFailure", False)
        assert "its files are lost" in over["message"]
        assert 0 < float(over["costUSD"]) < 1
        assert not inside(marker)
        listed = json.loads((await nodus(place, "sandboxes", "list", "-o", "json")).stdout)
        assert [each for each in listed if each["mine"]] == []
        refused = await nodus(place, "exec", "box", "true")
        assert (refused.returncode, "does not run any more: InfrastructureFailure" in refused.stderr) == (2, True)
    finally:
        await nodus(place, "scheduler", "stop")


async def test_an_idle_scheduler_of_other_surroundings_makes_no_room_while_a_sandbox_runs(place: DetachedWorkspace, kept: str) -> None:
    before = place.record()
    place.config.write_text(place.config.read_text() + "scheduler: {idleExit: 1h}\n", encoding="utf-8")
    done = await nodus(place, "exec", kept, "true")
    assert done.returncode == 0
    assert "the scheduler is at work with the configuration" in done.stderr
    assert place.record() == before
