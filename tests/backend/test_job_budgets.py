"""Jobs under budgets that block: what a budget stopped goes on by itself where all of them have room again, whatever happens meanwhile."""

import sys
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from agents_at_work import launch
from engine_place import Place, until
from model_server import ModelServer

from local_backend.backend import LocalBackend
from nodus_tui.contract.actions import Delete, Kill, RetryJob
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.job import Job, JobStatus

pytestmark = pytest.mark.timeout(60)

LOOP = "import time\nwhile True: time.sleep(60)"


@pytest.fixture
def costly(place: Place) -> Place:
    """A dollar a minute: stopping a job may take 70 seconds, and so a budget of $1.20 has room for some seconds of one."""
    place.rates = {"CPU": "60.00"}
    return place


def budget(limit: str, name: str = "month", **spec: object) -> dict[str, object]:
    whole = {"limitUSD": limit, "scope": {"project": "red"}, **spec}
    return {"apiVersion": "nodus.dev/v1", "kind": "Budget", "metadata": {"name": name}, "spec": whole}


def job(script: str = LOOP) -> dict[str, object]:
    spec = {"command": [sys.executable, "-c", script], "maxCostUSD": "100.00"}
    return {"apiVersion": "nodus.dev/v1", "kind": "Job", "metadata": {"name": "loop", "project": "red"}, "spec": spec}


async def now(backend: LocalBackend) -> JobStatus:
    found = await backend.get("Job", "loop")
    assert isinstance(found, Job)
    assert found.status is not None
    return found.status


async def until_job(backend: LocalBackend, reached: Callable[[JobStatus], bool]) -> JobStatus:
    async def so_far() -> bool:
        return reached(await now(backend))

    await until(backend, so_far)
    return await now(backend)


async def stopped(backend: LocalBackend) -> JobStatus:
    found = await until_job(backend, lambda status: status.ended)
    assert (found.phase, found.reason) == ("Cancelled", "BudgetExceeded")
    return found


async def spent(backend: LocalBackend, name: str = "month") -> Decimal:
    found = await backend.get("Budget", name)
    assert isinstance(found, Budget)
    assert found.status is not None
    return found.status.spent_usd


async def paid(backend: LocalBackend, wanted: Decimal, name: str = "month") -> Decimal:
    """Wait until a budget's status, which is told a moment after the books, says this."""

    async def settled() -> bool:
        return await spent(backend, name) == wanted

    await until(backend, settled)
    return wanted


async def test_a_raise_lets_a_stopped_job_go_on_as_its_next_attempt_and_nothing_is_paid_twice(costly: Place, server: ModelServer) -> None:
    async with costly.backend() as backend:
        await launch(costly, backend, budget("1.20"))
        await launch(costly, backend, job())
        first = await stopped(backend)
        assert await paid(backend, first.cost_usd) <= Decimal("1.20")
        # Neither a look nor a budget that gives no more room.
        await launch(costly, backend, budget("1.19"))
        assert (await now(backend)).attempt == 1
        await launch(costly, backend, budget("200.00"))
        again = await until_job(backend, lambda status: status.phase == "Running")
        assert again.attempt == 2
        await backend.act(Kill(kind="Job", name="loop"))
        last = await now(backend)
        assert (last.phase, last.reason) == ("Cancelled", "Killed")
        assert await paid(backend, last.cost_usd) > first.cost_usd


