"""The console as a process of its own, on recorded values: for tests that need a real terminal and real signals."""

import asyncio
import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "view_state")]

from console_records import every_kind_of_run, group
from scripted_backend import ScriptedBackend

from nodus_tui.app import show_console

if __name__ == "__main__":
    backend = ScriptedBackend([group()], every_kind_of_run(), scheduling=True)
    code = asyncio.run(show_console(backend, start_at="fleet"))
    Path(sys.argv[1]).write_text(f"{backend.stopped_with}", encoding="utf-8")
    sys.exit(code)
