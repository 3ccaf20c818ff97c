"""The console for one browser, as `nodus-tui web` starts it: `python -m nodus_tui.cli.browser_console ROLE AUTHOR VIEW`."""

import json
import os
import sys
from typing import Literal

from nodus_tui.cli.failures import report
from nodus_tui.cli.logs import log_path, log_to_file
from nodus_tui.connect import backend_options, connect
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError
from nodus_tui.text import safe_text
from nodus_tui.web.process import FAILED
from nodus_tui.wrapped.looking import looking

_BEGINNING = b"__GANGLION__\n"
"""With this line an application tells textual-serve that it speaks its protocol."""


def main(role: Literal["viewer", "operator"], author: str, view: str) -> int:
    """Show the console until the browser goes; gives the exit code."""
    log_to_file()
    _errors_to_log()
    from nodus_tui.opening import run_console  # noqa: PLC0415 - what cannot be reached is told without loading a screen

    async def reach() -> Backend:
        # An operator's console sees to it that somebody works, and never works itself: it ends with its browser.
        return looking(await connect("order" if role == "operator" else "look"), role, author)

    try:
        return run_console(backend_options("look"), reach, first_view=view, in_browser=True)
    except NodusError as error:
        _tell(error.detail)
        return report(error) or 1


def _errors_to_log() -> None:
    """What Python itself writes about a failure belongs to the log of this machine, and not on the terminal of the server."""
    path = log_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(file, 2)
    os.close(file)


def _tell(detail: str) -> None:
    """Tell the browser why there is no console."""
    message = json.dumps({"type": FAILED, "detail": safe_text(detail)}).encode()
    os.write(1, _BEGINNING + b"M" + len(message).to_bytes(4, "big") + message)


if __name__ == "__main__":
    sys.exit(main("operator" if sys.argv[1] == "operator" else "viewer", sys.argv[2], sys.argv[3]))
