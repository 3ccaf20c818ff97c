"""The process of one browser's console: it draws, is told why it cannot begin, and does not outlive the server behind it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("textual_serve")


def console(folder: Path, **environment: str) -> subprocess.Popen[bytes]:
    own = {"TEXTUAL_DRIVER": "nodus_tui.browser_driver:BrowserDriver", "COLUMNS": "100", "ROWS": "30", "NODUS_HOME": str(folder / "home")}
    return subprocess.Popen(
        [sys.executable, "-m", "nodus_tui.cli.browser_console", "viewer", "ann", "jobs"],
        env={**os.environ, **own, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def packets(process: subprocess.Popen[bytes]) -> list[tuple[bytes, bytes]]:
    """All packets to its end."""
    assert process.stdout is not None
    assert process.stdout.readline() == b"__GANGLION__\n"
    found = []
    while kind := process.stdout.read(1):
        found.append((kind, process.stdout.read(int.from_bytes(process.stdout.read(4), "big"))))
    return found


def test_it_ends_when_the_server_is_gone(tmp_path: Path) -> None:
    with console(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"__GANGLION__\n"
        drawn = b""
        while b"jobs" not in drawn:
            piece = process.stdout.read1(65_536)
            assert piece, process.stderr.read() if process.stderr is not None else ""
            drawn += piece
        # Whatever kills a server closes this.
        process.stdin.close()
        process.stdout.read()
        assert process.wait(20) == 129
        assert process.stderr is not None
        assert process.stderr.read() == b"", "its errors are in the log of the machine"


def test_why_it_cannot_begin_is_told_to_the_browser(tmp_path: Path) -> None:
    with console(tmp_path, NODUS_CONFIG=str(tmp_path / "none\x1b[2J.yaml")) as process:
        ((kind, payload),) = packets(process)
        assert process.wait(20) == 2
    told = json.loads(payload)
    assert (kind, told["type"]) == (b"M", "failed")
    assert "NODUS_CONFIG names" in told["detail"]
    assert "\x1b" not in told["detail"]
