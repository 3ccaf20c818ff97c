"""Budgets over real campaigns: what they refuse, stop, tell and let go on."""

import asyncio
import json
import sys
from datetime import timedelta
from decimal import Decimal

import pytest
from agents_at_work import launch, nothing_left, plays, worker
from aiosmtpd.handlers import Message
from aiosmtpd.smtp import SMTP
from engine_place import (
    PRICE_INPUT,
    PRICE_OUTPUT,
    Place,
    agent,
    at_rest,
    environment,
    group,
    in_phase,
    run_status,
    runs,
    status,
    until,
)
from model_server import INPUT_TOKENS, OUTPUT_TOKENS, ModelServer, asks

from local_backend.backend import LocalBackend
from nodus_tui.contract.actions import Delete
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import usd_from_nano
from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroupStatus
from nodus_tui.contract.resources.budget import Budget, BudgetStatus
from nodus_tui.contract.resources.job import Job

pytestmark = pytest.mark.timeout(60)

CALL = usd_from_nano(INPUT_TOKENS * PRICE_INPUT + OUTPUT_TOKENS * PRICE_OUTPUT)


def budget(limit: str, name: str = "month", **spec: object) -> dict[str, object]:
    return {
        "apiVersion": "nodus.dev/v1",
        "kind": "Budget",
        "metadata": {"name": name},
        "spec": {"limitUSD": limit, "scope": {"project": "red"}, **spec},
    }


def red(document: dict[str, object]) -> dict[str, object]:
    return {**document, "metadata": {**document["metadata"], "project": "red", "labels": {"team": "a"}}}  # type: ignore[dict-item]


async def budget_status(backend: LocalBackend, name: str = "month") -> BudgetStatus:
    found = await backend.get("Budget", name)
    assert isinstance(found, Budget)
    assert found.status is not None
    return found.status


async def told(backend: LocalBackend, wanted: object, name: str = "month") -> BudgetStatus:
    async def settled() -> bool:
        return (await budget_status(backend, name)).thresholds_told == wanted

    await until(backend, settled)
    return await budget_status(backend, name)


async def spent(backend: LocalBackend, wanted: Decimal, name: str = "month") -> BudgetStatus:
    async def settled() -> bool:
        return (await budget_status(backend, name)).spent_usd == wanted

    await until(backend, settled)
    return await budget_status(backend, name)


async def stopped_by_budget(backend: LocalBackend) -> AgentGroupStatus:
    """The group once a budget has stopped it: with cases that have not begun it is stalled, else it has ended."""

    async def settled() -> bool:
        return (await status(backend)).reason is Reason.BUDGET_EXCEEDED

    await until(backend, settled)
    return await status(backend)


async def test_a_budget_that_blocks_stops_a_campaign_below_its_limit_and_a_raise_lets_it_go_on(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        # The worst case of one call is about a tenth of a cent: the limit pays for some of the hundred and not for all.
        await launch(place, backend, budget("0.0040"))
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=100, max_active=4, cap="10.00")))
        stopped = await in_phase(backend, "Stalled")
        before = (await budget_status(backend)).spent_usd
        assert stopped.reason is Reason.BUDGET_EXCEEDED
        assert "budget month" in stopped.message
        assert stopped.money.model_usd <= Decimal("0.0040")
        served = server.served
        assert 0 < served < 100
        with pytest.raises(NodusError) as refused:
            await launch(place, backend, red(group(name="more", tasks=1)))
        assert refused.value.code is ErrorCode.BUDGET_EXCEEDED
        await launch(place, backend, budget("1.00"))
        done = await at_rest(backend)
        final = await spent(backend, server.served * CALL)
    assert (done.phase, done.coverage.scored) == (GroupPhase.COMPLETED, 100)
    assert done.money.model_usd == final.spent_usd == server.served * CALL
    assert before <= Decimal("0.0040")


