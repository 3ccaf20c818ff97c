"""Stateful property tests: whatever runs start, call, fail, park, are killed, extended or retried, the caps hold at every step."""

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from local_backend.scheduling.admission import admit, call_does_not_fit
from local_backend.scheduling.ledger import Ledger, LedgerError, RunAccount
from nodus_tui.contract.phases import Reason

amounts = st.integers(min_value=1, max_value=1_000_000_000)


@dataclass
class Model:
    """What the test itself remembers of a run, to hold against the ledger."""

    cap: int
    carried: int = 0
    spent: int = 0
    in_flight: int = 0
    state: str = "waiting"
    """waiting, going, parked or ended."""


class GroupUnderCaps(RuleBasedStateMachine):
    """One group with random runs; the model is a plain list of what was charged."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(1)
        self.runs: dict[str, Model] = {}
        self.max_active = 1
        self.extended = False

    runs_made = Bundle("runs_made")

    @initialize(cases=st.integers(1, 8), cap=amounts, group_factor=st.integers(1, 10), max_active=st.integers(1, 10))
    def launch(self, cases: int, cap: int, group_factor: int, max_active: int) -> None:
        self.ledger = Ledger(cap * group_factor)
        self.group_cap = cap * group_factor
        self.enough = group_factor >= cases
        self.max_active = max_active
        for case in range(cases):
            self._open(f"r{case}", Model(cap))

    def _open(self, name: str, model: Model) -> None:
        self.runs[name] = model
        self.ledger.open(name, RunAccount(cap=model.cap, carried=model.carried))

    def _names(self, *states: str) -> list[str]:
        return [name for name, run in self.runs.items() if run.state in states]

    def _pick(self, data: st.DataObject, *states: str) -> str:
        return data.draw(st.sampled_from(self._names(*states)))

    @rule()
    def start_what_fits(self) -> None:
        waiting = self._names("waiting")
        going = len(self._names("going"))
        started, waits = admit(waiting, self.ledger, going=going, max_active=self.max_active)
        assert set(started) | set(waits) == set(waiting)
        assert going + len(started) <= self.max_active
        for name in started:
            self.runs[name].state = "going"
        if self.enough and not self.extended:
            assert all(wait.reason is Reason.WAITING_FOR_SLOT for wait in waits.values())

    @precondition(lambda self: self._names("going"))
    @rule(data=st.data(), worst=amounts)
    def call(self, data: st.DataObject, worst: int) -> None:
        name = self._pick(data, "going")
        run = self.runs[name]
        if run.in_flight:
            with pytest.raises(LedgerError):
                self.ledger.reserve(name, worst)
            return
        fits = run.carried + run.spent + worst <= run.cap
        assert (call_does_not_fit(self.ledger, name, worst) is None) == fits
        if fits:
            self.ledger.reserve(name, worst)
            run.in_flight = worst
        else:
            with pytest.raises(LedgerError):
                self.ledger.reserve(name, worst)
            self.ledger.stop(name)
            run.state = "parked"

    @precondition(lambda self: any(run.in_flight for run in self.runs.values()))
    @rule(data=st.data(), share=st.fractions(0, 1))
    def settle(self, data: st.DataObject, share: Fraction) -> None:
        name = data.draw(st.sampled_from([name for name, run in self.runs.items() if run.in_flight]))
        run = self.runs[name]
        cost = int(run.in_flight * share)
        self.ledger.book(name, cost)
        run.spent += cost
        run.in_flight = 0

    @precondition(lambda self: any(run.state == "going" and not run.in_flight for run in self.runs.values()))
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([n for n, run in self.runs.items() if run.state == "going" and not run.in_flight]))
        self.ledger.stop(name)
        self.runs[name].state = "ended"

    @precondition(lambda self: self._names("waiting", "going", "parked"))
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        name = self._pick(data, "waiting", "going", "parked")
        run = self.runs[name]
        if run.in_flight:
            self.ledger.book(name, run.in_flight)
            run.spent += run.in_flight
            run.in_flight = 0
        if run.state == "going":
            self.ledger.stop(name)
        run.state = "ended"

    @precondition(lambda self: self._names("waiting", "parked", "ended"))
    @rule(data=st.data(), more=amounts, restart=st.booleans())
    def extend_or_retry(self, data: st.DataObject, more: int, restart: bool) -> None:
        name = self._pick(data, "waiting", "parked", "ended")
        old = self.runs[name]
        old.state = "ended"
        self.extended = True
        carried = 0 if restart else old.carried + old.spent
        if f"{name}+" not in self.runs:
            self._open(f"{name}+", Model(old.cap + more, carried))

    @rule(more=amounts)
    def raise_group_cap(self, more: int) -> None:
        self.group_cap += more
        self.ledger.raise_cap(self.group_cap)

    @invariant()
    def no_run_above_its_cap(self) -> None:
        for run in self.runs.values():
            assert run.carried + run.spent + run.in_flight <= run.cap

    @invariant()
    def no_group_above_its_cap(self) -> None:
        spent = sum(run.spent for run in self.runs.values())
        assert spent + sum(run.in_flight for run in self.runs.values()) <= self.group_cap
        reserved = sum(run.cap - run.carried for run in self.runs.values() if run.state == "going")
        ended = sum(run.spent for run in self.runs.values() if run.state != "going")
        assert ended + reserved <= self.group_cap

    @invariant()
    def the_ledger_agrees(self) -> None:
        assert self.ledger.reserved == sum(run.cap - run.carried for run in self.runs.values() if run.state == "going")
        assert self.ledger.settled == sum(run.spent for run in self.runs.values() if run.state != "going")
        assert self.ledger.left == self.group_cap - self.ledger.reserved - self.ledger.settled
        assert self.ledger.committed == sum(run.spent + run.in_flight for run in self.runs.values())


GroupUnderCaps.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestGroupUnderCaps = GroupUnderCaps.TestCase


def test_a_group_cap_of_tasks_times_per_run_cap_never_keeps_a_case_waiting_for_money() -> None:
    """Even when every run spends its whole cap, and all start at once."""
    cap = 100_000_000
    ledger = Ledger(100 * cap)
    names = [f"r{case}" for case in range(100)]
    for name in names:
        ledger.open(name, RunAccount(cap))
    started, waits = admit(names, ledger, going=0, max_active=1000)
    assert len(started) == 100
    assert not waits
    for name in names:
        ledger.reserve(name, cap)
        ledger.book(name, cap)
        ledger.stop(name)
    assert ledger.left == 0
    assert ledger.settled == 100 * cap


def test_the_documents_example_two_tasks_at_ten_cents_under_twenty() -> None:
    ledger = Ledger(200_000_000)
    for name in ("a", "b", "c"):
        ledger.open(name, RunAccount(100_000_000))
    started, waits = admit(["a", "b", "c"], ledger, going=0, max_active=10)
    assert started == ["a", "b"]
    assert waits["c"].reason is Reason.MAX_COST_REACHED
    assert waits["c"].message == (
        "waits for $0.10 of the group's cap: it needs $0.10, $0.00 of $0.20 is left ($0.20 reserved by 2 runs, $0.00 spent)"
    )


def test_a_waiting_run_reserves_only_what_it_spent() -> None:
    ledger = Ledger(150_000_000)
    for name in ("a", "b"):
        ledger.open(name, RunAccount(100_000_000))
    started, _ = admit(["a", "b"], ledger, going=0, max_active=10)
    assert started == ["a"]
    ledger.reserve("a", 40_000_000)
    ledger.book("a", 30_000_000)
    ledger.stop("a")
    started, _ = admit(["b"], ledger, going=0, max_active=10)
    assert started == ["b"]
    assert ledger.left == 150_000_000 - 30_000_000 - 100_000_000


def test_a_successor_is_not_charged_twice_for_what_its_predecessor_paid() -> None:
    ledger = Ledger(200_000_000)
    ledger.open("old", RunAccount(100_000_000))
    ledger.start("old")
    ledger.reserve("old", 80_000_000)
    ledger.book("old", 80_000_000)
    ledger.stop("old")
    ledger.open("new", RunAccount(cap=200_000_000, carried=80_000_000))
    assert ledger.shortfall_to_start("new") == 0
    ledger.start("new")
    assert ledger.left == 0
    assert ledger.shortfall_to_call("new", 120_000_000) == 0
    assert ledger.shortfall_to_call("new", 120_000_001) == 1
