"""A command that runs the scheduler in its own process dies with its terminal: what it leaves is consistent, and the next one goes on."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from disk_checks import check_disk, check_ended
from kill_campaigns import KillCampaigns

pytestmark = pytest.mark.timeout(120)

CASES = 16


_ON_A_TERMINAL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes standard input the controlling terminal of a new session, then becomes the command."""


def _command(config: Path, home: Path, spec: Path) -> tuple[subprocess.Popen[bytes], int]:
    """`nodus-tui run` as the leader of a session on a terminal of its own, and our end of the terminal."""
    terminal, theirs = pty.openpty()
    environment = {**os.environ, "NODUS_CONFIG": str(config), "NODUS_HOME": str(home), "NODUS_IN_PROCESS": "1", "TERM": "xterm"}
    program = str(Path(sys.executable).with_name("nodus-tui"))
    command = [sys.executable, "-c", _ON_A_TERMINAL, program, "run", "-f", str(spec)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True)
    os.close(theirs)
    return process, terminal


DEATHS: dict[str, Callable[[int, int], None]] = {
    "SIGHUP": lambda pid, _: os.kill(pid, signal.SIGHUP),
    "SIGTERM": lambda pid, _: os.kill(pid, signal.SIGTERM),
    "SIGKILL": lambda pid, _: os.kill(pid, signal.SIGKILL),
    "closed terminal": lambda _, terminal: os.close(terminal),
}


@pytest.mark.parametrize("read", [True, False], ids=["its output read", "its output never read"])
@pytest.mark.parametrize("death", list(DEATHS))
async def test_a_client_that_dies_in_the_middle_leaves_everything_that_was_paid(tmp_path: Path, death: str, read: bool) -> None:
    place = KillCampaigns(tmp_path, seed=7, cases=CASES, turns=3)
    async with place._server as server:
        place._write_config()
        spec = place._write_spec("campaign-1")
        enough = asyncio.Event()
        server.on_reply = lambda: enough.set() if len(server.bill) >= 12 else None
        process, terminal = _command(place._config, place._home, spec)
        loop = asyncio.get_running_loop()
        if read:
            loop.add_reader(terminal, _read_away, loop, terminal)
        await enough.wait()
        loop.remove_reader(terminal)
        DEATHS[death](process.pid, terminal)
        if death != "closed terminal" and read:
            loop.add_reader(terminal, _read_away, loop, terminal)
        await asyncio.to_thread(process.wait)
        if death != "closed terminal":
            loop.remove_reader(terminal)
            os.close(terminal)
        check_disk(place._database, server.bill, place._kept)
        child = await place._load(spec)
        await child.let_go()
        assert (await child.ended()).strip() == b"Completed"
        check_disk(place._database, server.bill, place._kept)
        check_ended(place._database, "campaign-1", CASES, server.bill)


def _read_away(loop: asyncio.AbstractEventLoop, terminal: int) -> None:
    try:
        if os.read(terminal, 65536):
            return
    except OSError:
        # The other end is closed.
        pass
    loop.remove_reader(terminal)
