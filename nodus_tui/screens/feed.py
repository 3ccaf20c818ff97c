"""The live feed: one task that reads the backend's stream into the view states, and says how the connection stands.

Of the states only that of the first view is loaded at the start; the others come with the first snapshot, or with their views.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from msgspec import Struct

from nodus_tui.contract.backend import Backend, Query
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.view_state.campaigns import CampaignsState
from nodus_tui.view_state.cells import Line

if TYPE_CHECKING:
    from nodus_tui.contract.events import Event, EventBatch, Snapshot
    from nodus_tui.contract.resources.agent_run import AgentRun
    from nodus_tui.screens.workspace_states import WorkspaceStates
    from nodus_tui.view_state.boxes import BoxesState
    from nodus_tui.view_state.budgets import BudgetsState
    from nodus_tui.view_state.group import GroupState
    from nodus_tui.view_state.jobs import JobsState
    from nodus_tui.view_state.notice_words import Happening
    from nodus_tui.view_state.notices import NoticesState
    from nodus_tui.view_state.queue import QueueState
    from nodus_tui.view_state.results import ResultsState
    from nodus_tui.view_state.sweep import SweepState
    from nodus_tui.view_state.sweeps import SweepsState

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds between two tries to reach the backend again."""
SLICE = 25
"""Events that are folded in one go: a millisecond's work."""


class Connection(Struct, frozen=True):
    """How the stream stands."""

    state: Literal["connecting", "live", "lost"]
    detail: str = ""
    since: datetime | None = None
    next_try: datetime | None = None


class Folds(Protocol):
    """What takes events."""

    def fold(self, event: Event) -> bool:
        """Take one event; says whether anything here changed. What is of another kind, or older than the snapshot, changes nothing."""


class FoldedState(Folds, Protocol):
    """A view's state that is kept true by the stream."""

    def load(self, snapshot: Snapshot) -> None:
        """Take a snapshot instead of what was known."""


async def unfinished_runs(backend: Backend) -> list[AgentRun]:
    """The runs of every group that have not ended, page by page."""
    from nodus_tui.contract.resources.agent_run import AgentRun  # noqa: PLC0415 - loaded by whoever asks for runs

    found: list[AgentRun] = []
    after = ""
    while True:
        page = await backend.list("AgentRun", Query(unfinished=True, after=after))
        found += [run for run in page.items if isinstance(run, AgentRun)]
        if not page.next_after:
            return found
        after = page.next_after


