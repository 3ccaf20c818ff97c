"""Reading a text in the person's own programs: the console is put aside, $PAGER or $EDITOR has the terminal, and gives it back.

The text lies in a file of its own that only its owner can read, and which is gone afterwards.
"""

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from textual.app import App, SuspendNotSupported

from nodus_tui.view_state.cells import Tone

if TYPE_CHECKING:
    from nodus_tui.screens.base import ViewScreen

Role = Literal["pager", "editor"]
_VARIABLES: dict[Role, tuple[str, ...]] = {"pager": ("PAGER",), "editor": ("VISUAL", "EDITOR")}
_USUAL: dict[Role, tuple[str, ...]] = {"pager": ("less", "more"), "editor": ("nano", "vi")}
"""What is looked for where the person has named none."""
_WITHOUT_A_SCREEN = frozenset({"", "dumb"})
"""Terminals on which `less` and editors cannot move about: there a pager shows one page after the other."""


def program_for(role: Role, environ: Mapping[str, str]) -> list[str]:
    """The command line of the person's pager or editor; empty where there is none. Raises ValueError for one that cannot be read."""
    named = next((environ[name] for name in _VARIABLES[role] if environ.get(name, "").strip()), "")
    if named:
        return shlex.split(named)
    usual = _USUAL[role]
    if role == "pager" and environ.get("TERM", "") in _WITHOUT_A_SCREEN:
        usual = ("more", "less")
    return next(([found] for name in usual if (found := shutil.which(name, path=environ.get("PATH"))) is not None), [])


async def open_outside(screen: "ViewScreen", role: Role, name: str, text: str) -> None:
    """Show a text in the person's pager, or give its editor a copy; says afterwards how that went."""
    variable = _VARIABLES[role][-1]
    try:
        program = program_for(role, os.environ)
    except ValueError as error:
        screen.notice(f"! ${variable} cannot be read as a command: {error}.", Tone.BAD)
        return
    if not program:
        screen.notice(f"There is no {role} on this machine; set ${variable} to one.", Tone.WARN)
        return
    try:
        with _file(name, text) as path:
            code = await lend_terminal(screen.app, [*program, str(path)])
    except SuspendNotSupported:
        screen.notice(f"This console cannot lend its terminal to a {role}; `nodus-tui describe` shows the same.", Tone.WARN)
    except OSError as error:
        screen.notice(f"! {program[0]} cannot be started: {error.strerror or error}. ${variable} names another {role}.", Tone.BAD)
    else:
        if code:
            screen.notice(f"{program[0]} ended with exit code {code}.", Tone.WARN)
        elif role == "editor":
            screen.notice("It was a copy: what was changed there changes nothing here.", Tone.MUTED)
    screen.show()


async def lend_terminal(app: App[Any], command: list[str]) -> int:
    """Put the console aside, run a program in the foreground, and give its exit code.

    Raises SuspendNotSupported, or the OSError for which it did not start, with the console as it was before.
    """
    failed: OSError | None = None
    code = 0
    # Nothing is painted over the program's screen: the driver has no terminal to paint on until it has it back. And nothing is raised
    # within: the library would keep the terminal given away.
    with app.suspend(), app.batch_update():
        try:
            code = await run_in_front(command)
        except OSError as error:
            failed = error
    if failed is not None:
        raise failed
    return code


@contextmanager
def _file(name: str, text: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="nodus-tui-") as folder:
        path = Path(folder) / f"{name}.md"
        path.write_text(text + "\n", encoding="utf-8", errors="replace")
        path.chmod(0o600)
        yield path


async def run_in_front(command: list[str]) -> int:
    """Run a program in the foreground to its end. Ctrl-C is for it alone, meanwhile."""
    # A handler, not a signal that is ignored: the program would inherit that.
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: None)
    try:
        process = await asyncio.create_subprocess_exec(*command)
        return await process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
