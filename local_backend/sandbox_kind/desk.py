"""What anybody may read of a workspace's boxes. It starts nothing."""

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

from local_backend.sandbox_kind.describing import cost_nano, sandbox_resource
from local_backend.storage.sandbox_records import SandboxRecord
from local_backend.storage.store import Store
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.spec_loading.nearest import nearest


class BoxDesk:
    """Reads one workspace's boxes."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    async def record(self, name: str) -> SandboxRecord:
        """A box's record. Raises NotFound with the nearest name."""
        rows = await self._store.read("SELECT * FROM sandboxes WHERE name = ?", (name,))
        if not rows:
            names = await self._store.read("SELECT name FROM sandboxes LIMIT 10000")
            raise NodusError.not_found("Sandbox", name, nearest(name, [row["name"] for row in names]))
        return SandboxRecord.from_row(rows[0])

    def resource(self, record: SandboxRecord) -> Sandbox:
        """The box as it stands now."""
        return sandbox_resource(record, self._clock())

    async def page(self, after: str, limit: int) -> list[Sandbox]:
        """So many of them in order of creation, from one on."""
        query = "SELECT * FROM sandboxes WHERE seq > coalesce((SELECT seq FROM sandboxes WHERE name = ?), 0) ORDER BY seq LIMIT ?"
        rows = await self._store.read(query, (after, limit))
        return [self.resource(SandboxRecord.from_row(row)) for row in rows]

    async def costs(self, names: Sequence[str]) -> dict[str, Decimal]:
        """What some of them have cost up to now, in US dollars, by name."""
        marks = ", ".join("?" for _ in names)
        rows = await self._store.read(f"SELECT * FROM sandboxes WHERE name IN ({marks})", tuple(names))  # noqa: S608 - question marks only
        now = self._clock()
        return {record.name: usd_from_nano(cost_nano(record, now)) for record in map(SandboxRecord.from_row, rows)}
