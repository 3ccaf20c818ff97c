"""The installed command in a real tmux, in a workspace whose work a detached scheduler does."""

import asyncio
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from cli_workspace import COMMAND
from detached import in_folder

PATIENCE_SECONDS = 60.0
"""How long a screen may take on a busy machine before a wait counts as one in vain."""


@contextmanager
def tmux_in(folder: Path) -> "Iterator[Tmux]":
    """A tmux of our own; where there is none the test is skipped, and fails in CI."""
    if shutil.which("tmux") is None:
        why = "this needs tmux: apt-get install tmux"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    found = Tmux(folder)
    try:
        yield found
    finally:
        found.kill()


class Tmux:
    """A tmux server of our own, with one window."""

    def __init__(self, folder: Path) -> None:
        self.place = in_folder(folder)
        self._socket = str(folder / "t")

    def _call(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", self._socket, "-f", "/dev/null", *words], capture_output=True, text=True, check=False)
        return done.stdout

    def open(self, *, shell: bool = False) -> None:
        """Start the console; with `shell` the window stays when it ends."""
        variables = {**self.place.environment, "TERM": "screen-256color"}
        names = [f"{name}={value}" for name, value in variables.items() if name.startswith(("NODUS_", "TERM", "PATH", "HOME", "LANG"))]
        command = shlex.join(["env", "-u", "NO_COLOR", "-u", "NODUS_IN_PROCESS", *names, str(COMMAND)])
        command += "; exec sleep 600" if shell else ""
        self._call("new-session", "-d", "-x", "120", "-y", "30", "-c", str(self.place.folder), command)

    def type(self, *keys: str) -> None:
        self._call("send-keys", *keys)

    def enter(self) -> None:
        """Enter of a person who has looked: a key in between, which does nothing, says that it is not the one before, held down."""
        self.type("F7", "Enter")

    def text(self, text: str) -> None:
        """Type letters, none of which is a name of a key."""
        self._call("send-keys", "-l", text)

    def screen(self) -> str:
        return self._call("capture-pane", "-p")

    async def reads(self, *parts: str) -> str:
        """The screen once all of these stand on it; after a wait in vain the failure shows what stood there instead."""
        text = ""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    text = await asyncio.to_thread(self.screen)
                    if all(part in text for part in parts):
                        return text
                    # Each look is a process: without a pause they take the processor from what is waited for.
                    await asyncio.sleep(0.1)
        except TimeoutError:
            pytest.fail(f"the screen never showed {parts}, but:\n{text}")

    def kill(self) -> None:
        """End it, and whatever runs in it: a console on its way out would start the scheduler that a test's end has killed."""
        running = [int(pid) for pid in self._call("list-panes", "-a", "-F", "#{pane_pid}").split()]
        processes = [each for pid in running for each in _with_children(pid)]
        self._call("kill-server")
        _, left = psutil.wait_procs(processes, timeout=PATIENCE_SECONDS)
        assert not left, f"the terminal is gone, and these go on: {left}"


def _with_children(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
