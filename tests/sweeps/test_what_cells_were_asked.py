"""What a cell was asked while it could not go on: its new cap is set aside whole before it has it, and no kill of a scheduler loses it."""

import asyncio
import sqlite3
from contextlib import closing
from decimal import Decimal

import pytest
from aiohttp import web
from engine_place import Place, agent, environment, group, run_in_phase, runs, status
from model_server import ModelServer, Seen, reply, solve
from sweep_work import cell_until, group_sweep, launch, sweep_in, sweep_until

from local_backend.backend import LocalBackend
from nodus_tui.contract.actions import Delete, ExtendCap, Kill, PauseSweep, Resume, ResumeSweep, Retry, RetryCells
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import GroupPhase, RunPhase

pytestmark = pytest.mark.timeout(60)


async def extend(backend: LocalBackend, name: str, cap: str) -> str:
    return (await backend.act(ExtendCap(kind="AgentGroup", name=name, cap_usd=Decimal(cap)))).message


def died_while_it_let_on(place: Place, name: str) -> None:
    """What stands on the disk when a scheduler dies after it wrote down that a cell goes on, and before it did what the cell was asked."""
    with closing(sqlite3.connect(place.home / "nodus.db")) as connection, connection:
        done = connection.execute("UPDATE sweep_cells SET state = 'Going', asking = 0 WHERE name = ? AND asks != '[]'", (name,))
        assert done.rowcount == 1


async def test_an_extension_that_waited_for_a_place_begins_only_where_its_whole_new_cap_fits(place: Place, server: ModelServer) -> None:
    """Three cells stall at caps under which no run starts; two are let on and hold the places, the third is promised a higher cap."""
    first, others = asyncio.Event(), asyncio.Event()

    async def answer(seen: Seen) -> web.StreamResponse:
        await (first if seen.number == 1 else others).wait()
        return reply(solve(seen.last_user_text))

    server.answer = answer
    sweep = group_sweep(repetitions=3, cap="0.60", cell_cap="0.05", parallel=2, tasks=1)
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), sweep)
        await sweep_until(backend, lambda each: each.stalled == 3)
        await extend(backend, "grid-1", "0.20")
        await server.until_seen(1)
        await extend(backend, "grid-2", "0.20")
        await server.until_seen(2)
        assert "goes on as soon as one of the 2 places" in await extend(backend, "grid-3", "0.20")
        await cell_until(backend, 3, lambda each: "is to go on" in each.message)
        # What the third was promised is not reserved: the second may have it.
        await extend(backend, "grid-2", "0.40")
        first.set()
        short = await cell_until(backend, 3, lambda each: each.reason == "MaxCostReached")
        assert "it needs $0.20" in short.message
        assert (await status(backend, "grid-3")).money.cap_usd == Decimal("0.05")
        others.set()
        done = await sweep_in(backend, "Completed")
        caps = [(await status(backend, f"grid-{number}")).money.cap_usd for number in (1, 2, 3)]
    assert (done.ended, caps) == (3, [Decimal("0.20"), Decimal("0.40"), Decimal("0.20")])
    assert server.served == 3


async def test_an_extension_that_was_let_on_is_done_after_a_kill_of_the_scheduler(place: Place, server: ModelServer) -> None:
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(repetitions=2, cell_cap="0.05", parallel=1, tasks=1))
        await sweep_until(backend, lambda each: each.stalled == 2)
        server.hold = asyncio.Event()
        await extend(backend, "grid-1", "0.20")
        await server.until_seen(1)
        await extend(backend, "grid-2", "0.30")
        await backend.act(PauseSweep(name="grid"))
        server.hold.set()
        await cell_until(backend, 1, lambda each: each.phase is GroupPhase.COMPLETED)
    died_while_it_let_on(place, "grid-2")
    async with place.backend() as backend:
        await sweep_in(backend, "Completed")
        assert (await status(backend, "grid-2")).money.cap_usd == Decimal("0.30")
    assert server.served == 2


