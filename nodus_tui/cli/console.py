"""Opening the full-screen console: the one place of the command line that loads it."""

import sys

import click


def has_terminal() -> bool:
    """Whether there is a terminal to draw on and to read keys from."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def open_console() -> int:
    """The console on the user's workspace; gives its exit code. Raises UsageError without a terminal."""
    if not has_terminal():
        raise click.UsageError("the console needs a terminal; the verbs work without one, see `nodus-tui --help`")
    # Checked before the import: a configuration that names no file is told without loading a screen.
    from nodus_tui.cli.logs import log_to_file  # noqa: PLC0415
    from nodus_tui.connect import backend_options, connect  # noqa: PLC0415

    options = backend_options("work")
    log_to_file()
    from nodus_tui.app import run_console  # noqa: PLC0415 - the screen library is loaded only here

    return run_console(options, lambda: connect("work"))
