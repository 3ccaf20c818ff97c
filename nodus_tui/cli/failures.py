"""What went wrong, as one sentence on stderr and an exit code. Details of the unexpected go to a log file, never to the screen."""

import contextlib
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from traceback import format_exception

import click

from nodus_tui.cli.exits import EXIT_BY_ERROR, Exit
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.text import safe_text

_OURS = frozenset({"nodus_tui", "local_backend"})
"""The packages whose code one update replaces."""


def report(error: Exception) -> int | None:
    """Tell a person, and give the exit code; None with NODUS_DEBUG=1 for the unexpected, which is then to be raised."""
    code = _expected(error)
    if code is None and os.environ.get("NODUS_DEBUG") != "1":
        say(_kept_in_log(error))
        code = Exit.INFRASTRUCTURE
    return code


def _expected(error: Exception) -> int | None:
    """Tell an error that a verb may end with; None for any other."""
    code: int | None = None
    if isinstance(error, click.exceptions.Exit):
        code = error.exit_code
    elif isinstance(error, click.Abort):
        say("interrupted")
        code = Exit.INTERRUPTED
    elif isinstance(error, BrokenPipeError):
        discard_stdout()
        code = Exit.DONE
    elif isinstance(error, click.ClickException):
        _tell_usage(error)
        code = Exit.USAGE
    elif isinstance(error, NodusError):
        for fault in error.faults:
            say(fault.sentence(), prefix="")
        say(error.detail + _where_listed(error))
        code = EXIT_BY_ERROR[error.code]
    return code


def _where_listed(error: NodusError) -> str:
    """Which verb lists what there is, where a name is nothing's and none is near it."""
    named = re.fullmatch(r'there is no (\w+) ".*"', error.detail, re.DOTALL) if error.code is ErrorCode.NOT_FOUND else None
    if named is None:
        return ""
    # Imported here: needed for names that are nothing's only.
    from nodus_tui.cli.targets import KIND_NAMES  # noqa: PLC0415

    if named[1].lower() == "environment":
        return "; `nodus-tui environment list` lists those that there are"
    plurals = [words[0] for kind, words in KIND_NAMES.items() if kind == named[1]]
    return f"; `nodus-tui get {plurals[0]}` lists those that there are" if plurals else ""


def say(sentence: str, *, prefix: str = "nodus-tui: ") -> None:
    """One sentence on stderr. It may quote a spec, a task or a model: control characters are shown, not sent."""
    # Nobody reads stderr any more, or the disk that it goes to is full: there is no one left to tell, and the exit code still tells.
    with contextlib.suppress(OSError):
        click.echo(prefix + safe_text(sentence), err=True)


def discard_stdout() -> None:
    """The reader of stdout has gone: what is still written goes nowhere, and leaving does not complain about it."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _tell_usage(error: click.ClickException) -> None:
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        # In one line, which the terminal wraps: click would break choices in two with a line break, which is a control character.
        say(" ".join(("Usage:", context.command_path, *context.command.collect_usage_pieces(context))), prefix="")
    say(error.format_message())
    if context is not None:
        say(f"see `{context.command_path} --help`")


def _kept_in_log(error: Exception) -> str:
    # Imported here: needed for the unexpected only.
    from nodus_tui.cli.logs import log_path  # noqa: PLC0415

    name, path = type(error).__name__, log_path()
    what = f"an unexpected {name}: {error}"
    if _code_replaced(error):
        what = "what is installed here was replaced while this ran, and the new code does not fit the old: start it again"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%SZ} {os.getpid()} unexpected\n{''.join(format_exception(error))}")
    except OSError as refused:
        return f"{what}. Its details could not be kept ({refused}); NODUS_DEBUG=1 shows them"
    return f"{what}. Details are in {path}"


def _code_replaced(error: Exception) -> bool:
    """Whether a part of ours that was loaded late does not fit what is loaded: its code is newer than this process, or gone."""
    if not isinstance(error, ImportError) or (error.name or "").partition(".")[0] not in _OURS:
        return False
    import psutil  # noqa: PLC0415 - needed for the unexpected only

    try:
        return error.path is None or Path(error.path).stat().st_mtime > psutil.Process().create_time()
    except OSError:
        return True
