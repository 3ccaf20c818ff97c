"""The store: one writer thread that groups commits, one reader thread, and a signal after each commit.

A statement is committed when `commit` returns: synced to the disk (`synchronous=FULL`), so that neither kill -9 nor a power cut
takes it back. Statements of one `commit` stand or fall together; many commits share one transaction and one sync.

Once a commit was lost to the disk (full, read-only, failing, the file gone), the store takes no other: whoever wrote has told itself
things that the disk does not know. Its users let go of what they hold in memory, call `mend`, and begin from what is on the disk.
"""

import asyncio
import logging
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msgspec import Struct

from local_backend.storage.faults import gone_error, may_get_well, storage_error, takes_everything_down
from local_backend.storage.schema import MIGRATIONS, SCHEMA_VERSION
from nodus_tui.contract.errors import ErrorCode, NodusError

Statement = tuple[str, Sequence[Any]]
"""SQL with its parameters."""

_log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
"""How often another process's commits are looked for."""

_BUSY_SECONDS = 30.0
_BUSY_LOOK_SECONDS = 0.01
_MOST_IN_ONE_TRANSACTION = 512


class _Write(Struct):
    statements: Sequence[Statement]
    done: "asyncio.Future[None]"
    loop: asyncio.AbstractEventLoop
    mends: bool = False
    """Not to be written: asks whether writing works again."""


class _GoneError(Exception):
    """The file is no longer at its path."""


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Have it keep a log of what is written ahead. Of several that make a database at once SQLite refuses some, whatever their timeout."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        else:
            return
        time.sleep(_BUSY_LOOK_SECONDS)


def _refuse_unknown(version: int, path: Path) -> None:
    if version < 0:
        raise NodusError(
            ErrorCode.CONFIGURATION,
            f"{path} says that it is of database version {version}, which no nodus-tui writes: something else changed it. "
            "Put a copy of it back, or name another folder with NODUS_HOME",
        )
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
        _refuse_unknown(version, path)
        for step in range(version + 1, SCHEMA_VERSION + 1):
            for statement in MIGRATIONS[step].split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {step}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells the file at the path from any other; None when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - for every commit: the bare call
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Store:
    """One workspace's database, open. Made by `open`, let go by `aclose`."""

    def __init__(self, path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection) -> None:
        self.path = path
        self._writer = writer
        self._reader = reader
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._read_pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-read")
        self._listeners: list[Callable[[], None]] = []
        self._file = _identity(path)
        self.failure: NodusError | None = None
        """Why nothing is written any more; None while all is well."""
        self.may_get_well = True
        """Whether `mend` may ever help against the failure."""
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
        return self._put(statements, mends=False)

    def _put(self, statements: Sequence[Statement], *, mends: bool) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._queue.put(_Write(statements, done, loop, mends))
        return done

    async def mend(self) -> None:
        """Try to write again after a failure. Raises NodusError while that does not work.

        The caller has let go of everything that it held in memory about what is stored here.
        """
        await asyncio.shield(self._put((), mends=True))

    def look_after(self) -> None:
        """Notice that the file was taken away although nothing is being written."""
        if self.failure is None and _identity(self.path) != self._file:
            self.failure, self.may_get_well = gone_error(self.path), False

    def check(self, *, writes: bool = False) -> None:
        """Raise the failure where there is one; whoever only reads may go on in trouble that can end."""
        self.look_after()
        if self.failure is not None and (writes or not self.may_get_well):
            raise self.failure

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
                if self._reader.in_transaction:
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

        try:
            return await asyncio.get_running_loop().run_in_executor(self._read_pool, work)
        except sqlite3.Error as error:
            raise storage_error(self.path, error) from error

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
        if self.failure is not None:
            before = self.failure
            mended = self._probe() if any(write.mends for write in batch) else False
            self._tell(batch, {place: before for place, write in enumerate(batch) if not (write.mends and mended)})
            return
        try:
            self._be_at_place()
            self._writer.execute("BEGIN IMMEDIATE")
            for place, write in enumerate(batch):
                self._writer.execute("SAVEPOINT one")
                try:
                    for sql, parameters in write.statements:
                        self._writer.execute(sql, parameters)
                except (sqlite3.Error, ValueError, OverflowError) as error:
                    if takes_everything_down(error):
                        raise
                    self._writer.execute("ROLLBACK TO one")
                    failures[place] = storage_error(self.path, error)
                self._writer.execute("RELEASE one")
            self._writer.execute("COMMIT")
        except (sqlite3.Error, _GoneError) as error:
            failures = dict.fromkeys(range(len(batch)), self._fail(error))
        self._tell(batch, failures)

    def _be_at_place(self) -> None:
        # SQLite would go on writing into a file that was deleted, and all of it would be lost.
        if _identity(self.path) != self._file:
            raise _GoneError

    def _fail(self, error: Exception) -> NodusError:
        self._roll_back()
        gone = isinstance(error, _GoneError)
        self.failure = gone_error(self.path) if gone else storage_error(self.path, error)
        self.may_get_well = not gone and may_get_well(error)
        return self.failure

    def _roll_back(self) -> None:
        if self._writer.in_transaction:
            try:
                self._writer.execute("ROLLBACK")
            except sqlite3.Error as error:
                # Nothing of it was committed; the failure that led here is the one to tell.
                _log.warning("rolling back in %s failed: %s", self.path, error)

    def _probe(self) -> bool:
        """Whether a commit reaches the disk again."""
        if not self.may_get_well:
            return False
        try:
            self._be_at_place()
            self._writer.execute("BEGIN IMMEDIATE")
            # Room for a few rows, taken and given back; the version is written so that the commit has something to sync.
            self._writer.execute("INSERT INTO agent_revisions VALUES ('', 0, zeroblob(65536), '')")
            self._writer.execute("DELETE FROM agent_revisions WHERE agent = ''")
            self._writer.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._writer.execute("COMMIT")
        except (sqlite3.Error, _GoneError) as error:
            self._fail(error)
            return False
        self.failure = None
        return True

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
