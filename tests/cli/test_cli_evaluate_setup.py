"""`evaluate setup` makes one environment at a time. The Python is a STAND-IN: nothing is fetched."""

import fcntl
import subprocess
from pathlib import Path

import pytest
from cli_workspace import COMMAND, Workspace

from nodus_tui.contract.evaluation import managed_folder, managed_python

STAND_IN = """#!/bin/sh
# `python -m venv FOLDER` makes FOLDER/bin/python; all else, `-m pip` among it, does nothing.
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
"""

pytestmark = pytest.mark.timeout(60)


def test_two_that_make_the_environment_take_turns(workspace: Workspace) -> None:
    cache = workspace.folder / "cache"
    python = workspace.folder / "stand-in"
    python.write_text(STAND_IN, encoding="utf-8")
    python.chmod(0o755)
    environ = {**workspace.environment, "NODUS_CACHE": str(cache)}
    held = Path(f"{managed_folder(cache)}.lock")
    held.parent.mkdir(parents=True)
    with held.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with subprocess.Popen(
            [COMMAND, "evaluate", "setup", "--api", "--python", str(python)], env=environ, stderr=subprocess.PIPE, text=True
        ) as setup:
            assert setup.stderr is not None
            assert "without torch" in setup.stderr.readline()
            assert "another `nodus-tui evaluate setup` is making it already" in setup.stderr.readline()
            assert not managed_python(cache).exists()
            fcntl.flock(other, fcntl.LOCK_UN)
            assert "done;" in setup.stderr.read()
    assert setup.returncode == 0
    assert managed_python(cache).is_file()
