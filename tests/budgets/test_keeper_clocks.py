"""Budgets over months that end and clocks that are set: what was spent counts, and no span of time that is negative gives anything back."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from keeper_world import BEGINNING, World

from local_backend.budgets.book import BudgetBook, Ceiling, Work
from local_backend.storage.store import Store
from nodus_tui.values import replace

CENT = 10_000_000
USD = 100 * CENT
MIDNIGHT = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A scheduler at work, twenty minutes before a month ends."""
    store = await Store.open(tmp_path / "workspace.db")
    made = World(store)
    await made.open()
    yield made
    await made.aclose(crash=False)
    await store.aclose()


async def next_scheduler(world: World, now: datetime) -> None:
    """The scheduler ends; the clock is set; the next one begins."""
    await world.aclose(crash=False)
    world.now = now
    for known in world.known.values():  # What the world holds to be true is told by the new clock, too.
        known.ceiling = replace(known.ceiling, created_at=min(known.ceiling.created_at, now))
    await world.open()


async def spend(world: World, cost: int, work: Work | None = None) -> None:
    """By one call."""
    world.call(work or Work(), cost)
    (call,) = world.calls
    await world.answer(call, cost)


def counted(world: World, name: str) -> int:
    return world.keeper.book.spent(name, world.keeper.now)


def refused(world: World, cost: int) -> bool:
    return world.keeper.of(Work()).refusal(cost) is not None


async def test_a_call_whose_end_is_the_first_that_happens_in_a_month_counts_in_it(world: World) -> None:
    await world.put(Ceiling("month", 4 * USD, world.now, monthly=True))
    world.call(Work(), 3 * USD)
    (call,) = world.calls
    world.now = MIDNIGHT + timedelta(milliseconds=1)
    await world.answer(call, 3 * USD)
    assert counted(world, "month") == 3 * USD
    assert refused(world, 2 * USD)


async def test_what_is_found_to_have_been_spent_first_in_a_month_counts_in_it(world: World) -> None:
    await world.put(Ceiling("month", 4 * USD, world.now, monthly=True))
    world.now = MIDNIGHT + timedelta(milliseconds=1)
    await world.store.commit(world.keeper.of(Work()).charged(model=3 * USD))
    assert counted(world, "month") == 3 * USD


async def test_a_month_that_begins_twice_by_a_clock_that_was_ahead_has_its_limit_once(world: World) -> None:
    await next_scheduler(world, MIDNIGHT + timedelta(hours=1))
    await world.put(Ceiling("month", 4 * USD, world.now, monthly=True))
    await spend(world, 3 * USD)
    await next_scheduler(world, MIDNIGHT - timedelta(hours=7))
    assert counted(world, "month") == 3 * USD, "it was spent before now"
    world.now = MIDNIGHT + timedelta(minutes=1)
    assert counted(world, "month") == 3 * USD
    assert refused(world, 2 * USD)
    world.now = datetime(2027, 1, 1, tzinfo=UTC)
    assert counted(world, "month") == 0


async def test_a_month_that_a_clock_once_was_in_begins_with_what_was_spent_in_it(world: World) -> None:
    await next_scheduler(world, datetime(2027, 2, 3, tzinfo=UTC))
    await world.put(Ceiling("month", 9 * USD, world.now, monthly=True))
    await spend(world, 3 * USD)
    await next_scheduler(world, BEGINNING)
    found = []
    for month in (datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 2, 1, tzinfo=UTC)):
        world.now = month
        found.append(counted(world, "month"))
    assert found == [0, 0, 3 * USD]


@pytest.mark.parametrize("back", [timedelta(hours=8), timedelta(days=400)])
async def test_a_budget_of_all_time_that_by_this_clock_is_still_to_be_made_counts_all_the_same(world: World, back: timedelta) -> None:
    await spend(world, USD)
    await world.put(Ceiling("all", 4 * USD, world.now))
    await spend(world, USD)
    for count in (1, 2):
        # Over a restart what stands on record counts, and not what the memory holds.
        await next_scheduler(world, BEGINNING - back + timedelta(minutes=count))
        assert counted(world, "all") == count * USD
        await spend(world, USD)
    assert counted(world, "all") == 3 * USD
    assert refused(world, 2 * USD)
    await next_scheduler(world, BEGINNING + timedelta(minutes=1))
    assert counted(world, "all") == 3 * USD


async def test_a_budget_of_all_time_that_has_closed_does_not_open_where_the_clock_is_set_back(world: World) -> None:
    await world.put(Ceiling("all", 4 * USD, world.now))
    await spend(world, 3 * USD)
    world.call(Work(), 2 * USD)
    await world.look()
    assert refused(world, CENT)
    await next_scheduler(world, BEGINNING - timedelta(hours=8))
    assert refused(world, CENT)
    await next_scheduler(world, BEGINNING)
    assert refused(world, CENT)


@pytest.mark.parametrize("monthly", [False, True])
def test_compute_whose_clock_was_set_back_counts_with_what_it_is_known_to_have_cost(monthly: bool) -> None:
    book, now = BudgetBook(), BEGINNING - timedelta(hours=3)
    book.put(Ceiling("one", 9 * USD, now - timedelta(hours=1), monthly=monthly), spent=0, now=now)
    book.begin("job", Work(), 60 * USD, BEGINNING)
    assert book.spent("one", now) == 0, "a negative span is no money"
    hours = book.end("job", now + timedelta(minutes=1), 5 * USD)
    assert book.spent("one", now) == sum(cost for _, cost in hours) == 5 * USD
