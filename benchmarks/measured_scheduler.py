"""The scheduler that is measured, from outside: started with probes in it, asked through its input, and shown by `nodus-tui serve`.

Knows how to reach it by every way. Measures nothing.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import trustme
from arrivals import Arrival
from measuring import BenchmarkError
from msgspec import Struct

from nodus_tui.remote.address import Address, socket_address

_LONGEST_ANSWER = 64 * 1024 * 1024
_SERVE_SECONDS = 30.0


class Certificates(Struct, frozen=True):
    """A certificate authority of our own, and a server's certificate by it, as PEM files."""

    authority: Path
    certificate: Path
    key: Path

    @classmethod
    def make(cls, folder: Path) -> "Certificates":
        """Make them for this machine's own name."""
        made = cls(folder / "ca.pem", folder / "certificate.pem", folder / "key.pem")
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(made.authority))
        issued = authority.issue_cert("localhost", "127.0.0.1")
        made.certificate.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(made.key))
        return made


class MeasuredScheduler:
    """`latency_scheduler.py` in a process of its own."""

    def __init__(
        self, child: asyncio.subprocess.Process, home: Path, config: Path, certificates: Certificates, told: dict[str, Any]
    ) -> None:
        self._child = child
        self._config = config
        self._certificates = certificates
        self._token: str = told["token"]
        self.home = home
        self.process = psutil.Process(child.pid)
        self.wall_offset_ns: int = told["wallOffsetNs"]
        """What its backend's times are ahead of `arrivals.now_ns`."""
        self.on_socket: Address = socket_address(Path(told["socket"]))
        self.on_tcp = self._tcp(f"https://localhost:{told['port']}")

    @classmethod
    @asynccontextmanager
    async def start(cls, folder: Path, configuration: str, certificates: Certificates) -> AsyncIterator["MeasuredScheduler"]:
        """Start it over an empty workspace in the folder; it ends with the block, its runs unfinished."""
        home, config = folder / "home", folder / "config.yaml"
        config.write_text(configuration, "utf-8")
        home.mkdir(mode=0o700)
        files = ["--certificate", str(certificates.certificate), "--key", str(certificates.key)]
        async with _child("latency_scheduler.py", "--home", str(home), "--config", str(config), *files) as child:
            yield cls(child, home, config, certificates, dict(await _line(child)))

    def _tcp(self, url: str) -> Address:
        return Address(url=url, shown=url, token=self._token, ca=self._certificates.authority)

    async def _ask(self, **order: object) -> dict[str, Any]:
        return dict(await _asked(self._child, json.dumps(order).encode()))

    async def watch_inside(self, after: int, until: datetime) -> list[Arrival]:
        """Watch in its own process, as `arrivals.arrivals` does."""
        answer = await self._ask(do="watch", after=after, until=until.isoformat())
        return [(cursor, at) for cursor, at in answer["arrivals"]]

    async def snapshot_inside(self) -> float:
        """Milliseconds of a snapshot of all runs in its own process."""
        return float((await self._ask(do="snapshot"))["ms"])

    async def snapshot_size(self) -> int:
        """Bytes of that snapshot as it goes over a socket."""
        return int((await self._ask(do="size"))["bytes"])

    async def take_lags(self) -> list[float]:
        """How late its event loop was at each sample since the last time, in milliseconds."""
        return [float(late) for late in (await self._ask(do="lags"))["lateMs"]]

    @asynccontextmanager
    async def served(self) -> AsyncIterator[Address]:
        """`nodus-tui serve` in front of it: another process that speaks TLS to clients and to this one over its socket."""
        files = ["--tls-cert", str(self._certificates.certificate), "--tls-key", str(self._certificates.key)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NODUS_")}
        child = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).parent / "nodus-tui"),
            *["serve", "--listen", "127.0.0.1:0", *files],
            env=kept | {"NODUS_HOME": str(self.home), "NODUS_CONFIG": str(self._config)},
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield self._tcp(await _served_at(child))
        finally:
            if child.returncode is None:
                child.terminate()
            await child.wait()


class IdleProbe:
    """`idle_probe.py` in a process of its own: tells the machine's share of what is measured."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self._child = child

    @classmethod
    @asynccontextmanager
    async def start(cls) -> AsyncIterator["IdleProbe"]:
        """Start it; it ends with the block."""
        async with _child("idle_probe.py") as child:
            yield cls(child)

    async def take_lags(self) -> list[float]:
        """How late it was at each sample since the last time, in milliseconds."""
        return [float(late) for late in await _asked(self._child, b"")]


@asynccontextmanager
async def _child(script: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A script of this folder that answers lines with lines, until its standard input ends."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name(script)),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_ANSWER,
    )
    try:
        yield child
    finally:
        if child.stdin is not None:
            child.stdin.close()
        await child.wait()


async def _asked(child: asyncio.subprocess.Process, order: bytes) -> Any:
    if child.stdin is None:
        raise RuntimeError("the process was started without a standard input")
    child.stdin.write(order + b"\n")
    await child.stdin.drain()
    return await _line(child)


async def _line(child: asyncio.subprocess.Process) -> Any:
    if child.stdout is None:
        raise RuntimeError("the process was started without a standard output")
    line = await child.stdout.readline()
    if not line:
        raise BenchmarkError("a measured process ended; what it wrote before this says why")
    return json.loads(line)


async def _served_at(child: asyncio.subprocess.Process) -> str:
    """The URL that `serve` tells."""
    said = b""
    try:
        async with asyncio.timeout(_SERVE_SECONDS):
            while child.stderr is not None and (line := await child.stderr.readline()):
                said += line
                if found := re.search(rb" at https://127\.0\.0\.1:(\d+);", line):
                    return f"https://localhost:{found[1].decode()}"
    except TimeoutError:
        pass  # Told below, with what it said so far.
    raise BenchmarkError(f"nodus-tui serve does not answer; it said: {said.decode('utf-8', 'replace').strip()[-1000:]}")