async def test_other_projects_are_not_touched(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.000001"))
        await launch(place, backend, environment(), agent(), group(tasks=5))
        done = await at_rest(backend)
        assert (await budget_status(backend)).spent_usd == 0
    assert done.coverage.scored == 5


async def test_notify_stops_nothing_and_tells_each_threshold_once(place: Place, server: ModelServer) -> None:
    letters = place.folder / "letters.jsonl"
    script = f"import sys; open({str(letters)!r}, 'a').write(sys.stdin.read() + '\\n')"
    notify = {"command": [sys.executable, "-c", script]}
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0005", action="Notify", notify=notify))
        await launch(place, backend, environment(), agent(), red(group(tasks=20)))
        done = await at_rest(backend)
        found = await told(backend, (50, 80, 100))
    letters_told = [json.loads(line) for line in letters.read_text().splitlines()]
    assert done.coverage.scored == 20
    assert found.spent_usd > Decimal("0.0005")
    assert not found.blocking
    assert sorted(letter["percent"] for letter in letters_told) == [50, 80, 100]
    assert {letter["limitUSD"] for letter in letters_told} == {"0.0005"}


async def test_each_threshold_is_one_letter_through_the_configured_server(place: Place, server: ModelServer) -> None:
    subjects: list[str] = []

    class Box(Message):
        def handle_message(self, message: object) -> None:
            subjects.append(str(message["Subject"]))  # type: ignore[index]  # an email.message.Message

    post = await asyncio.get_running_loop().create_server(lambda: SMTP(Box(), hostname="localhost"), "127.0.0.1", 0)
    async with post:
        port = post.sockets[0].getsockname()[1]
        place.smtp = {"host": "127.0.0.1", "port": port, "security": "none", "sender": "nodus@example.com"}
        async with place.backend() as backend:
            await launch(place, backend, budget("0.0005", action="Notify", notify={"emails": ["a@example.com"]}))
            await launch(place, backend, environment(), agent(), red(group(tasks=20)))
            await at_rest(backend)
            await told(backend, (50, 80, 100))
    assert sorted(subjects) == ["Budget month: 100 %", "Budget month: 50 %", "Budget month: 80 %"]


async def test_what_was_spent_stays_spent_over_a_restart_and_a_deletion(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("1.00"))
        await launch(place, backend, environment(), agent(), red(group(tasks=5)))
        await at_rest(backend)
        await backend.act(Delete(kind="AgentGroup", name="campaign"))
    async with place.backend() as backend:
        await launch(place, backend, budget("0.00000001"))
        with pytest.raises(NodusError):
            await launch(place, backend, environment(), agent(), red(group(tasks=5)))

        async def blocks() -> bool:
            return (await budget_status(backend)).blocking

        await until(backend, blocks)
        await spent(backend, 5 * CALL)


async def test_a_new_month_lets_the_work_of_the_last_go_on(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0010", period="Monthly"))
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=8, max_active=2, timeout="24h")))
        await stopped_by_budget(backend)
        first = await budget_status(backend)
        assert first.period_ends_at is not None
        place.clock.ahead += first.period_ends_at - place.clock() + timedelta(seconds=1)
        await launch(place, backend, budget("5.00", name="other"))

        async def begun() -> bool:
            return (await budget_status(backend)).period_started_at == first.period_ends_at

        await until(backend, begun)
        served = round(first.spent_usd / CALL)
        await server.until_seen(served + 1)
        assert (await budget_status(backend)).spent_usd <= Decimal("0.0010")


