"""A real terminal: it is given back whole after TERM, HUP and a person's leaving, and what is drawn has no attack in it."""

import ast
import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from nodus_tui.terminal_input import _Outlet

SILENCE_SECONDS = 60
"""After this time without a byte nothing will come."""
CHILD = Path(__file__).parent / "console_child.py"
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1000l")
"""Alternate screen left, cursor shown, bracketed paste and mouse off."""


class Terminal:
    """A child on a pty."""

    def __init__(self, child: subprocess.Popen[bytes], master: int) -> None:
        self.child = child
        self.master = master
        self.seen = b""

    def read_until(self, wanted: bytes, after: int = 0) -> None:
        """Read until the text was drawn, behind so many bytes; the test's own time limit ends a child that never draws it."""
        while wanted not in self.seen[after:]:
            assert self._read(), f"the console ended before it drew {wanted!r}: {self.seen[-2000:]!r}"

    def read_to_end(self) -> int:
        """Read all the rest and give the exit code."""
        while self._read():
            pass
        return self.child.wait()

    def _read(self) -> bool:
        if not select.select([self.master], [], [], SILENCE_SECONDS)[0]:
            raise AssertionError(f"the console drew nothing any more; at last {self.seen[-2000:]!r}")
        try:
            data = os.read(self.master, 65_536)
        except OSError:  # Linux says EIO when the other side is closed.
            return False
        self.seen += data
        return bool(data)

    def resize(self, columns: int, rows: int) -> None:
        """As a window that is pulled: the size, and the signal that tells of it. What was drawn meanwhile is read."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.child.send_signal(signal.SIGWINCH)
        while select.select([self.master], [], [], 0)[0] and self._read():
            pass

    def hang_up(self) -> None:
        os.close(self.master)
        self.master = -1

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)


@contextmanager
def terminal(report: Path, *more: str, **environment: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLORTERM", "TEXTUAL"}}
    child = subprocess.Popen(
        [sys.executable, str(CHILD), str(report), *more],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**variables, "TERM": "xterm-256color", **environment},
        start_new_session=True,
    )
    os.close(slave)
    opened = Terminal(child, master)
    try:
        yield opened
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        if opened.master >= 0:
            opened.hang_up()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back_and_stops_the_work(number: signal.Signals, tmp_path: Path) -> None:
    report = tmp_path / "report"
    with terminal(report) as console:
        console.read_until(b"sum-000")
        console.child.send_signal(number)
        code = console.read_to_end()
    assert code == 128 + number
    for sequence in RESTORED:
        assert console.seen.rfind(sequence) > console.seen.rfind(b"\x1b[?1049h")
    assert b"Traceback" not in console.seen
    assert report.read_text(encoding="utf-8") == "[2.0]"


def test_bytes_that_are_no_utf8_are_keys_like_others(tmp_path: Path) -> None:
    with terminal(tmp_path / "report") as console:
        console.read_until(b"sum-000")
        # é of a Latin-1 keyboard, a click far at the right in the oldest mouse protocol, half of a character.
        console.type(b"\xe9\x1b[M \xf0\x85\xc3")
        # Keys of a terminal that an earlier program left telling when each is let go of, and one that no keyboard has.
        console.type(b"\x1b[106;1:1u\x1b[106;1:3u\x1b[99999999999u")
        console.type(b"\x03")
        console.read_until(b"Stop the work and quit?")
        console.type(b"\x1b[C\r")
        code = console.read_to_end()
    assert code == 0
    assert b"Traceback" not in console.seen


def test_a_terminal_that_is_gone_ends_the_console_without_any_signal(tmp_path: Path) -> None:
    report = tmp_path / "report"
    with terminal(report, "deaf") as console:
        console.read_until(b"sum-000")
        console.hang_up()
        assert console.child.wait() == 129
    assert report.read_text(encoding="utf-8") == "[2.0]"


@pytest.mark.parametrize("keys", [b"", b"jjjjx", b"?", b"v"], ids=["group", "question", "help", "results"])
def test_a_window_that_is_closed_ends_the_console(keys: bytes, tmp_path: Path) -> None:
    report = tmp_path / "report"
    with terminal(report, "leader") as console:
        console.read_until(b"sum-000")
        console.type(keys)
        console.hang_up()
        assert console.child.wait() == 129
    assert report.read_text(encoding="utf-8") == "[2.0]"


def test_a_terminal_that_is_gone_holds_up_nobody_who_writes() -> None:
    master, slave = pty.openpty()
    file = os.fdopen(slave, "w", encoding="utf-8")
    thread = WriterThread(_Outlet(file))  # type: ignore[arg-type]  # All of a file that it uses.
    thread.start()
    os.close(master)
    for _ in range(4 * MAX_QUEUED_WRITES):
        thread.write("a frame\n")
    thread.stop()
    assert not thread.is_alive()
    with suppress(OSError):  # It still has what it could not write.
        file.close()


UNCHANGED_LOOKS = 5
"""So often, a tenth of a second apart, a terminal that nobody reads has as many bytes as before: it takes no more."""


def unread(master: int) -> int:
    return int.from_bytes(fcntl.ioctl(master, termios.FIONREAD, bytes(4)), sys.byteorder)


def stand_still(console: Terminal) -> None:
    """Nobody reads the terminal, and there is more to be drawn than it takes."""
    console.type(b"Jb" * MAX_QUEUED_WRITES)
    seen: list[int] = []
    while len(seen) < UNCHANGED_LOOKS or len(set(seen[-UNCHANGED_LOOKS:])) > 1 or not seen[-1]:
        select.select([], [], [], 0.1)
        seen.append(unread(console.master))


def test_who_is_told_to_end_does_not_wait_for_a_terminal_that_stands_still(tmp_path: Path) -> None:
    report = tmp_path / "report"
    with terminal(report) as console:
        console.read_until(b"sum-000")
        stand_still(console)
        console.child.send_signal(signal.SIGTERM)
        assert console.child.wait() == 128 + signal.SIGTERM
    assert report.read_text(encoding="utf-8") == "[2.0]", "its work was stopped, and did not stand still before"


def test_a_terminal_that_goes_on_is_drawn_anew(tmp_path: Path) -> None:
    with terminal(tmp_path / "report") as console:
        console.read_until(b"sum-000")
        stand_still(console)
        console.type(b"B")
        # What it was too late for was left out: the view stands there whole.
        console.read_until(b"No budgets yet", after=len(console.seen))


STOPS = 4


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP])
def test_a_console_that_was_stopped_goes_on_as_one(number: signal.Signals, tmp_path: Path) -> None:
    with terminal(tmp_path / "report") as console:
        console.read_until(b"sum-000")
        threads = Path(f"/proc/{console.child.pid}/task")
        before = len(list(threads.iterdir()))
        for _ in range(STOPS):
            console.child.send_signal(number)
            os.waitid(os.P_PID, console.child.pid, os.WSTOPPED)
            stopped_at = len(console.seen)
            console.child.send_signal(signal.SIGCONT)
            console.read_until(b"\x1b[?1049h", after=stopped_at)
            console.read_until(b"sum-000", after=stopped_at)
        assert len(list(threads.iterdir())) < before + STOPS, "each further reader would take some of the keys"
        console.type(b"jjjjx")
        console.read_until(b"Kill run", after=stopped_at)


def test_leaving_by_key_asks_and_gives_the_terminal_back(tmp_path: Path) -> None:
    report = tmp_path / "report"
    with terminal(report) as console:
        console.read_until(b"sum-000")
        console.type(b"\x03")
        console.read_until(b"Stop the work and quit?")
        console.type(b"\x1b[C\r")
        code = console.read_to_end()
    assert code == 0
    assert console.seen.rfind(b"\x1b[?1049l") > console.seen.rfind(b"\x1b[?1049h")
    assert report.read_text(encoding="utf-8") == "[10.0]"


def test_a_fault_of_the_backend_ends_in_one_sentence_with_its_details_in_the_log(tmp_path: Path) -> None:
    report = tmp_path / "report"
    with terminal(report, "broken", NODUS_HOME=str(tmp_path), NODUS_DEBUG="0") as console:
        console.read_until(b"sum-000")
        console.type(b"jjjjx")
        console.read_until(b"Kill run")
        console.type(b"\x1b[C\r")
        code = console.read_to_end()
    assert code == 4
    after = console.seen[console.seen.rfind(b"\x1b[?1049l") :].decode()
    assert "an unexpected ZeroDivisionError: a fault that no backend should have" in after
    assert "Traceback" not in console.seen.decode(errors="replace")
    assert "Traceback" in (tmp_path / "logs" / "errors.log").read_text(encoding="utf-8")
    assert report.read_text(encoding="utf-8") == "[2.0]", "the work of this process was stopped in order"


SGR_COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "vt100"}], ids=["NO_COLOR", "vt100"])
def test_no_colour_is_sent_where_none_is_wanted_or_known(environment: dict[str, str], tmp_path: Path) -> None:
    with terminal(tmp_path / "report", **environment) as console:
        console.read_until(b"sum-000")
        console.type(b"jjjjx")
        console.read_until(b"Kill run")
        console.child.send_signal(signal.SIGTERM)
        console.read_to_end()
    assert SGR_COLOUR.findall(console.seen) == []
    assert b"\x1b[1" in console.seen, "letters still have weights"


@pytest.mark.parametrize("mouse", [True, False])
def test_the_mouse_is_asked_for_unless_it_is_left_to_the_terminal(mouse: bool, tmp_path: Path) -> None:
    with terminal(tmp_path / "report", *(() if mouse else ("no-mouse",))) as console:
        console.read_until(b"sum-000")
        console.child.send_signal(signal.SIGTERM)
        console.read_to_end()
    assert (b"\x1b[?1000h" in console.seen) is mouse


def test_nothing_but_ascii_goes_out_where_the_locale_is_not_utf8(tmp_path: Path) -> None:
    with terminal(tmp_path / "report", LC_ALL="C") as console:
        console.read_until(b"sum-000")
        console.type(b"jjjjx")
        console.read_until(b"Kill run")
        console.type(b"\x1b[27u?")
        console.read_until(b"Keys: Group")
        console.child.send_signal(signal.SIGTERM)
        console.read_to_end()
    assert console.seen.isascii()
    assert b"Correct" in console.seen


def test_a_storm_of_resizing_a_real_terminal_is_harmless(tmp_path: Path) -> None:
    chance = random.Random(7)
    # Exported once, these would hold the size that the terminal had then.
    with terminal(tmp_path / "report", COLUMNS="80", LINES="24") as console:
        console.read_until(b"sum-000")
        for _ in range(300):
            console.resize(chance.randint(1, 200), chance.randint(1, 60))
        console.resize(40, 10)
        console.read_until(b"This window is 40")
        assert b"Traceback" not in console.seen
        console.seen = b""
        console.resize(80, 24)
        console.read_until(b"sum-011")
        console.type(b"?")
        console.read_until(b"Keys: Group")
        console.child.send_signal(signal.SIGTERM)
        code = console.read_to_end()
    assert code == 128 + signal.SIGTERM
    assert b"Traceback" not in console.seen


PROGRAM = """\
import os, sys, time
path = sys.argv[-1]
text = open(path, encoding="utf-8").read()
mode, folder = oct(os.stat(path).st_mode & 0o777), oct(os.stat(os.path.dirname(path)).st_mode & 0o777)
open({report!r}, "w").write(repr([sys.argv[1:-1], path, text, mode, folder]))
print("THE PROGRAM HAS THE TERMINAL", flush=True)
sys.stdin.readline()
sys.exit({code})
"""


def program(tmp_path: Path, code: int = 0) -> tuple[str, Path]:
    """A command line of a program that tells what it was given and waits for a line of the terminal."""
    script, told = tmp_path / "a program.py", tmp_path / "told"
    script.write_text(PROGRAM.format(report=str(told), code=code), encoding="utf-8")
    return f"{sys.executable} '{script}' -R", told


@pytest.mark.parametrize(("key", "variable", "code"), [(b"v", "PAGER", 0), (b"V", "VISUAL", 3)])
def test_a_persons_pager_and_editor_have_the_terminal_and_give_it_back(key: bytes, variable: str, code: int, tmp_path: Path) -> None:
    command, told = program(tmp_path, code)
    with terminal(tmp_path / "report", **{variable: command, "TMPDIR": str(tmp_path)}) as console:
        console.read_until(b"sum-000")
        console.type(b"\r")
        console.read_until(b"What is 17 + 25?")
        before = len(console.seen)
        console.type(key)
        console.read_until(b"THE PROGRAM HAS THE TERMINAL")
        assert b"\x1b[?1049l" in console.seen[before:], "the console's screen was put aside first"
        arguments, path, text, mode, folder = ast.literal_eval(told.read_text(encoding="utf-8"))
        assert arguments == ["-R"]
        assert text.startswith("[system, ")
        assert "What is 17 + 25?" in text
        assert (mode, folder) == ("0o600", "0o700")
        # What Ctrl-C sends to all in front is the program's alone: the console goes on.
        console.child.send_signal(signal.SIGINT)
        after = len(console.seen)
        console.type(b"\n")
        console.read_until(b"\x1b[?1049h", after)
        console.read_until(b"ended with exit code" if code else b"pager", after)
        console.type(b"\x1b")
        console.read_until(b"sum-001", after)
        assert not Path(path).exists()
        assert not Path(path).parent.exists()
        console.type(b"\x03")
        console.read_until(b"Stop the work and quit?")
        console.type(b"\x1b[C\r")
        assert console.read_to_end() == 0


def test_a_pager_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    with terminal(tmp_path / "report", PAGER="/no/such/pager") as console:
        console.read_until(b"sum-000")
        console.type(b"\r")
        console.read_until(b"What is 17 + 25?")
        console.type(b"v")
        console.read_until(b"/no/such/pager cannot be started")
        console.child.terminate()
        console.read_to_end()
