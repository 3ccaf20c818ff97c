"""Sweeps and their results, straight from the database. It never writes."""

from collections.abc import Callable
from datetime import datetime

from local_backend.storage.store import Store
from local_backend.storage.sweep_records import CellRecord, SweepRecord
from local_backend.sweeps.results import sweep_results
from local_backend.sweeps.telling import sweep_resource
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.sweep_results import SweepResults


async def find_sweep(store: Store, name: str) -> Sweep:
    """A sweep with its status. Raises NodusError NotFound with the nearest name."""
    return sweep_resource(await _record(store, name))


async def list_sweeps(store: Store, *, after: str, limit: int) -> list[Sweep]:
    """At most so many sweeps after the one of a name, in order of creation."""
    rows = await store.read(
        "SELECT * FROM sweeps WHERE seq > coalesce((SELECT seq FROM sweeps WHERE name = ?), 0) ORDER BY seq LIMIT ?", (after, limit)
    )
    return [sweep_resource(SweepRecord.from_row(row)) for row in rows]


async def read_results(store: Store, name: str, clock: Callable[[], datetime]) -> SweepResults:
    """The results of a sweep as they stand. Raises NodusError NotFound."""
    record = await _record(store, name)
    rows = await store.read("SELECT * FROM sweep_cells WHERE sweep = ? ORDER BY place", (name,))
    return await sweep_results(store, record, [CellRecord.from_row(row) for row in rows], clock)


async def _record(store: Store, name: str) -> SweepRecord:
    rows = await store.read("SELECT * FROM sweeps WHERE name = ?", (name,))
    if not rows:
        names = await store.read("SELECT name FROM sweeps LIMIT 10000")
        raise NodusError.not_found("Sweep", name, nearest(name, [row["name"] for row in names]))
    return SweepRecord.from_row(rows[0])
