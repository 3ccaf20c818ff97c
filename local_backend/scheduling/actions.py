"""Actions on groups and runs, over the scheduler. Each checks the state it meets, and answers with what changed, in words and in fields."""

from collections.abc import Callable, Sequence
from datetime import datetime

from local_backend.scheduling.admission import display_ceiling
from local_backend.scheduling.group_engine import GroupEngine
from local_backend.scheduling.scheduler import Scheduler
from local_backend.storage.records import RunRecord, event
from local_backend.storage.store import Statement, Store
from nodus_tui.contract.actions import Action, Delete, ExtendCap, Kill, Resume, Retry
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import display_usd, exact_usd, nano_from_usd, usd_from_nano, usd_text
from nodus_tui.contract.outcomes import ActionOutcome, Change
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase


class Actions:
    """What a person can do, done by the process that holds the scheduler."""

    def __init__(self, scheduler: Scheduler, store: Store, clock: Callable[[], datetime]) -> None:
        self._scheduler = scheduler
        self._store = store
        self._clock = clock

    async def perform(self, action: Action) -> ActionOutcome:
        """Do it. Raises NodusError when its target does not exist or its state does not allow it."""
        async with self._scheduler.turn(await self._group_of(action)):
            return await self._perform(action)

    async def _group_of(self, action: Action) -> str:
        if isinstance(action, Retry | Resume):
            return action.group
        if action.kind != "AgentRun":
            return action.name if action.kind == "AgentGroup" else ""
        rows = await self._store.read("SELECT group_name FROM runs WHERE name = ?", (action.name,))
        return str(rows[0]["group_name"]) if rows else ""

    async def _perform(self, action: Action) -> ActionOutcome:
        if isinstance(action, Kill):
            return await (self._kill_run(action) if action.kind == "AgentRun" else self._kill_group(action))
        if isinstance(action, ExtendCap):
            return await (self._extend_run(action) if action.kind == "AgentRun" else self._raise_group_cap(action))
        if isinstance(action, Retry):
            return await self._retry(action)
        if isinstance(action, Resume):
            return await self._resume(action)
        if not isinstance(action, Delete):  # The engines of jobs and of sweeps do those that there are.
            raise NodusError.not_found(action.kind, action.name)
        return await self._delete(action)

    def _outcome(self, action: Action, kind: str, name: str, message: str, changes: Sequence[Change] = ()) -> ActionOutcome:
        return ActionOutcome(
            action=action.action,
            kind=kind,
            name=name,
            changed=bool(changes),
            message=message,
            changes=tuple(changes),
            at=self._clock(),
            author=action.author,
        )

    async def _engine_of_run(self, name: str) -> tuple[GroupEngine, RunRecord]:
        rows = await self._store.read("SELECT group_name FROM runs WHERE name = ?", (name,))
        if not rows:
            raise NodusError.not_found("AgentRun", name)
        engine = await self._scheduler.engine(rows[0]["group_name"])
        return engine, engine.books.runs[name]

    async def _done_with(self, engine: GroupEngine) -> None:
        """After an action: close a group that it ended, and forget an engine that nobody works on."""
        name = engine.books.group.name
        if name not in self._scheduler.active_groups:
            await engine.conclude()
        await self._scheduler.let_go(name)

    async def _kill_run(self, action: Kill) -> ActionOutcome:
        engine, run = await self._engine_of_run(action.name)
        if run.phase.ended:
            await self._done_with(engine)
            return self._outcome(action, "AgentRun", run.name, f"{run.name} has ended already ({run.phase})")
        before = run.phase
        ended = await engine.stop_by_kill([run])
        await self._done_with(engine)
        if not ended:
            return self._outcome(action, "AgentRun", run.name, f"{run.name} came to its own end first ({run.phase})")
        change = Change(kind="AgentRun", name=run.name, field="phase", old=before, new=run.phase)
        spent = display_usd(usd_from_nano(run.carried + run.spent))
        return self._outcome(action, "AgentRun", run.name, f"killed {run.name}; it had spent {spent}", [change])

    async def _kill_group(self, action: Kill) -> ActionOutcome:
        engine = await self._scheduler.engine(action.name)
        group = engine.books.group
        if group.phase.ended and not engine.stopped_by_budget():
            await self._done_with(engine)
            return self._outcome(action, "AgentGroup", group.name, f"{group.name} has ended already ({group.phase})")
        if engine.killed:
            await self._done_with(engine)
            return self._outcome(action, "AgentGroup", group.name, f"{group.name} is being killed already")
        before = group.phase
        ended = await engine.kill()
        await self._done_with(engine)
        changes = [Change(kind="AgentRun", name=run.name, field="phase", old="unfinished", new=run.phase) for run in ended]
        changes.insert(0, Change(kind="AgentGroup", name=group.name, field="phase", old=before, new=GroupPhase.CANCELLED))
        count = len(ended)
        return self._outcome(action, "AgentGroup", group.name, f"killed {group.name}: {count} unfinished run{_s(count)} ended", changes)

    async def _extend_run(self, action: ExtendCap) -> ActionOutcome:
        engine, run = await self._engine_of_run(action.name)
        try:
            return await self._extend(action, engine, run)
        finally:
            await self._done_with(engine)

    def _came_first(self, action: ExtendCap, engine: GroupEngine, run: RunRecord, cap: int) -> ActionOutcome:
        """What happened to the run while its call in flight was waited for."""
        if not run.current:
            return self._already_given_over(action, engine, run, cap)
        how = "was killed" if engine.is_being_killed(run) or run.reason is Reason.KILLED else f"ended ({run.phase})"
        return self._outcome(action, "AgentRun", run.name, f"{run.name} {how} before its cap was extended")

    def _already_given_over(self, action: ExtendCap, engine: GroupEngine, run: RunRecord, cap: int) -> ActionOutcome:
        """Another run stands for the case: with that cap nothing is left to do, else that one is to be extended (NodusError)."""
        newest = next(each for each in engine.books.current() if each.case_index == run.case_index)
        if newest.predecessor == run.name and newest.cap == cap:
            return self._outcome(action, "AgentRun", run.name, f"{newest.name} has that cap already")
        raise NodusError(ErrorCode.INVALID_ACTION, f"{run.name} was superseded: extend {newest.name}, which stands for its case now")

    async def _extend(self, action: ExtendCap, engine: GroupEngine, run: RunRecord) -> ActionOutcome:
        cap = nano_from_usd(action.cap_usd)
        if not run.current:
            return self._already_given_over(action, engine, run, cap)
        if cap == run.cap and not run.phase.ended:
            return self._outcome(action, "AgentRun", run.name, f"{run.name} has that cap already")
        self._check_extension(run, cap)
        old = usd_text(usd_from_nano(run.cap))
        needed = run.needed if run.phase is RunPhase.WAITING and run.needed is not None and not action.restart else 0
        successor = await engine.supersede(run, cap, restart=action.restart)
        if successor is None:
            return self._came_first(action, engine, run, cap)
        how = "begins afresh" if action.restart or not successor.carried else "goes on from its conversation"
        again = f", but waits again: its next call needs at least {display_ceiling(needed)}" if needed > cap else ""
        return self._outcome(
            action,
            "AgentRun",
            run.name,
            f"{successor.name} takes the place of {run.name} with a cap of {exact_usd(action.cap_usd)} and {how}{again}",
            [
                Change(kind="AgentRun", name=run.name, field="maxCostUSD", old=old, new=usd_text(action.cap_usd)),
                Change(kind="AgentRun", name=run.name, field="successor", old="", new=successor.name),
            ],
        )

    def _check_extension(self, run: RunRecord, cap: int) -> None:
        if run.phase.ended:
            advice = "its verdict stands" if run.phase is RunPhase.SUCCEEDED else "retry it instead"
            raise NodusError(ErrorCode.INVALID_ACTION, f"{run.name} has ended ({run.phase}): {advice}")
        if cap <= run.cap:
            now = exact_usd(usd_from_nano(run.cap))
            raise NodusError(ErrorCode.INVALID_ACTION, f"a cap is extended, never lowered: {run.name} has {now} now")

    async def _raise_group_cap(self, action: ExtendCap) -> ActionOutcome:
        engine = await self._scheduler.engine(action.name)
        group = engine.books.group
        try:
            cap, old = nano_from_usd(action.cap_usd), group.cap
            if cap == old:
                return self._outcome(action, "AgentGroup", group.name, f"{group.name} has that cap already")
            if cap < old:
                now = exact_usd(usd_from_nano(old))
                raise NodusError(ErrorCode.INVALID_ACTION, f"a cap is raised, never lowered: {group.name} has {now} now")
            if group.phase.ended:
                raise NodusError(ErrorCode.INVALID_ACTION, f"{group.name} has ended ({group.phase}): no case is left to pay for")
            await engine.raise_cap(cap)
            was, now = exact_usd(usd_from_nano(old)), exact_usd(action.cap_usd)
            change = Change(
                kind="AgentGroup", name=group.name, field="maxCostUSD", old=usd_text(usd_from_nano(old)), new=usd_text(action.cap_usd)
            )
            return self._outcome(action, "AgentGroup", group.name, f"raised the cap of {group.name} from {was} to {now}", [change])
        finally:
            await self._done_with(engine)

    async def _retry(self, action: Retry) -> ActionOutcome:
        engine = await self._scheduler.engine(action.group)
        name = action.group
        try:
            chosen = _retryable(engine, action)
            if (
                not chosen
                and not _unprepared(engine)
                and not (_asks_for_all(action) and engine.books.group.phase is GroupPhase.INTERRUPTED)
            ):
                return self._outcome(action, "AgentGroup", name, f"{name} has no unscored case that fits: nothing to retry")
            return await self._go_on(action, engine, chosen)
        finally:
            await self._let_work(engine)

    async def _resume(self, action: Resume) -> ActionOutcome:
        engine = await self._scheduler.engine(action.group)
        group = engine.books.group
        try:
            interrupted = [run for run in engine.books.current() if run.phase is RunPhase.INTERRUPTED]
            if not interrupted and group.phase is not GroupPhase.INTERRUPTED:
                return self._outcome(action, "AgentGroup", group.name, f"{group.name} is not interrupted ({group.phase})")
            return await self._go_on(action, engine, interrupted)
        finally:
            await self._let_work(engine)

    async def _go_on(self, action: Retry | Resume, engine: GroupEngine, runs: Sequence[RunRecord]) -> ActionOutcome:
        group = engine.books.group
        before, deadline = group.phase, group.deadline_at
        olds = {run.name: run.phase for run in runs}
        unfinished = sum(not run.phase.ended for run in engine.books.current())
        made = await engine.retry(runs)
        changes = [Change(kind="AgentGroup", name=group.name, field="phase", old=before, new=group.phase)]
        changes += [
            Change(
                kind="AgentRun",
                name=old.name,
                field="successor" if new is not old else "phase",
                old=olds[old.name],
                new=new.name,
            )
            for old, new in made
        ]
        later = ", with a new timeout" if group.deadline_at != deadline else ""
        again = [new for old, new in made if new is not old]
        parts = [f"{len(again)} case{_s(len(again))} tried again"] if again else []
        parts += _afresh([engine.books.runs[run.predecessor or run.name] for run in again if not run.carried])
        resumed = len(made) - len(again)
        parts += [f"{resumed} interrupted case{_s(resumed)} gone on with"] if resumed else []
        # With a group at rest everything of it goes on; in one at work, what was not asked for is as it was.
        others = unfinished - sum(not olds[old.name].ended for old, _ in made) if before.at_rest else 0
        if others:
            parts.append(
                f"{others} other unfinished case{_s(others)} go on too" if made else f"{others} unfinished case{_s(others)} gone on with"
            )
        parts += [] if engine.books.runs else ["its tasks are made"]
        held = engine.why_nothing_starts() if made else ""
        how = f"stays stalled{later}, with" if held else f"goes on{later}:"
        why = f", and none can start: {held}" if held else ""
        return self._outcome(action, "AgentGroup", group.name, f"{group.name} {how} {', '.join(parts)}{why}", changes)

    async def _let_work(self, engine: GroupEngine) -> None:
        name = engine.books.group.name
        await self._scheduler.let_go(name)
        if not engine.books.group.phase.at_rest:
            await self._scheduler.start(name)

    async def _delete(self, action: Delete) -> ActionOutcome:
        statements = await (self._delete_group(action) if action.kind == "AgentGroup" else self._delete_definition(action))
        kept = await self._store.read("SELECT name FROM runs WHERE ? = 'AgentGroup' AND group_name = ?", (action.kind, action.name))
        await self._store.commit([*statements, event(self._clock(), "Deleted", action.kind, action.name)])
        if action.kind == "Budget":
            await self._scheduler.budget_changed(action.name)
        for row in kept:
            self._scheduler.workplaces.artifacts.remove(row["name"])
        change = Change(kind=action.kind, name=action.name, field="", old="there", new="deleted")
        return self._outcome(action, action.kind, action.name, f"deleted {action.kind} {action.name}", [change])

    async def _delete_group(self, action: Delete) -> list[Statement]:
        await self._scheduler.ended(action.name)
        engine = await self._scheduler.engine(action.name)
        await self._scheduler.let_go(action.name)
        if not engine.books.group.phase.at_rest or action.name in self._scheduler.active_groups:
            raise NodusError(ErrorCode.INVALID_ACTION, f"{action.name} is at work: kill it first")
        mine = "run IN (SELECT name FROM runs WHERE group_name = ?)"
        return [
            (f"DELETE FROM calls WHERE {mine}", (action.name,)),  # noqa: S608 - a constant
            (f"DELETE FROM turns WHERE {mine}", (action.name,)),  # noqa: S608 - a constant
            ("DELETE FROM runs WHERE group_name = ?", (action.name,)),
            ("DELETE FROM tasks WHERE group_name = ?", (action.name,)),
            ("DELETE FROM groups WHERE name = ?", (action.name,)),
        ]

    async def _delete_definition(self, action: Delete) -> list[Statement]:
        rows = await self._store.read("SELECT 1 FROM resources WHERE kind = ? AND name = ?", (action.kind, action.name))
        if not rows:
            raise NodusError.not_found(action.kind, action.name)
        unfinished = await self._store.read("SELECT name, agent, environment, phase FROM groups ORDER BY seq")
        for row in unfinished if action.kind != "Budget" else ():
            uses = row["agent"] == action.name if action.kind == "Agent" else f'"name": "{action.name}"' in row["environment"]
            if uses and not GroupPhase(row["phase"]).ended:
                raise NodusError(ErrorCode.INVALID_ACTION, f"{action.name} is in use: group {row['name']} is unfinished")
        return [("DELETE FROM resources WHERE kind = ? AND name = ?", (action.kind, action.name))]