async def test_a_raise_while_a_job_is_still_ending_lets_it_go_on(costly: Place, server: ModelServer) -> None:
    """It does not listen to SIGTERM for as long as a file is not there: the raise comes in between."""
    go = costly.folder / "go"
    script = f"""
import os, signal, time
def wait(*_):
    open({str(go)!r} + ".asked", "w").close()
    while not os.path.exists({str(go)!r}): time.sleep(0.01)
    raise SystemExit(0)
signal.signal(signal.SIGTERM, wait)
while True: time.sleep(60)
"""
    async with costly.backend() as backend:
        await launch(costly, backend, budget("1.20"))
        await launch(costly, backend, job(script))

        async def asked() -> bool:
            return (costly.folder / "go.asked").exists()

        await until(backend, asked)
        assert not (await now(backend)).ended
        await launch(costly, backend, budget("200.00"))
        go.touch()
        await until_job(backend, lambda status: status.attempt == 2 and status.phase == "Running")
        await backend.act(Kill(kind="Job", name="loop"))
        last = await now(backend)
        await paid(backend, last.cost_usd)


async def test_a_raise_that_is_used_up_at_once_stops_what_went_on_by_it(costly: Place, server: ModelServer) -> None:
    """The budget closes again before anybody has looked whether it was open."""
    async with costly.backend() as backend:
        await launch(costly, backend, budget("1.20"))
        await launch(costly, backend, job())
        first = await stopped(backend)
        await launch(costly, backend, budget("1.20", limitUSD=str(first.cost_usd.quantize(Decimal("0.01")) + Decimal("1.20"))))
        again = await stopped_again(backend)
        assert await paid(backend, again.cost_usd) <= Decimal("1.25")


async def test_a_raise_that_no_scheduler_saw_counts_when_the_next_one_comes(costly: Place, server: ModelServer) -> None:
    async with costly.backend() as backend:
        await launch(costly, backend, budget("1.20"))
        await launch(costly, backend, job())
        await stopped(backend)
    async with costly.backend(role="look") as looker:
        await launch(costly, looker, budget("200.00"))
    async with costly.backend() as backend:
        await until_job(backend, lambda status: status.attempt == 2 and status.phase == "Running")
        await backend.act(Kill(kind="Job", name="loop"))


async def test_a_kill_is_final_for_what_a_budget_stopped_and_a_retry_waits_for_the_budget(costly: Place, server: ModelServer) -> None:
    async with costly.backend() as backend:
        await launch(costly, backend, budget("1.20"))
        await launch(costly, backend, job())
        await stopped(backend)
        outcome = await backend.act(Kill(kind="Job", name="loop"))
        assert (outcome.changed, (await now(backend)).reason) == (True, "Killed")
        await backend.act(RetryJob(kind="Job", name="loop"))
        waiting = await until_job(backend, lambda status: status.reason == "BudgetExceeded")
        assert (waiting.phase, waiting.attempt) == ("Pending", 2)
        await backend.act(Kill(kind="Job", name="loop"))
        await backend.act(Delete(kind="Budget", name="month"))
        assert (await now(backend)).phase == "Cancelled"


async def test_at_a_months_end_it_goes_on_only_where_the_budget_of_all_time_pays_too(costly: Place, server: ModelServer) -> None:
    async with costly.backend() as backend:
        await launch(costly, backend, budget("1.20", period="Monthly"))
        await launch(costly, backend, budget("1.20", name="whole", period="Total"))
        await launch(costly, backend, job())
        first = await stopped(backend)
        month = await backend.get("Budget", "month")
        assert isinstance(month, Budget)
        assert month.status is not None
        assert month.status.period_ends_at is not None
        costly.clock.ahead += month.status.period_ends_at - costly.clock() + timedelta(seconds=1)
        # Something changes, so that all look at the clock.
        await launch(costly, backend, budget("5.00", name="other", scope={"project": "blue"}))
        await paid(backend, Decimal(0))
        await paid(backend, first.cost_usd, "whole")
        assert ((await now(backend)).attempt, (await now(backend)).phase) == (1, "Cancelled")
        await launch(costly, backend, budget("200.00", name="whole", period="Total"))
        again = await stopped_again(backend)
        # The new month pays for its own part only; both hold.
        assert await paid(backend, again.cost_usd - first.cost_usd) <= Decimal("1.20")
        await paid(backend, again.cost_usd, "whole")


