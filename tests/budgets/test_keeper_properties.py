"""Whatever happens to budgets and under them, in whatever order: the keeper lets no ceiling be passed, tells once, stops and lets go on.

Stateful, over the real keeper, its book and a real SQLite file; keeper_world.py says what stands in for the work.
"""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from keeper_world import World, of_stop

from local_backend.budgets.book import Ceiling, Work
from local_backend.storage.store import Store
from nodus_tui.values import replace

WORKS = st.sampled_from([Work(), Work("red"), Work("red", (("team", "a"),)), Work(None, (("team", "a"),))])
CENT = 10_000_000
USD = 100 * CENT
LIMITS = st.integers(1, 400).map(lambda cents: cents * CENT)
RATES = st.integers(1, 60).map(lambda dollars: dollars * USD)
"""At $60 an hour a stop reserves $1.17, and a dollar is a minute."""
COSTS = st.integers(0, 100).map(lambda cents: cents * CENT)
SCOPES: dict[str, tuple[str | None, tuple[tuple[str, str], ...]]] = {
    "all": (None, ()),
    "red": ("red", ()),
    "team": (None, (("team", "a"),)),
    "both": ("red", (("team", "a"),)),
}
NAMES = st.sampled_from(sorted(SCOPES))


class Keeping(RuleBasedStateMachine):
    """Schedulers over one workspace."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(prefix="nodus-keeper-")
        self.store = self.runner.run(Store.open(Path(self.folder.name) / "workspace.db"))
        self.world = World(self.store)

    @initialize(limit=LIMITS, monthly=st.booleans(), work=WORKS, rate=RATES)
    def begin(self, limit: int, monthly: bool, work: Work, rate: int) -> None:
        self.runner.run(self.world.open())
        self.put_budget("all", limit, monthly, block=True)
        self.new_work(work, rate, 1.0)

    def teardown(self) -> None:
        self.runner.run(self.world.aclose(crash=False))
        self.runner.run(self.store.aclose())
        self.runner.close()
        self.folder.cleanup()

    @rule(name=NAMES, limit=LIMITS, monthly=st.booleans(), block=st.booleans())
    def put_budget(self, name: str, limit: int, monthly: bool, block: bool) -> None:
        """Made, or raised, lowered, of another period or action."""
        project, labels = SCOPES[name]
        known = self.world.known.get(name)
        made = known.ceiling.created_at if known is not None else self.world.now
        self._did(self.world.put(Ceiling(name, limit, made, monthly, block, project, labels)))

    @precondition(lambda self: self.world.known)
    @rule(data=st.data(), more=st.integers(-100, 100), big=st.booleans())
    def change_limit(self, data: st.DataObject, more: int, big: bool) -> None:
        """Often by so little that it is used up at once."""
        name = data.draw(st.sampled_from(sorted(self.world.known)))
        ceiling = self.world.known[name].ceiling
        self._did(self.world.put(replace(ceiling, limit=max(CENT, ceiling.limit + more * CENT * (20 if big else 1)))))

    @precondition(lambda self: self.world.known and self._in("Stopped"))
    @rule(data=st.data(), seconds=st.floats(0, 4))
    def raise_limits_for_a_moment(self, data: st.DataObject, seconds: float) -> None:
        """All over one that was stopped are raised, by so much that it goes on, and is stopped again within the next look."""
        each = self.world.compute[data.draw(st.sampled_from(self._in("Stopped")))]
        for name in self._over(each.work):
            needed = self.world.committed(name) + of_stop(each.rate) + int(each.rate * seconds / 3600)
            ceiling = self.world.known[name].ceiling
            self._did(self.world.put(replace(ceiling, limit=max(needed, ceiling.limit))))
        self.runner.run(self.world.pass_time(2))

    @precondition(lambda self: self.world.known)
    @rule(data=st.data())
    def remove_budget(self, data: st.DataObject) -> None:
        self._did(self.world.remove(data.draw(st.sampled_from(sorted(self.world.known)))))

    @rule(work=WORKS, rate=RATES, slow=st.floats(0, 10))
    def new_work(self, work: Work, rate: int, slow: float) -> None:
        self.world.new(work, rate, slow)
        self.world.touched()

    @precondition(lambda self: self._in("Running"))
    @rule(data=st.data(), share=st.one_of(st.just(1.0), st.floats(0, 1)))
    def work_comes_to_its_end(self, data: st.DataObject, share: float) -> None:
        each = self.world.compute[data.draw(st.sampled_from(self._in("Running")))]
        if each.asked != "Budget":
            self._did(self.world.end(each, share))

    @precondition(lambda self: self._in("Running", "Waiting", "Stopped"))
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        self._did(self.world.kill(self.world.compute[data.draw(st.sampled_from(self._in("Running", "Waiting", "Stopped")))]))

    @rule(work=WORKS, worst=COSTS)
    def call(self, work: Work, worst: int) -> None:
        self.world.call(work, worst)
        self.world.touched()

    @rule(work=WORKS)
    def call_for_all_that_is_left(self, work: Work) -> None:
        """So that nothing else has room until it is answered."""
        left = [self.world.known[name].ceiling.limit - self.world.committed(name) for name in self._over(work)]
        if left and min(left) > 0:
            self.call(work, min(left))

    @precondition(lambda self: self.world.calls)
    @rule(data=st.data(), share=st.floats(0, 1))
    def answer(self, data: st.DataObject, share: float) -> None:
        key = data.draw(st.sampled_from(sorted(self.world.calls)))
        self._did(self.world.answer(key, int(self.world.calls[key][1] * share)))

    @rule(seconds=st.one_of(st.floats(0, 5), st.floats(0, 1500)), late=st.floats(0, 5))
    def time_passes(self, seconds: float, late: float) -> None:
        self.world.lateness = late
        self.runner.run(self.world.pass_time(seconds))

    @rule(again=st.booleans())
    def look(self, again: bool) -> None:
        """Before it is due; also twice."""
        self.runner.run(self.world.look())
        if again:
            self.runner.run(self.world.look())

    @rule(crash=st.booleans())
    def another_scheduler(self, crash: bool) -> None:
        self.runner.run(self.world.aclose(crash=crash))
        self.runner.run(self.world.open())

    @rule()
    def settle(self) -> None:
        """With everything ended that was asked to: what all budgets over it pay for has gone on, and all is told."""
        world = self.world
        world.lateness = 0.0
        self.runner.run(world.pass_time(15))
        self.runner.run(world.look())
        for each in world.compute.values():
            if each.phase in {"Waiting", "Stopped"}:
                assert not world.pays(each.work, of_stop(each.rate)), f"{each} does not go on although all pay"
        for name, known in world.known.items():
            wanted = {percent for percent in known.ceiling.thresholds if 100 * world.spent(name) >= percent * known.ceiling.limit}
            assert wanted <= known.told

    @invariant()
    def no_ceiling_that_blocks_is_passed(self) -> None:
        for name, known in self.world.known.items():
            if known.ceiling.block:
                assert self.world.spent(name) <= known.allowance, name

    @invariant()
    def the_books_are_right(self) -> None:
        self.runner.run(_now(self.world))
        for name in self.world.known:
            # A piece of compute is rounded up to the nano-dollar wherever it is cut.
            assert abs(self.world.keeper.book.spent(name, self.world.now) - self.world.spent(name)) <= 2 * (
                len(self.world.paid) + len(self.world.compute)
            ), name

    def _did(self, doing: object) -> None:
        self.runner.run(doing)  # type: ignore[arg-type]  # Always a coroutine.
        self.world.touched()
        self.world.start_waiting()

    def _over(self, work: Work) -> list[str]:
        return [name for name, known in self.world.known.items() if known.ceiling.block and known.ceiling.covers(work)]

    def _in(self, *phases: str) -> list[str]:
        return [name for name, each in self.world.compute.items() if each.phase in phases]


async def _now(world: World) -> None:
    """New periods are due."""
    assert world.keeper.now == world.now


async def test_who_was_turned_away_for_a_call_goes_on_when_the_call_has_ended(tmp_path: Path) -> None:
    """The budget that had stopped it is raised while another has no room for it, because of something that has nothing to do with it."""
    store = await Store.open(tmp_path / "workspace.db")
    world = World(store)
    try:
        await world.open()
        await world.put(Ceiling("team", 130 * CENT, world.now, match_labels=(("team", "a"),)))
        await world.put(Ceiling("red", 400 * CENT, world.now, project="red"))
        world.new(Work("red", (("team", "a"),)), 60 * USD, 1.0)
        world.touched()
        await world.pass_time(30)
        (job,) = world.compute.values()
        assert job.phase == "Stopped"
        world.call(Work("red"), 390 * CENT - world.spent("red"))
        (call,) = world.calls
        await world.put(Ceiling("team", 400 * CENT, world.now, match_labels=(("team", "a"),)))
        await world.pass_time(30)
        assert job.phase == "Stopped", "the worst case of the call leaves no room"
        await world.answer(call, 0)
        world.touched()
        await world.pass_time(3)
        assert job.phase == "Running"
    finally:
        await world.aclose(crash=False)
        await store.aclose()


@pytest.mark.parametrize("monthly", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
async def test_a_budget_that_is_made_while_compute_runs_counts_right_where_that_cost_less_than_its_rate(
    tmp_path: Path, share: float, monthly: bool
) -> None:
    """It runs for ten minutes before and five after; over a restart, too, and where the budget becomes one of all time afterwards."""
    store = await Store.open(tmp_path / "workspace.db")
    world = World(store)
    await world.open()
    try:
        world.new(Work(), 6 * USD, 1.0)
        await world.pass_time(600)
        await world.put(Ceiling("late", 100 * USD, world.now, monthly=monthly))
        await world.pass_time(300)
        await world.end(world.compute["1"], share)
        for _ in range(2):
            assert abs(world.keeper.book.spent("late", world.now) - world.spent("late")) <= 4
            await world.aclose(crash=True)
            await world.open()
        await world.put(replace(world.known["late"].ceiling, monthly=False))
        assert abs(world.keeper.book.spent("late", world.now) - world.spent("late")) <= 4
    finally:
        await world.aclose(crash=False)
        await store.aclose()


TestKeeping = Keeping.TestCase
TestKeeping.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, derandomize=True)
