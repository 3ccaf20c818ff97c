"""The jobs of a workspace that have not ended: their records, what is being done with each, what is told of them and counted of money.

Everything that starts, ends or acts on a job goes over this.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from local_backend.budgets.book import STOP_SECONDS, Ceiling, Work
from local_backend.budgets.keeper import BudgetKeeper, Purse
from local_backend.jobs import supervising
from local_backend.jobs.describing import told
from local_backend.jobs.job_devices import JobDevices
from local_backend.jobs.launching import job_folder
from local_backend.jobs.outputs import GivenUpError
from local_backend.jobs.servers import Servers
from local_backend.storage.job_records import JobRecord
from local_backend.storage.store import Statement, Store
from nodus_tui.contract.errors import NodusError

_log = logging.getLogger(__name__)


class UnderWay:
    """One a workspace."""

    def __init__(
        self,
        *,
        store: Store,
        home: Path,
        grace: timedelta,
        clock: Callable[[], datetime],
        budgets: BudgetKeeper,
        devices: JobDevices,
    ) -> None:
        self.store = store
        self.home = home
        self.grace = grace
        self.clock = clock
        self._budgets = budgets
        self.devices = devices
        self.records: dict[str, JobRecord] = {}
        """Those that have not ended, in order of creation."""
        self.busy: dict[str, asyncio.Task[None]] = {}
        """Jobs that are being started or whose end is being written down."""
        self.hurried: set[str] = set()
        """Ended jobs whose outputs are being kept, which somebody would not wait for."""
        self.unpaid_ends: set[str] = set()
        """Ended jobs that a budget may have stopped, and may pay for by now."""
        self.counting: set[str] = set()
        """Jobs whose time counts under the budgets at this moment."""
        self.wake = asyncio.Event()
        """Set when there may be something to do."""
        self.ended = asyncio.Event()
        """Set whenever a job has ended."""
        self.closing = False
        self.servers = Servers(store=store, clock=clock, tell=self.tell, wake=self.wake.set)
        """Those that serve models."""

    def begin(self, record: JobRecord, work: Coroutine[Any, Any, None]) -> None:
        """Start or end a job, beside everything else."""
        task = asyncio.create_task(self._guarded(record, work), name=f"job {record.name}")
        self.busy[record.name] = task

    async def _guarded(self, record: JobRecord, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except NodusError as error:
            _log.error("job %s: %s", record.name, error.detail)
        except GivenUpError:
            _log.info("keeping the outputs of %s is left to the next scheduler", record.name)
        except Exception:  # noqa: BLE001 - a fault of ours must not be met again and again
            _log.exception("job %s is not looked after any more, by a fault of the scheduler", record.name)
            self.records.pop(record.name, None)
        finally:
            self.busy.pop(record.name, None)
            self.wake.set()

    async def tell(self, record: JobRecord, also: Sequence[Statement] = ()) -> None:
        """Write a job's row, and tell what has changed of it. Raises NodusError."""
        await self.store.commit([*also, *told(record, self.clock(), self.grace)])
        self.servers.told(record)

    async def tell_to_stop(self, record: JobRecord) -> None:
        """Tell its supervisor to end it for the reason in the record."""
        await asyncio.to_thread(supervising.tell_to_stop, job_folder(self.home, record.name), record.stop)

    async def stored(self, name: str) -> JobRecord:
        """A job as the disk has it. Raises NodusError for an unknown one."""
        rows = await self.store.read("SELECT * FROM jobs WHERE name = ?", (name,))
        if not rows:
            raise NodusError.not_found("Job", name)
        return JobRecord.from_row(rows[0])

    async def at_rest(self, name: str) -> JobRecord:
        """The job as it is when nothing of it is just being written. Raises NodusError for an unknown one."""
        while (busy := self.busy.get(name)) is not None:
            await asyncio.wait({busy})
        return self.records.get(name) or await self.stored(name)

    # Budgets.

    def _purse(self, record: JobRecord) -> Purse:
        return self._budgets.of(Work.of(record.metadata))

    @property
    def _stop_seconds(self) -> float:
        """What the graceful stop of a job takes at most, from the decision to its last process's end."""
        return STOP_SECONDS + self.grace.total_seconds()

    def unpaid(self, record: JobRecord, rate: int) -> str:
        """Why no budget pays for a job's start at this rate, as a sentence; empty where all do."""
        refusal = self._purse(record).refusal(0, rate=rate, stop_seconds=self._stop_seconds)
        return "" if refusal is None else refusal.message

    def count(self, record: JobRecord) -> None:
        """Its time counts under the budgets from now on."""
        self._purse(record).begin(_key(record), record.rate, since=record.started_at, stop_seconds=self._stop_seconds)
        self.counting.add(record.name)

    def counted(self, record: JobRecord) -> list[Statement]:
        """Its time is known: it no longer counts as running."""
        if record.name not in self.counting:
            return []
        self.counting.discard(record.name)
        return self._purse(record).end(_key(record), record.cost)

    def counted_under(self, ceiling: Ceiling) -> list[str]:
        """The running jobs in a budget's scope."""
        return [name for name in self.counting if ceiling.covers(Work.of(self.records[name].metadata))]


def _key(record: JobRecord) -> str:
    """Under which key the budgets know a job."""
    return f"job/{record.name}"