def _retryable(engine: GroupEngine, action: Retry) -> list[RunRecord]:
    chosen = []
    known = {run.name for run in engine.books.current()}
    for name in action.runs:
        if name not in known:
            raise NodusError(ErrorCode.NOT_FOUND, f"{name} stands for no case of {action.group} (now)")
    for run in engine.books.current():
        if action.runs and run.name not in action.runs:
            continue
        if run.phase is RunPhase.SUCCEEDED:
            if action.runs:
                raise NodusError(ErrorCode.INVALID_ACTION, f"{run.name} has its answer: its verdict stands")
            continue
        wanted = (not action.reasons or run.reason in action.reasons) and (not action.verdicts or run.verdict in action.verdicts)
        if wanted and (run.phase.ended or run.phase is RunPhase.INTERRUPTED):
            chosen.append(run)
    return chosen


def _asks_for_all(action: Retry) -> bool:
    """Whether it means whatever does not go on by itself: to retry an interrupted group so is to resume it."""
    return not action.runs and not action.verdicts and set(action.reasons) <= {Reason.INTERRUPTED}


def _unprepared(engine: GroupEngine) -> bool:
    """Whether it ended before its tasks were made: it has no case that could have ended unscored, and all of them still to come."""
    return not engine.books.runs and engine.books.group.phase in {GroupPhase.FAILED, GroupPhase.CANCELLED}


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _afresh(runs: Sequence[RunRecord]) -> list[str]:
    """What to say of runs whose paid conversations are not gone on from."""
    paid = [run for run in runs if run.spent > 0]
    lost = sum(run.sandbox is not None and not run.sandbox.kept for run in paid)
    capped = len(paid) - lost
    said = [f"{lost} of them afresh, for the work in their sandboxes is lost"] if lost else []
    return said + ([f"{capped} of them afresh, for their caps leave no room to go on from what was paid"] if capped else [])