async def stopped_again(backend: LocalBackend) -> JobStatus:
    found = await until_job(backend, lambda status: status.attempt == 2 and status.ended)
    assert (found.phase, found.reason) == ("Cancelled", "BudgetExceeded")
    return found


async def test_what_is_spent_is_told_as_of_now_while_a_job_runs_with_a_scheduler_and_without(costly: Place, server: ModelServer) -> None:
    """A minute costs a dollar."""
    async with costly.backend() as backend:
        await launch(costly, backend, budget("1000.00", action="Notify"))
        await launch(costly, backend, job())
        await until_job(backend, lambda status: status.phase == "Running")
        costly.clock.ahead += timedelta(minutes=10)
        assert await spent(backend) >= 10
        (told,) = (await backend.snapshot()).budgets
        assert told.status is not None
        assert told.status.spent_usd + told.status.left_usd == 1000
        assert told.status.spent_usd >= 10
    costly.clock.ahead += timedelta(minutes=10)
    async with costly.backend(role="look") as looker:
        assert await spent(looker) >= 20
    costly.clock.ahead += timedelta(minutes=100)
    async with costly.backend(role="look") as looker:
        assert 100 <= await spent(looker) < 101, "no more than its cap, and the moment in which it was started"
    async with costly.backend() as backend:
        await backend.act(Kill(kind="Job", name="loop"))
        assert await paid(backend, (await now(backend)).cost_usd) < 10, "what it really took is booked, once"


async def test_a_budget_of_all_time_begins_at_nothing_where_it_is_made_while_a_job_runs_and_no_scheduler_does(
    costly: Place, server: ModelServer
) -> None:
    async with costly.backend() as backend:
        await launch(costly, backend, job())
        await until_job(backend, lambda status: status.phase == "Running")
    costly.clock.ahead += timedelta(minutes=10)
    async with costly.backend(role="look") as looker:
        await launch(costly, looker, budget("1000.00", action="Notify"))
        before = (await now(looker)).cost_usd
        assert before >= 10
        assert await spent(looker) < 5
    costly.clock.ahead += timedelta(minutes=5)
    async with costly.backend() as backend:
        assert 5 <= await spent(backend) < before
        # The clock was put forward: in truth it has run for seconds, which is less than was taken off for what it had cost before.
        await backend.act(Kill(kind="Job", name="loop"))
        assert 0 <= await spent(backend) <= (await now(backend)).cost_usd
    async with costly.backend(role="look") as looker:
        assert 0 <= await spent(looker) <= (await now(looker)).cost_usd


@pytest.mark.parametrize("back", [timedelta(hours=3), timedelta(days=40)])
async def test_a_job_counts_on_under_its_budget_where_the_clock_is_set_back_while_no_scheduler_runs(
    costly: Place, server: ModelServer, back: timedelta
) -> None:
    async with costly.backend() as backend:
        await launch(costly, backend, budget("1000.00", action="Notify"), budget("1000.00", "all", period="Total"))
        await launch(costly, backend, job())
        await until_job(backend, lambda status: status.phase == "Running")
        costly.clock.ahead += timedelta(minutes=2)
        before = await spent(backend)
        assert before >= 2
    costly.clock.ahead -= back
    async with costly.backend(role="look") as looker:
        assert min(await spent(looker), await spent(looker, "all")) >= before
    async with costly.backend() as backend:
        found = await now(backend)
        assert found.started_at is not None
        assert found.started_at <= costly.clock()
        costly.clock.ahead += timedelta(minutes=10)
        assert min(await spent(backend), await spent(backend, "all")) >= 10, "it goes on, at a dollar a minute"
        await backend.act(Kill(kind="Job", name="loop"))
        cost = (await now(backend)).cost_usd
        assert cost > 0
        for name in ("month", "all"):
            await paid(backend, cost, name)
    async with costly.backend(role="look") as looker:
        assert [await spent(looker, name) for name in ("month", "all")] == [cost, cost]
