"""No ceiling of a budget that blocks is passed, whatever order calls, compute, time, months and edits come in."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from local_backend.budgets.book import STOP_SECONDS, BudgetBook, Ceiling, Work, charge
from nodus_tui.values import replace

NOW = datetime(2026, 11, 30, 23, 50, tzinfo=UTC)
USD = 1_000_000_000
HOUR = timedelta(hours=1)


def book(*ceilings: Ceiling, spent: int = 0) -> BudgetBook:
    made = BudgetBook()
    for ceiling in ceilings:
        made.put(ceiling, spent=spent, now=NOW)
    return made


def test_a_budget_counts_what_is_in_its_scope_only() -> None:
    by_project = Ceiling("p", USD, NOW, project="red")
    by_label = Ceiling("l", USD, NOW, match_labels=(("team", "a"),))
    everything = Ceiling("all", USD, NOW)
    red_a = Work.of({"project": "red", "labels": {"team": "a", "more": "x"}})
    made = book(by_project, by_label, everything)
    assert made.covering(red_a) == ("p", "l", "all")
    assert made.covering(Work("blue", (("team", "a"),))) == ("l", "all")
    assert made.covering(Work()) == ("all",)


def test_a_call_begins_only_where_its_worst_case_fits_beside_everything_under_way() -> None:
    made = book(Ceiling("all", USD, NOW))
    made.reserve("one", Work(), USD - 10)
    assert made.refusal(Work(), 10, NOW) is None
    refused = made.refusal(Work(), 11, NOW)
    assert refused is not None
    assert "budget all" in refused.message
    made.book("one", 5)
    assert made.refusal(Work(), USD - 5, NOW) is None


def test_notify_refuses_nothing_and_tells_all_the_same() -> None:
    made = book(Ceiling("all", USD, NOW, block=False))
    made.reserve("one", Work(), 2 * USD)
    assert made.refusal(Work(), USD, NOW) is None
    made.book("one", 2 * USD)
    assert [percent for _, percent in made.crossed(NOW)] == [50, 80, 100]


def test_each_threshold_is_told_once_a_period() -> None:
    made = book(Ceiling("all", USD, NOW, monthly=True))
    made.reserve("one", Work(), USD)
    made.book("one", USD * 6 // 10)
    assert made.crossed(NOW) == [("all", 50)]
    assert made.crossed(NOW) == []
    december = NOW + timedelta(minutes=20)
    assert made.roll(december) == ("all",)
    made.reserve("two", Work(), USD)
    made.book("two", USD // 2)
    assert made.crossed(december) == [("all", 50)]


def test_a_new_month_begins_at_zero_and_compute_counts_from_its_first_moment() -> None:
    made = book(Ceiling("all", USD, NOW, monthly=True))
    made.begin("box", Work(), 60 * USD, NOW)  # A dollar a minute.
    assert made.spent("all", NOW + timedelta(seconds=30)) == USD // 2
    december = datetime(2026, 12, 1, 0, 0, 15, tzinfo=UTC)
    made.roll(december)
    assert made.spent("all", december) == USD // 4
    made.end("box", december)
    assert made.spent("all", december) == USD // 4


def test_the_end_of_compute_is_computed_ahead_with_the_time_that_stopping_takes() -> None:
    made = book(Ceiling("all", USD, NOW))
    rate = USD * 6  # A tenth of a dollar a minute, so ten minutes, of which one is for stopping.
    made.begin("box", Work(), rate, NOW)
    deadline = made.deadline("all", NOW)
    assert deadline == NOW + timedelta(minutes=10) - timedelta(seconds=STOP_SECONDS)
    assert made.refused_compute("all", deadline - timedelta(seconds=1)) is None
    refused = made.refused_compute("all", deadline)
    assert refused is not None
    made.end("box", deadline + timedelta(seconds=STOP_SECONDS))
    assert made.spent("all", deadline + HOUR) == USD


@pytest.mark.parametrize(("cost", "expected"), [(None, {23: 10, 0: 60, 1: 10}), (30 * USD, {0: 20, 1: 10}), (0, {})])
def test_compute_stands_in_the_hours_in_which_it_ran_the_last_ones_where_it_cost_less(cost: int | None, expected: dict[int, int]) -> None:
    made = book(Ceiling("all", 1000 * USD, NOW))
    made.begin("box", Work(), 60 * USD, NOW)  # A dollar a minute, from ten minutes to midnight.
    hours = made.end("box", NOW + timedelta(minutes=80), cost)
    assert {hour.hour: spent // USD for hour, spent in hours} == expected
    assert made.spent("all", NOW + HOUR) == sum(spent for _, spent in hours)


def test_what_is_under_way_counts_under_a_budget_that_is_made_meanwhile() -> None:
    made = BudgetBook()
    made.reserve("one", Work("red"), 7)
    made.begin("box", Work("red"), 3600, NOW)
    made.put(Ceiling("late", 100, NOW, project="red"), spent=10, now=NOW)
    assert made.committed("late", NOW) == 10 + 7 + 60
    made.book("one", 2)
    made.end("box", NOW + timedelta(seconds=4))
    assert made.spent("late", NOW) == 10 + 2 + 4


@pytest.mark.parametrize(
    ("cost", "after"),
    [
        (None, 20),  # Half an hour before it was made, a third of one after.
        (40, 20),
        (15, 15),  # As much as it may have cost since.
        (0, 0),
    ],
)
def test_what_cost_less_than_was_assumed_cost_less_before_a_budget_of_all_time_too(cost: int | None, after: int) -> None:
    """Its minutes cost a dollar each; it has run for half an hour when the budget is made, and ends twenty minutes later."""
    made = BudgetBook()
    began = NOW.replace(minute=0)
    created = began + timedelta(minutes=30)
    made.begin("job", Work(), 60 * USD, began)
    ceiling = Ceiling("all", 100 * USD, created)
    before = made.running(ceiling, began, created)
    assert before == 30 * USD
    made.put(ceiling, spent=-before, now=created, before=before)
    end = created + timedelta(minutes=20)
    assert made.spent("all", end) == 20 * USD
    made.end("job", end, None if cost is None else cost * USD)
    assert made.spent("all", end) == after * USD
    assert made.before("all") == (before if cost is None else max(0, cost - 20) * USD)


@pytest.mark.parametrize(("start", "end", "expected"), [(0, 1, 1), (0, 0, 0), (5, 0, 0), (0, 3600, 3600)])
def test_compute_is_charged_up_to_the_nano_dollar(start: int, end: int, expected: int) -> None:
    assert charge(3600, NOW + timedelta(seconds=start), NOW + timedelta(seconds=end)) == expected


WORKS = st.sampled_from([Work(), Work("red"), Work("blue"), Work("red", (("team", "a"),)), Work(None, (("team", "a"),))])
MONEY = st.integers(0, 2000)


def test_charges_that_are_rounded_up_one_by_one_pass_no_limit_together() -> None:
    book, work = BudgetBook(), Work()
    book.put(Ceiling("all", 531, NOW), spent=0, now=NOW)
    for key, rate in (("slow", 8911), ("fast", 20791)):
        book.begin(key, work, rate, NOW)
    deadline = book.deadline("all", NOW)
    assert deadline is not None
    assert book.spent("all", deadline + timedelta(seconds=STOP_SECONDS)) <= 531


class Spending(RuleBasedStateMachine):
    """A scheduler that asks before it acts, and stops compute within the time that stopping may take. Spend is counted beside the book."""

    calls = Bundle("calls")
    boxes = Bundle("boxes")

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.book = BudgetBook()
        self.count = 0
        self.worst: dict[str, tuple[Work, int]] = {}
        self.running: dict[str, tuple[Work, int, datetime]] = {}
        self.paid: list[tuple[datetime, datetime, Work, int, bool]] = []
        """From, to, whose, how much or at which rate, and whether it is a rate."""

    @initialize(limits=st.lists(st.integers(1, 5000), min_size=4, max_size=4), monthly=st.booleans())
    def budgets(self, limits: list[int], monthly: bool) -> None:
        self.ceilings = [
            Ceiling("all", limits[0], NOW, monthly=monthly),
            Ceiling("red", limits[1], NOW, project="red"),
            Ceiling("team", limits[2], NOW, monthly=True, match_labels=(("team", "a"),)),
            Ceiling("told", limits[3], NOW, block=False),
        ]
        for ceiling in self.ceilings:
            self.book.put(ceiling, spent=0, now=NOW)

    def key(self) -> str:
        self.count += 1
        return str(self.count)

    @rule(target=calls, work=WORKS, worst=MONEY)
    def call(self, work: Work, worst: int) -> str:
        key = self.key()
        if self.book.refusal(work, worst, self.now) is None:
            self.book.reserve(key, work, worst)
            self.worst[key] = (work, worst)
        return key

    @rule(key=consumes(calls), share=st.floats(0, 1))
    def answered(self, key: str, share: float) -> None:
        if key in self.worst:
            work, worst = self.worst.pop(key)
            cost = int(worst * share)
            self.book.book(key, cost)
            self.paid.append((self.now, self.now, work, cost, False))

    @rule(target=boxes, work=WORKS, rate=st.integers(0, 100_000))
    def start(self, work: Work, rate: int) -> str:
        key = self.key()
        if self.book.refusal(work, 0, self.now, rate=rate) is None:
            self.book.begin(key, work, rate, self.now)
            self.running[key] = (work, rate, self.now)
        return key

    @rule(key=consumes(boxes))
    def stop(self, key: str) -> None:
        if key in self.running:
            work, rate, since = self.running.pop(key)
            self.book.end(key, self.now)
            self.paid.append((since, self.now, work, rate, True))

    @rule(seconds=st.floats(0, 2000), slow=st.floats(0, STOP_SECONDS))
    def time_passes(self, seconds: float, slow: float) -> None:
        """Up to the first deadline; there what must stop does, in as much time as stopping may take."""
        until = self.now + timedelta(seconds=seconds)
        while True:
            deadlines = [(found, name) for name in self.book.names if (found := self.book.deadline(name, self.now)) is not None]
            month = min((end for each in self.ceilings if (end := each.period_end(self.now)) is not None), default=until)
            first, name = min(deadlines, default=(until, ""))
            if min(first, month) >= until:
                break
            if month <= first:
                self.now = max(self.now, month)
                self.book.roll(self.now)
                continue
            self.now = max(self.now, first) + timedelta(seconds=slow)
            self.book.roll(self.now)
            covered = [key for key, (work, _, _) in self.running.items() if self.book.ceiling(name).covers(work)]
            for key in covered:
                self.stop(key)
        self.now = max(self.now, until)
        self.book.roll(self.now)

    @rule(place=st.integers(0, 3), more=MONEY)
    def raise_limit(self, place: int, more: int) -> None:
        ceiling = self.ceilings[place] = replace(self.ceilings[place], limit=self.ceilings[place].limit + more)
        self.book.put(ceiling, spent=self.settled(ceiling), now=self.now)

    def settled(self, ceiling: Ceiling) -> int:
        """What the record says of its period, compute that still runs left out."""
        start = ceiling.period_start(self.now)
        total = 0
        for begun, ended, work, amount, is_rate in self.paid:
            if ceiling.covers(work) and ended >= start:
                total += charge(amount, max(begun, start), ended) if is_rate else amount
        return total

    @invariant()
    def no_ceiling_that_blocks_is_passed(self) -> None:
        for ceiling in getattr(self, "ceilings", ()):
            running = sum(
                charge(rate, max(since, ceiling.period_start(self.now)), self.now)
                for work, rate, since in self.running.values()
                if ceiling.covers(work)
            )
            spent = self.settled(ceiling) + running
            assert spent == self.book.spent(ceiling.name, self.now)
            assert not ceiling.block or spent <= ceiling.limit


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
