"""One group at work: it makes the tasks, starts what admission lets start, ends what ended, and keeps the deadline.

Every structural change (a start, an end, an action) happens under one lock and is committed before it takes effect; the episodes' own
bookings go through the same books. Waiting is interrupted only through stop signals, so that no booking is cut in two.
"""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from local_backend.budgets.keeper import LOOK_SECONDS
from local_backend.environments.interface import Grade
from local_backend.episodes.conversation import Answered
from local_backend.episodes.episode import Blocked, Broke, Ending, Episode, Spoilt, Stopped, Unserved, broke_by_fault
from local_backend.episodes.metering import GroupBooks
from local_backend.episodes.stop import StoppedError, StopSignal
from local_backend.episodes.workplace import FILES_GONE, Workplace
from local_backend.models.served import ModelDoor
from local_backend.scheduling.admission import Waits, admit
from local_backend.scheduling.assessment import assess, complete
from local_backend.scheduling.cases import can_carry, goes_on, open_successor
from local_backend.scheduling.endings import Graded, RunEnding, StopOrder, end_by_itself, end_by_order, end_lost, end_superseded
from local_backend.scheduling.preparing import make_cases, open_grader, pinned_environment
from local_backend.scheduling.run_files import RunFiles
from local_backend.scheduling.surroundings import GraderClient, Services
from local_backend.storage.records import RunRecord, SandboxUse
from local_backend.storage.space import SPACE_LOOK_SECONDS
from local_backend.storage.store import Statement
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.contract.resources.agent_group import AgentGroupSpec

_log = logging.getLogger(__name__)

_TELL_SECONDS = 0.2
"""While runs go on, the group's own status is told at most this often."""

_LONGEST_SLEEP_SECONDS = 30.0
"""The event loop's timers may not count the machine's sleep, which a deadline does: so they are never set far ahead."""


class _Going(Struct):
    """A run that holds a slot."""

    stop: StopSignal
    task: "asyncio.Task[None]"
    workplace: Workplace | None
    order: StopOrder | None = None


