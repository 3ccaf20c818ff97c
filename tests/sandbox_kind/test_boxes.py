"""A Sandbox from its spec to its end: what it is given, what stops it, what is kept, what it costs. The sandboxes are real."""

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Literal

import pytest
from box_place import box, end_of, ended, forward, needs, running, shell, soon, started, status_of, until
from engine_place import Place
from kept_waiting import kept_waiting
from msgspec.structs import force_setattr

from local_backend.sandbox_kind import box as box_module
from nodus_tui.contract.actions import Delete, Kill
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.sandbox_exec import ExecRequest
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs
from nodus_tui.sandbox_commands.command import run_command

pytestmark = pytest.mark.timeout(60)


async def refused(work: object) -> NodusError:
    with pytest.raises(NodusError) as caught:
        await work  # type: ignore[misc]  # a coroutine
    return caught.value


async def kept(backend: Backend, path: str) -> bytes:
    return b"".join([piece async for piece in backend.read_sandbox_file("box", path)])


async def test_what_another_workspace_calls_the_same_has_no_costs_of_ours(place: Place, tmp_path: Path) -> None:
    await needs("bubblewrap")
    (tmp_path / "other").mkdir()
    other = Place(tmp_path / "other", sandboxes=place.sandboxes, rates=place.rates)
    async with place.backend() as here, other.backend() as there:
        await started(place, here)
        await started(other, there)
        by_ours = {each.mine: each.cost_usd for each in await here.sandboxes() if each.run == "box"}
        assert by_ours[True] is not None
        assert by_ours[False] is None


