"""The process that is measured: a workspace's backend at work, on its unix socket and on TCP with TLS, with two probes in its event loop.

It differs from the detached scheduler (`local_backend/hosting/scheduler_service.py`) in that it listens on TCP as well and takes orders on
standard input, one JSON object a line, each answered by one line: watch in process, make a snapshot, tell how late the event loop was.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arrivals import arrivals, now_ns, wall_offset_ns

from local_backend.backend import LocalBackend, open_local
from local_backend.daemon.access import Role
from local_backend.daemon.documents import snapshot_text
from local_backend.daemon.server import TcpListen, serving
from local_backend.daemon.tokens import FILE_NAME, TokenStore
from local_backend.hosting.places import new_record, remove_record, socket_path, write_record
from nodus_tui.contract.backend import BackendOptions

_LAG_LOOK_SECONDS = 0.01


class LagProbe:
    """How much later than asked for the event loop comes back: what any other work of this process has to wait."""

    def __init__(self) -> None:
        self._late_ms: list[float] = []

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            before = now_ns()
            await asyncio.sleep(_LAG_LOOK_SECONDS)
            self._late_ms.append((now_ns() - before) / 1e6 - 1000 * _LAG_LOOK_SECONDS)

    async def take(self) -> list[float]:
        """The milliseconds of each sample since the last time, the one that is being taken included."""
        await asyncio.sleep(2 * _LAG_LOOK_SECONDS)
        taken, self._late_ms = self._late_ms, []
        return taken


async def _answer(order: Mapping[str, Any], backend: LocalBackend, probe: LagProbe) -> dict[str, Any]:
    if order["do"] == "watch":
        return {"arrivals": await arrivals(backend, after=order["after"], until=datetime.fromisoformat(order["until"]))}
    if order["do"] == "snapshot":
        began = now_ns()
        made = await backend.snapshot(runs_of="")
        return {"ms": (now_ns() - began) / 1e6, "runs": len(made.runs)}
    if order["do"] == "size":
        return {"bytes": len((await snapshot_text(await backend.snapshot(runs_of=""))).encode())}
    if order["do"] == "lags":
        return {"lateMs": await probe.take()}
    raise ValueError(order["do"])


async def _orders() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def _work(options: argparse.Namespace) -> None:
    home: Path = options.home
    offset = wall_offset_ns()
    async with await open_local(BackendOptions(home=home, config=options.config, role="work")) as backend:
        path = socket_path(home, os.environ)
        token = TokenStore(home / FILE_NAME).create("benchmark", Role.OPERATOR, now=datetime.now(UTC))
        listen = TcpListen(certificate=options.certificate, key=options.key)
        async with serving(backend, socket_path=path, listen=listen, tokens=home / FILE_NAME) as served:
            write_record(home, new_record(path, options.config, os.environ))
            probe = LagProbe()
            probing = asyncio.create_task(probe.run(), name="lag probe")
            told: dict[str, Any] = {"socket": str(path), "port": served.port, "token": token, "wallOffsetNs": offset}
            print(json.dumps(told), flush=True)
            reader = await _orders()
            while line := await reader.readline():
                print(json.dumps(await _answer(json.loads(line), backend, probe)), flush=True)
            probing.cancel()
    remove_record(home)


def main() -> None:
    """Work until standard input ends."""
    parser = argparse.ArgumentParser(description="The scheduler that event_latency.py measures.")
    for name in ("home", "config", "certificate", "key"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    asyncio.run(_work(parser.parse_args()))


if __name__ == "__main__":
    main()
