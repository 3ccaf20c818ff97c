"""Ports for servers that must be told beforehand where to listen.

Between the choice and the server's start nobody else may be given the port. Whoever asks the system for any port, as servers and
connections of other tests do all the time, gets one of its own range: those here lie below it, and each worker of pytest has some apart.
"""

import itertools
import os
import random
import socket
from pathlib import Path

_FIRST = 12_000
_EACH = 1_000
"""Ports of one worker."""


def _turns() -> "itertools.cycle[int]":
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw") or 0)
    below = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    workers = max((below - _FIRST) // _EACH, 1)
    first = _FIRST + worker % workers * _EACH
    # Another run on this machine does not begin with the same.
    begin = random.randrange(_EACH)
    return itertools.cycle(first + (begin + number) % _EACH for number in range(_EACH))


_turn = _turns()


def free_port() -> int:
    """A port of loopback that nobody has, nor is given while this run lasts."""
    for port in itertools.islice(_turn, _EACH):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no port is free")
