"""The console in a real tmux: launch, kill the tmux server, attach again; the campaign went on meanwhile and nothing is missing."""

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_workspace import COMMAND
from detached import DetachedWorkspace, going, in_folder, scored

pytestmark = pytest.mark.timeout(150)

_PATIENCE_SECONDS = 60.0
"""How long a screen may take on a busy machine before a wait counts as one in vain."""


@pytest.fixture
def tmux(tmp_path: Path) -> "Iterator[Tmux]":
    if shutil.which("tmux") is None:
        why = "this needs tmux: apt-get install tmux"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    found = Tmux(tmp_path)
    yield found
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

    def screen(self) -> str:
        return self._call("capture-pane", "-p")

    async def reads(self, *parts: str) -> str:
        """The screen once all of these stand on it; after a wait in vain the failure shows what stood there instead."""
        text = ""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while True:
                    text = await asyncio.to_thread(self.screen)
                    if all(part in text for part in parts):
                        return text
                    # Each look is a process: without a pause they take the processor from what is waited for.
                    await asyncio.sleep(0.1)
        except TimeoutError:
            pytest.fail(f"the screen never showed {parts}, but:\n{text}")

    def kill(self) -> None:
        self._call("kill-server")


def cases_of(screen: str) -> list[int]:
    """The cases whose rows stand on the group's screen with a verdict."""
    return [int(found[1]) for line in screen.splitlines() if (found := re.match(r"^\W*(\d+) .*Correct", line))]


async def test_a_campaign_outlives_its_terminal(tmux: Tmux) -> None:
    place: DetachedWorkspace = tmux.place
    place.spec(family="steady", tasks=12, active=2)
    tmux.open()
    await tmux.reads("No campaigns yet", "work goes on without this window")
    tmux.type("l")
    await tmux.reads("hello.yaml")
    tmux.type("Enter")
    await tmux.reads("Enter launches hello")
    tmux.type("Enter")
    await tmux.reads("AgentGroup hello created")
    await place.group_when("hello", going(2))
    record = place.record()

    tmux.kill()
    await place.group_when("hello", scored(4))
    assert place.record() == record

    # It opens where it was left.
    tmux.open()
    screen = await tmux.reads("campaigns › hello", "12/12 scored")
    while len(cases_of(screen)) < 12:  # The head of the view may be painted before the last row.
        screen = await tmux.reads("12/12 scored")
    assert cases_of(screen) == list(range(1, 13)), "no gap in the table"
    assert place.record() == record
    results = json.loads((await asyncio.to_thread(place.installed, "results", "hello", "--json")).stdout)
    assert results["coverage"] == {"scored": 12, "total": 12}
    assert results["cost"]["unconfirmedUSD"] == "0.00"


async def test_leaving_the_console_says_that_the_work_goes_on(tmux: Tmux) -> None:
    place: DetachedWorkspace = tmux.place
    assert place.called("apply", "-f", place.spec(family="slow", tasks=1)).returncode == 0
    tmux.open(shell=True)
    await tmux.reads("campaigns", "hello", "work goes on without this window")
    tmux.type("q")
    await tmux.reads("work goes on in the background (hello)")
    await place.group_when("hello", going(1))
