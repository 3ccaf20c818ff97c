"""The scheduler of a workspace: it holds the groups at work, starts and stops them, and finds a group's engine for an action."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path

from local_backend.budgets.book import Ceiling, Refusal, Work
from local_backend.budgets.keeper import Acts, BudgetKeeper
from local_backend.budgets.notices import Notices
from local_backend.episodes.metering import GroupBooks
from local_backend.episodes.workplace import Workplaces
from local_backend.jobs.servers import Servers
from local_backend.models.calls import ModelClient
from local_backend.models.catalogue import ModelCatalogue
from local_backend.models.served import ModelDoor, OpenDoor
from local_backend.scheduling.assessment import rests_interrupted
from local_backend.scheduling.endings import StopOrder
from local_backend.scheduling.group_engine import GroupEngine
from local_backend.scheduling.recovery import settle_left_over
from local_backend.scheduling.surroundings import Services, StartGrader
from local_backend.storage.last_word import LastWord
from local_backend.storage.records import GroupRecord, RunRecord, TaskRow
from local_backend.storage.store import Store
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent import AgentSpec

_log = logging.getLogger(__name__)


class Scheduler:
    """One a workspace; its process holds the workspace's lock."""

    def __init__(
        self,
        *,
        store: Store,
        catalogue: ModelCatalogue,
        clock: Callable[[], datetime],
        start_grader: StartGrader,
        shortage: Callable[[], str],
        workplaces: Workplaces,
        notices: Notices,
        may_start: bool,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._clock = clock
        self._models = ModelClient(catalogue, clock=clock)
        self._last_seq = 0
        self._may_start = may_start
        """False where the lock was taken for one action only: then no run is started."""
        self._services = Services(store, clock, self._models, start_grader, self._next_seq, shortage, workplaces)
        self.workplaces = workplaces
        self._notices = notices
        self.budgets = BudgetKeeper(store, clock)
        self.also_stopped_by_budgets: Callable[[Ceiling], Awaitable[None]] | None = None
        self.also_goes_on_for_budgets: Callable[[], Awaitable[None]] | None = None
        """Ends what else costs money in a budget's scope: jobs."""
        self._servers: Servers | None = None
        self._engines: dict[str, GroupEngine] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self.failure: NodusError | None = None
        """Why the scheduler had to stop by itself: the store cannot be written. Nothing is started after it."""

    def serve_from(self, servers: Servers) -> None:
        """The jobs that serve models: groups find theirs through them, and they are told when groups begin and end."""
        self._servers = servers
        servers.on_change = self.wake

    def _next_seq(self) -> int:
        self._last_seq += 1
        return self._last_seq

    @property
    def active_groups(self) -> list[str]:
        """The groups at work here."""
        return list(self._tasks)

    async def open(self, before: LastWord) -> None:
        """Settle what an earlier scheduler left open."""
        await self.budgets.load()
        rows = await self._store.read("SELECT coalesce(max(seq), 0) AS last FROM runs")
        self._last_seq = rows[0]["last"]
        left = await self._store.read(
            "SELECT name FROM groups WHERE name IN (SELECT group_name FROM runs WHERE phase IN ('Running', 'Grading') OR in_flight > 0)"
            " OR (? AND deadline_at IS NOT NULL AND ended_at IS NULL)",
            (bool(before.clock_back),),
        )
        for row in left:
            books = await self._load_books(row["name"])
            statements = await settle_left_over(books, before)
            if not books.group.phase.at_rest:
                rests_interrupted(books)
            await self._store.commit([*statements, *books.group_told()])

    async def start_unfinished(self) -> None:
        """Go on with every group that is neither ended nor interrupted."""
        self.budgets.start(Acts(self._stop_for_budget, self._go_on_for_budgets, self._notices.tell))
        # A raise, a deletion or a month's end may have come when nobody was there to act on it.
        await self._go_on_for_budgets()
        rows = await self._store.read("SELECT name, phase FROM groups ORDER BY seq")
        for row in rows:
            if not GroupPhase(row["phase"]).at_rest:
                await self.start(row["name"])

    def refuse_unpaid(self, launches: Mapping[str, Mapping[str, object]]) -> None:
        """Raise NodusError (BudgetExceeded) when a budget pays for no new work of these launches; their metadata by name."""
        refusals = {name: self.budgets.of(Work.of(metadata)).refusal() for name, metadata in launches.items()}
        told = [f"{name} is refused by {refusal.message}" for name, refusal in refusals.items() if refusal is not None]
        if told:
            raise NodusError(ErrorCode.BUDGET_EXCEEDED, "; ".join(told))

    async def _stop_for_budget(self, budget: str, refusal: Refusal) -> None:
        _log.warning("work stops: %s", refusal.message)
        # Kept: the budget may be deleted while its work is stopped.
        ceiling = self.budgets.book.ceiling(budget)
        if self.also_stopped_by_budgets is not None:
            await self.also_stopped_by_budgets(ceiling)
        for name in list(self._tasks):
            engine = self._engines.get(name)
            if engine is not None and ceiling.covers(engine.books.purse.work):
                await engine.stop_for_budget()

    async def budget_changed(self, name: str) -> None:
        """A budget was made, changed or deleted: it counts as it is from here on, and what had no room may have it."""
        await self.budgets.reload(name)
        await self._go_on_for_budgets()

    async def _go_on_for_budgets(self) -> None:
        """What budgets stopped goes on where they have room: ended runs as new attempts, waiting ones by a look."""
        if self.also_goes_on_for_budgets is not None:
            await self.also_goes_on_for_budgets()
        rows = await self._store.read(
            "SELECT DISTINCT group_name FROM runs WHERE current AND phase = ? AND reason = ?", (RunPhase.CANCELLED, Reason.BUDGET_EXCEEDED)
        )
        for row in rows:
            name = str(row["group_name"])
            async with self.turn(name):
                engine = await self.engine(name)
                runs = engine.stopped_by_budget()
                if runs and not engine.killed and engine.books.purse.refusal() is None:
                    _log.info("group %s goes on: the budgets over it have room again", name)
                    await engine.retry(runs)
                await self.let_go(name)
                if not engine.books.group.phase.at_rest:
                    await self.start(name)
        self.wake()

    async def start(self, name: str) -> None:
        """Work on a group. Where its model cannot be used any more, it is interrupted and says why."""
        await self._finished(name)
        if not self._may_start or name in self._tasks or self.failure is not None:
            return
        try:
            engine = await self.engine(name)
            engine.use(self._door_to(engine.books.group.model))
        except NodusError as error:
            self._engines.pop(name, None)
            await self._interrupt(name, error.detail)
            return
        task = asyncio.create_task(self._work(name, engine), name=f"group {name}")
        self._tasks[name] = task
        self._users_changed()

    def _door_to(self, model: Mapping[str, object]) -> ModelDoor:
        """The way to a group's model. Raises CatalogueProblem."""
        family = str(model["family"])
        if model.get("servedBy") and self._servers is not None:
            return self._servers.door(family)
        return OpenDoor(self._catalogue.resolve([family]))

    def _users_changed(self) -> None:
        if self._servers is not None:
            self._servers.users_changed()

    async def _work(self, name: str, engine: GroupEngine) -> None:
        try:
            await engine.run()
        except NodusError as error:
            self.failure = error
            _log.error("group %s stopped: %s", name, error.detail)
        except Exception:  # noqa: BLE001 - a fault of ours must not leave the group looking alive
            _log.exception("group %s stopped by a fault of the scheduler", name)
            try:
                await self._interrupt(name, "stopped by a fault of the scheduler; its log has the details")
            except NodusError as error:
                self.failure = error
        finally:
            self._tasks.pop(name, None)
            self._engines.pop(name, None)
            self._users_changed()

    async def engine(self, name: str) -> GroupEngine:
        """The engine of a group: the one at work, or a new one from the store for an action on a group at rest."""
        await self._finished(name)
        if name in self._engines:
            return self._engines[name]
        books = await self._load_books(name)
        engine = GroupEngine(self._services, books)
        self._engines[name] = engine
        return engine

    async def copy_of_files(self, run: str) -> Path | None:
        """A new archive of the files of a run whose sandbox lives here, for whoever asked to use and remove; None where it does not."""
        for engine in self._engines.values():
            if run in engine.books.runs:
                return await engine.copy_of_files(run)
        return None

    async def ended(self, name: str) -> None:
        """Let an engine whose cases have all ended come to its own end: the group's is written right after the last one's."""
        engine, task = self._engines.get(name), self._tasks.get(name)
        if engine is not None and task is not None and engine.all_ended:
            await asyncio.wait({task})

    async def _finished(self, name: str) -> None:
        """Let an engine that only cleans up come to its end."""
        engine, task = self._engines.get(name), self._tasks.get(name)
        if engine is not None and task is not None and engine.finishing:
            await asyncio.wait({task})

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """One action at a time on a group at rest, whose books each action loads anew.

        On a group at work the engine's own lock keeps order, and a kill need not wait for an extension.
        """
        await self._finished(name)
        if name in self._tasks:
            yield
            return
        async with self._turns.setdefault(name, asyncio.Lock()):
            yield

    async def let_go(self, name: str) -> None:
        """Forget the engine of a group at rest after an action."""
        if name not in self._tasks:
            self._engines.pop(name, None)

    async def _load_books(self, name: str) -> GroupBooks:
        groups, runs, tasks = await self._store.read_many(
            [
                ("SELECT * FROM groups WHERE name = ?", (name,)),
                ("SELECT * FROM runs WHERE group_name = ? ORDER BY seq", (name,)),
                ("SELECT * FROM tasks WHERE group_name = ? ORDER BY position", (name,)),
            ]
        )
        if not groups:
            raise NodusError.not_found("AgentGroup", name)
        group = GroupRecord.from_row(groups[0])
        revision = await self._store.read(
            "SELECT spec FROM agent_revisions WHERE agent = ? AND revision = ?", (group.agent, group.agent_revision)
        )
        return GroupBooks(
            store=self._store,
            clock=self._clock,
            group=group,
            agent=AgentSpec.model_validate(json.loads(revision[0]["spec"])),
            tasks=[TaskRow.from_row(row) for row in tasks],
            runs=[RunRecord.from_row(row) for row in runs],
            purse=self.budgets.of(Work.of(group.metadata)),
        )

    async def _interrupt(self, name: str, why: str) -> None:
        books = await self._load_books(name)
        statements = await settle_left_over(books, LastWord(self._clock()))
        books.group.phase, books.group.reason, books.group.message = GroupPhase.INTERRUPTED, Reason.INTERRUPTED, why
        await self._store.commit([*statements, *books.group_told()])

    def wake(self, names: Sequence[str] = ()) -> None:
        """Have groups look again at what can start."""
        for name in names or list(self._engines):
            if name in self._engines:
                self._engines[name].wake()

    async def stop(self, order: StopOrder, *, grace_seconds: float, groups: Sequence[str] = (), killed: bool = False) -> None:
        """Stop all work, or that of some groups.

        `SHUTDOWN` leaves them interrupted, or ended where calls in flight were all that was left, and what is asked to go on afterwards
        does; `PAUSE` leaves them as they are, for the next scheduler: this one starts nothing more. `killed`: because they are to end.
        """
        if order is StopOrder.PAUSE:
            self._may_start = False
        at_work = [name for name in self._tasks if name in self._engines and (not groups or name in groups)]
        engines = [self._engines[name] for name in at_work]
        tasks = [self._tasks[name] for name in at_work]
        # One that cannot write its last word keeps no other from ending.
        ends = (engine.shut_down(order, grace_seconds=grace_seconds, killed=killed) for engine in engines)
        ended = await asyncio.gather(*ends, return_exceptions=True)
        if tasks:
            await asyncio.wait(tasks)
        for error in ended:
            if error is not None:
                raise error

    async def aclose(self) -> None:
        """Stop, leaving the groups to the next scheduler, and close the connections to the models."""
        async with AsyncExitStack() as whatever_fails:
            whatever_fails.push_async_callback(self._models.aclose)
            whatever_fails.push_async_callback(self.budgets.settle)
            await self.budgets.aclose()
            await self._notices.aclose()
            await self.stop(StopOrder.PAUSE, grace_seconds=0)
