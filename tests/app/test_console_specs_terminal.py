"""$EDITOR on a real terminal, from the list of specs and from the console's own editor: a person's program has the terminal, changes the
file, gives the terminal back, and what it changed is checked and shown."""

import ast
import sys
from pathlib import Path

import pytest
from test_console_terminal import RESTORED, Terminal, terminal

GOOD = "apiVersion: nodus.dev/v1\nkind: Agent\nmetadata: {name: adder}\nspec:\n  model: {families: [quick]}\n"
PROGRAM = """\
import os, sys, termios
from pathlib import Path
path = Path(sys.argv[-1])
modes = termios.tcgetattr(sys.stdin)[3]
Path({told!r}).write_text(repr([sys.argv[1:], bool(modes & termios.ICANON), bool(modes & termios.ECHO)]))
print("THE EDITOR HAS THE TERMINAL", flush=True)
old, new = sys.stdin.readline().split()
path.write_text(path.read_text().replace(old, new))
"""


@pytest.fixture
def editor(tmp_path: Path) -> tuple[str, Path]:
    """The command line of an editor that takes its orders, `OLD NEW`, as a line of the terminal; and where it tells what it was given."""
    script, told = tmp_path / "an editor.py", tmp_path / "told"
    script.write_text(PROGRAM.format(told=str(told)), encoding="utf-8")
    return f"{sys.executable} '{script}' --wait", told


def edited(console: Terminal, told: Path, path: Path, order: bytes) -> int:
    """The editor comes by its key, is given an order, and ends; gives how many bytes had come when it was told."""
    before = len(console.seen)
    console.type(b"\x1be")
    console.read_until(b"THE EDITOR HAS THE TERMINAL", before)
    assert b"\x1b[?1049l" in console.seen[before:], "the console's screen was put aside first"
    arguments, lines, echo = ast.literal_eval(told.read_text(encoding="utf-8"))
    assert (arguments, lines, echo) == (["--wait", str(path)], True, True), "a terminal as a shell has it"
    after = len(console.seen)
    console.type(order + b"\n")
    console.read_until(b"\x1b[?1049h", after)
    return after


def test_a_persons_editor_changes_a_spec_and_what_it_changed_is_told(
    editor: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, told = editor
    path = tmp_path / "here" / "agent.yaml"
    path.parent.mkdir()
    path.write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(path.parent)
    with terminal(tmp_path / "report", EDITOR=command, VISUAL="") as console:
        console.read_until(b"sum-000")
        console.type(b"F")
        console.read_until(b"+ not applied")
        after = edited(console, told, path, b"families famlies")
        console.read_until(b"! 1 fault", after)
        # In the console's own editor the same: its text, its problems and its mark beside the line follow the file.
        before = len(console.seen)
        console.type(b"\r")
        console.read_until(b"! 1 problem", before)
        after = edited(console, told, path, b"famlies families")
        console.read_until(b"was changed on disk", after)
        console.read_until("✓ no problem".encode(), after)
        # Keys reach the console again, and the next thing typed is text of the file.
        console.type(b"#")
        console.read_until("● not saved".encode(), after)
        assert path.read_text(encoding="utf-8") == GOOD
        console.child.terminate()
        console.read_to_end()
    for sequence in RESTORED:
        assert console.seen.rfind(sequence) > console.seen.rfind(b"\x1b[?1049h")
    assert b"Traceback" not in console.seen


def test_an_editor_that_fails_or_is_none_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with terminal(tmp_path / "report", EDITOR="/no/such/editor", VISUAL="") as console:
        console.read_until(b"sum-000")
        console.type(b"F")
        console.read_until(b"+ not applied")
        console.type(b"\x1be")
        console.read_until(b"/no/such/editor cannot be started")
        console.child.terminate()
        console.read_to_end()
    assert path.read_text(encoding="utf-8") == GOOD