async def test_a_retry_that_was_let_on_is_done_after_a_kill_of_the_scheduler_and_once(place: Place, server: ModelServer) -> None:
    broken = True

    async def answer(seen: Seen) -> web.Response:
        return web.Response(status=400, text="no") if broken else reply(solve(seen.last_user_text))

    server.answer = answer
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(repetitions=2, parallel=1, tasks=1))
        assert (await sweep_in(backend, "Completed")).failed == 2
        broken, server.hold = False, asyncio.Event()
        await backend.act(RetryCells(name="grid"))
        await server.until_seen(3)
        await backend.act(PauseSweep(name="grid"))
        server.hold.set()
        await cell_until(backend, 1, lambda each: each.phase is GroupPhase.COMPLETED)
    died_while_it_let_on(place, "grid-2")
    async with place.backend() as backend:
        done = await sweep_until(backend, lambda each: each.phase == "Completed" and each.failed == 0)
    assert (done.ended, done.reserved_usd, len(server.seen)) == (2, Decimal("0.00"), 4)


async def test_nobody_takes_the_name_of_a_cell_whose_group_was_deleted_while_its_sweep_knows_it(place: Place, server: ModelServer) -> None:
    """A retry of the sweep would spend under that group's cap, and its deletion would delete it."""
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(repetitions=2, tasks=1))
        await sweep_in(backend, "Completed")
        await backend.act(Delete(kind="AgentGroup", name="grid-2"))
        with pytest.raises(NodusError) as refused:
            await launch(place, backend, group(name="grid-2", cap="100.00"))
        assert refused.value.faults[0].message == (
            "grid-2 was a cell of sweep grid, which still knows it by that name: give this one another, or delete the sweep"
        )
        await backend.act(Delete(kind="Sweep", name="grid"))
        await launch(place, backend, group(name="grid-2", tasks=1))


async def test_a_retry_in_a_cell_that_stalls_is_asked_of_the_sweep(place: Place, server: ModelServer) -> None:
    """Its failed case has room under its group's cap, its other one has not; the sweep has given what it had to the next cell."""
    place.tasks([{"id": f"n{n}", "prompt": [f"say {n}", f"say {n}"], "answer": str(n)} for n in (1, 2)])
    dear = {"prompt_tokens": 20, "completion_tokens": 6_000, "total_tokens": 6_020}
    held = asyncio.Event()

    async def answer(seen: Seen) -> web.Response:
        if seen.number == 1:
            return reply(solve(seen.last_user_text), usage=dear)
        if seen.number == 2:
            return web.Response(status=400, text="no")
        await held.wait()
        return reply(solve(seen.last_user_text))

    server.answer = answer
    sweep = group_sweep(repetitions=2, cap="0.20", cell_cap="0.125", parallel=2)
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), sweep)
        await cell_until(backend, 1, lambda each: each.phase is GroupPhase.STALLED)
        await server.until_seen(3)
        going = await sweep_until(backend, lambda each: each.reserved_usd == Decimal("0.125"))
        assert going.stalled == 1
        with pytest.raises(NodusError) as refused:
            await backend.act(Retry(group="grid-1"))
        assert refused.value.code is ErrorCode.BUDGET_EXCEEDED
        assert (await runs(backend, name="grid-1"))[0].name == "grid-1-c001", "nobody took its place"
        held.set()
        await cell_until(backend, 2, lambda each: each.phase is GroupPhase.COMPLETED)
        await backend.act(Retry(group="grid-1"))
        assert (await run_in_phase(backend, "grid-1-c001-2", RunPhase.SUCCEEDED)).verdict == "Correct"


async def test_a_cell_that_is_being_killed_is_not_let_on(place: Place, server: ModelServer) -> None:
    server.hold = asyncio.Event()
    async with place.backend() as backend:
        await launch(place, backend, environment(), agent(cap="0.10"), group_sweep(repetitions=2, parallel=1, tasks=2))
        await server.until_seen(2)
        killing = asyncio.ensure_future(backend.act(Kill(kind="Sweep", name="grid")))
        await cell_until(backend, 2, lambda each: each.reason == "Killed")
        for action in (Retry(group="grid-1"), Resume(group="grid-1"), ExtendCap(kind="AgentGroup", name="grid-1", cap_usd=Decimal(2))):
            with pytest.raises(NodusError, match="grid-1 is being killed with sweep grid"):
                await backend.act(action)
        assert not (await backend.act(ResumeSweep(name="grid"))).changed
        server.hold.set()
        await killing
        assert (await cell_until(backend, 1, lambda each: each.reason == "Killed")).phase is GroupPhase.CANCELLED
        assert (await sweep_in(backend, "Cancelled")).reserved_usd == 0
