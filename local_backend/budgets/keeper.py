"""Keeps the workspace's budgets: loads them, books what work spends under them, and acts when one is reached or has room again.

What was spent stands in the table `spend`, by hour and by where the work belongs, and only ever grows: deleting a group gives a budget
nothing back. The arithmetic is `book`'s.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from pydantic import JsonValue

from local_backend.budgets.book import STOP_SECONDS, BudgetBook, Refusal, Work, hour_start, reopens
from local_backend.budgets.standing import ceiling_of, hour_of, spend_on_record, spend_to_come
from local_backend.storage.records import event, time_from, time_text
from local_backend.storage.store import Statement, Store
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.money import display_usd, nano_from_usd, usd_from_nano, usd_text
from nodus_tui.contract.resources.budget import Budget

_log = logging.getLogger(__name__)

TELL_SECONDS = 1.0
"""A budget's status is told at most so often while it changes."""

_LONGEST_SLEEP_SECONDS = 10.0
"""Between two looks: what compute has spent is told no later to who follows it."""

_ADD_SPEND = (
    "INSERT INTO spend (hour, project, labels, model, compute) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (hour, project, labels) DO UPDATE SET model = model + excluded.model, compute = compute + excluded.compute"
)
_PUT_STATE = (
    "INSERT INTO budget_states (name, created_at, baseline, period_started_at, told) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (name) DO UPDATE SET created_at = excluded.created_at, baseline = excluded.baseline, "
    "period_started_at = excluded.period_started_at, told = excluded.told"
)


class Notice(Struct, frozen=True):
    """A threshold that a budget has reached, to be told once."""

    budget: Budget
    percent: int
    spent: int
    limit: int
    at: datetime

    def sentence(self) -> str:
        """For people."""
        action = "new work is refused and running work stops" if self.budget.spec.action == "Block" else "nothing is stopped"
        ending = f"; {action}" if self.percent >= 100 else ""
        return f"budget {self.budget.name} has reached {self.percent}%: {_money(self.spent)} of {_money(self.limit)} is spent{ending}"


class Acts:
    """What the keeper has done by others: stopping what a budget may not pay for any more, and having it gone on with."""

    def __init__(
        self,
        stop: Callable[[str, Refusal], Coroutine[Any, Any, None]],
        go_on: Callable[[], Awaitable[None]],
        tell: Callable[[Notice], None],
    ) -> None:
        self.stop = stop
        """End the work in a budget's scope gracefully."""
        self.go_on = go_on
        """Budgets may have room again: go on with what they had stopped, where they have."""
        self.tell = tell
        """Pass a notice on; must not wait."""