async def test_sandbox_time_is_stopped_before_the_ceiling_with_the_files_kept(place: Place, server: ModelServer) -> None:
    plays(server, [asks(("bash", {"command": "echo kept > work.txt; sleep 1000"})), asks(("submit", {"answer": "1"}))])
    place.rates = {"CPU": "60.00"}  # A dollar a minute, so that what stopping may take is a dollar, too.
    async with place.backend() as backend:
        await launch(place, backend, budget("1.20"))
        await launch(place, backend, environment(), worker(), red(group(tasks=1)))
        found = await at_rest(backend)
        run = await run_status(backend, "campaign-c001")
        used = (await budget_status(backend)).spent_usd
        assert await nothing_left(backend)
        assert (found.phase, found.reason) == (GroupPhase.COMPLETED, Reason.BUDGET_EXCEEDED)
        assert (run.phase, run.reason, run.verdict) == (RunPhase.CANCELLED, Reason.BUDGET_EXCEEDED, None)
        assert run.sandbox is not None
        assert run.sandbox.files_kept
        assert run.sandbox.cost_usd < Decimal("1.20")
        assert used <= Decimal("1.20")
        await launch(place, backend, budget("100.00"))

        async def scored() -> bool:
            return (await status(backend)).coverage.scored == 1

        await until(backend, scored)
        done = await at_rest(backend)
        assert [each.metadata.name for each in await runs(backend)] == ["campaign-c001-2"]
    assert done.coverage.scored == 1


async def test_deleting_a_budget_lets_its_work_go_on(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0010"))
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=8, max_active=2)))
        await stopped_by_budget(backend)
        await backend.act(Delete(kind="Budget", name="month"))

        async def all_scored() -> bool:
            return (await status(backend)).coverage.scored == 8

        await until(backend, all_scored)
        assert (await at_rest(backend)).reason is None


def job(name: str = "loop", cap: str = "100.00") -> dict[str, object]:
    script = "import time\nwhile True: time.sleep(60)"
    return {
        "apiVersion": "nodus.dev/v1",
        "kind": "Job",
        "metadata": {"name": name, "project": "red"},
        "spec": {"command": [sys.executable, "-c", script], "maxCostUSD": cap},
    }


async def test_a_job_counts_under_a_budget_and_is_stopped_before_its_ceiling(place: Place, server: ModelServer) -> None:
    place.rates = {"CPU": "60.00"}  # A dollar a minute; stopping a job may take 70 seconds.
    async with place.backend() as backend:
        await launch(place, backend, budget("1.25"))
        await launch(place, backend, job())

        async def ended() -> bool:
            found = await backend.get("Job", "loop")
            assert isinstance(found, Job)
            return found.status is not None and found.status.phase == "Cancelled"

        await until(backend, ended)
        found = await backend.get("Job", "loop")
        assert isinstance(found, Job)
        assert found.status is not None
        assert (found.status.reason, found.status.cost_usd > 0) == ("BudgetExceeded", True)
        await spent(backend, found.status.cost_usd)
        assert found.status.cost_usd <= Decimal("1.25")
        with pytest.raises(NodusError) as refused:
            await launch(place, backend, job("another"))
        assert refused.value.code is ErrorCode.BUDGET_EXCEEDED


async def test_a_restart_opens_no_budget_and_a_month_that_ended_meanwhile_does(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0010", period="Monthly"))
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=8, max_active=2, timeout="24h")))
        await stopped_by_budget(backend)
    async with place.backend() as backend:
        first = await budget_status(backend)
        assert (first.blocking, first.spent_usd) == (True, server.served * CALL)
        with pytest.raises(NodusError) as refused:
            await launch(place, backend, red(group(name="more", tasks=1)))
        assert refused.value.code is ErrorCode.BUDGET_EXCEEDED
    assert first.period_ends_at is not None
    served = server.served
    place.clock.ahead += first.period_ends_at - place.clock() + timedelta(seconds=1)
    async with place.backend():
        await server.until_seen(served + 1)


async def test_a_change_that_gives_no_room_opens_no_budget(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0010"))
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=8, max_active=2)))
        await stopped_by_budget(backend)
        served = server.served
        for changed in (budget("0.0010", notify={"emails": ["a@example.com"]}, thresholds=[90]), budget("0.0009")):
            await launch(place, backend, changed)
            assert (await budget_status(backend)).blocking
            with pytest.raises(NodusError) as refused:
                await launch(place, backend, red(group(name="more", tasks=1)))
            assert refused.value.code is ErrorCode.BUDGET_EXCEEDED
        assert server.served == served
        await launch(place, backend, budget("0.0009", action="Notify"))
        assert (await at_rest(backend)).coverage.scored == 8


