"""Stateful property tests: whatever cells start, spend, stall, are extended, retried, killed or end, no ceiling is passed."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from local_backend.budgets.book import BudgetBook, Ceiling, Work
from local_backend.scheduling.ledger import Ledger, LedgerError, RunAccount
from local_backend.sweeps.book import CellState, SweepBook

amounts = st.integers(min_value=1, max_value=1_000_000)
NOW = datetime(2026, 11, 7, tzinfo=UTC)
WORK = Work(None, (("nodus.dev/sweep", "sweep"),))


@dataclass
class Group:
    """What stands for a cell's group: its own ledger of one run after the other, as the engine of a group keeps it."""

    ledger: Ledger
    runs: int = 0
    in_flight: int = 0
    charged: int = 0
    """Everything that was really paid: what the test itself adds up."""
    killed: bool = False
    retried: int = 0
    launched: bool = field(default=False)

    @property
    def run(self) -> str:
        return f"r{self.runs}"


class SweepUnderCap(RuleBasedStateMachine):
    """One sweep of random cells under one budget. Each call of a cell asks its group and the budget first, as runs do."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[str, Group] = {}
        self.book = SweepBook("sweep", 1, 1)
        self.budgets = BudgetBook()

    @initialize(
        caps=st.lists(amounts, min_size=1, max_size=8), share=st.fractions(Fraction(1, 10), 2), parallel=st.integers(1, 4), limit=amounts
    )
    def launch(self, caps: list[int], share: Fraction, parallel: int, limit: int) -> None:
        self.cap = max(1, int(sum(caps) * share))
        self.limit = limit * len(caps)
        self.enough = share >= 1
        self.untouched = True
        self.book = SweepBook("sweep", self.cap, parallel)
        self.budgets.put(Ceiling("ceiling", self.limit, NOW, match_labels=WORK.labels), spent=0, now=NOW)
        for place, cap in enumerate(caps):
            name = f"sweep-{place}"
            self.groups[name] = Group(Ledger(cap))
            self.book.open(name, cap=cap, spent=0, state=CellState.WAITING, asking=False)

    def _pick(self, data: st.DataObject, *states: CellState) -> str:
        return data.draw(st.sampled_from(self.book.names(*states)))

    def _has(self, *states: CellState) -> bool:
        return bool(self.book.names(*states))

    @rule()
    def start_what_fits(self) -> None:
        waiting = self.book.waiting
        started, waits = self.book.admit()
        assert set(started) | set(waits) == set(waiting)
        assert self.book.going <= self.book.max_parallel
        for name in started:
            self._goes(name)
        if self.enough and self.untouched:
            assert not [each for each in waits.values() if each.shortfall]

    def _goes(self, name: str) -> None:
        group = self.groups[name]
        group.launched, group.killed = True, False
        if group.ledger.cap < self.book.cap_of(name):
            group.ledger.raise_cap(self.book.cap_of(name))
        group.runs += 1
        group.ledger.open(group.run, RunAccount(cap=group.ledger.left))
        group.ledger.start(group.run)

    @precondition(lambda self: self._has(CellState.GOING))
    @rule(data=st.data(), worst=amounts, share=st.fractions(0, 1))
    def call(self, data: st.DataObject, worst: int, share: Fraction) -> None:
        group = self.groups[self._pick(data, CellState.GOING)]
        name = f"{id(group)}"
        if group.ledger.shortfall_to_call(group.run, worst) > 0 or self.budgets.refusal(WORK, worst, NOW) is not None:
            return
        group.ledger.reserve(group.run, worst)
        self.budgets.reserve(name, WORK, worst)
        cost = int(worst * share)
        group.ledger.book(group.run, cost)
        self.budgets.book(name, cost)
        group.charged += cost

    @precondition(lambda self: self._has(CellState.GOING))
    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        name = self._pick(data, CellState.GOING)
        self.book.booked(name, self.groups[name].charged)

    @precondition(lambda self: self._has(CellState.GOING))
    @rule(data=st.data(), state=st.sampled_from([CellState.STALLED, CellState.RESTING, CellState.ENDED]))
    def stop(self, data: st.DataObject, state: CellState) -> None:
        name = self._pick(data, CellState.GOING)
        group = self.groups[name]
        group.ledger.stop(group.run)
        self.book.booked(name, group.charged)
        self.book.stop(name, state)
        self.untouched = False

    @precondition(lambda self: self._has(CellState.STALLED, CellState.RESTING, CellState.ENDED))
    @rule(data=st.data(), more=st.integers(0, 1_000_000))
    def extend_or_retry_one_that_holds_no_place(self, data: st.DataObject, more: int) -> None:
        name = self._pick(data, CellState.STALLED, CellState.RESTING, CellState.ENDED)
        if not self.groups[name].launched:
            self.book.rests(name, CellState.WAITING)
            return
        cap = self.book.cap_of(name) + more
        if not self.book.refusal(name, cap):
            self.book.ask(name, cap)

    @precondition(lambda self: self._has(CellState.GOING))
    @rule(data=st.data(), more=amounts)
    def extend_one_that_goes(self, data: st.DataObject, more: int) -> None:
        name = self._pick(data, CellState.GOING)
        self.untouched = False
        cap = self.book.cap_of(name) + more
        if self.book.refusal(name, cap):
            with pytest.raises(LedgerError):
                self.book.extend(name, cap)
        else:
            self.book.extend(name, cap)
            group = self.groups[name]
            group.ledger.raise_cap(cap)
            group.ledger.extend(group.run, group.ledger.account(group.run).cap + more)

    @precondition(lambda self: self._has(CellState.WAITING, CellState.STALLED, CellState.RESTING))
    @rule(data=st.data())
    def kill_one_that_holds_no_place(self, data: st.DataObject) -> None:
        name = self._pick(data, CellState.WAITING, CellState.STALLED, CellState.RESTING)
        self.book.withdraw(name)
        self.book.rests(name, CellState.ENDED)

    @rule(more=amounts)
    def raise_the_sweeps_cap(self, more: int) -> None:
        self.cap += more
        self.book.raise_cap(self.cap)

    @invariant()
    def no_sweep_above_its_cap(self) -> None:
        if not self.groups:
            return
        paid = sum(group.charged for group in self.groups.values())
        going = self.book.names(CellState.GOING)
        rest = sum(group.charged for name, group in self.groups.items() if name not in going)
        assert paid <= self.cap
        assert rest + sum(self.groups[name].ledger.cap for name in going) <= self.cap
        assert self.book.settled + self.book.reserved + self.book.left == self.cap
        assert self.book.left >= 0
        assert self.book.going <= self.book.max_parallel

    @invariant()
    def no_cell_above_its_own(self) -> None:
        assert all(group.charged <= group.ledger.cap <= self.book.cap_of(name) for name, group in self.groups.items())

    @invariant()
    def no_budget_above_its_limit(self) -> None:
        if self.groups:
            assert self.budgets.spent("ceiling", NOW) == sum(group.charged for group in self.groups.values()) <= self.limit


SweepUnderCap.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestSweepUnderCap = SweepUnderCap.TestCase


def test_a_cap_of_cells_times_their_caps_gives_every_cell_room() -> None:
    book = SweepBook("sweep", 400, 4)
    for place in range(4):
        book.open(f"c{place}", cap=100, spent=0, state=CellState.WAITING, asking=False)
    assert book.admit() == (["c0", "c1", "c2", "c3"], {})


def test_what_a_cell_waits_for_is_told_in_numbers() -> None:
    dollar = 1_000_000_000
    book = SweepBook("big", 2 * dollar + dollar // 2, 1)
    for place in range(1, 4):
        book.open(f"big-{place}", cap=dollar, spent=0, state=CellState.WAITING, asking=False)
    _, waits = book.admit()
    assert waits["big-2"].message == "waits for one of 1 place (maxParallel)"
    book.booked("big-1", dollar)
    book.stop("big-1", CellState.STALLED)
    book.admit()
    _, waits = book.admit()
    assert waits["big-3"].message == (
        "waits for $0.50 of the sweep's cap: it needs $1.00, $0.50 of $2.50 is left ($1.00 reserved by 1 cell, $1.00 spent)"
    )
    assert book.missing == dollar // 2
    assert book.refusal("big-1", 2 * dollar) == (
        "big-1 is a cell of sweep big, and a cap of $2.00 for it does not fit under what the sweep has left: $0.50 of $2.50 is left "
        "($1.00 reserved by 1 cell, $1.00 spent); raise the sweep's cap to at least $3.00"
    )
    assert book.refusal("big-1", dollar + dollar // 2) == ""