class BudgetKeeper:
    """One a scheduler; used on one event loop."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self.book = BudgetBook()
        self._budgets: dict[str, Budget] = {}
        self._baselines: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._freed = False
        """Whether what budgets had stopped may have room again."""
        self._turned_away = False
        """Whether somebody found no room since something last came free. A budget that has closed gives none until it is changed."""
        self._stopped: set[str] = set()
        """Closed budgets whose work was told to stop."""
        self._stopping: set[asyncio.Task[None]] = set()
        self._published: dict[str, dict[str, JsonValue]] = {}
        self._acts: Acts | None = None
        self._task: asyncio.Task[None] | None = None

    # Loading.

    async def load(self) -> None:
        """Every budget with what is on record for it."""
        for row in await self._store.read("SELECT name FROM resources WHERE kind = 'Budget'"):
            await self.reload(row["name"])

    async def reload(self, name: str) -> None:
        """One budget as it is stored now, or its end."""
        rows = await self._store.read("SELECT document, status, created_at FROM resources WHERE kind = 'Budget' AND name = ?", (name,))
        if not rows:
            self.book.remove(name)
            self._budgets.pop(name, None)
            await self._store.commit([("DELETE FROM budget_states WHERE name = ?", (name,))])
            self.touch()
            return
        budget = Budget.model_validate_json(rows[0]["document"])
        now = self._clock()
        states = await self._store.read("SELECT * FROM budget_states WHERE name = ?", (name,))
        made = (time_from(states[0]["created_at"]) if states else time_from(rows[0]["created_at"])) or now
        # A budget that by this clock is still to be made counts what is spent from now on, and what it has counted.
        created = min(made, now)
        ceiling = ceiling_of(budget, created)
        before = self._budgets.get(name)
        if not states:
            # Compute is put on record by the hour when it has ended: what runs now has spent before this budget, too.
            before_it = self.book.running(ceiling, hour_start(created), created)
            baseline = await spend_on_record(self._store, ceiling, created) + before_it
        else:
            same_scope = before is None or before.spec.scope == budget.spec.scope
            baseline = int(states[0]["baseline"]) if same_scope else 0
            if hour_start(created) < hour_start(made):
                baseline += await spend_on_record(self._store, ceiling, created) - await spend_on_record(self._store, ceiling, made)
        same_period = bool(states) and time_from(states[0]["period_started_at"]) == ceiling_of(budget, made).period_start(now)
        told = json.loads(states[0]["told"]) if same_period else []
        limit_raised = before is not None and nano_from_usd(before.spec.limit_usd) < ceiling.limit
        if limit_raised:
            told = [percent for percent in told if percent * ceiling.limit <= 100 * self.book.spent(name, now)]
        spent = await spend_on_record(self._store, ceiling, ceiling.period_start(now)) - (0 if ceiling.monthly else baseline)
        status = json.loads(rows[0]["status"])
        # What is closed stays closed, over a restart and over a change that gives no room: what it had stopped is not to be overtaken by
        # what is smaller. A change without a scheduler has opened the record itself where it gives room.
        closed = same_period and bool(status.get("blocking"))
        if before is not None:
            was = self.book.ceiling(name)
            closed = same_period and self.book.closed(name, now) is not None and not reopens(was, ceiling)
        to_come = await spend_to_come(self._store, ceiling, now)
        self.book.put(ceiling, spent=spent, now=now, told=told, before=baseline, closed=closed, to_come=to_come)
        self._budgets[name] = budget
        self._baselines[name] = baseline
        self._published[name] = status
        await self._store.commit([self._state_row(name, now), *(self._told(now) if self._acts is not None else ())])
        self.touch()

    def rebased(self) -> list[Statement]:
        """The rows of budgets before which less was spent than was assumed while it still ran."""
        changed = [name for name in self.book.names if self.book.before(name) != self._baselines[name]]
        self._baselines.update({name: self.book.before(name) for name in changed})
        return [self._state_row(name, self._clock()) for name in changed]

    def _state_row(self, name: str, now: datetime) -> Statement:
        ceiling = self.book.ceiling(name)
        started = ceiling.period_start(now)
        told = json.dumps(list(self.book.told(name)))
        return _PUT_STATE, (name, time_text(ceiling.created_at), self._baselines[name], time_text(started), told)

    # What work asks and books.

    def touch(self) -> None:
        """Something changed that a deadline, a threshold or somebody who waits may depend on."""
        self._changed.set()

    def look_again(self) -> None:
        """What was stopped may have room again."""
        self._freed = True
        self.touch()

    def turned_away(self, refusal: Refusal) -> None:
        """Somebody found no room."""
        if self.book.closed(refusal.budget, self._clock()) is None:
            self._turned_away = True

    def came_free(self) -> None:
        """Something that took room has come to its end: who was turned away before may have it."""
        if self._turned_away:
            self._turned_away = False
            self._freed = True
        self.touch()

    def of(self, work: Work) -> "Purse":
        """The budgets as one piece of work meets them."""
        return Purse(self, work)

    @property
    def now(self) -> datetime:
        """The scheduler's clock, with periods that are due begun."""
        now = self._clock()
        if self.book.roll(now):
            self._freed = True
        return now

    # Acting.

    def act_by(self, acts: Acts) -> None:
        """What is decided from here on is done by these, and a status is told. Nothing is decided but in a `look`."""
        self._acts = acts

    def start(self, acts: Acts) -> None:
        """Begin to watch deadlines, thresholds and months."""
        self.act_by(acts)
        self._task = asyncio.create_task(self._keep(), name="budgets")

    async def aclose(self) -> None:
        """Stop watching."""
        for task in (self._task, *self._stopping):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def settle(self) -> None:
        """The last word of a scheduler that ends: what its work spent since it last told of it."""
        if self._acts is None:
            return
        try:
            await self._store.commit(self._told(self.now))
        except NodusError as error:
            _log.error("the last status of the budgets could not be kept: %s", error.detail)

    async def _keep(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self.look()
            except NodusError as error:
                _log.error("budgets could not be kept: %s", error.detail)
            await asyncio.sleep(TELL_SECONDS if self._budgets else 0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self.until_next())

    def until_next(self) -> float:
        """Seconds until something is due although nobody books anything: a deadline, a month's end, a figure that compute changes."""
        now = self._clock()
        due = [found for name in self.book.names if (found := self.book.deadline(name, now)) is not None]
        due += [end for name in self.book.names if (end := self.book.ceiling(name).period_end(now)) is not None]
        if not due:
            return _LONGEST_SLEEP_SECONDS
        # The look after the sleep comes a tell later: deadlines are met early, never late.
        nearest = (min(due) - now).total_seconds() - 2 * TELL_SECONDS
        return max(0.0, min(_LONGEST_SLEEP_SECONDS, nearest))

    async def look(self) -> None:
        """Close what has reached its ceiling, have stopped and gone on with what must be, tell what is new. Raises NodusError."""
        acts, now = self._acts, self.now
        if acts is None:
            return
        for name in self.book.names:
            refusal = self.book.refused_compute(name, now + timedelta(seconds=3 * TELL_SECONDS))
            if refusal is not None:
                self.refused(name)
        self._stop_what_is_closed(acts, now)
        for name, percent in self.book.crossed(now):
            notice = Notice(self._budgets[name], percent, self.book.spent(name, now), self.book.ceiling(name).limit, now)
            _log.warning("%s", notice.sentence())
            acts.tell(notice)
        freed, self._freed = self._freed, False
        await self._store.commit(self._told(now))
        if freed:
            await acts.go_on()

    def _stop_what_is_closed(self, acts: Acts, now: datetime) -> None:
        """Have the work of each budget that has closed stopped, once. In the background: a job may take its whole grace to end, and other
        budgets' deadlines do not wait for it."""
        closed = {name: refusal for name in self.book.names if (refusal := self.book.closed(name, now)) is not None}
        for name in closed.keys() - self._stopped:
            task = asyncio.create_task(acts.stop(name, closed[name]), name=f"budget {name} stops work")
            self._stopping.add(task)
            task.add_done_callback(self._stop_done)
        self._stopped = set(closed)

    def _stop_done(self, task: "asyncio.Task[None]") -> None:
        self._stopping.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("work that a budget does not pay for could not be stopped: %s", error)

    def refused(self, name: str) -> None:
        """A budget did not pay for something: it is closed until it changes or its next period begins."""
        if name in self.book.names and self.book.closed(name, self._clock()) is None:
            # It may have been open for less than a look: what runs under it now is not what was stopped before.
            self._stopped.discard(name)
        self.book.close(name)
        self.touch()

    def _told(self, now: datetime) -> list[Statement]:
        """The rows and events of budgets whose status changed since it was last told."""
        statements: list[Statement] = []
        for name in self.book.names:
            status = self.status(name, now)
            old = self._published.get(name, {})
            changed = {field: value for field, value in status.items() if field != "updatedAt" and old.get(field, _MISSING) != value}
            if not changed:
                continue
            self._published[name] = status
            statements.append(("UPDATE resources SET status = ? WHERE kind = 'Budget' AND name = ?", (json.dumps(status), name)))
            statements.append(self._state_row(name, now))
            statements.append(event(now, "Changed", "Budget", name, status={**changed, "updatedAt": status["updatedAt"]}))
        return statements

    def standing(self, name: str) -> dict[str, JsonValue] | None:
        """A budget's status at this moment, what compute has cost up to now included; None for one that is not kept here."""
        if name not in self.book.names:
            return None
        status, told = self.status(name, self.now), self._published[name]
        return told if _without_time(status) == _without_time(told) else status

    def status(self, name: str, now: datetime) -> dict[str, JsonValue]:
        """A budget's status under the contract's names."""
        ceiling = self.book.ceiling(name)
        # A clock that was set back counts less than was taken off for what ran before.
        spent = max(0, self.book.spent(name, now))
        blocking = self.book.blocking(name, now)
        told: list[JsonValue] = list(self.book.told(name))
        return {
            "spentUSD": usd_text(usd_from_nano(spent)),
            "leftUSD": usd_text(usd_from_nano(max(0, ceiling.limit - spent))),
            "blocking": blocking,
            "message": "new work in its scope is refused, and running work was stopped" if blocking else "",
            "thresholdsTold": told,
            "periodStartedAt": _time_json(self.book.started_at(name)),
            "periodEndsAt": _time_json(ceiling.period_end(now)),
            "updatedAt": _time_json(now),
        }


LOOK_SECONDS = 0.2
"""While only calls under way leave a budget no room, it is looked at this often."""


class Purse:
    """All budgets over one piece of work. Every booking gives the statements that keep it; the caller commits them with its own."""

    def __init__(self, keeper: BudgetKeeper, work: Work) -> None:
        self._keeper = keeper
        self.work = work

    def refusal(self, cost: int = 1, *, rate: int = 0, stop_seconds: float = STOP_SECONDS) -> Refusal | None:
        """Why something that costs at most so much, and starts compute at this rate, may not begin now; None when it may."""
        refusal = self._keeper.book.refusal(self.work, cost, self._keeper.now, rate=rate, stop_seconds=stop_seconds)
        if refusal is not None:
            self._keeper.turned_away(refusal)
        return refusal

    def refused(self, refusal: Refusal) -> None:
        """The refusal stopped something."""
        self._keeper.refused(refusal.budget)

    def stopped(self) -> None:
        """What a budget stopped has come to its end. There may be room again already: stopping takes its time."""
        self._keeper.look_again()

    def reserve(self, key: str, worst: int) -> None:
        """A call is about to leave."""
        self._keeper.book.reserve(key, self.work, worst)

    def book(self, key: str, cost: int) -> list[Statement]:
        """A call has ended."""
        now = self._keeper.now  # A month may have begun since anybody asked: it counts in that one.
        self._keeper.book.book(key, cost)
        self._keeper.came_free()
        return self._add(now, model=cost)

    def charged(self, *, model: int = 0, compute: int = 0) -> list[Statement]:
        """What was found to have been spent, without having been under way here."""
        now = self._keeper.now
        self._keeper.book.add(self.work, model + compute)
        return self._add(now, model=model, compute=compute)

    def begin(self, key: str, rate: int, *, since: datetime | None = None, stop_seconds: float = STOP_SECONDS) -> None:
        """Compute starts, or is found running since then."""
        self._keeper.book.begin(key, self.work, rate, since or self._keeper.now, stop_seconds=stop_seconds)
        self._keeper.touch()

    def end(self, key: str, cost: int | None = None) -> list[Statement]:
        """Compute has stopped, at its time × its rate, or at less where it is known to have run for a part of the time only."""
        hours = self._keeper.book.end(key, self._keeper.now, cost)
        self._keeper.came_free()
        return [*(self._spent_in(hour, compute=part) for hour, part in hours), *self._keeper.rebased()]

    def _add(self, now: datetime, *, model: int = 0, compute: int = 0) -> list[Statement]:
        self._keeper.touch()
        if not model and not compute:
            return []
        return [self._spent_in(now, model=model, compute=compute)]

    def _spent_in(self, hour: datetime, *, model: int = 0, compute: int = 0) -> Statement:
        return _ADD_SPEND, (hour_of(hour), self.work.project or "", json.dumps(self.work.labels), model, compute)


def _money(nano: int) -> str:
    return display_usd(usd_from_nano(nano))


def _time_json(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment is not None else None


def _without_time(status: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {field: value for field, value in status.items() if field != "updatedAt"}


_MISSING = object()
