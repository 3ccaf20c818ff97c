"""What is asked to read a workspace: it finds the shelf of a kind, and loads what is first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from datetime import datetime

    from local_backend.jobs.desk import JobDesk
    from local_backend.reading.definitions import DefinitionShelf
    from local_backend.reading.groups import GroupShelf
    from local_backend.reading.shelf import Shelf
    from local_backend.reading.stream import Stream
    from local_backend.reading.sweeps import SweepShelf
    from local_backend.sandbox_kind.desk import BoxDesk
    from local_backend.storage.store import Store
    from nodus_tui.contract.backend import Page, Query
    from nodus_tui.contract.events import EventBatch, Snapshot
    from nodus_tui.contract.hardware_view import DeviceHolder
    from nodus_tui.contract.resources.meta import Resource


class Reader:
    """Reads one workspace."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        check: Callable[[], None],
        jobs: Callable[[], JobDesk],
        kept_budget: Callable[[str], Mapping[str, Any] | None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._check = check
        self._jobs = jobs
        self._kept_budget = kept_budget

    @cached_property
    def groups(self) -> GroupShelf:
        """AgentGroups and AgentRuns."""
        from local_backend.reading.groups import GroupShelf  # noqa: PLC0415 - one family of kinds of several

        return GroupShelf(self._store, self._clock)

    @cached_property
    def definitions(self) -> DefinitionShelf:
        """Agents, Environments and Budgets."""
        from local_backend.reading.definitions import DefinitionShelf  # noqa: PLC0415 - see above

        return DefinitionShelf(self._store, self._clock, self._kept_budget)

    @cached_property
    def sweeps(self) -> SweepShelf:
        """Sweeps."""
        from local_backend.reading.sweeps import SweepShelf  # noqa: PLC0415 - see above

        return SweepShelf(self._store, self._clock)

    @cached_property
    def boxes(self) -> BoxDesk:
        """The Sandboxes."""
        from local_backend.sandbox_kind.desk import BoxDesk  # noqa: PLC0415 - see above

        return BoxDesk(self._store, self._clock)

    @cached_property
    def _stream(self) -> Stream:
        from local_backend.reading.stream import Stream  # noqa: PLC0415 - see above

        return Stream(self._store, self._check)

    def _shelf(self, kind: str) -> Shelf:
        if kind in {"AgentGroup", "AgentRun"}:
            return self.groups
        if kind in {"Job", "TrainingJob"}:
            from local_backend.reading.jobs import JobShelf  # noqa: PLC0415 - see above

            return JobShelf(self._store, self._jobs())
        if kind == "Sandbox":
            from local_backend.reading.sandboxes import SandboxShelf  # noqa: PLC0415 - see above

            return SandboxShelf(self.boxes)
        return self.sweeps if kind == "Sweep" else self.definitions

    # Resources.

    async def get(self, kind: str, name: str) -> Resource:
        """One resource. Raises NotFound with the nearest name."""
        return await self._shelf(kind).get(kind, name)

    async def page(self, kind: str, query: Query) -> Page:
        """Resources of a kind in order of creation."""
        return await self._shelf(kind).page(kind, query)

    # Whose this machine's processes and devices are.

    async def launches(self) -> dict[str, str]:
        """The jobs that may have processes on this machine, by the tokens of their launches."""
        from local_backend.reading.holders import job_launches  # noqa: PLC0415 - see above

        return await job_launches(self._store)

    async def device_holders(self) -> dict[str, tuple[DeviceHolder, ...]]:
        """Who has been given which device, by uuid, as far as it is written down."""
        from local_backend.reading.holders import device_holders  # noqa: PLC0415 - see above

        return await device_holders(self._store)

    # The stream.

    async def last_event(self) -> int:
        """The cursor of the newest event; 0 before the first."""
        rows = await self._store.read("SELECT coalesce(max(cursor), 0) AS cursor FROM events")
        return int(rows[0]["cursor"])

    async def snapshot(self, runs_of: str | None) -> Snapshot:
        """All groups and some runs, at one cursor."""
        from local_backend.reading.stream import read_snapshot  # noqa: PLC0415 - see above

        return await read_snapshot(self._store, self.groups, self.definitions, self._jobs(), self.boxes, runs_of)

    def watch(self, after: int) -> AsyncIterator[EventBatch]:
        """Everything after a cursor, in order, for ever."""
        return self._stream.watch(after)
