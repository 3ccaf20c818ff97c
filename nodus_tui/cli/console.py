"""Opening the full-screen console: the one place of the command line that loads it."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodus_tui.cli.failures import say
from nodus_tui.contract.backend import Backend
from nodus_tui.view_state.views import destination, destinations

if TYPE_CHECKING:
    from nodus_tui.recording.recording_backend import RecordingBackend


def _lacking() -> str:
    """What the console lacks here, and what to do; empty where it can be shown."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return "the console needs a terminal; the verbs work without one, see `nodus-tui --help`"
    term = os.environ.get("TERM", "")
    if term in {"", "dumb", "unknown"}:
        named = f"TERM={term} names one that cannot" if term else "TERM is not set, so nothing is known of this one"
        return (
            f"the console needs a terminal that can move its cursor; {named}. "
            "The verbs work without, see `nodus-tui --help`; where the terminal can, TERM=xterm-256color says so"
        )
    return ""


def has_terminal() -> bool:
    """Whether there is a terminal to draw on and to read keys from."""
    return not _lacking()


def open_console(*, record_to: str | None = None, at: str = "") -> int:
    """The console on the user's workspace; gives its exit code. Raises UsageError without a terminal.

    With `record_to`, what it shows is written to that file, which must be new; `at` is where it begins. Raises UsageError where there is no
    such view.
    """
    name, _, which = at.partition("/")
    if at and (name not in {"group", "sweep"} if which else destination(name) is None):
        known = ", ".join(entry.view.value for entry in destinations())
        raise click.UsageError(f"--at takes a view ({known}), group/NAME or sweep/NAME")
    if lacking := _lacking():
        raise click.UsageError(lacking)
    # Checked before the import: a configuration that names no file is told without loading a screen.
    from nodus_tui.cli.logs import log_to_file  # noqa: PLC0415
    from nodus_tui.connect import backend_options, connect  # noqa: PLC0415
    from nodus_tui.tidying import not_before_begin  # noqa: PLC0415

    not_before_begin()
    options = backend_options("work")
    log_to_file()
    from nodus_tui.opening import run_console  # noqa: PLC0415 - the screen library is loaded only here

    async def reach() -> Backend:
        backend = await connect("work", waiting=lambda sentence: None if shown else say(sentence))
        # From here on the screen has the terminal, and tells of the link itself.
        shown.append(True)
        if record_to is None:
            return backend
        from nodus_tui.cli.recordings import begin_recording  # noqa: PLC0415 - few consoles are recorded

        recordings.append(await begin_recording(backend, Path(record_to)))
        return recordings[0]

    shown: list[bool] = []
    recordings: list[RecordingBackend] = []
    code = run_console(options, reach, first_view=at)
    if recordings:
        from nodus_tui.cli.recordings import tell_recorded  # noqa: PLC0415 - see above

        tell_recorded(recordings[0])
    return code
