"""The store: one writer thread that groups commits, one reader thread, and a signal after each commit.

A statement is committed when `commit` returns: synced to the disk (`synchronous=FULL`), so that neither kill -9 nor a power cut
takes it back. Statements of one `commit` stand or fall together; many commits share one transaction and one sync.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_backend.storage.schema import MIGRATIONS, SCHEMA_VERSION
from nodus_tui.contract.errors import ErrorCode, NodusError

Statement = tuple[str, Sequence[Any]]
"""SQL with its parameters."""

_BUSY_SECONDS = 30.0
_MOST_IN_ONE_TRANSACTION = 512


@dataclass(slots=True)
class _Write:
    statements: Sequence[Statement]
    done: "asyncio.Future[None]"
    loop: asyncio.AbstractEventLoop


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


def _refuse_newer(version: int, path: Path) -> None:
    if version > SCHEMA_VERSION:
        raise NodusError(
            ErrorCode.CONFIGURATION,
            f"{path} was written by a newer nodus-tui (database version {version}, this one knows {SCHEMA_VERSION}): "
            "update nodus-tui, or name another folder with NODUS_HOME",
        )


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        _refuse_newer(version, path)
        for step in range(version + 1, SCHEMA_VERSION + 1):
            for statement in MIGRATIONS[step].split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {step}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def storage_error(path: Path, error: Exception) -> NodusError:
    """The sentence for a database that does not do what it is asked."""
    return NodusError(
        ErrorCode.UNAVAILABLE, f"the database {path} cannot be used: {error}; is the disk full, read-only or the file damaged?"
    )


class Store:
    """One workspace's database, open. Made by `open`, let go by `aclose`."""

    def __init__(self, path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection) -> None:
        self.path = path
        self._writer = writer
        self._reader = reader
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._read_pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-read")
        self._listeners: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._write_for_ever, name="store-write", daemon=True)
        self._thread.start()

    @classmethod
    async def open(cls, path: Path) -> "Store":
        """Open or make the database and bring it to this version. Raises NodusError when it cannot be used."""

        def connect() -> tuple[sqlite3.Connection, sqlite3.Connection]:
            writer = _connect(path)
            try:
                _migrate(writer, path)
                return writer, _connect(path)
            except BaseException:
                writer.close()
                raise

        try:
            writer, reader = await asyncio.to_thread(connect)
        except sqlite3.Error as error:
            raise storage_error(path, error) from error
        return cls(path, writer, reader)

    async def aclose(self) -> None:
        """Commit what is queued and close."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        await asyncio.get_running_loop().run_in_executor(self._read_pool, self._reader.close)
        self._read_pool.shutdown()

    def on_commit(self, listener: Callable[[], None]) -> None:
        """Call the listener on the event loop after each commit of this process."""
        self._listeners.append(listener)

    def write(self, statements: Sequence[Statement]) -> "asyncio.Future[None]":
        """Queue statements now, in order; the future ends when they are durable, or with NodusError when they are not."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._queue.put(_Write(statements, done, loop))
        return done

    async def commit(self, statements: Sequence[Statement]) -> None:
        """Return when the statements are durable. A cancelled caller does not take them back. Raises NodusError."""
        await asyncio.shield(self.write(statements))

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query, of the last committed state."""
        return (await self.read_many([(sql, parameters)]))[0]

    async def read_many(self, queries: Sequence[Statement]) -> list[list[sqlite3.Row]]:
        """The rows of several queries, all of one and the same state."""

        def work() -> list[list[sqlite3.Row]]:
            self._reader.execute("BEGIN")
            try:
                return [self._reader.execute(sql, parameters).fetchall() for sql, parameters in queries]
            finally:
                self._reader.execute("COMMIT")

        try:
            return await asyncio.get_running_loop().run_in_executor(self._read_pool, work)
        except sqlite3.Error as error:
            raise storage_error(self.path, error) from error

    async def data_version(self) -> int:
        """A number that changes when anybody, this process included, commits."""

        def work() -> int:
            version: int = self._reader.execute("PRAGMA data_version").fetchone()[0]
            return version

        return await asyncio.get_running_loop().run_in_executor(self._read_pool, work)

    def _write_for_ever(self) -> None:
        last = False
        while not last:
            batch: list[_Write] = []
            first = self._queue.get()
            if first is None:
                break
            batch.append(first)
            while len(batch) < _MOST_IN_ONE_TRANSACTION:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    last = True
                    break
                batch.append(more)
            self._commit_batch(batch)
        self._writer.close()

    def _commit_batch(self, batch: list[_Write]) -> None:
        failures: dict[int, Exception] = {}
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            for place, write in enumerate(batch):
                self._writer.execute("SAVEPOINT one")
                try:
                    for sql, parameters in write.statements:
                        self._writer.execute(sql, parameters)
                except (sqlite3.Error, ValueError, OverflowError) as error:
                    self._writer.execute("ROLLBACK TO one")
                    failures[place] = storage_error(self.path, error)
                self._writer.execute("RELEASE one")
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            failures = dict.fromkeys(range(len(batch)), storage_error(self.path, error))
        self._tell(batch, failures)

    def _tell(self, batch: list[_Write], failures: dict[int, Exception]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[None], Exception | None]]] = {}
        for place, write in enumerate(batch):
            by_loop.setdefault(write.loop, []).append((write.done, failures.get(place)))
        for loop, ends in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._end, ends)

    def _end(self, ends: list[tuple["asyncio.Future[None]", Exception | None]]) -> None:
        for done, failure in ends:
            if done.done():
                continue
            if failure is None:
                done.set_result(None)
            else:
                done.set_exception(failure)
        for listener in self._listeners:
            listener()