async def test_it_runs_commands_and_ends_with_its_files_kept(any_place: Place) -> None:
    place = any_place
    async with place.backend() as backend:
        up = await started(place, backend, env={"GREETING": "hello"}, envFrom=["BOX_KEY"])
        assert (up.engine, up.isolation, up.commands, up.files_kept) == (place.sandboxes["engine"], "full", 0, False)
        assert up.idle_since == up.started_at
        assert up.stops_at is not None
        done = await shell(
            backend, 'echo "$GREETING $BOX_KEY"; pwd; id -u; echo error >&2; echo made >made; exit 7', env={"GREETING": "hi"}
        )
        assert (done.end.exit_code, done.stdout, done.stderr) == (7, b"hi key of the scheduler\n/task\n1000\n", b"error\n")
        as_root = await shell(backend, "id -u; pwd; echo $GREETING", user="root", workdir="/tmp")
        assert as_root.stdout == b"0\n/tmp\nhello\n"
        listed = [each for each in await backend.sandboxes() if each.mine]
        assert [(each.run, each.purpose, each.owner_alive) for each in listed] == [("box", "sandbox", True)]
        assert listed[0].cost_usd is not None
        assert listed[0].cost_usd > 0
        assert [each.path for each in await backend.sandbox_files("box")] == ["made"]
        outcome = await backend.act(Kill(kind="Sandbox", name="box"))
        assert outcome.changed
        over = await status_of(backend)
        assert (over.phase, over.reason, over.files_kept, over.notes) == ("Stopped", "Killed", True, ())
        assert over.started_at is not None
        assert over.ended_at is not None
        # A cent a second is ten nano-dollars a microsecond.
        assert over.cost_usd == Decimal((over.ended_at - over.started_at) // timedelta(microseconds=1)) / 10**8
        assert await kept(backend, "made") == b"made\n"
        assert [each for each in await backend.sandboxes() if each.mine] == []
        assert not (await backend.act(Kill(kind="Sandbox", name="box"))).changed
        error = await refused(backend.exec_start("box", ExecRequest()))
        assert error.code is ErrorCode.INVALID_ACTION
        await backend.act(Delete(kind="Sandbox", name="box"))
        assert (await refused(backend.sandbox_files("box"))).code is ErrorCode.NOT_FOUND
        assert not list(place.home.rglob("*.tar"))


async def test_a_command_keeps_it_busy_and_idle_time_counts_from_its_end(place: Place) -> None:
    async with place.backend() as backend:
        await started(place, backend, idleTimeout="10m")
        session = await backend.exec_start("box", ExecRequest(command=("sh", "-c", "read -r line")))
        busy = await until(backend, lambda status: status.commands == 1)
        assert busy.idle_since is None
        forward(place, minutes=11)
        assert (await shell(backend, "true")).end.exit_code == 0, "it runs on"
        forward(place, minutes=11)
        await backend.exec_input("box", session.id, b"x\n", offset=0)
        assert (await end_of(backend, session.id)).exit_code == 0
        idle = await until(backend, lambda status: status.commands == 0)
        assert idle.idle_since is not None
        forward(place, minutes=9)
        assert (await status_of(backend)).phase == "Running"
        forward(place, minutes=2)
        over = await ended(backend)
        assert (over.phase, over.reason, over.message) == ("Stopped", "IdleTimeout", "no command ran in it for 10m")
        assert over.files_kept


@pytest.mark.parametrize(
    ("spec", "seconds", "reason"),
    [
        ({"maxLifetime": "30m"}, 1805, "MaxLifetime"),
        ({"maxCostUSD": "12.00"}, 1172, "MaxCostReached"),
    ],
)
async def test_a_busy_one_stops_at_its_lifetime_and_before_its_cap(place: Place, spec: dict[str, str], seconds: int, reason: str) -> None:
    async with place.backend() as backend:
        await started(place, backend, **spec)
        session = await backend.exec_start("box", ExecRequest(command=("sh", "-c", "echo work >.new; mv .new work; sleep 600")))
        await soon(lambda: _wrote(backend))
        forward(place, seconds=seconds)
        over = await ended(backend)
        assert (over.phase, over.reason, over.files_kept) == ("Stopped", reason, True)
        end = await end_of(backend, session.id)
        assert (end.reason, end.message.startswith("the sandbox was stopped: it")) == (reason, True)
        assert await kept(backend, "work") == b"work\n"
        if reason == "MaxCostReached":
            assert Decimal("11.00") < over.cost_usd <= Decimal("12.00")


async def _wrote(backend: Backend) -> bool:
    return [each.path for each in await backend.sandbox_files("box")] == ["work"]


async def test_a_small_cap_is_not_passed_in_real_time(place: Place) -> None:
    async with place.backend() as backend:
        await backend.apply(place.specs(box(maxCostUSD="0.025")))  # It may have ended before anybody sees it run.
        over = await ended(backend)
        assert (over.phase, over.reason) == ("Stopped", "MaxCostReached")
        assert Decimal("0.015") < over.cost_usd <= Decimal("0.025")


async def test_one_whose_stop_hangs_ends_by_itself_before_its_cap_is_passed(any_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # A cent a second: 4 s, of which the last half second is left unused.
    async def never(*_: object, **__: object) -> str:
        await asyncio.sleep(3600)
        return ""

    monkeypatch.setattr(box_module.Files, "keep", never)
    async with any_place.backend() as backend:
        await backend.apply(any_place.specs(box(maxCostUSD="0.04")))
        await soon(lambda: _gone(backend))
        status = await status_of(backend)
        assert status.message.startswith("is being stopped"), status
        assert status.cost_usd <= Decimal("0.04")
        life = backend._boxes._lives["box"]  # type: ignore[union-attr]
        life.cancel()
        await asyncio.wait({life})


async def _gone(backend: Backend) -> bool:
    box = backend._boxes._boxes["box"]  # type: ignore[attr-defined]
    return box._sandbox is not None and not await box._sandbox.alive()


async def test_what_is_lost_under_it_is_an_infrastructure_failure(place: Place) -> None:
    async with place.backend() as backend:
        await started(place, backend)
        session = await backend.exec_start("box", ExecRequest(command=("sleep", "600")))
        await backend._boxes._boxes["box"]._sandbox.aclose()  # type: ignore[union-attr]
        over = await ended(backend)
        assert (over.phase, over.reason, over.files_kept) == ("Failed", "InfrastructureFailure", False)
        end = await end_of(backend, session.id)
        assert end.exit_code is None
        assert "sandbox" in end.message


async def test_one_waits_for_a_place_and_says_so(place: Place) -> None:
    place.sandboxes = {**place.sandboxes, "maxRunning": 1}
    async with place.backend() as backend:
        await started(place, backend)
        await backend.apply(place.specs(box("second"), box("third")))
        waits = await until(backend, lambda status: bool(status.message), "second")
        assert (waits.phase, waits.reason, waits.message) == (
            "Pending",
            "WaitingForSandbox",
            "1 of 1 sandboxes of this machine are taken",
        )
        assert waits.cost_usd == 0
        await backend.act(Kill(kind="Sandbox", name="second"))
        over = await status_of(backend, "second")
        assert (over.phase, over.reason, over.cost_usd, over.started_at) == ("Stopped", "Killed", 0, None)
        assert "has not started" in (await refused(backend.sandbox_files("third"))).detail
        assert "does not run yet" in (await refused(backend.exec_start("third", ExecRequest()))).detail
        await backend.act(Kill(kind="Sandbox", name="box"))
        await running(backend, "third")


async def _spent(backend: Backend, amount: Decimal) -> bool:
    found = await backend.get("Budget", "all")
    assert isinstance(found, Budget)
    return found.status is not None and found.status.spent_usd == amount


def budget(limit: str) -> dict[str, object]:
    return {"apiVersion": "nodus.dev/v1", "kind": "Budget", "metadata": {"name": "all"}, "spec": {"limitUSD": limit}}


async def test_a_budget_stops_it_gracefully_and_refuses_the_next_one(place: Place) -> None:
    # A stop may take a minute, 60 cents: of two dollars 1.40 can be used.
    async with place.backend() as backend:
        await backend.apply(place.specs(budget("2.00")))
        await started(place, backend)
        session = await backend.exec_start("box", ExecRequest(command=("sleep", "600")))
        forward(place, seconds=150)
        over = await ended(backend)
        assert (over.phase, over.reason, over.files_kept) == ("Stopped", "BudgetExceeded", True)
        assert (await end_of(backend, session.id)).reason == "BudgetExceeded"
        await soon(lambda: _spent(backend, over.cost_usd))
        error = await refused(backend.apply(place.specs(box("next"))))
        assert error.code is ErrorCode.BUDGET_EXCEEDED
        assert [each.name for each in (await backend.list("Sandbox")).items] == ["box"]


async def test_one_that_waits_for_a_budget_starts_when_it_has_room(place: Place) -> None:
    place.sandboxes = {**place.sandboxes, "maxRunning": 1}
    async with place.backend() as backend:
        await backend.apply(place.specs(budget("100.00")))
        await started(place, backend)
        await backend.apply(place.specs(box("second")))
        await until(backend, lambda status: status.reason == "WaitingForSandbox", "second")
        # No room for a stop any more: the first is stopped, and its place pays nobody's way.
        await backend.apply(place.specs(budget("0.10")))
        assert (await ended(backend)).reason == "BudgetExceeded"
        waits = await until(backend, lambda status: status.reason == "BudgetExceeded", "second")
        assert (waits.phase, waits.cost_usd, "budget all" in waits.message) == ("Pending", 0, True)
        await backend.apply(place.specs(budget("100.00")))
        await running(backend, "second")


async def test_what_cannot_be_had_is_refused_when_it_is_applied(place: Place) -> None:
    async with place.backend() as backend:
        for spec, words in (
            ({"image": "alpine:3"}, "images need Docker"),
            ({"accelerators": 2}, "hardware CPU has no accelerators"),
            ({"envFrom": ["NOT_THERE"]}, "envFrom names NOT_THERE"),
            ({"maxCostUSD": "0.01"}, "a sandbox needs 2 s"),
        ):
            error = await refused(backend.apply(place.specs(box(**spec))))
            assert words in " ".join([error.detail, *(fault.message for fault in error.faults)])
        assert (await backend.list("Sandbox")).items == ()
        checked = await backend.apply(place.specs(box(accelerators=2)), dry_run=True)
        assert checked.documents[0].outcome == "refused"
        assert "apply refuses it" in checked.documents[0].message


async def test_an_image_that_is_not_there_says_so(place: Place) -> None:
    await needs("docker")
    place.sandboxes = {"engine": "docker"}
    async with place.backend() as backend:
        await backend.apply(place.specs(box(image="localhost:1/none/such:1")))
        over = await ended(backend)
        assert (over.phase, over.reason, over.cost_usd) == ("Failed", "NotStarted", 0)
        assert "localhost:1/none/such" in over.message


async def test_one_whose_end_is_told_is_deleted_whatever_of_it_is_still_cleared_away(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    close, go_on, waits = box_module.Box._close, asyncio.Event(), asyncio.Event()

    async def slow(box: box_module.Box) -> None:
        until_ended = box.ended.wait

        async def seen() -> Literal[True]:
            waits.set()
            return await until_ended()

        # The kill waits for it already: who waits from here on is the deletion.
        monkeypatch.setattr(box.ended, "wait", seen)
        await go_on.wait()
        await close(box)

    monkeypatch.setattr(box_module.Box, "_close", slow)
    async with place.backend() as backend:
        await started(place, backend)
        killing = asyncio.create_task(backend.act(Kill(kind="Sandbox", name="box")))
        await ended(backend)
        outcome = await kept_waiting(backend.act(Delete(kind="Sandbox", name="box")), waits=waits, go_on=go_on.set)
        assert "killed" in (await killing).message
        assert "deleted" in outcome.message


async def test_it_is_never_changed(place: Place) -> None:
    async with place.backend() as backend:
        await started(place, backend)
        again = await backend.apply(place.specs(box()))
        assert [(each.outcome, each.message) for each in again.documents] == [("unchanged", "Running")]
        error = await refused(backend.apply(place.specs(box(cpus=2))))
        assert error.code is ErrorCode.CONFLICT
        assert (await refused(backend.act(Delete(kind="Sandbox", name="box")))).code is ErrorCode.INVALID_ACTION
        missing = await refused(backend.get("Sandbox", "boxx"))
        assert 'did you mean "box"' in missing.detail


async def test_files_are_read_as_they_are(place: Place) -> None:
    async with place.backend() as backend:
        await started(place, backend)
        await shell(backend, "echo 1 >file; mkdir folder; echo x >folder/x")
        assert await kept(backend, "file") == b"1\n"
        await shell(backend, "echo 2 >file")
        assert await kept(backend, "file") == b"2\n"
        assert (await refused(anext(aiter(backend.read_sandbox_file("box", "folder"))))).code is ErrorCode.NOT_FOUND
        assert [each.path for each in await backend.sandbox_files("box")] == ["file", "folder", "folder/x"]
        await backend.act(Kill(kind="Sandbox", name="box"))
    assert [path.name for path in (place.home / "sandboxes").iterdir()] == ["box.tar"]


async def test_files_that_cannot_be_kept_are_told(place: Place) -> None:
    async with place.backend() as backend:
        await started(place, backend)
        await shell(backend, "head -c 30000000 /dev/zero >large")
        assert backend._boxes is not None
        force_setattr(backend._boxes._boxes["box"]._around, "room", lambda: 1_000_000)
        await backend.act(Kill(kind="Sandbox", name="box"))
        over = await status_of(backend)
        assert (over.phase, over.reason, over.files_kept) == ("Stopped", "Killed", False)
        assert len(over.notes) == 1
        assert "could not be kept" in over.notes[0]
        assert "none were kept" in (await refused(backend.sandbox_files("box"))).detail


async def test_a_scheduler_that_ends_in_order_keeps_the_files_and_says_why(any_place: Place) -> None:
    place = any_place
    async with place.backend() as backend:
        await started(place, backend)
        await shell(backend, "echo work >work; (setsid sleep 900 &)")
    async with place.backend() as backend:
        over = await status_of(backend)
        assert (over.phase, over.reason, over.files_kept) == ("Stopped", "Interrupted", True)
        assert await kept(backend, "work") == b"work\n"
        assert [each for each in await backend.sandboxes() if each.mine] == []


@pytest.mark.parametrize("set_back", [timedelta(), timedelta(days=3)])
async def test_one_whose_scheduler_was_killed_is_paid_up_to_what_is_known_by_whatever_clock(place: Place, set_back: timedelta) -> None:
    """And not up to when the next scheduler comes: with bubblewrap it ended with its own."""
    async with place.backend() as backend:
        await started(place, backend)
        await shell(backend, "sleep 0.3")
        ran = (await until(backend, lambda status: status.commands == 0)).cost_usd
    with closing(sqlite3.connect(place.home / "nodus.db")) as connection, connection:  # As a kill -9 leaves it.
        connection.execute("UPDATE sandboxes SET phase = 'Running', reason = NULL, ended_at = NULL, cost = 0")
    place.clock.ahead += timedelta(hours=2) - set_back
    async with place.backend() as backend:
        over = await status_of(backend)
        assert (over.phase, over.reason) == ("Failed", "InfrastructureFailure")
        assert 0 < ran <= over.cost_usd < Decimal(36), "the two hours since are not its"


async def test_one_that_has_not_started_is_the_next_schedulers(place: Place) -> None:
    place.sandboxes = {**place.sandboxes, "maxRunning": 1}
    async with place.backend() as backend:
        await started(place, backend)
        await backend.apply(place.specs(box("second")))
        await until(backend, lambda status: bool(status.message), "second")
    async with place.backend() as backend:
        assert (await running(backend, "second")).started_at is not None


async def test_only_the_scheduler_gives_commands(place: Place) -> None:
    async with place.backend() as backend:
        await started(place, backend)
        async with place.backend("look") as other:
            assert (await status_of(other)).phase == "Running"
            error = await refused(other.exec_start("box", ExecRequest()))
            assert (error.code, "without --in-process" in error.detail) == (ErrorCode.UNAVAILABLE, True)
            assert "just now" in (await refused(other.sandbox_files("box"))).detail
            await other.act(Kill(kind="Sandbox", name="box"))
            assert (await status_of(backend)).reason == "Killed"
            assert await other.sandbox_files("box") == ()


async def test_values_of_env_from_are_nowhere_on_the_disk(place: Place, tmp_path: Path) -> None:
    async with place.backend() as backend:
        await started(place, backend, envFrom=["BOX_KEY"])
        assert (await shell(backend, "echo $BOX_KEY")).stdout == b"key of the scheduler\n"
        document = json.dumps((await backend.get("Sandbox", "box")).to_document())
        assert "key of the scheduler" not in document
    database = sqlite3.connect(place.home / "nodus.db")
    assert "key of the scheduler" not in "\n".join(database.iterdump())
    database.close()


async def test_the_example_runs_its_own_command(place: Place) -> None:
    path = Path(__file__).parents[2] / "examples" / "sandbox.yaml"
    async with place.backend() as backend:
        await backend.apply(load_specs([SpecSource(str(path), path.read_bytes(), path.parent)]))
        await running(backend, "scratch")
        done = await run_command(backend, "scratch", ExecRequest(command=("python3", "-c", "import os; print(6 * 7, os.environ['MODE'])")))
        assert done.stdout == b"42 debug\n"
