"""Runs a command in a container for as long as somebody holds its standard input: run with the harness's own Python.

usage: python tied.py FILE COMMAND [ARGUMENT...]. When its input ends, because whoever started the container has ended in whatever way,
everything in the container is killed. SIGTERM goes on to everything in it. The command's exit status is written into the file.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

_KILLED = 128 + signal.SIGKILL
_EVERYBODY = -1
"""For kill: all that this process may send to, but itself and the container's first process."""


def _until_let_go() -> None:
    while os.read(0, 4096):
        continue
    os._exit(_KILLED)  # The container's first process ends with this one, and the kernel kills all the others.


def _pass_on(*_: object) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(_EVERYBODY, signal.SIGTERM)


def main() -> int:
    """Run it to its end."""
    said = Path(sys.argv[1])
    said.touch()  # So that who waits knows that it came so far.
    threading.Thread(target=_until_let_go, daemon=True).start()
    # A SIGTERM that comes before there is anybody to pass it on to ends this process, and so the container.
    with subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL) as child:  # noqa: S603 - the harness's command
        signal.signal(signal.SIGTERM, _pass_on)
        code = child.wait()
    code = code if code >= 0 else 128 - code
    said.write_text(str(code), encoding="ascii")
    return code


if __name__ == "__main__":
    sys.exit(main())
