"""The console as a process of its own, on recorded values: for tests that need a real terminal and real signals."""

import asyncio
import os
import signal
import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "view_state")]

from console_records import every_kind_of_run, group
from scripted_backend import ScriptedBackend

from nodus_tui.cli.failures import report
from nodus_tui.opening import show_console
from nodus_tui.wishes import Wishes, wish

if __name__ == "__main__":
    backend = ScriptedBackend([group()], every_kind_of_run(), scheduling=True)
    if "broken" in sys.argv[2:]:
        backend.breaks = ZeroDivisionError("a fault that no backend should have")
    if "deaf" in sys.argv[2:]:
        # As nohup leaves it.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if "leader" in sys.argv[2:]:
        # As a window's first program: the terminal is its own, and hangs up with SIGHUP and SIGCONT.
        os.close(os.open(os.ttyname(0), os.O_RDWR))
    if "no-mouse" in sys.argv[2:]:
        wish(Wishes(mouse=False))
    try:
        code = asyncio.run(show_console(backend, start_at="fleet"))
    except ZeroDivisionError as error:
        # As the command line does it with whatever a verb raises.
        code = report(error) or 0
    Path(sys.argv[1]).write_text(f"{backend.stopped_with}", encoding="utf-8")
    sys.exit(code)
