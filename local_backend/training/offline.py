"""Starting a command without a network, where this machine lets anybody take one away."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_backend.jobs.child import StartError, leave_network


class NoNetworkToTakeError(Exception):
    """The network cannot be taken from a command here; the text is a sentence."""


def start(command: Sequence[str], environ: Mapping[str, str], folder: Path, *, network: bool) -> "subprocess.Popen[bytes]":
    """Start it, its output and errors in one pipe. Raises OSError, and NoNetworkToTakeError where it is to have none and has one."""
    try:
        return subprocess.Popen(  # noqa: S603 - the harness's command, which no shell reads
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(environ),
            preexec_fn=None if network else _leave,  # noqa: PLW1509 - there is no other thread in this process
        )
    except subprocess.SubprocessError:
        raise NoNetworkToTakeError("this system lets nobody take the network from a command") from None


def _leave() -> None:
    try:
        leave_network()
    except StartError as error:
        raise OSError(str(error)) from error