async def test_a_raise_while_nobody_works_counts_when_somebody_does(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0010"))
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=8, max_active=2)))
        await stopped_by_budget(backend)
    async with place.backend("look") as onlooker:
        await launch(place, onlooker, budget("0.0010", thresholds=[90]))
        assert (await budget_status(onlooker)).blocking
        await launch(place, onlooker, budget("1.00"))
        assert not (await budget_status(onlooker)).blocking
    async with place.backend() as backend:
        assert (await at_rest(backend)).coverage.scored == 8


async def test_after_a_months_end_that_no_scheduler_saw_the_new_month_is_told(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0010", period="Monthly"))
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=8, max_active=2, timeout="24h")))
        await stopped_by_budget(backend)
        last = await budget_status(backend)
    assert last.period_ends_at is not None
    place.clock.ahead += last.period_ends_at - place.clock() + timedelta(seconds=1)
    async with place.backend("look") as onlooker:
        found = await budget_status(onlooker)
        assert (found.period_started_at, found.spent_usd, found.left_usd) == (last.period_ends_at, 0, Decimal("0.0010"))
        assert (found.blocking, found.message, found.thresholds_told) == (False, "", ())
        [listed] = (await onlooker.list("Budget")).items
        [snapped] = (await onlooker.snapshot()).budgets
        assert listed.status == snapped.status == found


async def test_a_budget_may_have_the_name_of_a_group_and_go(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0010", "campaign"))
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=8, max_active=2)))
        await stopped_by_budget(backend)
        await backend.act(Delete(kind="Budget", name="campaign"))
        assert (await at_rest(backend)).coverage.scored == 8


async def test_a_snapshot_and_the_events_after_it_tell_how_a_budget_stands(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, budget("0.0010"))
        snapshot = await backend.snapshot()
        assert [(each.name, each.status.spent_usd) for each in snapshot.budgets if each.status] == [("month", Decimal(0))]
        stream = backend.watch(after=snapshot.cursor)
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=8, max_active=2)))
        seen: dict[str, object] = {}
        async for batch in stream:
            for each in batch.events:
                seen |= each.status if each.kind == "Budget" else {}
            if seen.get("blocking"):
                break
        assert seen["message"] == "new work in its scope is refused, and running work was stopped"
        await stopped_by_budget(backend)


async def test_a_raise_while_work_is_still_being_stopped_lets_it_go_on(place: Place, server: ModelServer) -> None:
    plays(server, [asks(("bash", {"command": "echo kept > work.txt"})), asks(("submit", {"answer": "1"}))])
    place.rates = {"CPU": "60.00"}
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, budget("1.08"))
        await launch(place, backend, environment(), worker(), red(group(tasks=1)))

        async def blocks() -> bool:
            return (await budget_status(backend)).blocking

        await until(backend, blocks)
        # The call in flight is waited for: the run is not stopped yet when there is room again.
        assert (await run_status(backend, "campaign-c001")).phase is RunPhase.RUNNING
        await launch(place, backend, budget("100.00"))
        server.hold.set()

        async def scored() -> bool:
            return (await status(backend)).coverage.scored == 1

        await until(backend, scored)
        await at_rest(backend)


async def test_a_budget_that_closes_stops_jobs_in_its_scope_too(place: Place, server: ModelServer) -> None:
    """Not only what asks it next: nothing of it runs on beside what was stopped."""
    async with place.backend() as backend:
        await launch(place, backend, job())

        async def phase(wanted: str) -> bool:
            found = await backend.get("Job", "loop")
            assert isinstance(found, Job)
            return found.status is not None and found.status.phase == wanted

        await until(backend, lambda: phase("Running"))
        await launch(place, backend, budget("0.0010"))
        await launch(place, backend, environment(), agent(cap="0.10"), red(group(tasks=8, max_active=2)))
        await stopped_by_budget(backend)
        await until(backend, lambda: phase("Cancelled"))
        assert (await budget_status(backend)).spent_usd <= Decimal("0.0010")
