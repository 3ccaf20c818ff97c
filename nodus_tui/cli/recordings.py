"""Recordings on the command line: beginning one around an open backend, and what is said when it has ended."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path

from nodus_tui import __version__
from nodus_tui.cli.failures import say
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.playback import place_text
from nodus_tui.recording.file import MOST_BYTES, RecordingFile
from nodus_tui.recording.lines import Header, secret_values
from nodus_tui.recording.recording_backend import RecordingBackend, recording


async def begin_recording(backend: Backend, path: Path, *, most_bytes: int = MOST_BYTES) -> RecordingBackend:
    """The backend with a recording around it; closing it closes both. Raises NodusError, having closed it, where none can be made."""
    try:
        info = await backend.info()
        header = Header(started_at=datetime.now(UTC), program=__version__, of=f"{info.name} at {info.workspace}")
        file = RecordingFile(path, header, clock=time.monotonic, secrets=secret_values(dict(os.environ)), most_bytes=most_bytes)
    except NodusError:
        await backend.aclose()
        raise
    return recording(backend, file)


def tell_recorded(backend: RecordingBackend) -> bool:
    """Say what came of it; whether it was recorded to its end."""
    file = backend.file
    if file.problem:
        say(file.problem)
    say(f"recorded {place_text(file.seconds())} to {file.path} ({file.size / 1_048_576:.1f} MiB); `nodus-tui replay` shows it")
    return not file.problem
