"""A small TCP proxy before a unix socket that loses what it is told to: an answer after the server has acted, or the rest of a stream."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from nodus_tui.remote.address import Address


class CuttingProxy:
    """Forwards bytes until it is time to cut."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self.answers_to_lose = 0
        """So many connections are cut as soon as the server begins to answer, before the client hears a byte of it."""
        self.cut_after: Callable[[], int] | None = None
        """How many bytes of its answers a connection carries before it is cut; asked for each connection."""
        self.connections = 0
        self.cuts = 0
        self.port = 0

    @property
    def address(self) -> Address:
        """The API behind this proxy."""
        url = f"http://127.0.0.1:{self.port}"
        return Address(url=url, shown=url)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            there_reader, there_writer = await asyncio.open_unix_connection(str(self._socket))
        except OSError:
            writer.close()
            return
        sending = asyncio.create_task(self._copy(reader, there_writer))
        try:
            await self._answers(there_reader, writer)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            for each in (writer, there_writer):
                each.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = self.cut_after() if self.cut_after is not None else None
        while data := await reader.read(65_536):
            if self.answers_to_lose:
                self.answers_to_lose -= 1
                self.cuts += 1
                return
            if left is not None and len(data) >= left:
                writer.write(data[:left])
                self.cuts += 1
                return
            left = left - len(data) if left is not None else None
            writer.write(data)
            with contextlib.suppress(ConnectionError):
                await writer.drain()


@asynccontextmanager
async def cutting_proxy(socket: Path) -> AsyncIterator[CuttingProxy]:
    """A proxy before the socket, listening on a port of its own."""
    proxy = CuttingProxy(socket)
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            await proxy.serve(reader, writer)
        except asyncio.CancelledError:
            writer.close()
        finally:
            connections.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in tuple(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()
