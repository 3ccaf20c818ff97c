"""A world for the keeper of budgets: a clock that is set, the real store with a real file, and work that obeys it.

The work is a STAND-IN: it asks, reserves, books, is stopped and goes on as jobs and runs do, and runs nothing. What it pays is written down
here beside the books, so that a ceiling is checked against what was really paid.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from local_backend.budgets.book import STOP_SECONDS, Ceiling, Refusal, Work, charge, reopens
from local_backend.budgets.keeper import TELL_SECONDS, Acts, BudgetKeeper, Notice, Purse
from local_backend.budgets.standing import ceiling_of
from local_backend.storage.records import time_text
from local_backend.storage.store import Statement, Store
from nodus_tui.contract.money import usd_from_nano, usd_text
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.values import replace

BEGINNING = datetime(2026, 11, 30, 23, 40, tzinfo=UTC)
"""Twenty minutes before a month ends."""
GRACE_SECONDS = 10.0
"""What a stop takes here at most. As with jobs, more is reserved for it: the looks themselves take their time."""
STOP_RESERVE_SECONDS = STOP_SECONDS + GRACE_SECONDS

_PUT_BUDGET = (
    "INSERT INTO resources (kind, name, document, status, created_at, updated_at) VALUES ('Budget', ?, ?, ?, ?, ?) "
    "ON CONFLICT (kind, name) DO UPDATE SET document = excluded.document, status = excluded.status"
)

Phase = Literal["Waiting", "Running", "Stopped", "Over"]
"""`Stopped` is by a budget; `Over` is for good."""


@dataclass
class Compute:
    """A job, say."""

    name: str
    work: Work
    rate: int
    slow: float
    """Seconds that its graceful stop takes."""
    phase: Phase = "Waiting"
    since: datetime = BEGINNING
    asked: Literal["", "Budget", "Kill"] = ""
    ends_at: datetime | None = None
    gone: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Paid:
    """What was really paid: a sum at a moment, or a rate between two."""

    work: Work
    start: datetime
    end: datetime
    amount: int
    is_rate: bool

    def since(self, start: datetime) -> int:
        """The part that falls after a moment."""
        if self.is_rate:
            return charge(self.amount, max(self.start, start), self.end)
        return self.amount if self.end >= start else 0


@dataclass
class Known:
    """What must be true of a budget."""

    ceiling: Ceiling
    allowance: int
    """What may be spent: the limit; or what was on its way when it was set below that, or when its month began."""
    closed: bool = False
    told: set[int] = field(default_factory=set)


class World:
    """One workspace, one scheduler after the other."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = BEGINNING
        self.compute: dict[str, Compute] = {}
        self.calls: dict[str, tuple[Work, int]] = {}
        self.paid: list[Paid] = []
        self.known: dict[str, Known] = {}
        self._rolled: dict[str, datetime] = {}
        """At which moment each budget's period was looked at."""
        self.lateness = 0.0
        """Seconds by which looks come late."""
        self._count = 0
        self._looked_at = self._look_due = BEGINNING
        self.keeper = BudgetKeeper(store, lambda: self.now)

    async def open(self) -> None:
        """A scheduler begins: it finds what is stored and what runs."""
        self.keeper = BudgetKeeper(self.store, lambda: self.now)
        await self.keeper.load()
        for each in self.compute.values():
            if each.phase == "Running":
                self._count_in(each, self._purse(each.work))
        self.keeper.act_by(Acts(self._stop, self._go_on, self._tell))
        await self._go_on()
        await self.look()

    async def aclose(self, *, crash: bool) -> None:
        """It ends in order, with its calls answered; or it crashes, and each call under way is taken to have cost its worst."""
        calls, self.calls = self.calls, {}
        if not crash:
            for key, (work, worst) in calls.items():
                await self._commit(self._purse(work).book(key, worst))
                self._pay(work, worst)
        await self.keeper.aclose()
        if crash:
            self.keeper = BudgetKeeper(self.store, lambda: self.now)
            await self.keeper.load()
            for work, worst in calls.values():
                await self._commit(self._purse(work).charged(model=worst))
                self._pay(work, worst)
        else:
            await self.keeper.settle()

    # Budgets.

    async def put(self, ceiling: Ceiling) -> None:
        """Apply a budget, as the applier and the scheduler do."""
        name = ceiling.name
        if name not in self.known:
            # What was paid in its moment of creation was paid before or after it.
            self.now += timedelta(milliseconds=1)
            ceiling = replace(ceiling, created_at=self.now)
        document = {
            "metadata": {"name": name},
            "spec": {
                "limitUSD": usd_text(usd_from_nano(ceiling.limit)),
                "period": "Monthly" if ceiling.monthly else "Total",
                "action": "Block" if ceiling.block else "Notify",
                "scope": {
                    **({"project": ceiling.project} if ceiling.project else {}),
                    **({"selector": {"matchLabels": dict(ceiling.match_labels)}} if ceiling.match_labels else {}),
                },
            },
        }
        budget = Budget.model_validate(document)
        rows = await self.store.read("SELECT document, status FROM resources WHERE kind = 'Budget' AND name = ?", (name,))
        status = json.loads(rows[0]["status"]) if rows else {"periodStartedAt": time_text(self.now)}
        opens = not rows or reopens(ceiling_of(Budget.model_validate_json(rows[0]["document"]), self.now), ceiling_of(budget, self.now))
        if rows and opens:
            status |= {"blocking": False, "message": ""}
        now = time_text(self.now)
        await self._commit(
            [
                (
                    _PUT_BUDGET,
                    (name, json.dumps(budget.model_copy(update={"status": None}).to_document()), json.dumps(status), now, now),
                )
            ]
        )
        self._roll()
        before = self.known.get(name)
        known = self.known[name] = Known(ceiling, 0)
        if before is not None:
            known.closed = before.closed and not opens
            known.told = set(before.told)
            if ceiling.limit > before.ceiling.limit:
                known.told = {each for each in before.told if each * ceiling.limit <= 100 * self.spent(name)}
            if before.ceiling.period_start(self.now) != ceiling.period_start(self.now):
                known.told = set()
        known.allowance = max(ceiling.limit, self.committed(name))
        await self.keeper.reload(name)
        await self._go_on()

    async def remove(self, name: str) -> None:
        """Delete a budget."""
        await self._commit([("DELETE FROM resources WHERE kind = 'Budget' AND name = ?", (name,))])
        del self.known[name]
        await self.keeper.reload(name)
        await self._go_on()

    def spent(self, name: str) -> int:
        """What was really paid under a budget in its period."""
        ceiling = self.known[name].ceiling
        start = ceiling.period_start(self.now)
        running = (each for each in self.compute.values() if each.phase == "Running" and ceiling.covers(each.work))
        return sum(each.since(start) for each in self.paid if ceiling.covers(each.work)) + sum(
            charge(each.rate, max(each.since, start), self.now) for each in running
        )

    def committed(self, name: str) -> int:
        """The same with what is under way."""
        ceiling = self.known[name].ceiling
        running = (each for each in self.compute.values() if each.phase == "Running" and ceiling.covers(each.work))
        return (
            self.spent(name)
            + sum(worst for work, worst in self.calls.values() if ceiling.covers(work))
            + sum(of_stop(each.rate) for each in running)
        )

    def pays(self, work: Work, wanted: int) -> bool:
        """Whether all budgets over it pay for something, by what was really paid."""
        covering = [name for name, known in self.known.items() if known.ceiling.block and known.ceiling.covers(work)]
        return all(not self.known[name].closed and self.committed(name) + wanted <= self.known[name].ceiling.limit for name in covering)

    # Work.

    def new(self, work: Work, rate: int, slow: float) -> None:
        """A job is applied, and waits for its start."""
        self._count += 1
        self.compute[str(self._count)] = Compute(str(self._count), work, rate, slow)
        self.start_waiting()

    def start_waiting(self) -> None:
        """Start what may start, as the engine of jobs does several times a second."""
        for each in self.compute.values():
            if each.phase == "Waiting":
                self._start_if_paid(each)

    async def end(self, each: Compute, share: float = 1.0) -> None:
        """Its last process is gone. It has cost a share of its time × its rate, as measured electricity does: its last part."""
        each.phase = "Stopped" if each.asked == "Budget" else "Over"
        paid = Paid(each.work, self.now - (self.now - each.since) * share, self.now, each.rate, is_rate=True)
        self.paid.append(paid)
        purse, stopped = self._purse(each.work), each.phase == "Stopped"
        each.asked, each.ends_at = "", None
        await self._commit(purse.end(each.name, None if share == 1.0 else paid.since(each.since)))
        each.gone.set()
        if stopped:
            # Its limit may have been raised while it was ending.
            self._start_if_paid(each)

    async def kill(self, each: Compute) -> None:
        """By a person: for good."""
        if each.phase == "Running":
            self._ask(each, "Kill")
        else:
            each.phase = "Over"

    def call(self, work: Work, worst: int) -> None:
        """A call leaves if all budgets pay for its worst case. One that never will is refused as runs have it."""
        purse = self._purse(work)
        refusal = purse.refusal(worst)
        if refusal is None:
            assert self.pays(work, worst)
            self._count += 1
            purse.reserve(str(self._count), worst)
            self.calls[str(self._count)] = work, worst
        elif not refusal.for_now:
            purse.refused(refusal)
            self.known[refusal.budget].closed = self.known[refusal.budget].ceiling.block

    async def answer(self, key: str, cost: int) -> None:
        """A call is answered."""
        work, _ = self.calls.pop(key)
        self._pay(work, cost)
        await self._commit(self._purse(work).book(key, cost))

    # Time.

    async def pass_time(self, seconds: float) -> None:
        """Looks come when they are due, later by the lateness; what was asked to end does in its time."""
        until = self.now + timedelta(seconds=seconds)
        while True:
            ends = [(each.ends_at, each.name) for each in self.compute.values() if each.ends_at is not None]
            first, name = min(ends, default=(until, ""))
            # What was done since the last look has it come soon; without that it comes when it said.
            due = max(self.now, self._look_due + timedelta(seconds=self.lateness))
            if min(first, due) >= until:
                break
            self.now = max(self.now, min(first, due))
            self._roll()
            if first <= due:
                await self.end(self.compute[name])
                self.touched()
            else:
                await self.look()
            self.start_waiting()
        self.now = until
        self._roll()

    def touched(self) -> None:
        """Something was done that has the keeper look soon."""
        self._look_due = min(self._look_due, max(self.now, self._looked_at + timedelta(seconds=TELL_SECONDS)))

    async def look(self) -> None:
        """One look of the keeper, and what it has others do."""
        self._roll()
        await self.keeper.look()
        # What it stops is told in the background; each is told before anything else happens.
        await asyncio.sleep(0)
        for name, known in self.known.items():
            if self.keeper.book.closed(name, self.now) is not None:
                goes_on = [each for each in self.compute.values() if each.phase == "Running" and known.ceiling.covers(each.work)]
                assert all(each.asked for each in goes_on), f"{goes_on} under {name}, which is closed"
        self._looked_at = self.now
        self._look_due = self.now + timedelta(seconds=TELL_SECONDS + self.keeper.until_next())

    def _roll(self) -> None:
        for name, known in self.known.items():
            if known.ceiling.period_start(self.now) > known.ceiling.period_start(self._rolled.get(name, self.now)):
                known.closed, known.told = False, set()
                known.allowance = max(known.ceiling.limit, self.committed(name))
            self._rolled[name] = self.now

    # What the keeper has done by others.

    async def _stop(self, budget: str, refusal: Refusal) -> None:
        assert refusal.budget == budget
        known = self.known[budget]
        assert known.ceiling.block, "a budget that only tells has stopped something"
        known.closed = True
        asked = [each for each in self.compute.values() if each.phase == "Running" and known.ceiling.covers(each.work)]
        for each in asked:
            self._ask(each, "Budget")
        await asyncio.gather(*(each.gone.wait() for each in asked))

    async def _go_on(self) -> None:
        for each in self.compute.values():
            if each.phase == "Stopped":
                self._start_if_paid(each)

    def _tell(self, notice: Notice) -> None:
        known = self.known[notice.budget.name]
        assert notice.percent not in known.told, f"{notice.sentence()}: told twice"
        assert 100 * self.spent(notice.budget.name) >= notice.percent * known.ceiling.limit
        known.told.add(notice.percent)

    # Parts.

    def _purse(self, work: Work) -> Purse:
        return self.keeper.of(work)

    def _start_if_paid(self, each: Compute) -> None:
        purse = self._purse(each.work)
        if purse.refusal(0, rate=each.rate, stop_seconds=STOP_RESERVE_SECONDS) is None:
            assert self.pays(each.work, of_stop(each.rate)), "it goes on although a budget over it does not pay"
            each.phase, each.since, each.gone = "Running", self.now, asyncio.Event()
            self._count_in(each, purse)

    def _count_in(self, each: Compute, purse: Purse) -> None:
        purse.begin(each.name, each.rate, since=each.since, stop_seconds=STOP_RESERVE_SECONDS)

    def _ask(self, each: Compute, by: Literal["Budget", "Kill"]) -> None:
        if not each.asked:
            each.ends_at = self.now + timedelta(seconds=each.slow)
        # Who was killed does not go on, whoever had it stopped before.
        each.asked = "Kill" if "Kill" in (each.asked, by) else by

    def _pay(self, work: Work, cost: int) -> None:
        self.paid.append(Paid(work, self.now, self.now, cost, is_rate=False))

    async def _commit(self, statements: Sequence[Statement]) -> None:
        if statements:
            await self.store.commit(statements)


def of_stop(rate: int) -> int:
    """What is reserved for the stop of compute at a rate."""
    return charge(rate, BEGINNING, BEGINNING + timedelta(seconds=STOP_RESERVE_SECONDS))