class LiveFeed:
    """The states of all open views, kept true by the backend's events."""

    def __init__(
        self,
        backend: Backend,
        *,
        clock: Callable[[], datetime],
        changed: Callable[[], None],
        keys_first: Callable[[], Awaitable[None]],
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._changed = changed
        self._keys_first = keys_first
        """Waits while a key is being handled."""
        self.campaigns = CampaignsState()
        self.begun = False
        """Whether the states of all kinds are there: before, nothing is known, and there is nothing to say of them."""
        self.groups: dict[str, GroupState] = {}
        self._open_sweeps: dict[str, SweepState] = {}
        self.queue: QueueState | None = None
        """While its view is open."""
        self.results: dict[str, ResultsState] = {}
        """Of the groups whose results are open, each with the state of its group, which it keeps."""
        self._results_open: Counter[str] = Counter()
        self._for_results: set[str] = set()
        """Groups that no view of their own shows."""
        self.connection = Connection("connecting")

    @cached_property
    def _of_all(self) -> WorkspaceStates:
        from nodus_tui.screens.workspace_states import WorkspaceStates  # noqa: PLC0415 - the first paint has nothing to show of them

        self.begun = True
        return WorkspaceStates(self.campaigns)

    @property
    def _states(self) -> tuple[FoldedState, ...]:
        """What the snapshot of the whole workspace and all events go into."""
        return self._of_all.all

    @property
    def jobs(self) -> JobsState:
        """All jobs."""
        return self._of_all.jobs

    @property
    def budgets(self) -> BudgetsState:
        """All budgets."""
        return self._of_all.budgets

    @property
    def sweeps(self) -> SweepsState:
        """All sweeps."""
        return self._of_all.sweeps

    @property
    def boxes(self) -> BoxesState:
        """All Sandboxes of the kind."""
        return self._of_all.boxes

    @property
    def notices(self) -> NoticesState:
        """What happened, told and untold."""
        return self._of_all.notices

    def news(self, key: str) -> Line:
        """How many notices are unread, and the key that shows them; nothing where none is."""
        return self.notices.words(key) if self.begun else ()

    async def run(self) -> None:
        """Read for ever; after a loss try again, with growing pauses, and take the whole state anew."""
        pause = FIRST_PAUSE
        while True:
            try:
                await self._load()
                pause = FIRST_PAUSE
                await self._follow(self.campaigns.cursor)
            except NodusError as error:
                now = self._clock()
                since = self.connection.since if self.connection.state == "lost" else now
                self.connection = Connection("lost", error.detail, since, now + timedelta(seconds=pause))
                self._changed()
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)

    async def reload(self) -> None:
        """Take the whole state anew, for the backend shows another time now. Raises NodusError when it cannot give it."""
        self.notices.begin_anew()
        await self._load()

    async def _load(self) -> None:
        snapshot = await self._backend.snapshot()
        self.notices.looked_at = self._clock()
        for state in self._states:
            state.load(snapshot)
        for group in tuple(self.groups.values()):
            await self._load_group(group)
        for results in self.results.values():
            results.reload()
        if self.queue is not None:
            await self._load_queue(self.queue)
        for sweep in self._open_sweeps.values():
            # Its cells are no part of a snapshot: its view asks for them.
            sweep.stale = True
            sweep.look()
        self.connection = Connection("live")
        self._changed()

    async def _follow(self, cursor: int) -> None:
        # A stream may be a generator; then it must be closed here and now, not when memory is tidied.
        async with aclosing(cast("Any", self._backend.watch(after=cursor))) as batches:
            async for batch in batches:
                await self._take_in_slices(batch)
        raise NodusError(ErrorCode.UNAVAILABLE, "the backend ended its stream of changes")

    async def _take_in_slices(self, batch: EventBatch) -> None:
        """Take a batch so that a key does not wait for all of it: whatever is ready goes between two slices, and keys before the next."""
        for start in range(0, len(batch.events), SLICE):
            await asyncio.sleep(0)
            await self._keys_first()
            self.take(batch.model_copy(update={"events": batch.events[start : start + SLICE]}))

    def take(self, batch: EventBatch) -> None:
        """Fold one batch into every state that it concerns."""
        changed = False
        # Sweeps and results come last: they take what groups and jobs have become.
        states: tuple[Folds, ...] = (*self._states, *self.groups.values(), *self.results.values(), *self._open_sweeps.values())
        if self.queue is not None:
            states = (*states, self.queue)
        for event in batch.events:
            for state in states:
                changed = state.fold(event) or changed
        if changed:
            self._changed()

    def tell(self, happening: Happening, kind: str = "", name: str = "", *, told: bool = False) -> None:
        """What the person asked for has its outcome: a notice more, about what is gone to by kind and name; `told` where they saw it."""
        self.notices.answered(happening, self._clock(), kind, name, told=told)
        self._changed()

    async def open_group(self, name: str) -> GroupState:
        """The state of one group with its runs; raises NodusError when the backend cannot give it."""
        state = self._group(name)
        await self.reload_group(name)
        return state

    def _group(self, name: str) -> GroupState:
        if name not in self.groups:
            from nodus_tui.view_state.group import GroupState  # noqa: PLC0415 - the state of a view is loaded with it

            self.groups[name] = GroupState(name)
        return self.groups[name]

    async def reload_group(self, name: str) -> None:
        """Take a group's snapshot (again)."""
        await self._load_group(self.groups[name])
        if name in self.results:
            self.results[name].reload()
        self._changed()

    async def _load_group(self, state: GroupState) -> None:
        asked = state.await_snapshot()
        try:
            snapshot = await self._backend.snapshot(runs_of=state.name)
        except BaseException:
            state.no_snapshot(asked)
            raise
        state.load(snapshot, asked)

    def open_results(self, name: str) -> ResultsState:
        """The state of a group's results; its runs are not known yet where no view shows the group."""
        if name not in self.groups:
            self._group(name)
            self._for_results.add(name)
        if name not in self.results:
            from nodus_tui.view_state.results import ResultsState  # noqa: PLC0415 - see _group

            self.results[name] = ResultsState(self.groups[name], self.campaigns.rows)
        self._results_open[name] += 1
        return self.results[name]

    def close_results(self, name: str) -> None:
        """One view of them less."""
        self._results_open[name] -= 1
        if self._results_open[name] > 0:
            return
        self.results.pop(name, None)
        if name in self._for_results:
            self._for_results.discard(name)
            self.groups.pop(name, None)

    def queue_state(self) -> QueueState:
        """What waits in the whole workspace; nothing is known of it before `load_queue`."""
        if self.queue is None:
            from nodus_tui.view_state.queue import QueueState  # noqa: PLC0415 - see _group

            self.queue = QueueState(self.campaigns.rows, self.jobs.rows, self.boxes.rows, self.sweeps.rows, self.budgets.rows)
        return self.queue

    async def load_queue(self) -> None:
        """Ask for the runs that wait. Raises NodusError when the backend cannot give them."""
        await self._load_queue(self.queue_state())
        self._changed()

    async def _load_queue(self, queue: QueueState) -> None:
        asked = queue.await_runs()
        try:
            runs = await unfinished_runs(self._backend)
        except BaseException:
            queue.no_runs(asked)
            raise
        queue.load(runs, asked)

    def close_queue(self) -> None:
        """No view shows it any more."""
        self.queue = None

    def sweep_state(self, name: str) -> SweepState:
        """The state of one sweep with its cells, which are not known yet where no view shows it."""
        if name not in self._open_sweeps:
            from nodus_tui.view_state.sweep import SweepState  # noqa: PLC0415 - see _group

            self._open_sweeps[name] = SweepState(name, self.sweeps.rows, self.campaigns.rows, self.jobs.rows)
        return self._open_sweeps[name]

    def close_sweep(self, name: str) -> None:
        """No view shows it any more."""
        self._open_sweeps.pop(name, None)

    def close_group(self, name: str) -> None:
        """No view shows it any more; its results, where they are open, keep it."""
        if name in self.results:
            self._for_results.add(name)
        else:
            self.groups.pop(name, None)