class GroupEngine:
    """The work of one group, from its books. `run` is its main task; actions call the other methods."""

    def __init__(self, services: Services, books: GroupBooks) -> None:
        self._services = services
        self.books = books
        self._door: ModelDoor | None = None
        self._files = RunFiles(services.workplaces.artifacts, books)
        self._spec = AgentGroupSpec.model_validate(books.group.spec)
        self._grader: GraderClient | None = None
        self._going: dict[str, _Going] = {}
        self._lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self._shutting: StopOrder | None = None
        self._shut = asyncio.Event()
        self.finishing = False
        """Whether the main task has nothing more to start and only cleans up: whoever wants the group to go on waits for its end."""
        self._failure: BaseException | None = None
        self.killed = False
        """Whether the whole group was told to end."""
        self._doomed: set[str] = set()
        """Runs that are being killed."""
        self._held: set[str] = set()
        """Runs that an action is about to change: they are not started meanwhile."""

    def use(self, door: ModelDoor) -> None:
        """The way to the model that the runs talk to; needed before `run`, not for actions on a group at rest."""
        self._door = door

    # The main task.

    async def run(self) -> None:
        """Work until every case has ended, or until a shutdown. Raises NodusError when the store fails."""
        try:
            if await self._prepare():
                await self._work()
        finally:
            self.finishing = True
            for going in self._going.values():
                going.stop.stop_now()
            if self._going:
                await asyncio.wait([going.task for going in self._going.values()])
            if self._grader is not None:
                await self._grader.aclose()
                self._grader = None

    async def _work(self) -> None:
        while self._shutting is None:
            self._wake.clear()
            if self._failure is not None:
                raise self._failure
            await self._keep_deadline()
            async with self._lock:
                if self._shutting is None and await self._start_and_assess():
                    self.finishing = True
                    return
            await self._sleep()
        await self._shut.wait()
        if self._shutting is StopOrder.SHUTDOWN:
            await self._rest()  # Again: cases may have been made after the first look.

    async def _sleep(self) -> None:
        deadline = self.books.group.deadline_at
        timeout = _LONGEST_SLEEP_SECONDS
        if deadline is not None:
            timeout = min(timeout, (deadline - self._services.clock()).total_seconds())
        if self.books.group.reason is Reason.DISK_ALMOST_FULL:
            timeout = min(timeout, SPACE_LOOK_SECONDS)
        if self._going or self.books.dirty:
            timeout = min(timeout, _TELL_SECONDS)
        try:
            await asyncio.wait_for(self._wake.wait(), max(0.0, timeout))
        except TimeoutError:
            return

    def wake(self) -> None:
        """Look again at what can start."""
        self._wake.set()

    # Preparation.

    async def _prepare(self) -> bool:
        group = self.books.group
        try:
            self._grader = await open_grader(self._services, self.books, self._spec)
        except NodusError as error:
            await self._cannot_prepare(error.detail)
            return False
        async with self._lock:
            now = self._services.clock()
            statements: list[Statement] = []
            if not self.books.tasks and not self.killed:
                statements += make_cases(self._services.next_seq, self.books, self._spec, self._grader)
            if group.phase is not GroupPhase.RUNNING:
                group.phase, group.reason, group.message = GroupPhase.RUNNING, None, ""
            group.started_at = group.started_at or now
            await self._services.store.commit([*statements, *self.books.group_told()])
        return True

    async def _cannot_prepare(self, detail: str) -> None:
        group = self.books.group
        async with self._lock:
            if self.books.runs:
                group.phase, group.reason = GroupPhase.INTERRUPTED, Reason.PREPARATION_FAILED
            else:
                group.phase, group.reason, group.ended_at = GroupPhase.FAILED, Reason.PREPARATION_FAILED, self._services.clock()
            group.message = detail
            await self._services.store.commit(self.books.group_told())

    # Starting, waiting, ending.

    async def _start_and_assess(self) -> bool:
        """Start what fits, say what the rest waits for, and set the group's phase. True when every case has ended."""
        now = self._services.clock()
        group = self.books.group
        waiting = [run for run in self.books.current() if run.phase is RunPhase.PENDING and run.name not in self._held]
        started, waits = self._admit([run.name for run in waiting])
        statements: list[Statement] = []
        for name in started:
            run = self.books.runs[name]
            run.phase, run.reason, run.message, run.until_at = RunPhase.RUNNING, None, "", None
            run.started_at = run.started_at or now
            statements += self.books.told(run)
        for name, why in waits.items():
            run = self.books.runs[name]
            if (run.reason, run.message) != (why.reason, why.message):
                run.reason, run.message = why.reason, why.message
                statements += self.books.told(run)
        shortage = self._services.shortage()
        before = (group.reason, group.message)
        done = assess(
            self.books,
            now,
            going=len(self._going) + len(started),
            waits=waits,
            shortage=shortage,
            unserved=self._door.obstacle if self._door is not None else None,
            killed=self.killed,
        )
        changed = before != (group.reason, group.message) or group.status.get("phase") != group.phase.value
        if statements or done or self.books.dirty or changed:
            await self._services.store.commit([*statements, *self.books.group_told()])
        for name in started:
            self._launch(self.books.runs[name])
        return done

    def _admit(self, waiting: Sequence[str]) -> tuple[list[str], dict[str, Waits]]:
        refusal = self.books.purse.refusal()
        if refusal is not None and not refusal.for_now and waiting:
            return [], {name: Waits(Reason.BUDGET_EXCEEDED, refusal.message) for name in waiting}
        shortage = self._services.shortage()
        if shortage:
            return [], {name: Waits(Reason.DISK_ALMOST_FULL, shortage) for name in waiting}
        unserved = self._door.obstacle if self._door is not None else None
        if unserved is not None:
            return [], {name: Waits(Reason.WAITING_FOR_MODEL, unserved.message) for name in waiting}
        return admit(waiting, self.books.ledger, going=len(self._going), max_active=self.books.group.max_active)

    def why_nothing_starts(self) -> str:
        """Why no case that waits to start could, were it looked at now; empty where one goes or could. Changes nothing."""
        pending = [run.name for run in self.books.current() if run.phase is RunPhase.PENDING and run.name not in self._held]
        if self._going or not pending:
            return ""
        refusal = self.books.purse.refusal()
        if refusal is not None and not refusal.for_now:
            return refusal.message
        _, waits = admit(pending, self.books.ledger, going=0, max_active=0)
        return waits[pending[0]].message if all(each.shortfall for each in waits.values()) else ""

    def _launch(self, run: RunRecord) -> None:
        if self._door is None:
            raise RuntimeError("a run cannot start before the engine was given its model")
        stop = StopSignal()
        workplace = self._services.workplaces.of(self.books, run, stop) if self.books.agent.tools else None
        task = asyncio.create_task(self._go(run, stop, self._door, workplace), name=run.name)
        self._going[run.name] = _Going(stop, task, workplace)

    async def _go(self, run: RunRecord, stop: StopSignal, door: ModelDoor, workplace: Workplace | None) -> None:
        try:
            try:
                ending = await self._ending(run, stop, door, workplace)
            except Exception as error:  # noqa: BLE001 - a fault of ours in one run is this run's failure, and no other's
                ending = await broke_by_fault(self.books, run, error)
            async with self._lock:
                self.books.ledger.stop(run.name)
                if isinstance(ending, Unserved):
                    self._end_stopped(run, self._going[run.name].order or StopOrder.PAUSE)
                elif isinstance(ending, Stopped):
                    self._end_stopped(run, self._going[run.name].order or StopOrder.SHUTDOWN)
                else:
                    end_by_itself(run, ending, self._services.clock())
                if run.phase.ended:
                    self._services.workplaces.prune(run)
                await self._services.store.commit(self.books.told(run))
        except BaseException as error:
            self._failure = error
            if not isinstance(error, Exception):
                raise
        finally:
            self._going.pop(run.name, None)
            if run.reason is Reason.BUDGET_EXCEEDED:
                self.books.purse.stopped()
            self.wake()

    async def _ending(
        self, run: RunRecord, stop: StopSignal, door: ModelDoor, workplace: Workplace | None
    ) -> RunEnding | Stopped | Unserved:
        """To the end of a run's conversation, and of the grading of its answer."""
        episode = Episode(
            books=self.books,
            run=run,
            prompts=self.books.tasks[run.task_position].prompts,
            models=self._services.models,
            door=door,
            stop=stop,
            shortage=self._services.shortage,
            workplace=workplace,
        )
        ending: Ending = await episode.converse()
        if isinstance(ending, Spoilt):
            return Graded(Grade(Verdict.INVALID_OUTPUT, 0.0, ending.message)) if self._grader is not None else Answered("")
        if isinstance(ending, Answered) and self._grader is not None:
            if not self._files.there(run):
                return Broke(Reason.INFRASTRUCTURE_FAILURE, f"{FILES_GONE}, so they cannot be graded")
            return await self._grade(run, ending.text, stop, self._grader)
        return ending

    def _end_stopped(self, run: RunRecord, order: StopOrder) -> None:
        lost = run.sandbox is not None and run.sandbox.lost
        if lost and order in {StopOrder.PAUSE, StopOrder.SHUTDOWN}:
            end_lost(run)
        else:
            end_by_order(run, order, self._services.clock())

    async def _grade(self, run: RunRecord, text: str, stop: StopSignal, grader: GraderClient) -> Stopped | Graded | Blocked:
        run.phase, run.reason, run.message, run.until_at = RunPhase.GRADING, None, "", None
        use: SandboxUse | None = None
        if pinned_environment(self.books).in_sandbox:
            use = run.sandbox = run.sandbox or self._services.workplaces.use_of(self.books.agent)
            while (refusal := self.books.purse.refusal(0, rate=use.grading_rate)) is not None:
                if not refusal.for_now:
                    self.books.purse.refused(refusal)
                    return Blocked(refusal.message)
                await asyncio.sleep(LOOK_SECONDS)
            self.books.purse.begin(_grading(run), use.grading_rate)
        await self._services.store.commit(self.books.told(run))
        before = use.cost if use is not None else 0
        grade = await self._asked_for_a_grade(run, text, stop, grader, use)
        if use is not None:
            if grade is not None:
                if grade.sandbox_seconds is None:
                    use.grading_stopped(self._services.clock())
                else:
                    use.grading_at = None
                    use.charge_grading(grade.sandbox_seconds)
                use.grader_image = grade.image
            await self.books.changed(run, self.books.purse.end(_grading(run), use.cost - before))
        return Graded(grade) if grade is not None else Stopped()

    async def _asked_for_a_grade(
        self, run: RunRecord, text: str, stop: StopSignal, grader: GraderClient, use: SandboxUse | None
    ) -> Grade | None:
        """The grade; None where the run was told to stop meanwhile."""
        files = self._services.workplaces.artifacts.path(run.name) if run.sandbox is not None and run.sandbox.kept else None
        telling: list[asyncio.Task[None]] = []

        def began(seconds: float) -> None:
            # Not before: while it waits for a place it has no sandbox, and pays for none.
            if use is not None:
                use.grading_stopped(self._services.clock())
                use.grading_at, use.grading_lifetime = self._services.clock(), seconds
                telling.append(asyncio.create_task(self.books.changed(run)))

        try:
            return await stop.wait(grader.grade(run.task_id, text, simulated=self.books.simulated, files=files, began=began))
        except StoppedError:
            if use is not None:
                use.grading_stopped(self._services.clock())
            return None
        except Exception as error:  # noqa: BLE001 - a fault of ours in one grading is no other's, and its time is booked all the same
            if use is not None:
                use.grading_stopped(self._services.clock())
            _log.exception("the answer of %s was not graded, by a fault of the scheduler", run.name)
            said = error.detail if isinstance(error, NodusError) else type(error).__name__
            return Grade(Verdict.INFRASTRUCTURE_FAILURE, None, f"a fault of the scheduler ({said}); its log has the details")
        finally:
            await asyncio.gather(*telling)

    async def copy_of_files(self, name: str) -> Path | None:
        """A new archive of a run's files where its sandbox lives; None where it does not."""
        going = self._going.get(name)
        return await going.workplace.copy_out() if going is not None and going.workplace is not None else None

    # Stopping.

    async def _hold(self, names: set[str]) -> None:
        """Let none of these runs start from here on. Under the lock, so that a start in the making is done and can be stopped."""
        async with self._lock:
            self._held |= names

    async def _stop_going(self, names: Sequence[str], order: StopOrder, *, softly: bool = False) -> None:
        """Tell runs that hold a slot to stop, and wait until each has ended and is committed. Not under the lock."""
        tasks = []
        for name in names:
            going = self._going.get(name)
            if going is None:
                continue
            going.order = going.order or order
            if softly:
                going.stop.stop_soon()
            else:
                going.stop.stop_now()
            tasks.append(going.task)
        if tasks:
            await asyncio.wait(tasks)

    async def stop_runs(self, runs: Sequence[RunRecord], order: StopOrder) -> list[RunRecord]:
        """End unfinished runs by order, at once. Gives those that this ended (not those that came to their own end first)."""
        names = {run.name for run in runs}
        await self._hold(names)
        try:
            await self._stop_going(list(names), order)
            async with self._lock:
                statements: list[Statement] = []
                for run in runs:
                    if not run.phase.ended:
                        end_by_order(run, order, self._services.clock())
                        statements += self.books.told(run)
                await self._services.store.commit(statements)
        finally:
            self._held -= names
            self.wake()
        phases = {StopOrder.KILL: RunPhase.CANCELLED, StopOrder.TIMEOUT: RunPhase.FAILED}
        return [run for run in runs if run.phase is phases.get(order)]

    async def _keep_deadline(self) -> None:
        deadline = self.books.group.deadline_at
        if deadline is None or self._services.clock() < deadline:
            return
        await self.stop_runs([run for run in self.books.current() if not run.phase.ended], StopOrder.TIMEOUT)

    async def stop_by_kill(self, runs: Sequence[RunRecord]) -> list[RunRecord]:
        """End these unfinished runs. Gives those that this ended. An extension that waits for one of them gives way."""
        names = {run.name for run in runs}
        self._doomed |= names
        try:
            return await self.stop_runs(runs, StopOrder.KILL)
        finally:
            self._doomed -= names

    def is_being_killed(self, run: RunRecord) -> bool:
        """Whether the run is to end, though it may not have ended yet."""
        return self.killed or run.name in self._doomed

    @property
    def all_ended(self) -> bool:
        """Whether every case has ended, so that the group's end is next."""
        return bool(self.books.runs or self.killed) and all(run.phase.ended for run in self.books.current())

    async def kill(self) -> list[RunRecord]:
        """End the group with all its unfinished runs, and give up those that a budget stopped. Gives the runs that this ended."""
        self.killed = True
        ended = await self.stop_runs([run for run in self.books.current() if not run.phase.ended], StopOrder.KILL)
        async with self._lock:
            given_up = self.stopped_by_budget()
            for run in given_up:
                run.reason, run.message = Reason.KILLED, ""
            await self._services.store.commit([statement for run in given_up for statement in self.books.told(run)])
        return [*ended, *given_up]

    async def shut_down(self, order: StopOrder, *, grace_seconds: float, killed: bool = False) -> None:
        """Start nothing more; let calls in flight end within the grace, then abort them. The books are kept.

        `killed`: because the whole group is to end.
        """
        self._shutting = order
        self.killed = self.killed or killed
        self.wake()
        async with self._lock:  # So that a start in the making is done, and its call is let end, too.
            names = list(self._going)
        tasks = [self._going[name].task for name in names]
        for name in names:
            going = self._going[name]
            going.order = going.order or order
            going.stop.stop_soon()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_seconds)
            if late:
                await self._stop_going(list(self._going), order)
        try:
            if order is StopOrder.SHUTDOWN:
                await self._rest()
            else:
                async with self._lock:
                    await self._services.store.commit(self.books.group_told())
        finally:
            self._shut.set()

    async def _rest(self) -> None:
        group, current = self.books.group, self.books.current()
        async with self._lock:
            if group.phase.at_rest or not current:
                return
            if all(run.phase.ended for run in current):
                # Its last calls were in flight, and came to their end within the grace.
                complete(self.books, self._services.clock(), killed=self.killed)
            else:
                group.phase, group.reason = GroupPhase.INTERRUPTED, Reason.INTERRUPTED
                group.message = "the scheduler was stopped; everything is kept"
            await self._services.store.commit(self.books.group_told())

    async def stop_for_budget(self) -> None:
        """A budget pays for nothing more: calls in flight end and are paid, sandboxes stop now, the runs end and can be gone on with."""
        names = list(self._going)
        for name in names:
            going = self._going[name]
            going.order = going.order or StopOrder.BUDGET
            if going.workplace is not None:
                going.workplace.interrupt()
            going.stop.stop_soon()
            if self.books.runs[name].phase is RunPhase.GRADING:
                going.stop.stop_now()
        self.wake()

    def stopped_by_budget(self) -> list[RunRecord]:
        """The runs that stand for their cases and that a budget ended."""
        return [run for run in self.books.current() if run.phase is RunPhase.CANCELLED and run.reason is Reason.BUDGET_EXCEEDED]

    # Actions that change the runs.

    async def supersede(self, run: RunRecord, cap: int, *, restart: bool) -> RunRecord | None:
        """Give a run's case to a successor with a higher cap. None when it ended, was killed or was superseded meanwhile.

        A call in flight ends first and is paid, so that the successor goes on from all that was bought.
        """
        await self._hold({run.name})
        try:
            await self._stop_going([run.name], StopOrder.PAUSE, softly=True)
            async with self._lock:
                # While the call in flight was waited for, it may have ended, been killed, or given its case to another already.
                if run.phase.ended or not run.current or self.killed or run.name in self._doomed:
                    return None
                carry = not restart and self._files.there(run) and can_carry(self.books, run)
                if carry:
                    await self._files.hand_on(run)
                successor, opened = open_successor(self.books, run, cap, self._services.next_seq, carry=carry)
                end_superseded(run, successor.name, self._services.clock())
                await self._services.store.commit([*self.books.told(run), *opened])
        finally:
            self._held.discard(run.name)
            self.wake()
        return successor

    async def retry(self, runs: Sequence[RunRecord]) -> list[tuple[RunRecord, RunRecord]]:
        """New attempts at cases that ended unscored; interrupted ones go on themselves. Reopens a group that had ended.

        Gives each run with the one that stands for its case now. A run that another action took over meanwhile is left out.
        """
        async with self._lock:
            statements: list[Statement] = []
            made: list[tuple[RunRecord, RunRecord]] = []
            runs = [run for run in runs if run.current and (run.phase.ended or run.phase is RunPhase.INTERRUPTED)]
            runs = [run for run in runs if run.phase is not RunPhase.SUCCEEDED]
            going_on = {run.name for run in runs if self._files.there(run) and goes_on(self.books, run)}
            for run in runs:  # Before anything is changed: where the disk refuses it, nothing is.
                if run.name in going_on and run.phase.ended:
                    await self._files.hand_on(run)
            for run in runs:
                if run.phase is RunPhase.INTERRUPTED and run.sandbox is not None and run.sandbox.lost:
                    run.phase, run.ended_at = RunPhase.FAILED, self._services.clock()
                if run.phase is RunPhase.INTERRUPTED:
                    run.phase, run.reason, run.message = RunPhase.PENDING, Reason.WAITING_FOR_SLOT, ""
                    made.append((run, run))
                else:
                    carry = run.name in going_on
                    successor, opened = open_successor(self.books, run, run.cap, self._services.next_seq, carry=carry)
                    statements += opened
                    made.append((run, successor))
                statements += self.books.told(run)
            statements += self._reopen()
            await self._services.store.commit(statements)
        self.wake()
        return made

    async def conclude(self) -> None:
        """End the group if its last unfinished case has ended while nobody worked on it."""
        async with self._lock:
            open_still = not self.books.group.phase.ended or self.killed
            if self.all_ended and open_still:
                complete(self.books, self._services.clock(), killed=self.killed)
            await self._services.store.commit(self.books.group_told())

    def _reopen(self) -> list[Statement]:
        group = self.books.group
        evaluation = self._spec.evaluation
        now = self._services.clock()
        if evaluation is not None and (group.deadline_at is None or group.deadline_at <= now or group.phase.ended):
            group.deadline_at = now + evaluation.timeout
        group.phase, group.reason, group.message, group.ended_at = GroupPhase.RUNNING, None, "", None
        self.killed = False
        return self.books.group_told()

    async def raise_cap(self, cap: int) -> None:
        """Raise the group's cap in place; waiting runs are looked at again at once."""
        async with self._lock:
            self.books.ledger.raise_cap(cap)
            self.books.group.cap = cap
            self.books.dirty = True
            await self._services.store.commit([*self.books.group_spec_told(), *self.books.group_told()])
        self.wake()

    async def set_max_active(self, count: int) -> None:
        """Change how many runs go at once; those that go on are left alone."""
        async with self._lock:
            self.books.group.max_active = count
            self.books.dirty = True
            await self._services.store.commit([*self.books.group_spec_told(), *self.books.group_told()])
        self.wake()


def _grading(run: RunRecord) -> str:
    """Under which key the budgets know a run's grading sandbox."""
    return f"{run.name}/grading"
